"""Record which languages use each token of an artefact's vocabulary, as bits, so that some can be taken out later.

Neither SentencePiece's scores nor the scripts of tokens tell this: more than half of a multilingual vocabulary may be
Latin.
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
class TokenLanguages:
    """The languages of some text, and which of them use each token and each spelling, bool `(number, languages)`.

    Without `spelled` any language may use any spelling.
    """

    languages: tuple[str, ...]
    used: Booleans
    spelled: Booleans | None = None

    def of(self, languages: Sequence[str]) -> TokenLanguages:
        """Return the same for some of the languages, in the given order."""
        if unknown := [name for name in languages if name not in self.languages]:
            raise InputError(f"no tokens of {', '.join(unknown)} are known; expected {', '.join(self.languages)}")
        columns = [self.languages.index(name) for name in languages]
        spelled = None if self.spelled is None else self.spelled[:, columns]
        return TokenLanguages(tuple(languages), self.used[:, columns], spelled)

    def with_more_spellings(self, before: int, count: int, language: str) -> TokenLanguages:
        """Return the same with more spellings that one language uses."""
        old = np.ones((before, len(self.languages)), dtype=bool) if self.spelled is None else self.spelled
        new = np.zeros((count, len(self.languages)), dtype=bool)
        new[:, self.languages.index(language)] = True
        return replace(self, spelled=np.concatenate([old, new]))


def find_token_languages(tokenizer: Tokenizer, texts: Mapping[str, Sequence[str]], least: int = 1) -> TokenLanguages:
    """Find the languages whose texts use each token."""
    # This import needs Keras, which reading the file does not.
    from ..students.vocabulary.pieces import find_used_tokens

    used = np.zeros((len(tokenizer), len(texts)), dtype=bool)
    for column, lines in enumerate(texts.values()):
        used[sorted(find_used_tokens(tokenizer, lines, least)), column] = True
    return TokenLanguages(tuple(texts), used)


def write_languages(folder: Path, pieces: TokenLanguages) -> None:
    """Write the bits into an artefact; the same languages give the same bytes."""
    bits = np.packbits(pieces.used, axis=1)
    with open(folder / FILE, "wb") as file:
        if pieces.spelled is None:
            np.savez_compressed(file, bits=bits)
        else:
            np.savez_compressed(file, bits=bits, spelled=np.packbits(pieces.spelled, axis=1))


def read_languages(folder: Path, card: Mapping[str, Json]) -> TokenLanguages:
    pieces = card.get(CARD_KEY)
    if not isinstance(pieces, dict) or FILE not in card["files"]:
        raise EncoderError(
            f"{folder}: no {FILE} says which languages use its tokens; export it again, or use multi12-ngram"
        )
    try:
        names = tuple(pieces["languages"])
        with np.load(folder / FILE, allow_pickle=False) as stored:
            used, spelled = (
                np.unpackbits(stored[name], axis=1, count=len(names)).astype(bool) if name in stored else None
                for name in (BITS, SPELLED)
            )
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile, zlib.error) as error:
        raise EncoderError(f"{folder / FILE}: expected the languages of its tokens; export it again") from error
    if used is None or used.shape != (card["vocabulary"], len(names)):
        count = 0 if used is None else len(used)
        raise EncoderError(f"{folder / FILE}: expected {card['vocabulary']} tokens as in the card, got {count}")
    return TokenLanguages(names, used, spelled)
