"""Round an encoder's table as its artefact will store it, so that the rest of the network can be trained to fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..encoders.batching import SAMPLE_TOKENS, draw_texts
from ..encoders.encoder import KerasEncoder
from ..encoders.tokenizer import Tokenizer
from ..students.embeddings import TABLE, replace_table
from ..students.families import has_part, import_part
from ..students.vocabulary.pieces import has_free_order, reorder_encoder
from ..system.types import Model
from .weights.codecs import round_trip
from .weights.precision import Precision

# The number of tokens from which a text counts as a passage, and the number of texts that are read per language.
PASSAGE, MOST_TEXTS = 48, 4_000


def round_table(encoder: KerasEncoder, table: str) -> KerasEncoder:
    """Return an encoder whose table is rounded to what a storage format, a key of `CODECS`, keeps."""
    values = encoder.model.get_layer(TABLE).get_weights()[0]
    return KerasEncoder(replace_table(encoder.model, round_trip(table, values)), encoder.tokenizer, encoder.name)


def promote_rows(encoder: KerasEncoder, precision: Precision) -> tuple[KerasEncoder, Precision]:
    """Give the embeddings that changed most more bits in a table of codewords.

    Embeddings that moved, and that codewords would change most, are placed behind the frequent ones, which have 4 bits
    per number; see `StoredTable.promote`. Without a stored table, or if the order of the tokens is not free, nothing
    changes.
    """
    if not precision.stored:
        return encoder, precision
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    if not has_free_order(encoder.tokenizer):
        return encoder, replace(precision, stored=precision.stored.requantize(table))
    stored, order = precision.stored.promote(table)
    return reorder_encoder(encoder, order), replace(precision, stored=stored)


def round_dense(encoder: KerasEncoder, precision: Precision, texts: Mapping[str, Sequence[str]]) -> KerasEncoder:
    """Round the dense layers to 4 bits such that their outputs on the tokens of some texts change least.

    Half of the tokens come from short texts, read as questions, with the same number for each language; the other half
    comes from passages, see `draw_by_role`. The layers also compensate for what the precision changes in the table.
    Nothing changes if the precision is not int4, or the family rounds kernels without looking at their inputs.
    """
    if not has_rounded_blocks(encoder.model, precision):
        return encoder
    rows, table = draw_by_role(encoder.tokenizer, texts, SAMPLE_TOKENS), encoder.model.get_layer(TABLE).get_weights()[0]
    stored = replace_table(encoder.model, precision.round_trip(table))
    model = import_part(encoder.model.family, "rounding").round_blocks(stored, rows, towards=encoder.model)
    return KerasEncoder(replace_table(model, table), encoder.tokenizer, encoder.name)


def has_rounded_blocks(model: Model, precision: Precision) -> bool:
    """Return True if a model's kernels are rounded to suit their inputs, which is so with 4 bits only."""
    return precision.dense == "int4" and has_part(model.family, "rounding")


def draw_by_role(tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]], most: int) -> list[list[int]]:
    """Draw texts of about `most` ids, half of them short ones as questions, half long ones as documents.

    A text is short below `PASSAGE` tokens. Each language gets the same number of tokens of short texts; long ones are
    drawn from all languages together. If there are no short or no long texts, all texts are used instead.
    """
    random = np.random.default_rng(0)
    some = [[several[place] for place in random.permutation(len(several))[:MOST_TEXTS]] for several in texts.values()]
    questions = [tokenizer.encode(several, "question") for several in some]
    short = [[ids for ids in rows if len(ids) < PASSAGE] for rows in questions]
    short = short if any(short) else questions
    documents = [ids for several in some for ids in tokenizer.encode(several, "document")]
    long = [ids for ids in documents if len(ids) >= PASSAGE] or documents
    each = most // 2 // max(1, len(short))
    return [row for rows in short for row in draw_texts(rows, each, random)] + draw_texts(long, most // 2, random)
