package distill;

import java.io.IOException;
import java.nio.ByteBuffer;

/** The embedding table as it is stored: rows are decoded when they are looked up. Threads may share it. */
abstract class Table {
    private static final int FLOAT32 = 0, UINT8 = 1, INT4 = 2, INT4_PQ5 = 3;
    /** Numbers that share a step of int4; rows of a codebook. */
    private static final int GROUP = 32, CODEWORDS = 256;
    static final float FRACTION = 1f / (1 << 24);

    /** Write a row's first numbers, as many as a row of the table has, to a place. */
    abstract void read(int id, float[] numbers, int start, int width);

    static Table of(Sections file, int codec, int rows, int width) throws IOException {
        switch (codec) {
            case FLOAT32:
                return new Floats(file, rows, width);
            case UINT8:
                return new Bytes(file, rows, width);
            case INT4:
                return new Nibbles(file, rows, width);
            case INT4_PQ5:
                return new Mixed(file, rows, width);
            default:
                throw new FormatException(file.place, "section 'settings': a table of the kind " + codec + " is not known");
        }
    }

    private static final class Floats extends Table {
        private final ByteBuffer values;

        Floats(Sections file, int rows, int width) throws IOException {
            // Their bits may be stored as int32.
            values = file.buffer("table.0", Sections.FLOAT32, Sections.INT32);
            file.requireShape("table.0", rows, width);
        }

        @Override
        void read(int id, float[] numbers, int start, int width) {
            for (int column = 0; column < width; column++) {
                numbers[start + column] = values.getFloat(4 * (id * width + column));
            }
        }
    }

    private static final class Bytes extends Table {
        private final ByteBuffer codes, scales;

        Bytes(Sections file, int rows, int width) throws IOException {
            codes = file.buffer("table.0", Sections.UINT8);
            scales = file.buffer("table.1", Sections.INT32);
            file.requireShape("table.0", rows, width);
            file.requireShape("table.1", rows, 1);
        }

        @Override
        void read(int id, float[] numbers, int start, int width) {
            float scale = scales.getInt(4 * id) * FRACTION;
            for (int column = 0; column < width; column++) {
                numbers[start + column] = ((codes.get(id * width + column) & 0xFF) - 128) * scale;
            }
        }
    }

    /** Two numbers a byte: of columns i (low) and i + half the stored width (high); a step a group, a scale a row. */
    private static final class Nibbles extends Table {
        private final ByteBuffer codes, steps, scales;
        private final int half;

        Nibbles(Sections file, long rows, int width) throws IOException {
            codes = file.buffer("table.0", Sections.UINT8);
            steps = file.buffer("table.1", Sections.UINT8);
            scales = file.buffer("table.2", Sections.INT32);
            half = (width + GROUP - 1) / GROUP * GROUP / 2;
            file.requireShape("table.0", rows, half);
            file.requireShape("table.1", rows, 2 * half / GROUP);
            file.requireShape("table.2", rows, 1);
        }

        @Override
        void read(int id, float[] numbers, int start, int width) {
            float scale = scales.getInt(4 * id) * FRACTION;
            for (int column = 0; column < width; column++) {
                int both = codes.get(id * half + column % half);
                int code = (column < half ? both : both >> 4) & 15;
                float step = (steps.get((id * 2 * half + column) / GROUP) & 0xFF) * scale;
                numbers[start + column] = (code - 8) * step;
            }
        }
    }

    /** The first rows as {@link Nibbles}, all others as codewords of some numbers, of which the last is the length. */
    private static final class Mixed extends Table {
        private final Nibbles first;
        private final ByteBuffer codes, words;
        private final int count, places, size;
        private final float step;

        Mixed(Sections file, int rows, int width) throws IOException {
            count = file.ints("table.6", 1)[0];
            codes = file.buffer("table.3", Sections.UINT8);
            words = file.buffer("table.4", Sections.INT8);
            step = file.floats("table.5", 1)[0];
            places = file.columns("table.3");
            size = file.columns("table.4");
            // A part that has no row keeps one.
            first = new Nibbles(file, Math.max(1, count), width);
            file.require(count >= 0 && count <= rows, "section 'table.6': " + count + " rows of " + rows);
            file.requireShape("table.3", Math.max(1, rows - count), places);
            file.requireShape("table.4", (long) places * CODEWORDS, size);
            file.require((long) places * size > width, "section 'table.3' is too narrow for a row of " + width);
        }

        @Override
        void read(int id, float[] numbers, int start, int width) {
            if (id < count) {
                first.read(id, numbers, start, width);
                return;
            }
            int row = (id - count) * places;
            float length = words.get((word(row, places - 1) + 1) * size - 1) * step;
            for (int place = 0; place < places; place++) {
                int word = word(row, place) * size, column = place * size;
                for (int at = 0; at < size && column + at < width; at++) {
                    numbers[start + column + at] = words.get(word + at) * length;
                }
            }
        }

        private int word(int row, int place) {
            return (codes.get(row + place) & 0xFF) + CODEWORDS * place;
        }
    }
}
