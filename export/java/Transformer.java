package distill;

import java.io.IOException;

/** A transformer of BERT's blocks: tokens with their places, blocks of attention and of hidden units, one row of all. */
final class Transformer implements Network {
    private static final int MEAN = 0, FIRST = 1, POOLINGS = 3, MOST_BLOCKS = 999, MOST_HEADS = 1 << 15;

    private final Dense factor, behind, projection;
    private final Places places;
    private final Norm norm;
    private final Block[] blocks;
    private final int pooling, activation;

    /** {@code numbers}: blocks, heads, pooling, activation, activation behind the pooling. */
    Transformer(Sections file, int[] numbers, int width) throws IOException {
        file.require(numbers[0] > 0 && numbers[0] <= MOST_BLOCKS && numbers[1] > 0 && numbers[1] <= MOST_HEADS && numbers[2] >= 0
            && numbers[2] < POOLINGS && Activation.isKnown(numbers[3]) && Activation.isKnown(numbers[4]),
            "section 'settings': a transformer of a kind that is not known");
        pooling = numbers[2];
        activation = numbers[4];
        float epsilon = file.floats("epsilon", 1)[0];
        factor = Network.optional(file, "factor", width);
        int inner = factor == null ? width : factor.outputs;
        places = new Places(file, inner);
        norm = new Norm(file, "positions.norm", inner, epsilon);
        blocks = new Block[numbers[0]];
        for (int place = 0; place < blocks.length; place++) {
            blocks[place] = new Block(file, place + ".", inner, numbers[1], numbers[3], epsilon);
        }
        behind = Network.optional(file, "dense", inner);
        projection = Network.optional(file, "projection", behind == null ? inner : behind.outputs);
    }

    @Override
    public int dimension() {
        return projection != null ? projection.outputs : behind != null ? behind.outputs : places.width;
    }

    @Override
    public Rows apply(Rows rows) {
        Rows x = norm.apply(places.add(factor == null ? rows : factor.apply(rows)));
        for (Block block : blocks) {
            x = block.apply(x);
        }
        Rows pooled = pool(x);
        if (behind != null) {
            pooled = Activation.apply(activation, behind.apply(pooled));
        }
        return (projection == null ? pooled : projection.apply(pooled)).unit();
    }

    private Rows pool(Rows x) {
        if (pooling == MEAN) {
            Rows mean = x.sum();
            for (int column = 0; column < mean.width; column++) {
                mean.values[column] /= x.count;
            }
            return mean;
        }
        Rows pooled = new Rows(1, x.width);
        System.arraycopy(x.values, 0, pooled.values, 0, x.width);
        for (int place = x.width; place < x.values.length && pooling != FIRST; place++) {
            pooled.values[place % x.width] = Math.max(pooled.values[place % x.width], x.values[place]);
        }
        return pooled;
    }

    /** A row a place in a text; places behind the last count as that one. */
    private static final class Places {
        final int width;
        private final float[] rows;

        Places(Sections file, int width) throws IOException {
            this.width = width;
            String name = file.has("positions.codes") ? "positions.codes" : "positions.embeddings";
            int count = file.count(name);
            file.requireShape(name, count, width);
            file.require(count > 0, "section '" + name + "' has no rows");
            rows = name.endsWith("codes") ? decoded(file, name, count) : file.floats(name);
        }

        private float[] decoded(Sections file, String name, int count) throws IOException {
            byte[] codes = file.bytes(name);
            int[] scales = file.ints("positions.scales", count);
            float[] values = new float[codes.length];
            for (int place = 0; place < codes.length; place++) {
                values[place] = ((codes[place] & 0xFF) - 128) * (scales[place / width] * Table.FRACTION);
            }
            return values;
        }

        Rows add(Rows x) {
            Rows sum = new Rows(x.count, width);
            for (int row = 0; row < x.count; row++) {
                int start = Math.min(row, rows.length / width - 1) * width;
                for (int column = 0; column < width; column++) {
                    sum.values[row * width + column] = x.values[row * width + column] + rows[start + column];
                }
            }
            return sum;
        }
    }

    /** Devlin et al. (2019), section 3. */
    private static final class Block {
        private final int heads, activation;
        private final Dense looked, attention, first, wide, second;
        private final Norm attentionNorm, norm;

        Block(Sections file, String name, int width, int heads, int activation, float epsilon) throws IOException {
            this.heads = heads;
            this.activation = activation;
            looked = new Dense(file, name + "looked", width);
            file.require(looked.outputs % (3 * heads) == 0, "section '" + name + "looked' is not of " + heads + " heads");
            attention = new Dense(file, name + "attention", looked.outputs / 3).to(file, width);
            first = new Dense(file, name + "first", width);
            // What it reads is said by its kernel: the first of the hidden units.
            wide = Dense.has(file, name + "wide") ? new Dense(file, name + "wide", Dense.inputs(file, name + "wide")) : null;
            int rest = first.outputs - (wide == null ? 0 : wide.to(file, width).inputs);
            second = new Dense(file, name + "second", rest).to(file, width);
            attentionNorm = new Norm(file, name + "attention_norm", width, epsilon);
            norm = new Norm(file, name + "norm", width, epsilon);
        }

        Rows apply(Rows x) {
            Rows y = attentionNorm.apply(attention.apply(attend(looked.apply(x))).add(x, 1));
            Rows hidden = Activation.apply(activation, first.apply(y));
            Rows z = second.apply(wide == null ? hidden : hidden.columns(wide.inputs, hidden.width));
            if (wide != null) {
                z.add(wide.apply(hidden.columns(0, wide.inputs)), 1);
            }
            return norm.apply(z.add(y, 1));
        }

        /** Each token's mean of the values that it looks at, of rows of queries, keys and values of all heads. */
        private Rows attend(Rows x) {
            int size = attention.inputs / heads;
            Rows means = new Rows(x.count, attention.inputs);
            float[] scores = new float[x.count];
            for (int head = 0; head < heads; head++) {
                for (int token = 0; token < x.count; token++) {
                    int query = token * x.width + head * size, key = attention.inputs + head * size;
                    for (int other = 0; other < x.count; other++) {
                        scores[other] = product(x.values, query, other * x.width + key, size);
                    }
                    Activation.softmax(scores);
                    int place = token * means.width + head * size, value = 2 * attention.inputs + head * size;
                    for (int other = 0; other < x.count; other++) {
                        for (int at = 0; at < size; at++) {
                            means.values[place + at] = Activation.fused(scores[other],
                                x.values[other * x.width + value + at], means.values[place + at]);
                        }
                    }
                }
            }
            return means;
        }

        private static float product(float[] values, int one, int other, int size) {
            float sum = 0;
            for (int at = 0; at < size; at++) {
                sum = Activation.fused(values[one + at], values[other + at], sum);
            }
            return sum;
        }
    }
}
