package distill;

/** The sections of an index of 8 bits a number and without words, in the order in which they are written. */
enum Part {
    CARD("card", Sections.UINT8, null, 1),
    NUMBERS("numbers", Sections.INT32, null, 1),
    PASSAGE_VECTORS("passage_vectors", Sections.INT8, Unit.PASSAGE, 0),
    PASSAGE_SCALES("passage_scales", Sections.FLOAT32, Unit.PASSAGE, 1),
    SENTENCE_VECTORS("sentence_vectors", Sections.INT8, Unit.SENTENCE, 0),
    SENTENCE_SCALES("sentence_scales", Sections.FLOAT32, Unit.SENTENCE, 1),
    SENTENCE_STARTS("sentence_starts", Sections.UINT32, null, 1),
    TEXT_LENGTHS("text_lengths", Sections.UINT32, Unit.PASSAGE, 1),
    DOCUMENT_OF("document_of", Sections.UINT32, null, 1),
    PASSAGE_OFFSETS("passage_offsets", Sections.UINT32, Unit.PASSAGE, 1),
    DOCUMENT_STARTS("document_starts", Sections.UINT64, null, 1),
    SENTENCE_BOUNDS("sentence_bounds", Sections.UINT32, Unit.SENTENCE, 2),
    DOCUMENTS("documents", Sections.UINT8, Unit.OBJECT, 1),
    TEXT("text", Sections.UINT8, Unit.TEXT, 1),
    TEXT_BLOCKS("text_blocks", Sections.UINT64, null, 1);

    /** What a row of a section is of: a passage, a sentence, a byte of text, or one of what is kept of a document. */
    enum Unit { PASSAGE, SENTENCE, TEXT, OBJECT }

    final String section;
    final int type;
    /** That of sections whose rows are written as they are, else null. */
    final Unit unit;
    private final int columns;

    Part(String section, int type, Unit unit, int columns) {
        this.section = section;
        this.type = type;
        this.unit = unit;
        this.columns = columns;
    }

    /** The numbers of a row, of vectors those of the encoder's. */
    int columns(int dimension) {
        return columns == 0 ? dimension : columns;
    }

    /** The dimensions of the section. */
    int dimensions() {
        return columns == 1 ? 1 : 2;
    }
}
