"""Spellings that a tokenizer may get, by what they stand for and who types so."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..encoders.spellings import Spelling
from ..encoders.tokenizer import SPACE
from ..typed.kinds import UNSPACED, typed
from .written import Pieces, Written

Cell = tuple[str, str]
# Writers that are drawn of those who write in Latin letters, and their first seed: those of `distill evaluate --typed`
# have others.
LATIN, JOINED = "latin", "no-blanks"
DRAWS, FIRST = 12, 1000
# Letters of a spelling; of one in Latin letters that no blank stands before.
SHORTEST, INSIDE = 2, 5
# What a word costs more where no blank stands before it.
MISSING_BLANK = 2.0


@dataclass
class Candidate:
    """The `meant` of a spelling, `{ids: share}`, the best score of these, and its shares by kind and language."""

    meant: defaultdict[tuple[int, ...], float] = field(default_factory=lambda: defaultdict(float))
    score: float = float("-inf")
    cells: defaultdict[Cell, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def share(self) -> float:
        """Its share of the pieces of text as people type it."""
        return sum(self.cells.values())

    @property
    def cell(self) -> Cell:
        """The kind and the language that it is used in most."""
        return max(self.cells, key=lambda cell: (self.cells[cell], cell))

    def spelling(self, piece: str) -> Spelling:
        """The spelling, of what it stands for most often."""
        return Spelling(piece, self.score, max(self.meant, key=lambda ids: (self.meant[ids], ids)))

    def add(self, row: Written, share: float, cell: Cell, penalty: float = 0.0) -> None:
        """Count that this stands for `row` in a share of text."""
        self.meant[row.ids] += share
        self.cells[cell] += share
        self.score = max(self.score, row.score - penalty)


class Candidates(defaultdict[str, Candidate]):
    """`{piece: Candidate}` of pieces that a tokenizer lacks."""

    def __init__(self, pieces: Pieces) -> None:
        super().__init__(Candidate)
        self._pieces = pieces

    def add_typed(self, rows: Iterable[Written], language: str, kind: str) -> None:
        """Count rows as people type them, by a kind that their language has."""
        ways = list(_typed(rows, language, kind))
        names = self._pieces.tokenizer.normalize([text for _, text, _ in ways])
        for (row, _, share), name in zip(ways, names, strict=True):
            for piece in _forms(name.strip(f"{SPACE} ").replace(" ", SPACE), row, language, kind):
                self._add(piece, row, share, (kind, language))

    def add_joined(self, rows: Iterable[Written], language: str) -> None:
        """Count rows as they stand where a blank is missing."""
        for row in rows:
            self._add(row.text, row, row.share, (JOINED, language), MISSING_BLANK)

    def _add(self, piece, row, share, cell, penalty=0.0):
        # A program has room for as many ids as the text has bytes.
        if piece not in self._pieces.known and len(row.ids) <= len(piece.encode()):
            self[piece].add(row, share, cell, penalty)


def _typed(rows: Iterable[Written], language: str, kind: str) -> Iterator[tuple[Written, str, float]]:
    """Each row with a way to type it and its share; all ways that writers have who are drawn."""
    draws = DRAWS if kind == LATIN else 1
    for row in rows:
        ways = Counter(" ".join(typed(row.text, language, kind, FIRST + draw).split()) for draw in range(draws))
        ways.pop(row.text, None)
        yield from ((row, way, row.share * count / draws) for way, count in ways.items() if way)


def _forms(text: str, row: Written, language: str, kind: str) -> Iterator[str]:
    """The pieces of a spelling: of a language without blanks, which is typed with them in Latin letters, two."""
    unspaced = language in UNSPACED
    long_enough = len(text) >= SHORTEST or kind == "no-accents"
    if long_enough and (row.begins or unspaced):
        yield SPACE + text
    inside = SPACE not in text and (unspaced or kind != LATIN or len(text) >= INSIDE)
    if long_enough and inside and (unspaced or not row.begins):
        yield text
