package distill;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A sentence encoder: text in, a vector of unit length out. The text of a collection whose vector has the largest dot
 * product with a question's answers it.
 *
 * <pre>{@code
 * Encoder encoder = Encoder.open(new File("encoder.bin"));
 * float[] vector = encoder.encode("Where does the Danube end?");
 * }</pre>
 *
 * <p>Opening takes tens of milliseconds and some megabytes, so that a program keeps one. It does not change after that:
 * any number of threads may use it at once, without a lock. Nothing has to be closed; the file, which must not be changed
 * meanwhile, is released with the encoder by the garbage collector.
 */
public final class Encoder {
    private static final int VERSION = 1, SETTINGS = 16, STATIC = 0, NGRAM = 1, TRANSFORMER = 2, FAMILY = 8, ORDERS = 10;
    private static final int MOST_WIDTH = 1 << 16;

    private final String name, fingerprint;
    private final int dimension, width, longest;
    private final Pieces pieces;
    private final Table table;
    private final Network network;
    private final String questionPrompt, documentPrompt;
    final Answerable answerable;
    /** Of a passage in a new index, in thousandths, 0 for 1. */
    final int passageWeight;

    private Encoder(Sections file) throws IOException {
        int[] settings = file.ints("settings", SETTINGS);
        file.require(settings[0] == VERSION, "an encoder of version " + settings[0] + ", known is " + VERSION);
        name = file.text("name");
        fingerprint = file.text("fingerprint");
        dimension = settings[2];
        width = settings[3];
        longest = settings[5];
        file.require(width > 0 && width <= MOST_WIDTH, "section 'settings': rows of " + width + " numbers");
        file.require(longest == 0 || longest >= 2, "section 'settings': texts of " + longest + " pieces");
        pieces = new Pieces(file);
        file.require(pieces.count == settings[4], pieces.count + " pieces, section 'settings' says " + settings[4]);
        table = Table.of(file, settings[7], pieces.count, width);
        answerable = new Answerable(file);
        passageWeight = file.has("passage_weight") ? file.ints("passage_weight", 1)[0] : 0;
        file.require(passageWeight >= 0 && passageWeight <= Index.MOST_WEIGHT,
            "section 'passage_weight': a weight of " + passageWeight);
        questionPrompt = file.has("prompt.question") ? file.text("prompt.question") : "";
        documentPrompt = file.has("prompt.document") ? file.text("prompt.document") : "";
        network = network(file, settings, width);
        file.require(network.dimension() == dimension,
            "vectors of " + network.dimension() + " numbers, section 'settings' says " + dimension);
    }

    private static Network network(Sections file, int[] settings, int width) throws IOException {
        if (settings[1] == STATIC) {
            return new Network.Static(file, settings[8], width);
        }
        if (settings[1] == TRANSFORMER) {
            return new Transformer(file, Arrays.copyOfRange(settings, FAMILY, SETTINGS), width);
        }
        int branches = settings[9];
        file.require(settings[1] == NGRAM && branches >= 0 && branches <= SETTINGS - ORDERS,
            "section 'settings': an encoder of the kind " + settings[1] + " with " + branches + " branches is not known");
        return new Network.Ngram(file, Arrays.copyOfRange(settings, ORDERS, ORDERS + branches), width);
    }

    /**
     * Opens a file that {@code distill export --format java} or {@code --format c} has written, and maps it into memory.
     *
     * @param file the path of {@code encoder.bin}
     * @return the encoder
     * @throws FormatException if the file is none, is not whole, or is of a kind that is not known
     * @throws IOException if it cannot be read
     */
    public static Encoder open(File file) throws IOException {
        return new Encoder(Sections.open(file));
    }

    /**
     * Opens the content of such a file, for example an asset of an app that is mapped into memory.
     *
     * @param buffer the content, between its position and its limit, which stay; it must not be changed afterwards
     * @return the encoder
     * @throws FormatException if the content is none, is not whole, or is of a kind that is not known
     */
    public static Encoder open(ByteBuffer buffer) throws IOException {
        return new Encoder(Sections.open(buffer));
    }

    /**
     * The encoder's name.
     *
     * @return the name, as its card has it
     */
    public String name() {
        return name;
    }

    /**
     * What identifies the encoder: an index that was made by another is refused.
     *
     * @return 64 hexadecimal digits
     */
    public String fingerprint() {
        return fingerprint;
    }

    /**
     * The length of a vector.
     *
     * @return how many numbers {@link #encode} gives
     */
    public int dimension() {
        return dimension;
    }

    /**
     * The most pieces of a text, begin and end among them; a longer text is cut there.
     *
     * @return the number of pieces, 0 for any
     */
    public int maxLength() {
        return longest;
    }

    /** What a text is. Some encoders read a prompt before it, "query: " or "passage: "; to others both are the same. */
    public enum Role {
        /** What is asked. */
        QUESTION,
        /** A passage, or a sentence of one. */
        DOCUMENT
    }

    /**
     * A question's pieces, as the library SentencePiece makes them.
     *
     * @param text any text; surrogates without a partner count as U+FFFD
     * @return the ids of the begin, the pieces and the end, at most {@link #maxLength} of them
     */
    public int[] tokenize(String text) {
        return tokenize(text, Role.QUESTION);
    }

    /**
     * The same of a text of a role.
     *
     * @param text any text
     * @param role what it is
     * @return the ids, those of the prompt first
     */
    public int[] tokenize(String text, Role role) {
        int[] ids = pieces.tokenize((role == Role.DOCUMENT ? documentPrompt : questionPrompt).concat(text));
        if (longest == 0 || ids.length <= longest) {
            return ids;
        }
        int[] cut = Arrays.copyOf(ids, longest);
        cut[longest - 1] = ids[ids.length - 1];
        return cut;
    }

    /**
     * A question's vector. Its dot product with another one is the cosine of the two, from -1 to 1.
     *
     * @param text a question, in any language that the encoder knows
     * @return {@link #dimension} numbers, of unit length together
     */
    public float[] encode(String text) {
        return encode(text, Role.QUESTION);
    }

    /**
     * The vector of a text of a role.
     *
     * @param text a question, or a passage or a sentence
     * @param role what it is
     * @return {@link #dimension} numbers, of unit length together
     */
    public float[] encode(String text, Role role) {
        int[] ids = tokenize(text, role);
        Rows rows = new Rows(ids.length, width);
        for (int row = 0; row < ids.length; row++) {
            table.read(ids[row], rows.values, row * width, width);
        }
        return network.apply(rows).values;
    }
}
