"""The languages that use each piece of an artefact's vocabulary, in bits, so that some can be taken out of it later.

Neither SentencePiece's scores nor scripts say it: of a multilingual vocabulary more than half may be Latin.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ..encoders.tokenizer import Tokenizer
from ..errors import EncoderError, InputError
from ..system.types import Booleans, Json

FILE, BITS, CARD_KEY = "languages.npz", "bits", "pieces"


@dataclass(frozen=True)
class PieceLanguages:
    """The `languages` of some text, and which of them `used` `(pieces, languages)` each piece of a vocabulary."""

    languages: tuple[str, ...]
    used: Booleans

    def of(self, languages: Sequence[str]) -> PieceLanguages:
        """Return those of some of the languages, in the order given. Raises `InputError` for others."""
        if unknown := [name for name in languages if name not in self.languages]:
            raise InputError(f"no pieces of {', '.join(unknown)}; there are of {', '.join(self.languages)}")
        return PieceLanguages(tuple(languages), self.used[:, [self.languages.index(name) for name in languages]])


def piece_languages(tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]], least: int = 1) -> PieceLanguages:
    """Return the languages whose `texts`, by language, use a piece `least` times or more."""
    # With Keras, which who reads them does without.
    from ..students.vocabulary.pieces import used_pieces

    used = np.zeros((len(tokenizer), len(texts)), dtype=bool)
    for column, lines in enumerate(texts.values()):
        used[sorted(used_pieces(tokenizer, lines, least)), column] = True
    return PieceLanguages(tuple(texts), used)


def write_languages(folder: Path, pieces: PieceLanguages) -> None:
    """Write the bits; the same pieces give the same bytes."""
    with open(folder / FILE, "wb") as file:
        np.savez_compressed(file, bits=np.packbits(pieces.used, axis=1))


def read_languages(folder: Path, card: Mapping[str, Json]) -> PieceLanguages:
    """Return what `write_languages` wrote beside a card. Raises `EncoderError` where it is none, or there is none."""
    pieces = card.get(CARD_KEY)
    if not isinstance(pieces, dict) or FILE not in card["files"]:
        raise EncoderError(
            f"{folder}: it does not say which languages use its pieces, no {FILE}; export it again, or take released"
        )
    try:
        names = tuple(pieces["languages"])
        with np.load(folder / FILE, allow_pickle=False) as stored:
            used = np.unpackbits(stored[BITS], axis=1, count=len(names)).astype(bool)
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile, zlib.error) as error:
        raise EncoderError(f"{folder / FILE}: not the languages of its pieces") from error
    if used.shape != (card["vocabulary"], len(names)):
        raise EncoderError(f"{folder / FILE}: of {len(used)} pieces, the card says {card['vocabulary']}")
    return PieceLanguages(names, used)
