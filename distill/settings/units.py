"""Units of retrieval: a document or a passage as the thing that is ranked, with the way to score it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from ..errors import ConfigError
from .choices import RANKED, UNITS

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
        return TEXTS.get(self.score, (self.rank,))


TEXTS = {"maxp": ("passage",), "sentence": ("sentence",), "sum": ("sentence", "passage")}
# The units by their names in `choices.ALL_UNITS`.
BY_NAME = {
    "document": Unit("document", "vector"),
    "passage": Unit("passage", "vector"),
    "maxp": Unit("document", "maxp"),
    **{f"{rank}-{score}": Unit(rank, score) for rank in RANKED for score in ("sentence", "sum")},
}
NAMES = {unit: name for name, unit in BY_NAME.items()}


def list_text_kinds(units: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds of texts that units need, among "document", "passage" and "sentence", in this order."""
    needed = {kind for unit in units for kind in BY_NAME[unit].texts}
    return tuple(kind for kind in (*RANKED, "sentence") if kind in needed)


def combine_units(ranked: Sequence[str], scores: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the units that combine given ranked things and scores; where none is given any will do."""
    if not ranked and not scores:
        return ()
    pairs = [Unit(*pair) for pair in product(ranked or RANKED, scores or PLAIN)]
    units = [unit for unit in pairs if unit in NAMES]
    used = {part for unit in units for part in (unit.rank, unit.score)}
    if left := [part for part in (*ranked, *scores) if part not in used]:
        raise ConfigError(
            f"evaluation.score: no unit of --ranked {','.join(ranked)} --score {','.join(scores)} has "
            f"{', '.join(left)}; maxp is of documents alone"
        )
    return tuple(NAMES[unit] for unit in units)


def list_measured_units(ranked: Sequence[str], scores: Sequence[str], *steering: str) -> tuple[str, ...]:
    """Return the units that a run measures: `UNITS`, those of the options, and the steering ones."""
    return tuple(dict.fromkeys((*UNITS, *combine_units(ranked, scores), *steering)))
