"""An encoder with the table that its artefact will have, so that the rest can be trained to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..encoders.encoder import KerasEncoder
from ..encoders.tokenizer import Tokenizer
from ..students.families import family_part, has_part
from ..students.rows import TABLE, with_table
from ..system.types import IdLists, Model
from ..teachers.centred import ROLES
from .encode import shortened
from .weights.codecs import kept
from .weights.precision import Precision

# Tokens that the layers' inputs are judged by, of all languages, and of a text at most.
SEEN, LONGEST = 60_000, 192


def rounded(encoder: KerasEncoder, table: str) -> KerasEncoder:
    """Return the encoder with a table that holds what the format `table` of `codecs.CODECS` keeps of it."""
    values = encoder.model.get_layer(TABLE).get_weights()[0]
    return KerasEncoder(with_table(encoder.model, kept(table, values)), encoder.tokenizer, encoder.name)


def round_dense(encoder: KerasEncoder, precision: Precision, texts: Mapping[str, Sequence[str]]) -> KerasEncoder:
    """Return the encoder with dense layers on the grid of a `precision` of 4 bits, as the tokens of texts need them.

    `texts` are by language, of which each has as many tokens in it. The encoder itself in another precision, or where
    its family rounds its kernels as they are.
    """
    if not rounds_blocks(encoder.model, precision):
        return encoder
    random, most = np.random.default_rng(0), SEEN // max(1, len(texts))
    rows = [row for several in texts.values() for row in draw_rows(_ids(encoder.tokenizer, several), most, random)]
    model = family_part(encoder.model.family, "rounding").round_blocks(encoder.model, rows)
    return KerasEncoder(model, encoder.tokenizer, encoder.name)


def rounds_blocks(model: Model, precision: Precision) -> bool:
    """Return whether a model's kernels are rounded to what their inputs need, in a precision of 4 bits."""
    return precision.dense == "int4" and has_part(model.family, "rounding")


def _ids(tokenizer: Tokenizer, texts: Sequence[str]) -> IdLists:
    """The ids of texts in both roles, as a prompt changes what is behind it."""
    return [ids for role in ROLES for ids in tokenizer.encode(list(texts), role)]


def draw_rows(rows: IdLists, most: int, random: np.random.Generator) -> list[list[int]]:
    """Return some id lists that have about `most` ids together, each shortened to `LONGEST`."""
    drawn = [shortened(list(rows[place]), LONGEST) for place in random.permutation(len(rows))]
    return drawn[: int(np.searchsorted(np.cumsum([len(ids) for ids in drawn]), most)) + 1]
