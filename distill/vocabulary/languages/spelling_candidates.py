"""Candidates for token aliases: what they stand for, the text that they occur in, and written text itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...encoders.spellings import Spelling
from ...encoders.tokenizer import SPACE, Tokenizer, model_proto, with_spellings
from ...students.vocabulary.pieces import count_tokens
from ...system.types import Doubles, Integers, Progress
from ..typed.kinds import UNSPACED, add_noise

Cell = tuple[str, str]
# The number of writers in Latin letters that are drawn, and their first seed, which differs from that of `distill
# evaluate --typed`.
LATIN, JOINED = "latin", "no-blanks"
DRAWS, FIRST = 12, 1000
# The least number of letters of an alias, and of one in Latin letters without a blank before it.
SHORTEST, INSIDE = 2, 5
# The penalty of a word without a blank before it.
MISSING_BLANK = 2.0


@dataclass
class Candidate:
    """A candidate for an alias: its shares of text by the token ids that it stands for, and by kind and language."""

    meant: defaultdict[tuple[int, ...], float] = field(default_factory=lambda: defaultdict(float))
    score: float = float("-inf")
    cells: defaultdict[Cell, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def share(self) -> float:
        """The share of the tokens of noisy text that it stands for."""
        return sum(self.cells.values())

    @property
    def cell(self) -> Cell:
        """The kind and the language in which it is used most."""
        return max(self.cells, key=lambda cell: (self.cells[cell], cell))

    def spelling(self, piece: str) -> Spelling:
        """Make the alias, for the tokens that it stands for most often."""
        return Spelling(piece, self.score, max(self.meant, key=lambda ids: (self.meant[ids], ids)))

    def add(self, row: WrittenText, share: float, cell: Cell, penalty: float = 0.0) -> None:
        """Count one more text that the candidate stands for. `penalty` is the number that is taken off the score."""
        self.meant[row.ids] += share
        self.cells[cell] += share
        self.score = max(self.score, row.score - penalty)


class Candidates(defaultdict[str, Candidate]):
    """The candidates by name, `{name: Candidate}`. None of them is a token already."""

    def __init__(self, pieces: TokenTable) -> None:
        super().__init__(Candidate)
        self._pieces = pieces

    def add_typed(self, rows: Iterable[WrittenText], language: str, kind: str) -> None:
        """Count texts in their noisy form."""
        ways = list(_noisy_forms(rows, language, kind))
        names = self._pieces.tokenizer.normalize([text for _, text, _ in ways])
        for (row, _, share), name in zip(ways, names, strict=True):
            for piece in _alias_forms(name.strip(f"{SPACE} ").replace(" ", SPACE), row, language, kind):
                self._add(piece, row, share, (kind, language))

    def add_joined(self, rows: Iterable[WrittenText], language: str) -> None:
        """Count words in the form in which the blank before them is missing."""
        for row in rows:
            self._add(row.text, row, row.share, (JOINED, language), MISSING_BLANK)

    def _add(self, piece, row, share, cell, penalty=0.0):
        # The programs in C reserve one token ID per byte of the text.
        if piece not in self._pieces.known and len(row.ids) <= len(piece.encode()):
            self[piece].add(row, share, cell, penalty)


def _noisy_forms(rows: Iterable[WrittenText], language: str, kind: str) -> Iterator[tuple[WrittenText, str, float]]:
    """Yield each text with a noisy form and its share; in Latin letters there are those of several drawn writers."""
    draws = DRAWS if kind == LATIN else 1
    for row in rows:
        ways = Counter(" ".join(add_noise(row.text, language, kind, FIRST + draw).split()) for draw in range(draws))
        ways.pop(row.text, None)
        yield from ((row, way, row.share * count / draws) for way, count in ways.items() if way)


def _alias_forms(text: str, row: WrittenText, language: str, kind: str) -> Iterator[str]:
    """Yield the tokens of an alias. A language without blanks is typed with them in Latin letters, and has two."""
    unspaced = language in UNSPACED
    long_enough = len(text) >= SHORTEST or kind == "no-accents"
    if long_enough and (row.begins or unspaced):
        yield SPACE + text
    inside = SPACE not in text and (unspaced or kind != LATIN or len(text) >= INSIDE)
    if long_enough and inside and (unspaced or not row.begins):
        yield text


# The greatest share that an alias may have in written text, relative to its share in noisy text. The limit is lower in
# Latin letters, where an alias could match words of other languages.
MOST, MOST_LATIN = 0.5, 0.1
# A text that loses one alias may then use another, so the check is repeated.
ROUNDS = 3


def add_unused_aliases(
    tokenizer: Tokenizer, candidates: Mapping[str, Candidate], texts: Mapping[str, Sequence[str]], progress: Progress
) -> Tokenizer:
    """Add the candidates to a tokenizer that written text does not use."""
    kept = [candidate.spelling(piece) for piece, candidate in candidates.items()]
    most = {piece: share_limit(candidate) for piece, candidate in candidates.items()}
    for _ in range(ROUNDS):
        spelled = with_spellings(tokenizer, kept)
        written = np.max([_measure_shares(spelled, lines, progress) for lines in texts.values()], axis=0)
        limits = np.array([most[one.piece] for one in kept])
        kept = [one for one, fits in zip(kept, written <= limits, strict=True) if fits]
    return with_spellings(tokenizer, kept)


def share_limit(candidate: Candidate) -> float:
    """Return the greatest share of a language's written text that a candidate may have."""
    return (MOST_LATIN if candidate.cell[0] == LATIN else MOST) * candidate.share


def _measure_shares(tokenizer: Tokenizer, lines: Sequence[str], progress: Progress) -> Doubles:
    """Return the share of each alias in the tokens of the lines, float64 `(aliases,)`."""
    counts = count_tokens(tokenizer.unexpanded, list(lines))
    progress(len(lines))
    return counts[len(tokenizer) :] / max(1, counts.sum())


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
