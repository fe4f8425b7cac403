"""Students as modules of Sentence-Transformers: a static one as its own, an n-gram one as that of `distill_ngram`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...encoders.encoder import KerasEncoder
from ...encoders.spellings import stored
from ...encoders.tokenizer import Tokenizer, spellings_of
from ...errors import ExportError
from ...students.ngram import NGramEncoder
from ...students.static import StaticEncoder
from ...system.types import Floats, Json, Progress, Role
from ..weights.rewrite import factor_of, lifted, projection_of
from .modules import SPELLINGS, Module, dense, embedding, normalize

if TYPE_CHECKING:
    import keras

NGRAM = "distill_ngram.NGramEncoder"


class Pair(KerasEncoder):
    """An encoder of questions, with `documents` by another of the same space."""

    def __init__(self, questions: KerasEncoder, documents: KerasEncoder) -> None:
        super().__init__(questions.model, questions.tokenizer, questions.name)
        self.documents = documents

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Return the vectors by the encoder of the role."""
        return (
            self.documents.encode(texts, role, progress)
            if role == "document"
            else super().encode(texts, role, progress)
        )

    def without_spellings(self) -> Pair:
        """Return the pair, both as they read text without spellings."""
        return Pair(super().without_spellings(), self.documents.without_spellings())


def modules_of(student: KerasEncoder) -> list[Module]:
    """Return the modules that compute what a student computes. Raises `ExportError` for one that they cannot."""
    kind = ngram_modules if isinstance(student.model, NGramEncoder) else static_modules
    return kind(student)


def static_modules(student: KerasEncoder) -> list[Module]:
    """Return the modules of a static student: its rows' mean at unit length, its network, its last product.

    The network x + W2 max(0, W1 x + b) is one layer of twice the outputs, [max(0, W1 x + b), x], in front of the last
    product, which reads both.
    """
    model = student.model
    _require_static(model)
    first = [embedding(with_sums(_table(model), student.tokenizer), student.tokenizer), normalize()]
    if is_linear(model):
        return [*first, dense(lifted(model)), normalize()]
    residual, lift = model.get_layer("residual"), lifted(model)
    width, hidden = model.width, model.hidden
    kernel, bias = np.asarray(residual.first.kernel), np.asarray(residual.first.bias)
    inner = dense(
        np.concatenate([kernel, np.zeros((width, width))], axis=1),
        np.concatenate([bias, np.zeros(width)]),
        np.concatenate([np.zeros((width, hidden)), np.eye(width)], axis=1),
        relu=True,
    )
    last = np.concatenate([np.asarray(residual.second.kernel) @ lift, lift])
    return [*first, inner, dense(last), normalize()]


def _table(model: StaticEncoder) -> Floats:
    return np.asarray(model.get_layer("embedding").get_weights()[0])


def with_sums(table: Floats, tokenizer: Tokenizer) -> Floats:
    """Return a table `(pieces, d)` with a row more for each spelling: the sum of the rows that it stands for.

    A text's mean is shorter by that where its sum is the same, and neither counts at unit length.
    """
    spellings = spellings_of(tokenizer)
    if not spellings:
        return table
    starts = np.cumsum([0, *(len(one.ids) for one in spellings)])[:-1]
    sums = np.add.reduceat(table[[id for one in spellings for id in one.ids]], starts)
    return np.concatenate([table, sums])


def _require_static(model: StaticEncoder) -> None:
    if model.channels:
        raise ExportError(
            f"a static student with a window of {model.order} tokens (shape.channels = {model.channels}) is no sum of "
            "rows; export one without them, or as a bundle"
        )


def is_linear(model: StaticEncoder) -> bool:
    """Return True for a static student whose network adds nothing: a text is the sum of its rows, multiplied once."""
    return not np.any(np.asarray(model.get_layer("residual").second.kernel))


def linear_rows(student: KerasEncoder) -> Floats:
    """Return the rows `(pieces, d)` of which a text's sum, at unit length, is its vector.

    Raises `ExportError` for a student that is no such sum.
    """
    model = student.model
    if not isinstance(model, StaticEncoder):
        raise ExportError(f"the format model2vec takes static students, not n-gram ones such as this; {LINEAR}")
    _require_static(model)
    if not is_linear(model):
        raise ExportError(f"the format model2vec has no place for the network behind the table; {LINEAR}")
    return with_sums(_table(model) @ lifted(model), student.tokenizer)


LINEAR = "train one without it: distill run --static --set student.trained_weights=table"


def ngram_modules(student: KerasEncoder) -> list[Module]:
    """Return the one module of an n-gram student; its spellings are among the weights, as a file of them has them."""
    model, spellings = student.model, stored(spellings_of(student.tokenizer))
    (empty,) = student.tokenizer.encode([""])
    sizes = {
        "vocabulary": model.vocabulary,
        "width": model.width,
        "rank": model.rank or 0,
        "channels": model.channels,
        "convolutions": model.convolutions,
        "hidden": model.hidden,
        "inner": model.get_layer("head").inner,
        "space": model.space or model.dimension,
        "dimension": model.dimension,
        "projected": int(model.space is not None),
        "spellings": len(spellings),
    }
    config: dict[str, Json] = {"sizes": sizes, "orders": list(model.orders), "empty": empty}
    weights: dict[str, np.ndarray] = {**ngram_weights(model), **({SPELLINGS: spellings} if len(spellings) else {})}
    return [Module(NGRAM, config, weights, student.tokenizer)]


def ngram_weights(model: NGramEncoder) -> dict[str, Floats]:
    """Return the weights of an n-gram student by the names of `distill_ngram`, kernels `(out, in)`."""
    weights = {"embedding.weight": np.asarray(model.get_layer("embedding").get_weights()[0])}
    if (factor := factor_of(model)) is not None:
        weights["factor.weight"] = factor.T
    for place, branch in enumerate(model.branches):
        weights |= _linear(f"branches.{place}.projection", branch.projection) | _norm(f"branches.{place}.norm", branch)
        for number, convolution in enumerate(branch.convolutions):
            weights |= _linear(f"branches.{place}.convolutions.{number}", convolution.dense)
    weights |= _norm("norm", model)
    pooling, head = model.get_layer("pooling"), model.get_layer("head")
    weights |= {"pooling.weight": np.asarray(pooling.dense.kernel).T, "pooling.bias": np.asarray(pooling.bias)}
    for name in head.sizes:
        weights[f"head.{name}.weight"] = np.asarray(getattr(head, name).kernel).T
    if (projection := projection_of(model)) is not None:
        weights["projection.weight"] = projection.T
    return weights


def _linear(name: str, layer: keras.layers.Dense) -> dict[str, Floats]:
    return {f"{name}.weight": np.asarray(layer.kernel).T, f"{name}.bias": np.asarray(layer.bias)}


def _norm(name: str, owner: keras.Model) -> dict[str, Floats]:
    norm = owner.get_layer("norm") if isinstance(owner, NGramEncoder) else owner.norm
    return {f"{name}.weight": np.asarray(norm.gamma), f"{name}.bias": np.asarray(norm.beta)}
