package distill;

/**
 * What numbers go through, step by step as LiteRT has it on a processor that multiplies and adds in one: what comes of
 * it is rounded to whole numbers, so that the last bit counts.
 */
final class Activation {
    private static final int LINEAR = 0, GELU = 1, GELU_TANH = 2, RELU = 3, TANH = 4;
    /** 3/2 of 2^23 and 127, the zero of an exponent; the least power of e. */
    private static final float SHIFT = 12583039, LEAST = -87.33654f;
    private static final float LOG2_E = 1.442695f, LN2 = .693145752f, LN2_REST = 1.42860677e-6f;
    private static final float[] POWER = {.00828929059f, .0418978221f, .166676521f, .499991506f, .999999702f};
    /** From where on erf is 1; a fraction of two polynomials of the square. */
    private static final float MOST = 5.16382837f;
    private static final float[] ABOVE = {
        4.5835321e-8f, 1.26097839e-5f, 3.29731149e-4f, 9.3065137e-3f, 6.69721738e-2f, 7.97884524e-1f
    };
    private static final float[] BELOW = {
        1.19888057e-6f, 7.22676559e-5f, 1.86228426e-3f, 2.84319781e-2f, 2.50603527e-1f, 1
    };
    /** Sums of a softmax go over two registers, four at a time, then over one. */
    private static final int SUMS = 16, FOUR = 4 * SUMS;

    private Activation() {}

    static boolean isKnown(int kind) {
        return kind >= LINEAR && kind <= TANH;
    }

    /** The rows, in place. */
    static Rows apply(int kind, Rows rows) {
        for (int place = 0; place < rows.values.length && kind != LINEAR; place++) {
            rows.values[place] = of(kind, rows.values[place]);
        }
        return rows;
    }

    private static float of(int kind, float x) {
        switch (kind) {
            case GELU:
                return gelu(x);
            case GELU_TANH:
                return geluTanh(x);
            case RELU:
                return Math.max(x, 0);
            default:
                return (float) Math.tanh(x);
        }
    }

    /** a b + c, rounded once but for one of a hundred millions: a product of two floats is a double, to the last bit. */
    static float fused(float a, float b, float c) {
        return (float) ((double) a * b + c);
    }

    private static float polynomial(float[] factors, float x) {
        float sum = factors[0];
        for (int place = 1; place < factors.length; place++) {
            sum = fused(x, sum, factors[place]);
        }
        return sum;
    }

    private static float gelu(float x) {
        float inner = Math.max(Math.min(x, MOST), -MOST), square = inner * inner;
        float erf = inner * polynomial(ABOVE, square) / polynomial(BELOW, square);
        return x * .5f * (erf + 1);
    }

    /** x / 2 (1 + tanh(u)) is x / (1 + e^-2u). */
    private static float geluTanh(float x) {
        float u = 1.59576912f * (x + .044715f * x * x * x), power = exponential(u > 0 ? -u : u);
        return u > 0 ? x / (1 + power) : x * power / (1 + power);
    }

    /** e^x of x at most 0: 2^k times a polynomial. */
    private static float exponential(float x) {
        if (x < LEAST) {
            return 0;
        }
        float whole = fused(x, LOG2_E, SHIFT), power = Float.intBitsToFloat(Float.floatToRawIntBits(whole) << 23);
        whole -= SHIFT;
        float rest = fused(whole, -LN2_REST, fused(whole, -LN2, x));
        return fused(rest * power, polynomial(POWER, rest), power);
    }

    /** Numbers in place: e to the power of each, over the sum of all. */
    static void softmax(float[] x) {
        float greatest = x[0];
        for (float one : x) {
            greatest = Math.max(greatest, one);
        }
        for (int place = 0; place < x.length; place++) {
            x[place] = exponential(x[place] - greatest);
        }
        float share = 1 / sum(x);
        for (int place = 0; place < x.length; place++) {
            x[place] *= share;
        }
    }

    private static float sum(float[] x) {
        float[] sums = new float[2 * SUMS];
        int whole = x.length / FOUR * FOUR;
        for (int place = 0; place < whole; place++) {
            sums[place % (2 * SUMS)] += x[place];
        }
        for (int lane = 0; lane < SUMS; lane++) {
            sums[lane] += sums[lane + SUMS];
        }
        for (int place = whole; place < x.length; place++) {
            sums[place % SUMS] += x[place];
        }
        for (int half = SUMS / 2; half > 0; half /= 2) {
            for (int lane = 0; lane < half; lane++) {
                sums[lane] += sums[lane + half];
            }
        }
        return sums[0];
    }
}
