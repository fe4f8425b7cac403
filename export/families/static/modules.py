"""Convert a static student to modules of Sentence-Transformers, or to the rows of a model2vec."""

from __future__ import annotations

import numpy as np

from ....encoders.encoder import KerasEncoder
from ....encoders.tokenizer import Tokenizer, list_spellings
from ....errors import EncoderError
from ....students.static.network import StaticEncoder
from ....system.types import Floats
from ...hub.modules import LINEAR, Module, dense_module, embedding_module, normalize_module
from ...weights.rewrite import merge_projection


def modules_of(student: KerasEncoder) -> list[Module]:
    """Return the modules of a static student: the mean of its embeddings at unit length, its network, its last product.

    The network x + W2 max(0, W1 x + b) becomes one layer with more outputs, [max(0, W1 x + b), x], in front of the last
    product, which reads both.
    """
    model = student.model
    _require_static(model)
    first = [embedding_module(add_sums(_table(model), student.tokenizer), student.tokenizer), normalize_module()]
    if is_linear(model):
        return [*first, dense_module(merge_projection(model)), normalize_module()]
    residual, lift = model.get_layer("residual"), merge_projection(model)
    width, hidden = model.width, model.hidden
    kernel, bias = np.asarray(residual.first.kernel), np.asarray(residual.first.bias)
    inner = dense_module(
        np.concatenate([kernel, np.zeros((width, width))], axis=1),
        np.concatenate([bias, np.zeros(width)]),
        np.concatenate([np.zeros((width, hidden)), np.eye(width)], axis=1),
        relu=True,
    )
    last = np.concatenate([np.asarray(residual.second.kernel) @ lift, lift])
    return [*first, inner, dense_module(last), normalize_module()]


def _table(model: StaticEncoder) -> Floats:
    return np.asarray(model.get_layer("embedding").get_weights()[0])


def add_sums(table: Floats, tokenizer: Tokenizer) -> Floats:
    """Add a row for each spelling to a table `(tokens, d)`: the sum of the rows that it stands for.

    A text's mean is then over fewer tokens while its sum is the same, which makes no difference at unit length.
    """
    spellings = list_spellings(tokenizer)
    if not spellings:
        return table
    starts = np.cumsum([0, *(len(one.ids) for one in spellings)])[:-1]
    sums = np.add.reduceat(table[[id for one in spellings for id in one.ids]], starts)
    return np.concatenate([table, sums])


def _require_static(model: StaticEncoder) -> None:
    if model.channels:
        raise EncoderError(
            f"a static student with a window of {model.order} tokens (shape.channels = {model.channels}) is no sum of "
            "rows; export one without them, or as a bundle"
        )


def is_linear(model: StaticEncoder) -> bool:
    """Return True if the network of a static student adds nothing, so that a text is a sum of rows times one matrix."""
    return not np.any(np.asarray(model.get_layer("residual").second.kernel))


def linear_rows(student: KerasEncoder) -> Floats:
    """Return rows `(tokens, d)` whose sum over a text's tokens, at unit length, is the text's vector."""
    model = student.model
    _require_static(model)
    if not is_linear(model):
        raise EncoderError(f"the format model2vec does not support a network behind the table; {LINEAR}")
    return add_sums(_table(model) @ merge_projection(model), student.tokenizer)
