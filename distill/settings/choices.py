"""What a setting may be, by name."""

import re

OBJECTIVES = ("qq", "dd", "dq")
MORE_OBJECTIVES = ("list", "softmax")
POSITIVES = ("gold", "maxp")
MINING = ("exact", "faiss")
# What a batch of `--loss softmax` holds: the languages of its questions and passages; "en" is the teacher's.
BATCHES = ("en-en", "x-en", "x-x", "x-x-mono", "x-y")
FILTERS = ("passage", "answer", "parallel")
ENCODERS = ("single", "dual")
BM25_WORDS = ("plain", "morphology")
SPLITS = ("train", "dev", "test")
# In place of a split: all questions, to measure on.
EVERY = "all"
UNITS = ("document", "passage", "maxp")
TASKS = ("retrieval", "lareqa", "bitext")
# What `distill compare` compares unless told otherwise, and the form of what it can be told.
METRICS = ("p@1", "mrr@10", "map", "ndcg@10")
METRIC_FORM = re.compile(r"(p|mrr|ndcg)@[1-9]\d{0,5}|map|r@[1-9]\d{0,2}kt")
# No setting is a greater number.
MOST = 2**63 - 1
# What a trial of `distill tune` trains.
STAGES = ("student", "teacher", "both")
FORMATS = ("bundle", "string", "mediapipe", "mediapipe-zip", "onnx")
DENSE = ("int8", "float32")
TRAIN_PRECISIONS = ("float32", "mixed_bfloat16")
TABLES = ("uint8", "int8-row", "int4", "pq4", "pq8", "float32")
# Tables whose codewords are made before training and stay.
CODEBOOKS = ("pq4", "pq8")
KEEP = ("all", "used", "twice")
# Between two checkpoints within an epoch; one is written at the end of each epoch besides.
CHECKPOINT_SECONDS = 60.0
NOUNS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", tuple: "a list of names"}
SHAPE_NAMES = ("full", "small", "static", "tiny")
PARTS = {
    "objectives": OBJECTIVES + MORE_OBJECTIVES,
    "units": ("document", "passage"),
    "shapes": SHAPE_NAMES,
    "filters": FILTERS,
}
# Of these, settings that may be empty.
MAY_BE_EMPTY = ("filters",)
