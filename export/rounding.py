"""An encoder with the table that its artefact will have, so that the rest can be trained to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..encoders.encoder import KerasEncoder
from ..encoders.tokenizer import Tokenizer
from ..students.families import family_part, has_part
from ..students.rows import TABLE, with_table
from ..students.sampling import SEEN, draw_rows
from ..students.vocabulary.pieces import has_free_order, in_order
from ..system.types import Model
from .weights.codecs import kept
from .weights.precision import Precision

# Tokens from which on a text is taken for a passage, and texts of a language that are looked at.
PASSAGE, MOST_TEXTS = 48, 4_000


def rounded(encoder: KerasEncoder, table: str) -> KerasEncoder:
    """Return the encoder with a table that holds what the format `table` of `codecs.CODECS` keeps of it."""
    values = encoder.model.get_layer(TABLE).get_weights()[0]
    return KerasEncoder(with_table(encoder.model, kept(table, values)), encoder.tokenizer, encoder.name)


def promote_rows(encoder: KerasEncoder, precision: Precision) -> tuple[KerasEncoder, Precision]:
    """Return the encoder as a table of codewords keeps it best, and the precision with that table.

    Rows that moved, and that codewords would change most, stand behind the frequent ones, where they have 4 bits a
    number: see `StoredTable.promote`. Where the order of the pieces is not free, all rows stay in their places, and
    where the precision has no stored table, nothing changes.
    """
    if not precision.stored:
        return encoder, precision
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    if not has_free_order(encoder.tokenizer):
        return encoder, replace(precision, stored=precision.stored.again(table))
    stored, order = precision.stored.promote(table)
    return in_order(encoder, order), replace(precision, stored=stored)


def round_dense(encoder: KerasEncoder, precision: Precision, texts: Mapping[str, Sequence[str]]) -> KerasEncoder:
    """Return the encoder with dense layers on the grid of a `precision` of 4 bits, as the tokens of texts need them.

    `texts` are by language. Half of the tokens are of short ones, read as questions, as many of each language; the
    other half of passages, see `draw_by_role`. The layers make up for what the precision changes in the table, too. The
    encoder itself is returned in another precision, or where its family rounds its kernels as they are.
    """
    if not rounds_blocks(encoder.model, precision):
        return encoder
    rows, table = draw_by_role(encoder.tokenizer, texts, SEEN), encoder.model.get_layer(TABLE).get_weights()[0]
    stored = with_table(encoder.model, precision.kept(table))
    model = family_part(encoder.model.family, "rounding").round_blocks(stored, rows, towards=encoder.model)
    return KerasEncoder(with_table(model, table), encoder.tokenizer, encoder.name)


def rounds_blocks(model: Model, precision: Precision) -> bool:
    """Return whether a model's kernels are rounded to what their inputs need, in a precision of 4 bits."""
    return precision.dense == "int4" and has_part(model.family, "rounding")


def draw_by_role(tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]], most: int) -> list[list[int]]:
    """Return id lists of about `most` ids together: half of short texts as questions, half of long ones as documents.

    Short are those below `PASSAGE` tokens, of which each language has as many; of long ones any language's are drawn.
    Where none is short, or none is long, all texts stand in for them.
    """
    random = np.random.default_rng(0)
    some = [[several[place] for place in random.permutation(len(several))[:MOST_TEXTS]] for several in texts.values()]
    questions = [tokenizer.encode(several, "question") for several in some]
    short = [[ids for ids in rows if len(ids) < PASSAGE] for rows in questions]
    short = short if any(short) else questions
    documents = [ids for several in some for ids in tokenizer.encode(several, "document")]
    long = [ids for ids in documents if len(ids) >= PASSAGE] or documents
    each = most // 2 // max(1, len(short))
    return [row for rows in short for row in draw_rows(rows, each, random)] + draw_rows(long, most // 2, random)
