"""A static student to start from, with the pieces of some texts alone."""

from __future__ import annotations

from collections.abc import Sequence

from ...encoders.encoder import KerasEncoder
from ..frequencies import Frequencies
from ..static.start import static_from
from .pieces import pruned, used_pieces


def static_student(
    encoder: KerasEncoder, texts: Sequence[str], width: int = 256, hidden: int = 256, seed: int = 0
) -> KerasEncoder:
    """Return an untrained static encoder of `encoder`'s space: a text is the weighted sum of its pieces' vectors.

    Its table has `width` columns and a row for each piece that the `texts` use; `hidden` is the size of its residual
    network. It is what `transfer` can start from, small and fast to train. Raises `EncoderError` for an encoder whose
    pieces cannot be told.
    """
    tokenizer, _ = pruned(encoder.tokenizer, used_pieces(encoder.tokenizer, texts))
    frequencies = Frequencies.of(tokenizer, tokenizer.encode(list(texts), None))
    model = static_from(encoder, tokenizer, frequencies, width, hidden, seed=seed)
    return KerasEncoder(model, tokenizer, "static")
