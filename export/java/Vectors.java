package distill;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Stored unit rows: whole numbers of 1, 2, 4 or 8 bits with a scale a row. Threads may share it. */
final class Vectors {
    private static final int BLOCK = 256;
    /** A question's numbers are whole ones of 40 bits: exact products, quicker than those of numbers with a point. */
    private static final double FIXED = 1L << 40;
    /** Those of unit rows are at most 1, but for their rounding. */
    private static final float GREATEST_SCALE = 2;

    final int count;
    private final int width, bits, stored;
    private final ByteBuffer codes;
    private final float[] scales;

    Vectors(Sections file, String kind, int width, int bits) throws IOException {
        codes = file.buffer(kind + "_vectors", bits == 8 ? Sections.INT8 : Sections.UINT8);
        count = file.count(kind + "_vectors");
        this.width = width;
        this.bits = bits;
        stored = (int) (((long) width * bits + 7) / 8);
        file.requireShape(kind + "_vectors", count, stored);
        scales = file.floats(kind + "_scales", count);
        for (float scale : scales) {
            file.require(scale >= 0 && scale <= GREATEST_SCALE, "section '" + kind + "_scales': a scale of " + scale);
        }
    }

    /** The products of all rows with a vector. */
    double[] products(float[] vector) {
        long[] whole = new long[width];
        for (int column = 0; column < width; column++) {
            whole[column] = Math.round(vector[column] * FIXED);
        }
        double[] products = new double[count];
        ByteBuffer source = codes.duplicate();
        byte[] rows = new byte[BLOCK * stored], numbers = new byte[width];
        for (int first = 0; first < count; first += BLOCK) {
            int last = Math.min(first + BLOCK, count);
            source.get(rows, 0, (last - first) * stored);
            for (int row = first; row < last; row++) {
                int start = (row - first) * stored;
                long product = bits == 8 ? product(rows, start, whole) : product(unpacked(rows, start, numbers), 0, whole);
                products[row] = product / FIXED * scales[row];
            }
        }
        return products;
    }

    /** The numbers of fewer bits, the first in the lowest of a byte: odd ones, as many below zero as above. */
    private byte[] unpacked(byte[] rows, int start, byte[] numbers) {
        int mask = (1 << bits) - 1, bit = 0;
        for (int column = 0; column < width; column++, bit += bits) {
            int code = rows[start + (bit >>> 3)] >>> (bit & 7) & mask;
            numbers[column] = (byte) (2 * code - mask);
        }
        return numbers;
    }

    private static long product(byte[] rows, int start, long[] vector) {
        long product = 0;
        for (int column = 0; column < vector.length; column++) {
            product += rows[start + column] * vector[column];
        }
        return product;
    }
}
