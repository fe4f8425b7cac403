"""Choose how an artefact stores its weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...system.types import Floats, Integers
from .codecs import CODECS, encode_table, round_trip
from .stored_table import StoredTable

# The formats of tables that lose less, the smaller one first.
FINER = ("int4", "uint8")


@dataclass(frozen=True)
class Precision:
    """How an artefact stores its weights.

    Args:
        dense: The format of dense kernels: int8, int4 or float32.
        table: The format of the embedding table, a key of `CODECS`.
        stored: The table that the weights started from, if rows that did not move shall keep its codes.
    """

    dense: str = "int8"
    table: str = "uint8"
    stored: StoredTable | None = field(default=None, compare=False, repr=False)
    content: bytes | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"layers in {self.dense} and a table in {self.table}"

    def encode_table(self, table: Floats) -> tuple[np.ndarray, ...]:
        """Return the arrays that store a float32 table `(rows, width)`, codebooks last."""
        return self.stored.requantize(table).arrays if self.stored else encode_table(self.table, table)

    def round_trip(self, table: Floats) -> Floats:
        """Return a float32 table `(rows, width)` as it is stored: encoded and decoded."""
        return self.stored.keep(table) if self.stored else round_trip(self.table, table)

    def take_rows(self, rows: Integers) -> Precision:
        """Return the precision for a table with only some of its rows, given by ascending ids `(n,)`."""
        return replace(self, stored=self.stored.take_rows(rows)) if self.stored else self

    def list_finer(self) -> list[Precision]:
        """Return the precisions to try in turn if the gate refuses this one; each needs more bytes."""
        wide = replace(self, dense="int8") if self.dense == "int4" else self
        tables = [table for table in FINER if CODECS[table].bits > CODECS[self.table].bits]
        return [wide] * (wide is not self) + [replace(wide, table=table, stored=None) for table in tables]

    def as_dict(self) -> dict[str, str]:
        return {"dense": self.dense, "table": self.table}
