"""Names that settings and options may have."""

SPLITS = ("train", "dev", "test")
# In place of a split: all questions, to measure on.
EVERY = "all"
# What is ranked, how it is scored, and names of both together (units.py): those that every run measures, and others.
RANKED = ("document", "passage")
SCORES = ("vector", "maxp", "sentence", "sum")
# Of a passage: its own vector's, its best sentence's, or both together. In the order of their numbers in files.
PASSAGE_SCORES = ("vector", "sentence", "sum")
UNITS = ("document", "passage", "maxp")
SENTENCE_UNITS = ("document-sentence", "document-sum", "passage-sentence", "passage-sum")
ALL_UNITS = (*UNITS, *SENTENCE_UNITS)
# The power of whitening at which each direction has the same energy.
MOST_WHITENING = 0.5
# How people type (the room `typed`).
TYPED = ("no-accents", "lower-case", "typos", "no-blanks", "speech", "latin")
# Those of which a tokenizer can have spellings.
SPELLED = ("no-accents", "lower-case", "latin", "no-blanks")
# Spellings of another kind, by what a word means (the room `languages`).
WORDS = "words"
# Rankings by words that stand in an encoder's place, and the kind of words that they compare (retrieval/bm25.py).
BM25 = {"bm25": "plain", "bm25-morphology": "morphology"}
# How predicted answers are compared with gold ones (evaluation/answers.py), and what is shown unless others are named.
NORMALISATIONS = ("plain", "morphology", "xor", "mlqa")
COMPARED = NORMALISATIONS[:2]
TASKS = ("retrieval", "lareqa", "bitext", "answerable", "classification", "reading")
# No setting is a greater number.
MOST = 2**63 - 1
FORMATS = (
    *("bundle", "string", "mediapipe", "mediapipe-zip", "onnx", "c", "web", "java", "npm"),
    *("sentence-transformers", "model2vec", "fastembed"),
)
# The names of `export/weights/codecs.py`, which needs NumPy.
TABLES = ("uint8", "int8-row", "int4", "pq4", "pq8", "int4-pq5", "int4-pq3", "float32")
# Between two checkpoints within an epoch; one is written at the end of each epoch besides.
CHECKPOINT_SECONDS = 60.0
# Of networks: each has a folder in `students/` and one in `export/families/`.
FAMILIES = ("ngram", "static", "transformer")
# Of a search: `small` is one of n-gram networks, `half` and `quarter` are shares of a transformer's layers.
SHAPE_NAMES = ("full", "small", "half", "quarter", "static", "tiny")
