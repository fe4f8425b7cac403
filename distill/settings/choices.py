"""Names that settings and options may have."""

import re

SPLITS = ("train", "dev", "test")
# In place of a split: all questions, to measure on.
EVERY = "all"
UNITS = ("document", "passage", "maxp")
TASKS = ("retrieval", "lareqa", "bitext")
# What `distill compare` compares unless told otherwise, and the form of what it can be told.
COMPARED_METRICS = ("p@1", "mrr@10", "map", "ndcg@10")
METRIC_FORM = re.compile(r"(p|mrr|ndcg)@[1-9]\d{0,5}|map|r@[1-9]\d{0,2}kt")
# No setting is a greater number.
MOST = 2**63 - 1
FORMATS = ("bundle", "string", "mediapipe", "mediapipe-zip", "onnx")
# The names of `export/weights/codecs.py`, which needs NumPy.
TABLES = ("uint8", "int8-row", "int4", "pq4", "pq8", "float32")
# Between two checkpoints within an epoch; one is written at the end of each epoch besides.
CHECKPOINT_SECONDS = 60.0
SHAPE_NAMES = ("full", "small", "static", "tiny")
