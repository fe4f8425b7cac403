package distill;

/** A passage that {@link Index#search} has found. */
public final class Hit {
    private final int row, start, end;
    private final float score;
    private final String text, document;

    Hit(int row, float score, String text, int start, int end, String document) {
        this.row = row;
        this.score = score;
        this.text = text;
        this.start = start;
        this.end = end;
        this.document = document;
    }

    /**
     * The passage's number in the index.
     *
     * @return a number from 0
     */
    public int row() {
        return row;
    }

    /**
     * How well the passage answers: the higher the better.
     *
     * @return of the score {@code sum} a number from -2 to 2, else one from -1 to 1
     */
    public float score() {
        return score;
    }

    /**
     * The passage.
     *
     * @return its text
     */
    public String text() {
        return text;
    }

    /**
     * Where the best sentence begins.
     *
     * @return a place in {@link #text}, in chars; -1 where the index has no sentences
     */
    public int sentenceStart() {
        return start;
    }

    /**
     * Where the best sentence ends.
     *
     * @return the place behind it in {@link #text}, in chars; -1 where the index has no sentences
     */
    public int sentenceEnd() {
        return end;
    }

    /**
     * The best sentence.
     *
     * @return its text; the whole passage where the index has no sentences
     */
    public String sentence() {
        return start < 0 ? text : text.substring(start, end);
    }

    /**
     * The document that the passage is of.
     *
     * @return a JSON object with {@code id} and, where there are any, {@code title}, {@code path} and further fields
     */
    public String document() {
        return document;
    }

    @Override
    public String toString() {
        return score + " " + sentence();
    }
}
