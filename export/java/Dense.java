package distill;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * A dense layer of a file, y = act(x V' + b) s. Of a kernel of whole numbers each row x is rounded first, as LiteRT does:
 * to 256 whole numbers from its least to its greatest, zero among them. Threads may share it.
 */
final class Dense {
    private static final float LOWEST = -128, HIGHEST = 127;
    /** Inputs that are multiplied at once. */
    private static final int STEP = 4;
    private static final long MOST = 1 << 28;
    /** The end of the name of a kernel in 4 bits. */
    private static final String PACKED = ".packed";

    final int inputs, outputs;
    private final String name;
    private final boolean whole;
    /** A row an input, with rows of zeros up to a multiple of {@link #STEP}; whole numbers are exact up to 2^24. */
    private final float[][] kernel;
    private final float[] bias, scales;

    /** The layer {@code name} of so many inputs; with a bias where the file has one. */
    Dense(Sections file, String name, long inputs) throws IOException {
        this.name = name;
        boolean packed = file.has(name + PACKED);
        String section = packed ? name + PACKED : name + ".kernel";
        ByteBuffer stored = packed ? file.buffer(section, Sections.UINT8) : file.buffer(section, Sections.INT8, Sections.FLOAT32);
        outputs = file.count(section);
        file.requireShape(section, outputs, packed ? inputs / 2 : inputs);
        this.inputs = (int) inputs;
        whole = packed || file.type(section) == Sections.INT8;
        file.require(!packed || inputs % 2 == 0, "section '" + section + "' is not of " + inputs + " inputs");
        file.require(outputs > 0 && inputs > 0 && inputs * outputs < MOST, "section '" + section + "' is no kernel");
        kernel = new float[(this.inputs + STEP - 1) / STEP * STEP][outputs];
        for (int output = 0, place = 0; output < outputs; output++) {
            for (int input = 0; input < this.inputs; input++, place++) {
                kernel[input][output] = packed ? nibble(stored, output, input) : whole ? stored.get(place) : stored.getFloat(4 * place);
            }
        }
        bias = file.has(name + ".bias") ? file.floats(name + ".bias", outputs) : null;
        scales = file.has(name + ".scales") ? file.floats(name + ".scales", outputs) : null;
    }

    /** Of a byte the lower half is of the first half of a row. */
    private int nibble(ByteBuffer packed, int output, int input) {
        int half = inputs / 2, both = packed.get(output * half + input % half);
        return ((input < half ? both : both >> 4) & 15) - 8;
    }

    static boolean has(Sections file, String name) {
        return file.has(name + ".kernel") || file.has(name + PACKED);
    }

    /** The inputs of a layer that the file has. */
    static int inputs(Sections file, String name) throws IOException {
        return file.has(name + PACKED) ? 2 * file.columns(name + PACKED) : file.columns(name + ".kernel");
    }

    /** This layer, if it has so many outputs. */
    Dense to(Sections file, int width) throws FormatException {
        file.require(outputs == width, "section '" + name + ".kernel' has " + outputs + " rows, expected " + width);
        return this;
    }

    Rows apply(Rows x) {
        return apply(x, false);
    }

    /** (n, inputs) to (n, outputs), without what is below zero where there is a ReLU. */
    Rows apply(Rows x, boolean relu) {
        int padded = kernel.length;
        float[] inner = new float[x.count * padded], steps = new float[x.count];
        for (int row = 0; row < x.count; row++) {
            System.arraycopy(x.values, row * inputs, inner, row * padded, inputs);
            steps[row] = whole ? round(inner, row * padded, row * padded + inputs) : 1;
        }
        float[][] sums = new float[x.count][outputs];
        // Some rows of the kernel stay in a processor's nearest cache for all rows.
        for (int input = 0; input < padded; input += STEP) {
            for (int row = 0; row < x.count; row++) {
                addRows(inner, row * padded + input, input, sums[row]);
            }
        }
        Rows y = new Rows(x.count, outputs);
        for (int row = 0; row < x.count; row++) {
            finish(sums[row], steps[row], relu);
            System.arraycopy(sums[row], 0, y.values, row * outputs, outputs);
        }
        return y;
    }

    private void finish(float[] sums, float step, boolean relu) {
        for (int output = 0; output < outputs; output++) {
            float sum = sums[output] * step + (bias == null ? 0 : bias[output]);
            sum = relu && sum < 0 ? 0 : sum;
            sums[output] = scales == null ? sum : sum * scales[output];
        }
    }

    /** Put whole numbers into a row's places, which times the number returned are about what it was. */
    private static float round(float[] row, int start, int end) {
        float least = 0, greatest = 0;
        for (int place = start; place < end; place++) {
            least = Math.min(least, row[place]);
            greatest = Math.max(greatest, row[place]);
        }
        float scale = least == greatest ? 1 : (HIGHEST - LOWEST) / (greatest - least);
        float low = LOWEST - least * scale, high = HIGHEST - greatest * scale;
        // The end of lesser error sets which whole number zero is.
        float zero = (LOWEST + least * scale) + (HIGHEST + greatest * scale) > 0 ? low : high;
        zero = (float) Math.rint(Math.min(Math.max(zero, LOWEST), HIGHEST));
        float lowest = LOWEST - zero, highest = HIGHEST - zero;
        for (int place = start; place < end; place++) {
            row[place] = Math.min(Math.max((float) Math.rint(row[place] * scale), lowest), highest);
        }
        return 1 / scale;
    }

    /** Add four rows of the kernel, each times a number; a loop that runtimes turn into vector instructions: of eight not. */
    private void addRows(float[] x, int place, int input, float[] sums) {
        float x0 = x[place], x1 = x[place + 1], x2 = x[place + 2], x3 = x[place + 3];
        float[] k0 = kernel[input], k1 = kernel[input + 1], k2 = kernel[input + 2], k3 = kernel[input + 3];
        for (int output = 0; output < sums.length; output++) {
            sums[output] += x0 * k0[output] + x1 * k1[output] + x2 * k2[output] + x3 * k3[output];
        }
    }
}
