package distill;

/** Rows of numbers of one width, end to end. */
final class Rows {
    /** Under the root of a length. */
    private static final float LEAST = 1e-12f;

    final int count, width;
    final float[] values;

    Rows(int count, int width) {
        this.count = count;
        this.width = width;
        values = new float[count * width];
    }

    /** Each row with its neighbours side by side, zeros beyond the ends: (count, order * width). */
    Rows windows(int order) {
        Rows windows = new Rows(count, order * width);
        int before = (order - 1) / 2;
        for (int row = 0; row < count; row++) {
            int first = Math.max(0, row - before), last = Math.min(count, row - before + order);
            int start = row * windows.width + (first - row + before) * width;
            System.arraycopy(values, first * width, windows.values, start, (last - first) * width);
        }
        return windows;
    }

    /** These rows with those of the others behind them: (count, sum of the widths). */
    Rows beside(Rows... others) {
        int all = width;
        for (Rows one : others) {
            all += one.width;
        }
        Rows joined = new Rows(count, all);
        copy(this, joined, 0);
        int column = width;
        for (Rows one : others) {
            copy(one, joined, column);
            column += one.width;
        }
        return joined;
    }

    private static void copy(Rows part, Rows joined, int column) {
        for (int row = 0; row < part.count; row++) {
            System.arraycopy(part.values, row * part.width, joined.values, row * joined.width + column, part.width);
        }
    }

    /** Columns from the first to before the last: (count, last - first). */
    Rows columns(int first, int last) {
        Rows part = new Rows(count, last - first);
        for (int row = 0; row < count; row++) {
            System.arraycopy(values, row * width + first, part.values, row * part.width, part.width);
        }
        return part;
    }

    /** These rows plus others times a factor, in place. */
    Rows add(Rows other, float factor) {
        for (int place = 0; place < values.length; place++) {
            values[place] += factor * other.values[place];
        }
        return this;
    }

    /** All rows in one. */
    Rows sum() {
        Rows sum = new Rows(1, width);
        for (int row = 0; row < count; row++) {
            for (int column = 0; column < width; column++) {
                sum.values[column] += values[row * width + column];
            }
        }
        return sum;
    }

    /** Numbers below zero at zero, in place. */
    Rows relu() {
        for (int place = 0; place < values.length; place++) {
            values[place] = Math.max(values[place], 0);
        }
        return this;
    }

    /** All numbers over one of unit length together: a row of its own. */
    Rows unit() {
        double sum = 0;
        for (float value : values) {
            sum += (double) value * value;
        }
        Rows unit = new Rows(count, width);
        float length = (float) Math.sqrt(Math.max(sum, LEAST));
        for (int place = 0; place < values.length; place++) {
            unit.values[place] = values[place] / length;
        }
        return unit;
    }
}
