package distill;

import java.io.IOException;

/** The layers of an encoder: its table's rows of a text in, a vector of unit length out. Threads may share it. */
interface Network {
    Rows apply(Rows rows);

    int dimension();

    /** A static encoder: the sum of its rows, with or without a context, through a residual layer. */
    final class Static implements Network {
        private final int order;
        private final Dense before, after, first, second, lift;

        Static(Sections file, int order, int width) throws IOException {
            this.order = order;
            before = order > 0 ? new Dense(file, "context.first", (long) order * width) : null;
            after = order > 0 ? new Dense(file, "context.second", before.outputs).to(file, width) : null;
            first = new Dense(file, "first", width);
            second = new Dense(file, "second", first.outputs).to(file, width);
            lift = new Dense(file, "lift", width);
        }

        @Override
        public int dimension() {
            return lift.outputs;
        }

        @Override
        public Rows apply(Rows rows) {
            if (order > 0) {
                rows.add(after.apply(before.apply(rows.windows(order), true)), 1);
            }
            Rows sum = rows.sum().unit();
            return lift.apply(sum.add(second.apply(first.apply(sum, true)), 1)).unit();
        }
    }

    /** An n-gram encoder: branches of neighbours of some orders, summed and divided by the root of their number. */
    final class Ngram implements Network {
        private final Dense factor, pooling, second, third, fourth, skip, projection, down, up;
        private final Branch[] branches;
        private final Norm norm;
        private final float[] bias;

        Ngram(Sections file, int[] orders, int width) throws IOException {
            branches = new Branch[orders.length];
            factor = optional(file, "factor", width);
            int joined = factor == null ? width : factor.outputs;
            for (int number = 0; number < orders.length; number++) {
                branches[number] = new Branch(file, "branch" + number, orders[number], width);
                joined += branches[number].outputs;
            }
            norm = new Norm(file, "norm", joined);
            pooling = new Dense(file, "pooling", joined);
            bias = file.floats("pooling.offset", pooling.outputs);
            int half = pooling.outputs / 2;
            second = new Dense(file, "second", half).to(file, pooling.outputs - half);
            third = new Dense(file, "third", half);
            fourth = new Dense(file, "fourth", third.outputs);
            skip = new Dense(file, "fourth_skip", half).to(file, fourth.outputs);
            projection = optional(file, "projection", fourth.outputs);
            down = optional(file, "projection.down", fourth.outputs);
            up = down == null ? null : new Dense(file, "projection.up", down.outputs).to(file, fourth.outputs);
        }

        @Override
        public int dimension() {
            return projection == null ? fourth.outputs : projection.outputs;
        }

        @Override
        public Rows apply(Rows rows) {
            Rows[] ends = new Rows[branches.length];
            for (int number = 0; number < ends.length; number++) {
                ends[number] = branches[number].apply(rows);
            }
            Rows summed = norm.apply((factor == null ? rows : factor.apply(rows)).beside(ends)).sum();
            Rows pooled = pooling.apply(summed);
            float root = (float) Math.sqrt(rows.count);
            for (int place = 0; place < bias.length; place++) {
                pooled.values[place] = (pooled.values[place] + rows.count * bias[place]) / root;
            }
            return head(pooled.columns(0, pooled.width / 2), pooled.columns(pooled.width / 2, pooled.width)).unit();
        }

        private Rows head(Rows first, Rows hidden) {
            hidden.add(second.apply(first.relu()), 1).relu();
            Rows x = skip.apply(hidden).add(fourth.apply(third.apply(hidden, true)), 1);
            for (int place = 0; place < x.values.length; place++) {
                x.values[place] = (float) Math.tanh(x.values[place]);
            }
            if (projection != null) {
                return projection.apply(x);
            }
            return down == null ? x : x.add(up.apply(down.apply(x)), -1);
        }
    }

    /** Tokens with their neighbours: a dense layer, a normalisation, convolutions with what they read added. */
    final class Branch {
        final int outputs;
        private final int order;
        private final Dense project, first, second;
        private final Norm norm;

        Branch(Sections file, String name, int order, int width) throws IOException {
            this.order = order;
            project = new Dense(file, name + ".project", width);
            outputs = project.outputs;
            norm = new Norm(file, name + ".norm", outputs);
            first = convolution(file, name + ".first");
            second = convolution(file, name + ".second");
        }

        private Dense convolution(Sections file, String name) throws IOException {
            Dense dense = optional(file, name, (long) order * outputs);
            return dense == null ? null : dense.to(file, outputs);
        }

        Rows apply(Rows rows) {
            Rows x = norm.apply(project.apply(rows));
            for (Dense convolution : new Dense[] {first, second}) {
                x = convolution == null ? x : x.add(convolution.apply(x.windows(order), true), 1);
            }
            return x;
        }
    }

    static Dense optional(Sections file, String name, long inputs) throws IOException {
        return Dense.has(file, name) ? new Dense(file, name, inputs) : null;
    }
}
