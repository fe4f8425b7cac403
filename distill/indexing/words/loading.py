"""The encoder of an index's words: named when the index is made, loaded when it is searched."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...catalog.identity import place, weights_fingerprint
from ...catalog.loading import load_encoder
from ...encoders.encoder import Encoder
from ...errors import DistillError, InputError, first_line
from ...system.progress import say
from ...system.types import File, Json
from .related import RelatedWords

# Entries of an index's card.
CARD = ("word_encoder", "word_fingerprint")
# The encoder of words where none is named: a static one, as a question has many words. And the name of none.
USUAL, NONE = "released-small", "none"


def name_word_encoder(
    source: File | None, card: Mapping[str, Json], known: Mapping[str, Json] | None, is_asked: bool
) -> dict[str, Json]:
    """Return the entries of an index's card on the encoder of its words; none where words have no vectors.

    Args:
        source: what a user names, `NONE` for no vectors; None for that of `known`, or `USUAL`.
        card: that of the index as it will be.
        known: the card of the index that is there, None without one.
        is_asked: whether the user asks for words, so that an index which has none, or no vectors of them, gets some.

    Raises:
        InputError: for an encoder of words that the index has not.
        EncoderError: for a name of no encoder.
    """
    if not card["hybrid"]:
        if source is not None:
            raise InputError("--word-model: the words are indexed with --hybrid alone; give it too")
        return {}
    if source is None:
        source = (known or {}).get(CARD[0]) or (USUAL if is_asked else NONE)
    if str(source) == NONE:
        return {}
    return dict(zip(CARD, (place(source), weights_fingerprint(source)), strict=True))


def load_related_words(
    sections: Mapping[str, NDArray[np.generic]], card: Mapping[str, Json], encoder: Encoder, fingerprint: str
) -> RelatedWords | None:
    """Return what finds the words of an index that are like another one; None where its words have no vectors.

    None, too, where the encoder that gave them is gone or has changed, which is said: the words themselves are still
    found. `encoder` is the one that asks, which has the `fingerprint` and may be the same.
    """
    if "words.vectors" not in sections:
        return None
    source, known = (card.get(name, "") for name in CARD)
    if known == fingerprint:
        return RelatedWords(sections, encoder)
    try:
        if weights_fingerprint(source) == known:
            return RelatedWords(sections, load_encoder(source))
        problem = f"{source} is another encoder now than the one that gave the words of the index their vectors"
    except DistillError as error:
        problem = first_line(error)
    say(f"words are found as they are written alone: {problem}; distill index --hybrid makes them anew")
    return None
