package distill;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** A text that comes into an index: its passages and sentences, and their vectors in 8 bits a number. */
final class Note {
    private static final int LARGEST = 127, LONGEST = Integer.MAX_VALUE / 4;

    private final Encoder encoder;
    private final boolean sentences;
    private final int[] points, begins;
    private final byte[] text;
    private final Map<Part, ByteBuffer> sections = new EnumMap<>(Part.class);
    private int sentence;

    private Note(Encoder encoder, boolean sentences, int[] points) {
        this.encoder = encoder;
        this.sentences = sentences;
        this.points = points;
        text = new String(points, 0, points.length).getBytes(StandardCharsets.UTF_8);
        begins = new int[points.length + 1];
        for (int place = 0; place < points.length; place++) {
            int point = points[place];
            begins[place + 1] = begins[place] + (point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4);
        }
    }

    /** The code points of a text; surrogates without a partner are U+FFFD. */
    static int[] points(String text) {
        return text.codePoints().map(point -> point >= 0xd800 && point < 0xe000 ? 0xfffd : point).toArray();
    }

    /** A document of a text that is cut as said, and what is kept of it; sentences have vectors where it is wanted. */
    static Document of(Encoder encoder, boolean sentences, String text, int length, int overlap, String object) {
        if (text.length() > LONGEST) {
            throw new IllegalArgumentException("a text of " + text.length() + " chars is too long");
        }
        Note note = new Note(encoder, sentences, points(text));
        List<List<int[]>> passages = new Cutter(note.points, length, overlap).passages();
        if (passages.isEmpty()) {
            throw new IllegalArgumentException("there is no text, or nothing but blanks");
        }
        return note.document(passages, object.getBytes(StandardCharsets.UTF_8));
    }

    private Document document(List<List<int[]>> passages, byte[] object) {
        int count = 0, bytes = 0;
        for (List<int[]> passage : passages) {
            count += passage.size();
            bytes = Math.addExact(bytes, end(passage) - begin(passage));
        }
        for (Part part : Part.values()) {
            int rows = part.unit == Part.Unit.SENTENCE ? count : part == Part.TEXT ? bytes : passages.size() + 1;
            int size = Math.multiplyExact(rows, part.columns(encoder.dimension()) * Sections.size(part.type));
            sections.put(part, ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN));
        }
        sections.put(Part.DOCUMENTS, ByteBuffer.wrap(object));
        Document document = new Document(sections, encoder.dimension(), 0, 0, 0, 0);
        document.setCount(Part.Unit.OBJECT, object.length);
        for (List<int[]> passage : passages) {
            put(passage);
            document.addPassage();
        }
        return document;
    }

    private int begin(List<int[]> passage) {
        return begins[passage.get(0)[0]];
    }

    private int end(List<int[]> passage) {
        return begins[passage.get(passage.size() - 1)[1]];
    }

    private void put(List<int[]> passage) {
        int begin = begin(passage), end = end(passage), row = sections.get(Part.TEXT_LENGTHS).position() / 4;
        sections.get(Part.PASSAGE_OFFSETS).putInt(begin);
        sections.get(Part.TEXT_LENGTHS).putInt(end - begin);
        sections.get(Part.TEXT).put(text, begin, end - begin);
        sentence += passage.size();
        sections.get(Part.SENTENCE_STARTS).putInt(4 * (row + 1), sentence);
        putVector(begin, end, Part.PASSAGE_VECTORS, Part.PASSAGE_SCALES);
        for (int[] bounds : passage) {
            sections.get(Part.SENTENCE_BOUNDS).putInt(begins[bounds[0]] - begin).putInt(begins[bounds[1]] - begin);
            if (sentences) {
                putVector(begins[bounds[0]], begins[bounds[1]], Part.SENTENCE_VECTORS, Part.SENTENCE_SCALES);
            }
        }
    }

    /** The vector of bytes of the text, rounded to the nearest codes. */
    private void putVector(int begin, int end, Part codes, Part scales) {
        String part = new String(text, begin, end - begin, StandardCharsets.UTF_8);
        float[] vector = encoder.encode(part, Encoder.Role.DOCUMENT);
        float most = 0;
        for (float number : vector) {
            most = Math.max(most, Math.abs(number));
        }
        // Of what is no number the greatest is none, either.
        if (!(most <= 2)) {
            throw new IllegalStateException(encoder.name() + " gives what is no unit vector; export it again");
        }
        float scale = most / LARGEST;
        sections.get(scales).putFloat(scale);
        for (float number : vector) {
            double code = Math.rint(number / (scale > 0 ? scale : 1));
            sections.get(codes).put((byte) Math.max(-LARGEST, Math.min(LARGEST, code)));
        }
    }
}
