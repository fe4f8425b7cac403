"""An encoder with the table that its artefact will have, so that the rest can be trained to it."""

from __future__ import annotations

from collections.abc import Sequence

from ..encoders.encoder import KerasEncoder
from ..students.families import family_part, has_part
from ..students.rows import TABLE, with_table
from ..teachers.centred import ROLES
from .weights.codecs import kept
from .weights.precision import Precision


def rounded(encoder: KerasEncoder, table: str) -> KerasEncoder:
    """Return the encoder with a table that holds what the format `table` of `codecs.CODECS` keeps of it."""
    values = encoder.model.get_layer(TABLE).get_weights()[0]
    return KerasEncoder(with_table(encoder.model, kept(table, values)), encoder.tokenizer, encoder.name)


def round_dense(encoder: KerasEncoder, precision: Precision, texts: Sequence[str]) -> KerasEncoder:
    """Return the encoder with dense layers on the grid of a `precision` of 4 bits, as some texts' tokens need them.

    The encoder itself in another precision, or where its family rounds its kernels as they are.
    """
    if precision.dense != "int4" or not has_part(encoder.model.family, "rounding"):
        return encoder
    # Of both roles: what a prompt does to the tokens behind it is part of what a layer sees.
    both = (encoder.tokenizer.encode(list(texts), role) for role in ROLES)
    rows = [row for pair in zip(*both, strict=True) for row in pair]
    model = family_part(encoder.model.family, "rounding").round_blocks(encoder.model, rows)
    return KerasEncoder(model, encoder.tokenizer, encoder.name)
