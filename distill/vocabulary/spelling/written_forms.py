"""Collect written text that has noisy forms: the tokens of a language, its words, and phrases of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...encoders.tokenizer import SPACE, Tokenizer, model_proto
from ...students.vocabulary.pieces import count_tokens
from ...system.types import Doubles, Integers

# The uses that are counted for a token that no text holds, and the greatest number of tokens of a word. The tokens of a
# longer word have aliases of their own.
UNSEEN, LONGEST = 0.05, 4
# The greatest number of words of a phrase, the least number of its uses, and the greatest number of its tokens.
WORDS, USES, PIECES = 3, 3, 12


@dataclass(frozen=True)
class WrittenText:
    """A text as it is written, its score, the sum over the tokens, and whether a blank begins it."""

    text: str
    ids: tuple[int, ...]
    share: float
    score: float
    begins: bool = True


class TokenTable:
    """The tokens of a tokenizer, without its aliases."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        proto = model_proto(tokenizer)
        self.tokenizer, self.names = tokenizer, [piece.piece for piece in proto.pieces]
        self.scores = np.array([piece.score for piece in proto.pieces])
        self.normal = np.array([piece.type == piece.NORMAL for piece in proto.pieces])
        self.known = set(self.names)

    def counts(self, lines: Sequence[str]) -> Integers:
        """Count how often lines use each token, int `(tokens,)`."""
        return count_tokens(self.tokenizer, list(lines))

    def cut(self, texts: Sequence[str], bare: bool) -> list[tuple[int, ...]]:
        """Cut texts into tokens; with `bare` the blank before each text is left out."""
        rows = (ids[1:-1] for ids in self.tokenizer.encode(list(texts), None))
        return [tuple(ids[1:] if bare and self.names[ids[0]] == SPACE else ids) for ids in rows if ids]

    def score(self, ids: Sequence[int]) -> float:
        """Return the sum of the scores of tokens."""
        return float(self.scores[list(ids)].sum())


def collect_tokens(pieces: TokenTable, used: Iterable[int], counts: Integers) -> Iterator[WrittenText]:
    """Yield the normal tokens that hold a letter, by the number of uses of each token."""
    whole = max(1, counts.sum())
    for id in used:
        name = pieces.names[id]
        if pieces.normal[id] and any(map(str.isalpha, name)):
            text, share = name.replace(SPACE, " ").strip(), (counts[id] + UNSEEN) / whole
            yield WrittenText(text, (int(id),), share, float(pieces.scores[id]), name.startswith(SPACE))


def collect_words(pieces: TokenTable, words: Mapping[str, float], bare: bool) -> Iterator[WrittenText]:
    """Yield the words that are cut into a few tokens: a `WrittenText` per word."""
    for word, ids in zip(words, pieces.cut(list(words), bare), strict=True):
        if 1 < len(ids) <= LONGEST and pieces.normal[list(ids)].all():
            yield WrittenText(word, ids, words[word], pieces.score(ids))


def collect_phrases(pieces: TokenTable, lines: Sequence[Sequence[str]], most: int) -> Iterator[WrittenText]:
    """Yield the most frequent phrases of a language that is written without blanks: a `WrittenText` per phrase.

    Words of such a language often sound alike, and phrases tell them apart. The score of a phrase is the logarithm of
    its share. For a likely phrase it is above that of its separate words.
    """
    counts = Counter(phrase for words in lines for phrase in _list_phrases(words))
    number = sum(count for phrase, count in counts.items() if len(phrase) == 1)
    often = [(phrase, count) for phrase, count in counts.items() if count >= USES and len("".join(phrase)) > 1]
    often = sorted(often, key=lambda row: (-row[1] * len("".join(row[0])), row[0]))[:most]
    texts = ["".join(phrase) for phrase, _ in often]
    for text, ids, (_, count) in zip(texts, pieces.cut(texts, True), often, strict=True):
        if len(ids) <= PIECES and pieces.normal[list(ids)].all():
            yield WrittenText(text, ids, count / number, float(np.log(count / number)))


def _list_phrases(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    letters = [all(map(str.isalpha, word)) and not word.isascii() for word in words]
    for place in range(len(words)):
        for end in range(place + 1, min(place + WORDS, len(words)) + 1):
            if all(letters[place:end]):
                yield tuple(words[place:end])


def collect_joined_words(pieces: TokenTable, counts: Integers, most: int) -> Iterator[WrittenText]:
    """Yield the most frequent tokens that begin a word, in the form in which the blank before them is missing."""
    whole: Doubles = counts / max(1, counts.sum())
    for id in np.argsort(-counts, kind="stable")[:most]:
        name = pieces.names[id]
        if counts[id] >= USES and name.startswith(SPACE) and SPACE not in name[1:] and len(name) > LONGEST:
            yield WrittenText(name[1:], (int(id),), float(whole[id]), float(pieces.scores[id]), False)
