"""How an artefact stores its weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...system.types import Floats, Integers
from .codecs import CODECS, encoded, kept
from .stored import StoredTable

# Tables that keep more than others, the one of fewer bytes first.
FINER = ("int4", "uint8")


@dataclass(frozen=True)
class Precision:
    """How an artefact stores its weights: `dense` is int8, int4 or float32; `table` one of `codecs.CODECS`.

    `stored` is the table that the weights started from, where its codes are to stay those of rows that did not move;
    `content` a flatbuffer that has the weights already, for a format that stores them as they are there.
    """

    dense: str = "int8"
    table: str = "uint8"
    stored: StoredTable | None = field(default=None, compare=False, repr=False)
    content: bytes | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"layers in {self.dense} and a table in {self.table}"

    def encoded(self, table: Floats) -> tuple[np.ndarray, ...]:
        """The arrays of a float32 table `(rows, width)`, codebooks last."""
        return self.stored.again(table).arrays if self.stored else encoded(self.table, table)

    def kept(self, table: Floats) -> Floats:
        """A float32 table `(rows, width)` as it is stored: encoded and decoded."""
        return self.stored.keep(table) if self.stored else kept(self.table, table)

    def taken(self, rows: Integers) -> Precision:
        """The precision of a table with these rows alone, ascending ids."""
        return replace(self, stored=self.stored.taken(rows)) if self.stored else self

    def finer(self) -> list[Precision]:
        """Return the precisions to try in turn when the gate refuses this one, each of more bytes."""
        wide = replace(self, dense="int8") if self.dense == "int4" else self
        tables = [table for table in FINER if CODECS[table].bits > CODECS[self.table].bits]
        return [wide] * (wide is not self) + [replace(wide, table=table, stored=None) for table in tables]

    def as_dict(self) -> dict[str, str]:
        """The precision as a card has it."""
        return {"dense": self.dense, "table": self.table}
