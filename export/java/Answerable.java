package distill;

import java.io.IOException;
import java.util.List;

/** How likely the first passage of a search answers the question: the section {@code answerable} of an encoder. */
final class Answerable {
    static final int COMPARED = 5;
    private static final int BEST = 0, MARGIN = 1, FEW = 2, USUAL = 3, THRESHOLD = 4, LINE = 5, POINTS = 12, SCORES = 3;
    /** A collection of so many passages, or fewer, is a small one. */
    private static final int FEW_PASSAGES = 10;
    private static final int WIDTH = LINE + 2 * POINTS;

    private final float[] numbers;

    /** Of a file without the section nothing is known. */
    Answerable(Sections file) throws IOException {
        numbers = file.has("answerable") ? file.floats("answerable", SCORES * WIDTH) : new float[SCORES * WIDTH];
    }

    boolean knows(int score) {
        return numbers[score * WIDTH + BEST] != 0 || numbers[score * WIDTH + MARGIN] != 0;
    }

    double threshold(int score) {
        return knows(score) ? numbers[score * WIDTH + THRESHOLD] : Double.NaN;
    }

    /** Of hits among so many passages, best first, of which {@code COMPARED} count; those that are missing score as usual. */
    double probability(int score, List<Hit> hits, int passages) {
        int row = score * WIDTH;
        if (!knows(score)) {
            return Double.NaN;
        }
        if (hits.isEmpty()) {
            return 0;
        }
        double others = 0, first = hits.get(0).score();
        for (int place = 1; place < COMPARED; place++) {
            others += (place < hits.size() ? hits.get(place).score() : numbers[row + USUAL]) / (COMPARED - 1);
        }
        double small = (double) FEW_PASSAGES / Math.max(passages, FEW_PASSAGES);
        return height(row + LINE,
            numbers[row + BEST] * first + numbers[row + MARGIN] * (first - others) + numbers[row + FEW] * small);
    }

    /** The height of a line at x, whose points ascend; their heights stand behind them. */
    private double height(int start, double x) {
        int place = start, end = start + POINTS;
        while (place < end && numbers[place] < x) {
            place++;
        }
        if (place == start || place == end) {
            return numbers[Math.min(place, end - 1) + POINTS];
        }
        double before = numbers[place - 1 + POINTS], after = numbers[place + POINTS];
        return before + (after - before) * (x - numbers[place - 1]) / (numbers[place] - numbers[place - 1]);
    }
}
