"""Units: what is ranked, a document or a passage, and how it is scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from ..errors import ConfigError
from .choices import RANKED, UNITS

# Of the pairs whose score is not said.
PLAIN = ("vector", "maxp")


@dataclass(frozen=True)
class Unit:
    """A kind of thing that is ranked (`choices.RANKED`) and its score (`choices.SCORES`).

    "vector": that of its own vector; "maxp": of a document, that of its best passage; "sentence": that of its best
    sentence; "sum": that of its best passage, which scores as its own vector's and its best sentence's together.
    """

    rank: str
    score: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The kinds of texts that are encoded for it, those that are scored first."""
        return TEXTS.get(self.score, (self.rank,))


TEXTS = {"maxp": ("passage",), "sentence": ("sentence",), "sum": ("sentence", "passage")}
# By the names in `choices.ALL_UNITS`.
BY_NAME = {
    "document": Unit("document", "vector"),
    "passage": Unit("passage", "vector"),
    "maxp": Unit("document", "maxp"),
    **{f"{rank}-{score}": Unit(rank, score) for rank in RANKED for score in ("sentence", "sum")},
}
NAMES = {unit: name for name, unit in BY_NAME.items()}


def kinds_of(units: Iterable[str]) -> tuple[str, ...]:
    """The kinds of texts that are encoded for these units, "document", "passage" and "sentence", in this order."""
    needed = {kind for unit in units for kind in BY_NAME[unit].texts}
    return tuple(kind for kind in (*RANKED, "sentence") if kind in needed)


def named_units(ranked: Sequence[str], scores: Sequence[str]) -> tuple[str, ...]:
    """The names of all pairs of these that are units, what is not said being any; none where nothing is said.

    Raises `ConfigError` for one that goes with none of the others.
    """
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


def measured_units(ranked: Sequence[str], scores: Sequence[str], *steering: str) -> tuple[str, ...]:
    """The units that a run measures: `UNITS`, those that steer its stages and those that --ranked and --score name."""
    return tuple(dict.fromkeys((*UNITS, *named_units(ranked, scores), *steering)))
