package distill;

/**
 * 1 / sqrt(x) as LiteRT takes it with AVX-512: the processor's estimate in 16 bits, read off 64 straight lines, and a
 * step of Newton's. What comes of it is rounded to whole numbers, so that the last bit counts.
 */
final class InverseRoot {
    private static final int[] STARTS = {
        262121, 254113, 246469, 239154, 232142, 225415, 218957, 212753, 206778, 201025,
        195479, 190132, 184962, 179962, 175135, 170459, 165927, 161539, 157279, 153144,
        149133, 145235, 141448, 137763, 134175, 130683, 127286, 123966, 120735, 117590,
        114511, 111514, 108565, 102905, 97500, 92324, 87372, 82615, 78049, 73657, 69437,
        65371, 61445, 57661, 54005, 50474, 47057, 43755, 40551, 37443, 34431, 31513, 28675,
        25918, 23236, 20632, 18098, 15629, 13223, 10878, 8597, 6365, 4192, 2070
    };
    private static final int[] SLOPES = {
        1001, 955, 915, 877, 841, 807, 775, 747, 719, 693, 669, 647, 625, 603, 585, 567,
        549, 533, 517, 501, 487, 473, 461, 449, 437, 425, 415, 403, 393, 385, 375, 367, 707,
        675, 647, 619, 595, 571, 549, 527, 509, 491, 473, 457, 441, 427, 413, 401, 389, 377,
        365, 355, 345, 335, 325, 317, 309, 301, 293, 285, 279, 271, 265, 259
    };
    /** 1/2, as bits, and those of 1. */
    private static final int HALF = 0x3f000000, ONE = 0x3f800000, FRACTION = 0x7fffff;

    private InverseRoot() {}

    static float of(float x) {
        if (!(x >= Float.MIN_NORMAL && x <= Float.MAX_VALUE)) {
            return (float) (1 / Math.sqrt(x));
        }
        float near = estimate(Float.floatToRawIntBits(x)), rest = 1 - x * (near * near);
        return near + near * .5f * rest;
    }

    /** The lines are those of a number from 1 below 4; a quarter of it doubles the root. */
    private static float estimate(int bits) {
        int exponent = (bits >>> 23) - 127, odd = exponent & 1, fraction = bits & FRACTION;
        int line = odd * 32 + (fraction >> 18), along = fraction >> 8 & 1023;
        int steps = 128 * STARTS[line] - SLOPES[line] * along >> 9;
        int root = odd == 0 && fraction == 0 ? ONE : HALF + (steps << 7);
        return Float.intBitsToFloat(root - ((exponent - odd) / 2 << 23));
    }
}
