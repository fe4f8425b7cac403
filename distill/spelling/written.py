"""Text that people may type otherwise: pieces of a language as they are written, its words, and phrases of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..encoders.tokenizer import SPACE, Tokenizer, model_proto
from ..students.vocabulary.pieces import piece_counts
from ..system.types import Doubles, Integers

# A piece that no text holds counts as so many uses; a word of more pieces is left to these.
UNSEEN, LONGEST = 0.05, 4
# Words of a phrase, its uses, and pieces, at most.
WORDS, USES, PIECES = 3, 3, 12


@dataclass(frozen=True)
class Written:
    """A text as it is written: the `ids` of its pieces, its `share` of the language's pieces, and its `score`.

    With `begins` a blank stands before it.
    """

    text: str
    ids: tuple[int, ...]
    share: float
    score: float
    begins: bool = True


class Pieces:
    """The pieces of a tokenizer, without its spellings."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        proto = model_proto(tokenizer)
        self.tokenizer, self.names = tokenizer, [piece.piece for piece in proto.pieces]
        self.scores = np.array([piece.score for piece in proto.pieces])
        self.normal = np.array([piece.type == piece.NORMAL for piece in proto.pieces])
        self.known = set(self.names)

    def counts(self, lines: Sequence[str]) -> Integers:
        """How often lines use each piece, `(pieces,)`."""
        return piece_counts(self.tokenizer, list(lines))

    def cut(self, texts: Sequence[str], bare: bool) -> list[tuple[int, ...]]:
        """The ids of texts; `bare`: without the blank that stands before each."""
        rows = (ids[1:-1] for ids in self.tokenizer.encode(list(texts), None))
        return [tuple(ids[1:] if bare and self.names[ids[0]] == SPACE else ids) for ids in rows if ids]

    def score(self, ids: Sequence[int]) -> float:
        """The sum of the scores of pieces."""
        return float(self.scores[list(ids)].sum())


def written_pieces(pieces: Pieces, used: Iterable[int], counts: Integers) -> Iterator[Written]:
    """Yield the normal pieces among those `used` that hold a letter; `counts` are their uses, `(pieces,)`."""
    whole = max(1, counts.sum())
    for id in used:
        name = pieces.names[id]
        if pieces.normal[id] and any(map(str.isalpha, name)):
            text, share = name.replace(SPACE, " ").strip(), (counts[id] + UNSEEN) / whole
            yield Written(text, (int(id),), share, float(pieces.scores[id]), name.startswith(SPACE))


def written_words(pieces: Pieces, words: Mapping[str, float], bare: bool) -> Iterator[Written]:
    """Yield the words, `{word: frequency}`, that are cut into a few pieces; `bare`: no blank stands before a word."""
    for word, ids in zip(words, pieces.cut(list(words), bare), strict=True):
        if 1 < len(ids) <= LONGEST and pieces.normal[list(ids)].all():
            yield Written(word, ids, words[word], pieces.score(ids))


def written_phrases(pieces: Pieces, lines: Sequence[Sequence[str]], most: int) -> Iterator[Written]:
    """Yield the commonest phrases of the words in lines that are written without blanks, as most of one sound differ.

    A phrase scores the logarithm of its share, which for a likely one is above that of its words apart.
    """
    counts = Counter(phrase for words in lines for phrase in _phrases(words))
    many = sum(count for phrase, count in counts.items() if len(phrase) == 1)
    often = [(phrase, count) for phrase, count in counts.items() if count >= USES and len("".join(phrase)) > 1]
    often = sorted(often, key=lambda row: (-row[1] * len("".join(row[0])), row[0]))[:most]
    texts = ["".join(phrase) for phrase, _ in often]
    for text, ids, (_, count) in zip(texts, pieces.cut(texts, True), often, strict=True):
        if len(ids) <= PIECES and pieces.normal[list(ids)].all():
            yield Written(text, ids, count / many, float(np.log(count / many)))


def _phrases(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    letters = [all(map(str.isalpha, word)) and not word.isascii() for word in words]
    for place in range(len(words)):
        for end in range(place + 1, min(place + WORDS, len(words)) + 1):
            if all(letters[place:end]):
                yield tuple(words[place:end])


def joined_words(pieces: Pieces, counts: Integers, most: int) -> Iterator[Written]:
    """Yield the commonest pieces that begin a word, as they stand where the blank before is missing."""
    whole: Doubles = counts / max(1, counts.sum())
    for id in np.argsort(-counts, kind="stable")[:most]:
        name = pieces.names[id]
        if counts[id] >= USES and name.startswith(SPACE) and SPACE not in name[1:] and len(name) > LONGEST:
            yield Written(name[1:], (int(id),), float(whole[id]), float(pieces.scores[id]), False)
