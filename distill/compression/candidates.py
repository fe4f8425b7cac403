"""What a search tries: vocabularies and table formats, which need no training, and shapes, which do."""

from dataclasses import dataclass

from ..export.weights.codecs import CODECS
from ..students.shape import Shape
from ..students.vocabulary.vocabularies import NEW, VOCABULARIES

TABLES = tuple(codec.name for codec in CODECS.values() if codec.searched)
SHAPES = {
    "full": Shape(),
    "small": Shape(channels=128, convolutions=1, hidden=192, inner=256),
    "static": Shape(static=True, rank=256, hidden=256),
    "tiny": Shape(static=True, rank=128, hidden=128),
}


@dataclass(frozen=True)
class Candidate:
    """One point of the search: keys of `VOCABULARIES`, with or without `NEW`, of `TABLES` and of `SHAPES`."""

    vocabulary: str
    table: str
    shape: str = "full"
    trained: bool = False

    @property
    def name(self):
        return "-".join([self.shape, self.vocabulary, self.table, *(["trained"] if self.trained else [])])


def cheap():
    """All that need no training."""
    return [Candidate(vocabulary, table) for vocabulary in VOCABULARIES for table in TABLES]


def ranked(tried):
    """`[(vocabulary, table)]` of the cheap candidates' rows, the one that lost least first, of equals the smaller."""
    rows = sorted(tried, key=lambda row: (-row["p@1"], row["table_bytes"]))
    return [(row["vocabulary"], row["table"]) for row in rows]


def to_train(order, shapes, sizes, budget, new=False):
    """`{shape: Candidate or None}`: the first of `order` that keeps the budget in a shape, None where none does.

    `order`: `ranked`'s; `shapes`: by name the `ms` of each; `sizes(candidate)`: its bytes; `new`: with pieces for new
    languages.
    """
    found = {}
    for shape, row in shapes.items():
        made = [Candidate(name + NEW * new, table, shape, True) for name, table in order if _learns(shape, table)]
        fast = budget.ms is None or row["ms"] <= budget.ms
        found[shape] = next((one for one in made if fast and not _too_large(sizes(one), budget)), None)
    return found


def _learns(shape, table):
    # Codewords are made before training and stay: a static student, which is its table, could hardly learn.
    return CODECS[table].trainable or not SHAPES[shape].static


def _too_large(size, budget):
    return budget.bytes is not None and size > budget.bytes


def cost(dense, whole):
    """What an epoch of a shape with so many dense weights takes, next to one with `whole`: a rough share.

    Products are most of a step; looking up and training the rows is the rest.
    """
    return 0.2 + 0.8 * dense / whole
