package distill;

import java.io.IOException;

/** Layer normalisation: a row less its mean, over its standard deviation, with gains and biases. */
final class Norm {
    private static final float EPSILON = 1e-12f;
    /** Two registers of 16 numbers. */
    private static final int LANES = 32;
    private final float[] gamma, beta;
    private final float epsilon;

    Norm(Sections file, String name, int width) throws IOException {
        this(file, name, width, EPSILON);
    }

    Norm(Sections file, String name, int width, float epsilon) throws IOException {
        this.epsilon = epsilon;
        gamma = file.floats(name + ".gamma", width);
        beta = file.floats(name + ".beta", width);
    }

    /** The rows, in place. */
    Rows apply(Rows rows) {
        for (int start = 0; start < rows.values.length; start += rows.width) {
            apply(rows.values, start, rows.width);
        }
        return rows;
    }

    private void apply(float[] values, int start, int width) {
        float share = 1f / width, mean = sum(values, start, width, false) * share;
        for (int place = start; place < start + width; place++) {
            values[place] -= mean;
        }
        float factor = InverseRoot.of(sum(values, start, width, true) * share + epsilon);
        for (int place = 0; place < width; place++) {
            values[start + place] = values[start + place] * factor * gamma[place] + beta[place];
        }
    }

    /** The sum of a row, or of its squares, in the order of LiteRT's: what comes of it is rounded. */
    private float sum(float[] values, int start, int width, boolean squared) {
        float[] lanes = new float[LANES];
        int whole = width / LANES * LANES;
        for (int place = 0; place < width; place++) {
            float value = values[start + place];
            lanes[(place < whole ? place : place - whole) % LANES] += squared ? value * value : value;
        }
        for (int half = LANES / 2; half > 0; half /= 2) {
            for (int lane = 0; lane < half; lane++) {
                lanes[lane] += lanes[lane + half];
            }
        }
        return lanes[0];
    }
}
