"""The rows of a search, as `trial.json` and `search.json` hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeVar

from ..system.types import Json
from .budget import Budget
from .candidates import Candidate


@dataclass(frozen=True)
class Probe:
    """A shape's bytes beside table and tokenizer, its table's width, its other weights and the ms a query it takes."""

    other_bytes: int
    width: int
    dense: int
    ms: float
    seconds: float = 0.0

    @classmethod
    def of(cls, stored: Mapping[str, Json]) -> Probe:
        """The row that `as_dict` gave."""
        return cls(**stored)

    def as_dict(self) -> dict[str, Json]:
        """The row as its file has it."""
        return asdict(self)


@dataclass(frozen=True)
class Tried:
    """A candidate on dev: mean P@1, the points that it is below the student's, and P@1 by language.

    `table_bytes` are those of its table and tokenizer; `seconds` are those that the trial took.
    """

    candidate: Candidate
    pieces: int
    table_bytes: int
    p1: float
    drop: float
    languages: dict[str, float]
    seconds: float = field(default=0.0, kw_only=True)

    @classmethod
    def of(cls, stored: Mapping[str, Json]) -> Tried:
        """The row that `as_dict` gave."""
        return cls(*_figures(stored), seconds=stored["seconds"])

    def as_dict(self) -> dict[str, Json]:
        """The row as its file has it."""
        return {
            "name": self.candidate.name,
            **asdict(self.candidate),
            "pieces": self.pieces,
            "table_bytes": self.table_bytes,
            "p@1": self.p1,
            "drop": self.drop,
            "languages": self.languages,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Bundle(Tried):
    """A candidate's bundle: its own P@1, bytes and ms a query, McNemar's test against the student, and the gate's noes.

    `ms` is that of the search's last benchmark, of all bundles in turns; 0 before.
    """

    bytes: int
    mcnemar: Mapping[str, Json]
    refused: list[str]
    ms: float = field(default=0.0, kw_only=True)

    @classmethod
    def of(cls, stored: Mapping[str, Json]) -> Bundle:
        """The row that `as_dict` gave."""
        more = (stored[name] for name in ("bytes", "mcnemar", "refused"))
        return cls(*_figures(stored), *more, seconds=stored["seconds"], ms=stored.get("ms", 0.0))

    def as_dict(self) -> dict[str, Json]:
        """The row as its file has it."""
        row = super().as_dict()
        seconds = row.pop("seconds")
        row |= {"bytes": self.bytes, "mcnemar": self.mcnemar, "refused": self.refused, "seconds": seconds}
        return {**row, "ms": self.ms} if self.ms else row


def ranked(tried: Sequence[Tried]) -> list[Candidate]:
    """The candidates, the one that lost least first, of equals the smaller."""
    return [row.candidate for row in sorted(tried, key=lambda row: (-row.p1, row.table_bytes))]


Row = TypeVar("Row", Probe, Tried, Bundle)


def _figures(stored):
    candidate = Candidate(*(stored[name] for name in ("vocabulary", "table", "shape", "trained")))
    return candidate, *(stored[name] for name in ("pieces", "table_bytes", "p@1", "drop", "languages"))


@dataclass(frozen=True)
class Cost:
    """The bytes and the ms a query of a bundle."""

    bytes: int
    ms: float


@dataclass(frozen=True)
class Result:
    """A search: what was tried, the bundles, those that no other beats, and the one to ship.

    `whole` is the cost of the student's own bundle; `excess` what the chosen one has beyond the budget.
    """

    tried: list[Tried]
    shapes: dict[str, Probe]
    whole: Cost
    bundles: list[Bundle]
    front: list[str]
    chosen: str | None
    excess: dict[str, tuple[float, float]]
    languages: list[str]
    budget: Budget

    def as_dict(self) -> dict[str, Json]:
        """The content of `search.json`."""
        return {
            "tried": [row.as_dict() for row in self.tried],
            "shapes": {name: row.as_dict() for name, row in self.shapes.items()},
            "whole": asdict(self.whole),
            "bundles": [row.as_dict() for row in self.bundles],
            "front": self.front,
            "chosen": self.chosen,
            "excess": self.excess,
            "languages": self.languages,
            "budget": asdict(self.budget),
        }
