package distill;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * An index that changes: documents come, go, and are written as {@code distill index} writes them.
 *
 * <pre>{@code
 * IndexWriter writer = IndexWriter.create(encoder);
 * writer.add("1", "Rivers", "The Danube ends in the Black Sea.");
 * writer.save(new File("notes.bin"));
 * Index index = Index.open(new File("notes.bin"), encoder);
 * }</pre>
 *
 * <p>One thread at a time changes it. What is not saved is gone with it; the file that it was opened from stays as it is,
 * and must not be changed in place meanwhile, but may be saved to.
 */
public final class IndexWriter {
    private static final int DIMENSION = 1, AXES = 2, BITS = 3, SCORE = 4, PACKED = 5, BLOCK = 6, AGAIN = 7;
    /** A new index is as {@code distill index} makes one. */
    private static final int FORMAT = 1, LENGTH = 1000, OVERLAP = 0, PER_BLOCK = 64, SUM = 2, NUMBERS = 16;

    private final Encoder encoder;
    private final String card;
    private final int[] numbers;
    private final int length, overlap;
    private final Map<String, Document> documents = new LinkedHashMap<>();

    private IndexWriter(Encoder encoder) {
        this.encoder = encoder;
        int dimension = encoder.dimension();
        numbers = Arrays.copyOf(new int[] {FORMAT, dimension, dimension, 8, SUM, 0, PER_BLOCK, 0, encoder.passageWeight}, NUMBERS);
        length = LENGTH;
        overlap = OVERLAP;
        card = "{\"format\": 1, \"encoder\": " + Json.quoted(encoder.name()) + ", \"fingerprint\": "
            + Json.quoted(encoder.fingerprint()) + ", \"length\": " + LENGTH + ", \"overlap\": " + OVERLAP
            + ", \"language\": \"auto\", \"score\": \"sum\", \"bits\": 8, \"hybrid\": false, \"dimension\": " + dimension
            + ", \"axes\": " + dimension + ", \"documents\": 0, \"passages\": 0, \"sentences\": 0}";
    }

    private IndexWriter(Sections file, Encoder encoder) throws IOException {
        this.encoder = encoder;
        numbers = Arrays.copyOf(file.ints("numbers", NUMBERS), NUMBERS);
        card = file.text("card");
        length = Json.number(card, "length");
        overlap = Json.number(card, "overlap");
        requireChangeable(file);
        takeDocuments(file);
    }

    /**
     * A new index, of no documents yet.
     *
     * @param encoder the encoder of its documents and questions
     * @return what changes it
     */
    public static IndexWriter create(Encoder encoder) {
        return new IndexWriter(encoder);
    }

    /**
     * Opens an index to change it.
     *
     * @param path the folder that {@code distill index} has made, or the file of an index
     * @param encoder the encoder that the index was made by
     * @return what changes it
     * @throws FormatException if it is none, is not whole, is compact, has words, or was made by another encoder
     * @throws IOException if it cannot be read
     */
    public static IndexWriter open(File path, Encoder encoder) throws IOException {
        Index.open(path, encoder);
        return new IndexWriter(Sections.open(Index.file(path)), encoder);
    }

    /**
     * Opens the content of an index's file to change it.
     *
     * @param buffer the content, between its position and its limit, which stay; it must not be changed afterwards
     * @param encoder the encoder that the index was made by
     * @return what changes it
     * @throws FormatException if it is none, is not whole, is compact, has words, or was made by another encoder
     */
    public static IndexWriter open(ByteBuffer buffer, Encoder encoder) throws IOException {
        Index.open(buffer, encoder);
        return new IndexWriter(Sections.open(buffer), encoder);
    }

    /** Words of passages that change would not be true any more, and a compact index has its text deflated. */
    private void requireChangeable(Sections file) throws IOException {
        Set<String> others = new HashSet<>(file.names());
        for (Part part : Part.values()) {
            others.remove(part.section);
        }
        file.require(numbers[BITS] == 8 && numbers[PACKED] == 0 && numbers[AGAIN] == 0 && others.isEmpty()
            && !"true".equals(Json.value(card, "hybrid")),
            "an index that is compact or has words is not changed here: change it with distill index");
        file.require(encoder.fingerprint().equals(Json.string(card, "fingerprint")),
            "its documents are of another encoder than " + encoder.name());
        boolean counted = true;
        for (String name : new String[] {"documents", "passages", "sentences"}) {
            counted &= Json.value(card, name) != null;
        }
        file.require(counted && length > 0 && overlap >= 0 && overlap < length, "section 'card' says what cannot be");
    }

    private boolean hasSentences() {
        return numbers[SCORE] != 0;
    }

    private boolean isWritten(Part part) {
        return hasSentences() || (part != Part.SENTENCE_VECTORS && part != Part.SENTENCE_SCALES);
    }

    private void takeDocuments(Sections file) throws IOException {
        Map<Part, ByteBuffer> sections = new EnumMap<>(Part.class);
        for (Part part : Part.values()) {
            if (isWritten(part)) {
                sections.put(part, file.buffer(part.section, part.type));
            }
        }
        int passages = file.count("passage_vectors"), sentences = file.count("sentence_bounds");
        file.requireShape("passage_offsets", passages, 1);
        file.requireShape("sentence_starts", passages + 1L, 1);
        file.requireShape("sentence_bounds", sentences, 2);
        requireBounds(file, sections, passages, sentences);
        int count = file.count("document_starts") - 1;
        int[] next = {0, 0, 0, 0};
        for (int number = 0; number < count; number++) {
            takeDocument(file, sections, number, next);
        }
        file.require(count >= 0 && next[0] == passages && next[2] == file.count("text"),
            "its passages and their texts are not those of its documents");
    }

    /** Sentences lie in their passages, and texts fill their blocks. */
    private void requireBounds(Sections file, Map<Part, ByteBuffer> sections, int passages, int sentences) throws IOException {
        ByteBuffer starts = sections.get(Part.SENTENCE_STARTS), bounds = sections.get(Part.SENTENCE_BOUNDS);
        ByteBuffer lengths = sections.get(Part.TEXT_LENGTHS), blocks = sections.get(Part.TEXT_BLOCKS);
        long text = 0;
        int row = 0;
        for (int passage = 0; passage < passages; passage++) {
            int end = starts.getInt(4 * passage + 4), length = lengths.getInt(4 * passage);
            boolean right = starts.getInt(4 * passage) == row && end >= row && end <= sentences && length >= 0
                && (passage % numbers[BLOCK] != 0 || blocks.getLong(8 * (passage / numbers[BLOCK])) == text);
            for (; right && row < end; row++) {
                int first = bounds.getInt(8 * row), last = bounds.getInt(8 * row + 4);
                right = first >= 0 && first <= last && last <= length;
            }
            file.require(right, "passage " + passage + " is not where it should be");
            text += length;
        }
        file.require(row == sentences && text == file.count("text"), "its sentences or its texts are not those of its passages");
    }

    /** The document of a number, whose first rows are the next ones. */
    private void takeDocument(Sections file, Map<Part, ByteBuffer> sections, int number, int[] next) throws IOException {
        ByteBuffer starts = sections.get(Part.DOCUMENT_STARTS), owners = sections.get(Part.DOCUMENT_OF);
        long begin = starts.getLong(8 * number), end = starts.getLong(8 * number + 8);
        file.require(begin == next[3] && begin <= end && end <= file.count("documents"), "section 'document_starts' goes back");
        Document document = new Document(sections, encoder.dimension(), next.clone());
        document.setCount(Part.Unit.OBJECT, (int) (end - begin));
        int passages = owners.capacity() / 4;
        for (int row = next[0]; row < passages && owners.getInt(4 * row) == number; row++) {
            document.addPassage();
        }
        String id = Json.string(StandardCharsets.UTF_8.decode(document.rows(Part.DOCUMENTS)).toString(), "id");
        file.require(id != null && documents.put(id, document) == null,
            "document " + number + " has no id that is a text, or that of another one");
        for (Part.Unit unit : Part.Unit.values()) {
            next[unit.ordinal()] += document.count(unit);
        }
    }

    /**
     * The number of documents.
     *
     * @return how many there are
     */
    public int size() {
        return documents.size();
    }

    /**
     * Adds a document, which is then the last one, in the place of one that has its id.
     *
     * @param id what the document is known by
     * @param title its title, which may be empty
     * @param text its text, which is cut into passages, and these into sentences, behind full stops and the like
     * @throws IllegalArgumentException if there is no text, or nothing but blanks, or it is too long
     */
    public void add(String id, String title, String text) {
        String known = whole(id);
        String object = "{\"id\": " + Json.quoted(known) + ", \"title\": " + Json.quoted(whole(title)) + "}";
        Document document = Note.of(encoder, hasSentences(), text, length, overlap, object);
        documents.remove(known);
        documents.put(known, document);
    }

    private static String whole(String text) {
        int[] points = Note.points(text);
        return new String(points, 0, points.length);
    }

    /**
     * Takes a document out.
     *
     * @param id what it is known by
     * @return true where it was there
     */
    public boolean remove(String id) {
        return documents.remove(whole(id)) != null;
    }

    /**
     * Writes the index, whole or not at all: aside, and then in the place of what is there.
     *
     * @param path a folder, in which it is {@code index.bin}, or the file; that of an {@link Index} that is open may be
     *     replaced, and is to be opened again
     * @throws FormatException if a section would have more than 2 GB
     * @throws IOException if it cannot be written
     */
    public void save(File path) throws IOException {
        long[] sums = new long[Part.Unit.values().length];
        for (Document document : documents.values()) {
            for (Part.Unit unit : Part.Unit.values()) {
                sums[unit.ordinal()] += document.count(unit);
            }
        }
        SectionsWriter writer = new SectionsWriter();
        Map<Part, ByteBuffer> made = made(path, sums);
        for (Part part : Part.values()) {
            int columns = part.columns(encoder.dimension()), size = columns * Sections.size(part.type);
            if (part.unit == null) {
                writer.add(part, made.get(part).remaining() / size, columns, Collections.singleton(made.get(part)));
            } else if (isWritten(part)) {
                require(path, sums[part.unit.ordinal()] * size);
                writer.add(part, sums[part.unit.ordinal()], columns, () -> documents.values().stream()
                    .map(document -> document.rows(part)).iterator());
            }
        }
        writer.write(Index.file(path));
    }

    private static void require(File path, long size) throws FormatException {
        if (size > Integer.MAX_VALUE) {
            throw new FormatException(path.getPath(), "a section would have more than 2 GB");
        }
    }

    /** The sections that are not those of the documents one behind the other. */
    private Map<Part, ByteBuffer> made(File path, long[] sums) throws FormatException {
        require(path, 8 * (sums[0] + documents.size() + 2));
        int passages = (int) sums[0], per = numbers[BLOCK];
        Map<Part, ByteBuffer> made = new EnumMap<>(Part.class);
        made.put(Part.CARD, ByteBuffer.wrap(newCard(sums).getBytes(StandardCharsets.UTF_8)));
        made.put(Part.NUMBERS, room(4 * NUMBERS));
        made.get(Part.NUMBERS).asIntBuffer().put(numbers);
        made.put(Part.SENTENCE_STARTS, room(4 * (passages + 1)));
        made.put(Part.DOCUMENT_OF, room(4 * passages));
        made.put(Part.DOCUMENT_STARTS, room(8 * (documents.size() + 1)));
        made.put(Part.TEXT_BLOCKS, room(8 * ((int) ((passages + (long) per - 1) / per) + 1)));
        fill(made, documents.values(), per);
        return made;
    }

    private static ByteBuffer room(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static void fill(Map<Part, ByteBuffer> made, Collection<Document> documents, int per) {
        ByteBuffer starts = made.get(Part.SENTENCE_STARTS), blocks = made.get(Part.TEXT_BLOCKS);
        int number = 0, row = 0, sentence = 0;
        long text = 0, object = 0;
        for (Document document : documents) {
            for (int passage = 0; passage < document.count(Part.Unit.PASSAGE); passage++, row++) {
                made.get(Part.DOCUMENT_OF).putInt(4 * row, number);
                sentence += document.sentences(passage);
                starts.putInt(4 * (row + 1), sentence);
                if (row % per == 0) {
                    blocks.putLong(8 * (row / per), text);
                }
                text += document.length(passage);
            }
            object += document.count(Part.Unit.OBJECT);
            made.get(Part.DOCUMENT_STARTS).putLong(8 * ++number, object);
        }
        blocks.putLong(blocks.limit() - 8, text);
    }

    /** The card with the numbers of what there is now. */
    private String newCard(long[] sums) {
        StringBuilder changed = new StringBuilder();
        int done = 0;
        for (Map.Entry<String, int[]> field : Json.fields(card).entrySet()) {
            String name = field.getKey();
            boolean passages = name.equals("passages");
            if (passages || name.equals("sentences") || name.equals("documents")) {
                long count = passages ? sums[0] : name.equals("sentences") ? sums[1] : documents.size();
                changed.append(card, done, field.getValue()[0]).append(count);
                done = field.getValue()[1];
            }
        }
        return changed.append(card, done, card.length()).toString();
    }
}
