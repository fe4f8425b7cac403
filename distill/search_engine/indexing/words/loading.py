"""The encoder of an index's words: named when the index is made, and loaded when it is searched."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ....encoders.catalog.identity import locate_encoder, weights_fingerprint
from ....encoders.catalog.loading import load_encoder
from ....encoders.encoder import Encoder
from ....errors import DistillError, EncoderError, InputError, first_line
from ....system.progress import say
from ....system.types import File, Json
from .related import RelatedWords

# Entries of an index's card.
CARD = ("word_encoder", "word_fingerprint")
# The encoder of words where none is named: a static one, as a question has many words. And the name of none.
USUAL, NONE = "multi12-static", "none"


def name_word_encoder(
    source: File | None, card: Mapping[str, Json], known: Mapping[str, Json] | None
) -> dict[str, Json]:
    """Return the entries of an index's card about the encoder of its words, none if it has no words.

    Args:
        source: The name that a user gives, `NONE` for no vectors; None for that of `known`, or `USUAL`.
        known: The card of the existing index, or None.

    Raises:
        InputError: If an encoder of words is given but the index has no words.
        EncoderError: If the name is that of no encoder.
    """
    if not card["hybrid"]:
        if source is not None:
            raise InputError("--word-model needs --hybrid, which indexes the words; give both")
        return {}
    named = source or (known or {}).get(CARD[0]) or USUAL
    if str(named) == NONE:
        return {CARD[0]: NONE}
    try:
        return dict(zip(CARD, (locate_encoder(named), weights_fingerprint(named)), strict=True))
    except EncoderError as error:
        if source is not None:
            raise
        raise EncoderError(
            f"the words of the index have vectors by {named}, which cannot be loaded ({first_line(error)}); "
            f"give --word-model another encoder, or {NONE}"
        ) from error


def load_related_words(
    sections: Mapping[str, NDArray[np.generic]], card: Mapping[str, Json], encoder: Encoder, fingerprint: str
) -> RelatedWords | None:
    """Return the finder of similar words of an index, or None if its words have no vectors.

    If the encoder of the words is gone or has changed, a line says so once, and no word is similar to another.
    """
    if "words.vectors" not in sections:
        return None
    source, known = (str(card.get(name)) for name in CARD)
    return RelatedWords(sections, lambda: encoder if known == fingerprint else _load_same(source, known))


def _load_same(source: str, known: str) -> Encoder | None:
    """Return the encoder of that name if it still has the known fingerprint; else print that, and return None."""
    try:
        if weights_fingerprint(source) == known:
            return load_encoder(source)
        problem = f"{source} has changed since it gave the words of the index their vectors"
    except DistillError as error:
        problem = first_line(error)
    say(f"only exact words are found: {problem}; run distill index again with --hybrid --word-model {USUAL}")
    return None
