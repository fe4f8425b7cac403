"""An encoder with the table that its artefact will have, so that the rest can be trained to it."""

from __future__ import annotations

from ..encoders.encoder import KerasEncoder
from ..students.rows import TABLE, with_table
from .weights.codecs import kept


def rounded(encoder: KerasEncoder, table: str) -> KerasEncoder:
    """Return the encoder with a table that holds what the format `table` of `codecs.CODECS` keeps of it."""
    values = encoder.model.get_layer(TABLE).get_weights()[0]
    return KerasEncoder(with_table(encoder.model, kept(table, values)), encoder.tokenizer, encoder.name)
