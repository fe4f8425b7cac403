"""What a search tries: vocabularies and table formats, which need no training, and shapes, which do."""

from dataclasses import dataclass

from .students.shape import Shape

# How often a piece has to be used to stay; None keeps all.
VOCABULARIES = {"all": None, "used": 1, "twice": 2}
TABLES = ("uint8", "int4", "pq4", "pq8")
# From the largest to the smallest.
SHAPES = {
    "full": Shape(),
    "slim": Shape(convolutions=1, inner=256),
    "small": Shape(channels=128, convolutions=1, hidden=192, inner=256),
    "static": Shape(static=True, rank=256, hidden=256),
}


@dataclass(frozen=True)
class Candidate:
    """One point of the search: keys of `VOCABULARIES`, `TABLES` and `SHAPES`."""

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


def to_train(tried, probes, budget):
    """`{shape: Candidate or None}`: what to train of each shape, None where it cannot keep the budget.

    Of the vocabularies and formats that leave room for the shape those that lost least without training, the smaller of
    equals. `tried`: rows with `vocabulary`, `table`, `p@1` and `bytes` of table and tokenizer; `probes`: by shape
    `bytes` of the rest, and `ms`.
    """
    found = {}
    for shape, probe in probes.items():
        fitting = [row for row in tried if _fits(row["table_bytes"] + probe["other_bytes"], probe["ms"], budget)]
        best = max(fitting, key=lambda row: (row["p@1"], -row["table_bytes"]), default=None)
        found[shape] = best and Candidate(best["vocabulary"], best["table"], shape, True)
    return found


def _fits(bytes, ms, budget):
    return (budget.bytes is None or bytes <= budget.bytes) and (budget.ms is None or ms <= budget.ms)


def cost(dense, whole):
    """What an epoch of a shape with so many dense weights takes, next to one with `whole`: a rough share.

    Products are most of a step; looking up and training the rows is the rest.
    """
    return 0.2 + 0.8 * dense / whole
