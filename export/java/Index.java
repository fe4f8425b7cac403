package distill;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.PriorityQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An index that {@code distill index} has made: its passages are searched by their vectors, all of them, exactly.
 *
 * <pre>{@code
 * Index index = Index.open(new File("kb"), encoder);
 * for (Hit hit : index.search("Where does the Danube end?", 5)) {
 *     System.out.println(hit.score() + " " + hit.sentence());
 * }
 * }</pre>
 *
 * <p>Any number of threads may search at once, without a lock. The file is mapped into memory and must not be changed in
 * place meanwhile: {@code distill index} does not, it puts a new file there, which has to be opened again.
 */
public final class Index {
    private static final String FILE = "index.bin";
    private static final int VERSION = 1, NUMBERS = 16, VECTOR = 0, SENTENCE = 1, SUM = 2;
    private static final double LONGEST = 1.01;
    /** Of a passage's own vector beside its best sentence, in thousandths. */
    static final int MOST_WEIGHT = 10000;
    private static final Pattern FINGERPRINT = Pattern.compile("\"(?:question_)?fingerprint\"\\s*:\\s*\"([0-9a-f]*)\"");

    private final Sections file;
    private final Encoder encoder;
    private final int score, dimension, count, again;
    private final double ofPassage, ofSentence;
    private final Vectors passages, sentences;
    private final int[] starts;
    private final ByteBuffer bounds;
    private final Texts texts;

    private Index(Sections file, Encoder encoder) throws IOException {
        this.file = file;
        this.encoder = encoder;
        int[] numbers = file.ints("numbers", NUMBERS);
        file.require(numbers[0] == VERSION, "an index of version " + numbers[0] + ", known is " + VERSION);
        dimension = numbers[1];
        score = numbers[4];
        file.require(score >= VECTOR && score <= SUM, "section 'numbers': a score of the kind " + score + " is not known");
        int bits = numbers[3];
        file.require(numbers[2] == dimension && (bits == 1 || bits == 2 || bits == 4 || bits == 8), "section 'numbers': "
            + bits + " bits of " + numbers[2] + " of " + dimension + " axes are not known");
        again = numbers[7];
        file.require(again >= 0, "section 'numbers': " + again + " passages are scored again");
        int weight = numbers[8] == 0 ? 1000 : numbers[8];
        file.require(weight > 0 && weight <= MOST_WEIGHT, "section 'numbers': a passage's weight of " + weight);
        ofPassage = score == SUM ? 2.0 * weight / (1000 + weight) : 1;
        ofSentence = score == SUM ? 2000.0 / (1000 + weight) : 1;
        passages = new Vectors(file, "passage", dimension, bits);
        count = passages.count;
        sentences = file.has("sentence_vectors") ? new Vectors(file, "sentence", dimension, bits) : null;
        file.require(sentences != null || score == VECTOR, "section 'sentence_vectors' is missing");
        starts = sentences == null ? null : ascending("sentence_starts", count, sentences.count);
        bounds = sentences == null ? null : file.buffer("sentence_bounds", Sections.UINT32);
        if (sentences != null) {
            file.requireShape("sentence_bounds", sentences.count, 2);
        }
        texts = new Texts(file, count, numbers[5], numbers[6]);
        requireMade();
    }

    private int[] ascending(String name, int parts, int last) throws IOException {
        int[] bounds = file.ints(name, parts + 1);
        for (int part = 0; part < parts; part++) {
            file.require(bounds[part] >= 0 && bounds[part] <= bounds[part + 1], "section '" + name + "' goes back");
        }
        file.require(bounds[parts] == last, "section '" + name + "' ends at " + bounds[parts] + ", expected " + last);
        return bounds;
    }

    /** The encoder of the documents, or that of the questions; another one is refused. */
    private void requireMade() throws IOException {
        Matcher matcher = FINGERPRINT.matcher(file.text("card"));
        boolean known = false;
        while (matcher.find()) {
            known |= matcher.group(1).equals(encoder.fingerprint());
        }
        file.require(known, "an index of another encoder than " + encoder.name());
        file.require(dimension == encoder.dimension(), "vectors of " + dimension + " numbers, those of "
            + encoder.name() + " have " + encoder.dimension());
    }

    /**
     * Opens an index and maps it into memory.
     *
     * @param path the folder that {@code distill index} has made, or the {@code index.bin} in it; at most 2 GB of
     *     vectors and 2 GB of text
     * @param encoder the encoder that the index was made by, or that its questions are asked by
     * @return the index
     * @throws FormatException if it is none, is not whole, or was made by another encoder
     * @throws IOException if it cannot be read
     */
    public static Index open(File path, Encoder encoder) throws IOException {
        return new Index(Sections.open(file(path)), encoder);
    }

    /** The file of an index, which may be named by its folder. */
    static File file(File path) {
        return path.isDirectory() ? new File(path, FILE) : path;
    }

    /**
     * Opens the content of an {@code index.bin}.
     *
     * @param buffer the content, between its position and its limit, which stay; it must not be changed afterwards
     * @param encoder the encoder that the index was made by, or that its questions are asked by
     * @return the index
     * @throws FormatException if it is none, is not whole, or was made by another encoder
     */
    public static Index open(ByteBuffer buffer, Encoder encoder) throws IOException {
        return new Index(Sections.open(buffer), encoder);
    }

    /**
     * The number of passages.
     *
     * @return how many there are
     */
    public int size() {
        return count;
    }

    /**
     * The passages that answer a question best.
     *
     * @param question a text in any language that the encoder knows
     * @param k the most passages, at least 1
     * @return the passages, best first, of equal scores the one with the lower row
     * @throws IllegalArgumentException if there is no question, or nothing but blanks and soft hyphens, or k is less than 1
     * @throws FormatException if a passage's text cannot be read
     */
    public List<Hit> search(String question, int k) throws IOException {
        if (question.codePoints().allMatch(point -> point == 0xad || Cutter.isBlank(point))) {
            throw new IllegalArgumentException("the question is empty; give a text");
        }
        return search(encoder.encode(question), k);
    }

    /**
     * The passages that are nearest to a vector.
     *
     * @param question a vector of unit length, of as many numbers as {@link Encoder#dimension} says
     * @param k the most passages, at least 1
     * @return the passages, best first, of equal scores the one with the lower row
     * @throws IllegalArgumentException if the vector has another number of numbers or is longer than 1, or k is less than 1
     * @throws FormatException if a passage's text cannot be read
     */
    public List<Hit> search(float[] question, int k) throws IOException {
        double length = 0;
        for (float value : question) {
            length += (double) value * value;
        }
        if (question.length != dimension || !(length < LONGEST) || k < 1) {
            throw new IllegalArgumentException("expected a unit vector of " + dimension + " numbers and k of 1 at least, "
                + "got " + question.length + " numbers of length " + Math.sqrt(length) + " and " + k);
        }
        int[] best = new int[count];
        float[] scores = scores(question, best);
        List<Integer> rows = nearest(scores, Math.max(k, again));
        if (again > 0) {
            for (int row : rows) {
                scores[row] = scoreAgain(question, row, best);
            }
            rows.sort((one, other) -> scores[one] != scores[other] ? Float.compare(scores[other], scores[one]) : one - other);
        }
        List<Hit> hits = new ArrayList<>();
        for (int row : rows.subList(0, Math.min(k, rows.size()))) {
            hits.add(hit(row, scores[row], best[row]));
        }
        return hits;
    }

    /**
     * How likely the first passage of a search answers the question.
     *
     * @param hits what {@link #search} has found: at least 5, or all passages
     * @return a probability, by the scores of the first 5; below {@link #threshold} nothing is found. Not a number where
     *     the encoder's file does not say it
     */
    public double probability(List<Hit> hits) {
        return encoder.answerable.probability(score, hits, count);
    }

    /**
     * The probability from which on something is found.
     *
     * @return that of the encoder's card; not a number as for {@link #probability}
     */
    public double threshold() {
        return encoder.answerable.threshold(score);
    }

    /** The score of a passage whose text, and whose sentences, are encoded again. */
    private float scoreAgain(float[] question, int row, int[] best) throws IOException {
        byte[] text = texts.passage(row);
        double whole = score == SENTENCE ? 0 : product(question, encoder.encode(utf8(text, 0, text.length), Encoder.Role.DOCUMENT));
        if (score == VECTOR) {
            return (float) whole;
        }
        double most = Double.NEGATIVE_INFINITY;
        for (int place = starts[row]; place < starts[row + 1]; place++) {
            double part = product(question, encoder.encode(utf8(text, bound(place, 0), bound(place, 1)), Encoder.Role.DOCUMENT));
            if (part > most) {
                most = part;
                best[row] = place;
            }
        }
        return (float) (ofPassage * whole + ofSentence * most);
    }

    private static double product(float[] one, float[] other) {
        double sum = 0;
        for (int place = 0; place < one.length; place++) {
            sum += (double) one[place] * other[place];
        }
        return sum;
    }

    /** Scores of all passages; the number of each one's best sentence goes into the second argument. */
    private float[] scores(float[] question, int[] best) {
        double[] wholes = score == SENTENCE ? new double[count] : passages.products(question);
        double[] parts = sentences == null ? null : sentences.products(question);
        float[] scores = new float[count];
        for (int row = 0; row < count; row++) {
            double most = Double.NEGATIVE_INFINITY;
            best[row] = -1;
            for (int place = sentences == null ? 0 : starts[row]; parts != null && place < starts[row + 1]; place++) {
                if (parts[place] > most) {
                    most = parts[place];
                    best[row] = place;
                }
            }
            scores[row] = (float) (score == VECTOR ? wholes[row] : ofPassage * wholes[row] + ofSentence * most);
        }
        return scores;
    }

    /** The rows of the highest scores, best first. */
    private static List<Integer> nearest(float[] scores, int k) {
        PriorityQueue<Integer> worst = new PriorityQueue<>((one, other) -> scores[one] != scores[other]
            ? Float.compare(scores[one], scores[other]) : Integer.compare(other, one));
        for (int row = 0; row < scores.length; row++) {
            if (worst.size() < k) {
                worst.add(row);
            } else if (scores[row] > scores[worst.peek()]) {
                worst.poll();
                worst.add(row);
            }
        }
        List<Integer> rows = new ArrayList<>();
        while (!worst.isEmpty()) {
            rows.add(worst.poll());
        }
        Collections.reverse(rows);
        return rows;
    }

    private Hit hit(int row, float score, int sentence) throws IOException {
        byte[] text = texts.passage(row);
        int start = -1, end = -1;
        if (sentence >= 0) {
            start = utf8(text, 0, bound(sentence, 0)).length();
            end = Math.max(start, utf8(text, 0, bound(sentence, 1)).length());
        }
        return new Hit(row, score, utf8(text, 0, text.length), start, end, texts.document(row));
    }

    /** Where a sentence begins (0) or ends (1) in its passage, in bytes. */
    private int bound(int sentence, int side) {
        return bounds.getInt(4 * (2 * sentence + side));
    }

    /** The text between two places, as far as there is one. */
    private static String utf8(byte[] bytes, int start, int end) {
        int first = Math.min(Math.max(start, 0), bytes.length), last = Math.min(Math.max(end, first), bytes.length);
        return new String(bytes, first, last - first, StandardCharsets.UTF_8);
    }
}
