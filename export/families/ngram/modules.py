"""Convert an n-gram student to the module `distill_ngram` of Sentence-Transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....encoders.encoder import KerasEncoder
from ....encoders.spellings import pack_spellings
from ....encoders.tokenizer import list_spellings
from ....errors import EncoderError
from ....students.ngram.network import NGramEncoder
from ....system.types import Floats, Json
from ...hub.modules import LINEAR, NGRAM, SPELLINGS, Module
from ...weights.rewrite import factor_of, projection_of

if TYPE_CHECKING:
    import keras


def modules_of(student: KerasEncoder) -> list[Module]:
    """Return the one module of an n-gram student, with its spellings among the weights."""
    model, spellings = student.model, pack_spellings(list_spellings(student.tokenizer))
    (empty,) = student.tokenizer.encode([""], None)
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


def linear_rows(student: KerasEncoder) -> Floats:
    """Raise `EncoderError`, because an n-gram encoder is not a sum of rows."""
    raise EncoderError(f"the format model2vec needs a static student, this is an n-gram student; {LINEAR}")


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
