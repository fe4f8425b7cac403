"""Make a static student to start from, with only the tokens of some texts."""

from __future__ import annotations

from collections.abc import Sequence

from ...encoders.encoder import KerasEncoder
from ..frequencies import Frequencies
from ..static.start import make_static
from .pieces import find_used_tokens, prune_tokenizer


def static_student(
    encoder: KerasEncoder, texts: Sequence[str], width: int = 256, hidden: int = 256, seed: int = 0
) -> KerasEncoder:
    """Make an untrained static encoder in an encoder's space: a text is the weighted sum of its tokens' vectors.

    It is small and fast to train, and `transfer` can start from it.

    Args:
        encoder: The encoder.
        texts: The texts, whose tokens are kept.
        width: The number of columns of the table.
        hidden: The number of units of the residual network.
        seed: The random seed.

    Returns:
        The static encoder.

    Raises:
        EncoderError: If the tokens of the encoder cannot be read.

    Example:
        >>> import distill
        >>> encoder, data = distill.load_encoder("my-encoder"), distill.load_dataset("my-data")
        >>> student = distill.static_student(encoder, data.passage_texts, width=16, hidden=8)
        >>> student.encode(["How old is it?"]).shape
        (1, 16)
    """
    tokenizer, _ = prune_tokenizer(encoder.tokenizer, find_used_tokens(encoder.tokenizer, texts))
    frequencies = Frequencies.of(tokenizer, tokenizer.encode(list(texts), None))
    model = make_static(encoder, tokenizer, frequencies, width, hidden, seed=seed)
    return KerasEncoder(model, tokenizer, "static")
