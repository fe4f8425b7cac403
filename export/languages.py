"""The languages that use each piece of an artefact's vocabulary, in bits, so that some can be taken out of it later.

Neither SentencePiece's scores nor scripts say it: of a multilingual vocabulary more than half may be Latin.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ..encoders.tokenizer import Tokenizer
from ..errors import EncoderError, InputError
from ..system.types import Booleans, Json

FILE, BITS, SPELLED, CARD_KEY = "languages.npz", "bits", "spelled", "pieces"


@dataclass(frozen=True)
class PieceLanguages:
    """The `languages` of some text, and which of them `used` `(pieces, languages)` each piece of a vocabulary.

    `spelled` `(spellings, languages)` are those of its spellings; of None any language may have any.
    """

    languages: tuple[str, ...]
    used: Booleans
    spelled: Booleans | None = None

    def of(self, languages: Sequence[str]) -> PieceLanguages:
        """Return those of some of the languages, in the order given. Raises `InputError` for others."""
        if unknown := [name for name in languages if name not in self.languages]:
            raise InputError(f"no pieces of {', '.join(unknown)}; there are of {', '.join(self.languages)}")
        columns = [self.languages.index(name) for name in languages]
        spelled = None if self.spelled is None else self.spelled[:, columns]
        return PieceLanguages(tuple(languages), self.used[:, columns], spelled)

    def with_words(self, before: int, many: int, language: str) -> PieceLanguages:
        """Return those with so many spellings of one language behind the ones that were there `before`."""
        old = np.ones((before, len(self.languages)), dtype=bool) if self.spelled is None else self.spelled
        new = np.zeros((many, len(self.languages)), dtype=bool)
        new[:, self.languages.index(language)] = True
        return replace(self, spelled=np.concatenate([old, new]))


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
    bits = np.packbits(pieces.used, axis=1)
    with open(folder / FILE, "wb") as file:
        if pieces.spelled is None:
            np.savez_compressed(file, bits=bits)
        else:
            np.savez_compressed(file, bits=bits, spelled=np.packbits(pieces.spelled, axis=1))


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
            used, spelled = (
                np.unpackbits(stored[name], axis=1, count=len(names)).astype(bool) if name in stored else None
                for name in (BITS, SPELLED)
            )
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile, zlib.error) as error:
        raise EncoderError(f"{folder / FILE}: not the languages of its pieces") from error
    if used is None or used.shape != (card["vocabulary"], len(names)):
        many = 0 if used is None else len(used)
        raise EncoderError(f"{folder / FILE}: of {many} pieces, the card says {card['vocabulary']}")
    return PieceLanguages(names, used, spelled)
