"""The values that settings and options accept by name, and the units of retrieval that some of them make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from ..errors import ConfigError

SPLITS = ("train", "dev", "test")
# The name that stands for all questions in place of a split.
EVERY = "all"
# The things that are ranked, the scores, and the names of both together (`Unit`): the units that every run measures,
# and others.
RANKED = ("document", "passage")
SCORES = ("vector", "maxp", "sentence", "sum")
# The scores of a passage: that of its own vector, that of its best sentence, or both together. Files store their places
# in this order.
PASSAGE_SCORES = ("vector", "sentence", "sum")
UNITS = ("document", "passage", "maxp")
# The unit by which two encoders are compared unless told otherwise.
COMPARED_UNIT = UNITS[0]
# Those of `distill evaluate` unless told otherwise; the last one is that by which a new index ranks.
EVALUATED_UNITS = (*UNITS, "document-sum")
SENTENCE_UNITS = ("document-sentence", "document-sum", "passage-sentence", "passage-sum")
ALL_UNITS = (*UNITS, *SENTENCE_UNITS)
# The power of whitening at which each direction has the same energy.
MOST_WHITENING = 0.5
# The kinds of noise in text (the room `typed`).
TYPED = ("no-accents", "lower-case", "typos", "no-blanks", "speech", "latin")
# The kinds of noise for which a tokenizer can have aliases.
SPELLED = ("no-accents", "lower-case", "latin", "no-blanks")
# Another kind of aliases, by the meaning of a word (the room `languages`).
WORDS = "words"
# Rankings by words that can take the place of an encoder, and the kind of words that they compare (retrieval/bm25.py).
BM25 = {"bm25": "plain", "bm25-morphology": "morphology"}
# The ways to compare predicted answers with gold ones (evaluation/answers.py), and those that are shown by default.
NORMALISATIONS = ("plain", "morphology", "xor", "mlqa")
COMPARED = NORMALISATIONS[:2]
TASKS = ("retrieval", "lareqa", "bitext", "answerable", "classification", "reading")
# The most questions at a time, the most characters and tokens of each, and the most seconds until they are answered.
# export/c/distill_sqlite.c and export/web/distill.js have the same numbers.
TEXTS, CHARACTERS, PIECES, SECONDS = 2048, 20_000, 16_384, 30.0
# The greatest number that a setting may have.
MOST = 2**63 - 1
FORMATS = (
    *("bundle", "string", "mediapipe", "mediapipe-zip", "onnx", "c", "web", "java", "npm"),
    *("sentence-transformers", "model2vec", "fastembed"),
)
# The names of `export/weights/codecs.py`, which needs NumPy.
TABLES = ("uint8", "int8-row", "int4", "pq4", "pq8", "int4-pq5", "int4-pq3", "float32")
# Seconds between two checkpoints within an epoch. Another one is written at the end of each epoch.
CHECKPOINT_SECONDS = 60.0
# The families of networks. Each has a folder in `students/` and one in `export/families/`.
FAMILIES = ("ngram", "static", "transformer")
# The shapes of a search: `small` is for n-gram networks, `half` and `quarter` are shares of a transformer's layers.
SHAPE_NAMES = ("full", "small", "half", "quarter", "static", "tiny")


# The scores that are meant if none is given.
PLAIN = ("vector", "maxp")


@dataclass(frozen=True)
class Unit:
    """A kind of thing that is ranked, "document" or "passage", with the name of its score.

    "vector" is the score of its own vector, "maxp" that of the best passage of a document, "sentence" that of its best
    sentence. "sum" is that of its best passage, where the vector of the passage and its best sentence count together.
    """

    rank: str
    score: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The kinds of texts that are encoded for it; the kind that is scored comes first."""
        return SCORED.get(self.score, (self.rank,))


SCORED = {"maxp": ("passage",), "sentence": ("sentence",), "sum": ("sentence", "passage")}
# The units by their names in `ALL_UNITS`.
UNITS_BY_NAME = {
    "document": Unit("document", "vector"),
    "passage": Unit("passage", "vector"),
    "maxp": Unit("document", "maxp"),
    **{f"{rank}-{score}": Unit(rank, score) for rank in RANKED for score in ("sentence", "sum")},
}
NAMES_OF_UNITS = {unit: name for name, unit in UNITS_BY_NAME.items()}


def list_text_kinds(units: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds of texts that units need, among "document", "passage" and "sentence", in this order."""
    needed = {kind for unit in units for kind in UNITS_BY_NAME[unit].texts}
    return tuple(kind for kind in (*RANKED, "sentence") if kind in needed)


def combine_units(ranked: Sequence[str], scores: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the units that combine given ranked things and scores; where none is given any will do."""
    if not ranked and not scores:
        return ()
    pairs = [Unit(*pair) for pair in product(ranked or RANKED, scores or PLAIN)]
    units = [unit for unit in pairs if unit in NAMES_OF_UNITS]
    used = {part for unit in units for part in (unit.rank, unit.score)}
    if left := [part for part in (*ranked, *scores) if part not in used]:
        raise ConfigError(
            f"evaluation.score: no unit of --ranked {','.join(ranked)} --score {','.join(scores)} has "
            f"{', '.join(left)}; maxp is of documents alone"
        )
    return tuple(NAMES_OF_UNITS[unit] for unit in units)


def list_measured_units(ranked: Sequence[str], scores: Sequence[str], *steering: str) -> tuple[str, ...]:
    """Return the units that a run measures: `UNITS`, those of the options, and the steering ones."""
    return tuple(dict.fromkeys((*UNITS, *combine_units(ranked, scores), *steering)))
