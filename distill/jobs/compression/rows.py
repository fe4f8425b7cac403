"""The rows of a search, as `trial.json` and `search.json` store them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeVar

from ...system.types import Json
from .budget import Budget
from .candidates import Candidate


@dataclass(frozen=True)
class ShapeProbe:
    """The number of weights outside the table, and the milliseconds per query, of a shape."""

    other_bytes: int
    width: int
    dense: int
    ms: float
    seconds: float = 0.0

    @classmethod
    def of(cls, stored: Mapping[str, Json]) -> ShapeProbe:
        return cls(**stored)

    def as_dict(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True)
class TrialRow:
    """A candidate measured on dev, with the percentage points that it lost of the student's mean P@1."""

    candidate: Candidate
    pieces: int
    table_bytes: int
    p1: float
    drop: float
    languages: dict[str, float]
    seconds: float = field(default=0.0, kw_only=True)

    @classmethod
    def of(cls, stored: Mapping[str, Json]) -> TrialRow:
        return cls(*_figures(stored), seconds=stored["seconds"])

    def as_dict(self) -> dict[str, Json]:
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
class BundleRow(TrialRow):
    """A candidate's bundle, measured on dev, with McNemar's test against the student.

    The milliseconds per query are 0 before the benchmark of all bundles in turns at the end of the search.
    """

    bytes: int
    mcnemar: Mapping[str, Json]
    refused: list[str]
    ms: float = field(default=0.0, kw_only=True)

    @classmethod
    def of(cls, stored: Mapping[str, Json]) -> BundleRow:
        more = (stored[name] for name in ("bytes", "mcnemar", "refused"))
        return cls(*_figures(stored), *more, seconds=stored["seconds"], ms=stored.get("ms", 0.0))

    def as_dict(self) -> dict[str, Json]:
        row = super().as_dict()
        seconds = row.pop("seconds")
        row |= {"bytes": self.bytes, "mcnemar": self.mcnemar, "refused": self.refused, "seconds": seconds}
        return {**row, "ms": self.ms} if self.ms else row


def rank_candidates(tried: Sequence[TrialRow]) -> list[Candidate]:
    """Return the candidates by P@1, best first; among equals the smaller comes first."""
    return [row.candidate for row in sorted(tried, key=lambda row: (-row.p1, row.table_bytes))]


Row = TypeVar("Row", ShapeProbe, TrialRow, BundleRow)


def _figures(stored):
    candidate = Candidate(*(stored[name] for name in ("vocabulary", "table", "shape", "trained")))
    return candidate, *(stored[name] for name in ("pieces", "table_bytes", "p@1", "drop", "languages"))


@dataclass(frozen=True)
class Cost:
    """The cost of a bundle."""

    bytes: int
    ms: float


@dataclass(frozen=True)
class SearchResult:
    """The result of a search: `chosen` is None if the gate refused all bundles, else may exceed limits by `excess`."""

    tried: list[TrialRow]
    shapes: dict[str, ShapeProbe]
    whole: Cost
    bundles: list[BundleRow]
    front: list[str]
    chosen: str | None
    excess: dict[str, tuple[float, float]]
    languages: list[str]
    budget: Budget

    def as_dict(self) -> dict[str, Json]:
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
