package distill;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;

/** A document of an index that changes: rows of the sections of a file, or of sections of its own. */
final class Document {
    private final Map<Part, ByteBuffer> sections;
    private final int dimension;
    private final int[] first, count = new int[Part.Unit.values().length];

    /** Of sections by their names, and the first row of each unit in them. */
    Document(Map<Part, ByteBuffer> sections, int dimension, int... first) {
        this.sections = sections;
        this.dimension = dimension;
        this.first = first;
    }

    int count(Part.Unit unit) {
        return count[unit.ordinal()];
    }

    void setCount(Part.Unit unit, int number) {
        count[unit.ordinal()] = number;
    }

    /** Takes in the next passage of the sections. */
    void addPassage() {
        int passage = count(Part.Unit.PASSAGE);
        setCount(Part.Unit.SENTENCE, count(Part.Unit.SENTENCE) + sentences(passage));
        setCount(Part.Unit.TEXT, count(Part.Unit.TEXT) + length(passage));
        setCount(Part.Unit.PASSAGE, passage + 1);
    }

    /** The sentences of a passage, counted from the document's first one. */
    int sentences(int passage) {
        return number(Part.SENTENCE_STARTS, passage + 1) - number(Part.SENTENCE_STARTS, passage);
    }

    /** The bytes of a passage's text. */
    int length(int passage) {
        return number(Part.TEXT_LENGTHS, passage);
    }

    private int number(Part part, int passage) {
        return sections.get(part).getInt(4 * (first[Part.Unit.PASSAGE.ordinal()] + passage));
    }

    /** Its rows of a section, as bytes. */
    ByteBuffer rows(Part part) {
        int size = part.columns(dimension) * Sections.size(part.type);
        ByteBuffer rows = sections.get(part).duplicate().order(ByteOrder.LITTLE_ENDIAN);
        rows.position(first[part.unit.ordinal()] * size);
        rows.limit(rows.position() + count(part.unit) * size);
        return rows;
    }
}
