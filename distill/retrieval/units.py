"""Ranks of units and the nearest of them, computed from the vectors of the kinds of text that they are scored by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..settings.choices import UNITS_BY_NAME
from ..system.text import all_same, count_copies
from ..system.types import Floats, Integers
from ..vocabulary.words.folding import split_plain_words
from .blocks import COLUMNS, ROWS, TopScores, spans
from .exact import BlockScorer, Candidates, Pairs, candidate_ranks

# Files say the weight of a passage in thousandths.
THOUSAND = 1000


def as_thousandths(weight: float) -> int:
    """Return the weight of a passage as files say it: in thousandths, 0 for 1."""
    number = max(1, round(weight * THOUSAND))
    return 0 if number == THOUSAND else number


def from_thousandths(number: int) -> float:
    """Return the weight of a passage that a file says."""
    return (number or THOUSAND) / THOUSAND


def candidates_of(
    unit: str, vectors: Mapping[str, Floats], whole_of: Mapping[str, Integers], weight: float = 1.0
) -> Candidates:
    """Return the candidates of a unit, from vectors and wholes by kind of text, as `encode_units` names them.

    `whole_of` is `{"passage": document of each passage, "sentence": passage of each sentence}`, ascending. `weight` is
    that of a passage's own vector beside its best sentence, where a unit adds both.
    """
    rank, score = UNITS_BY_NAME[unit].rank, UNITS_BY_NAME[unit].score
    if score == "vector":
        return Candidates(vectors[rank])
    document_of = whole_of["passage"]
    if score == "maxp":
        return Candidates(vectors["passage"], document_of)
    passage_of = whole_of["sentence"]
    if score == "sentence":
        return Candidates(vectors["sentence"], document_of[passage_of] if rank == "document" else passage_of)
    above = document_of if rank == "document" else None
    return Candidates(vectors["sentence"], passage_of, vectors["passage"], above, weight)


def ranks_of(
    unit: str,
    questions: Floats,
    vectors: Mapping[str, Floats],
    gold: Integers,
    whole_of: Mapping[str, Integers],
    first_of: Integers | None = None,
    weight: float = 1.0,
) -> Integers:
    """Return the rank, from 1, of each question's document or passage, or of one with a copy of the passage.

    `gold` is the passage that answers, and `first_of` the first copy of each one, as of `system.text.number_copies`.
    """
    above = None if UNITS_BY_NAME[unit].rank == "passage" else whole_of["passage"]
    target, right = gold if above is None else above[gold], list_right(gold, first_of, above)
    return candidate_ranks(questions, candidates_of(unit, vectors, whole_of, weight), target, right=right)


def list_right(gold: Integers, first_of: Integers | None = None, whole_of: Integers | None = None) -> Pairs:
    """List the candidates that are right for each question: its own, and those that hold a copy of it.

    Of texts that are all the same, each question's own alone is right: a rank among them says nothing, and all others
    are ties, which count against. Returns the question and the candidate of each pair, integer arrays `(p,)`, each pair
    once and by question.

    Args:
        gold: Integer array `(q,)`, the text that is right.
        first_of: What `system.text.number_copies` returned for the texts; None for texts without copies.
        whole_of: Integer array `(n,)`, the candidate that each text is a part of; None if the texts are ranked.
    """
    questions, right = np.arange(len(gold)), np.asarray(gold, dtype=np.int64)
    if len(right) and first_of is not None and count_copies(first_of) and not all_same(first_of):
        order = np.argsort(first_of, kind="stable")
        begin, end = (np.searchsorted(first_of[order], first_of[right], side) for side in ("left", "right"))
        questions = np.repeat(questions, end - begin)
        right = np.concatenate([order[a:b] for a, b in zip(begin, end, strict=True)])
    candidates = right if whole_of is None else np.asarray(whole_of)[right]
    # A document may hold a text and its copy.
    pairs = np.unique(np.stack([questions, candidates]), axis=1)
    return pairs[0], pairs[1]


def first_units(
    unit: str,
    questions: Floats,
    vectors: Mapping[str, Floats],
    whole_of: Mapping[str, Integers],
    block: int = ROWS,
    weight: float = 1.0,
) -> Integers:
    """Return the document or passage that is ranked first for each question; the first of equal ones."""
    return nearest_of(unit, questions, vectors, whole_of, 1, block, weight)[0][:, 0]


def nearest_of(
    unit: str,
    questions: Floats,
    vectors: Mapping[str, Floats],
    whole_of: Mapping[str, Integers],
    k: int,
    block: int = ROWS,
    weight: float = 1.0,
) -> tuple[Integers, Floats]:
    """Return rows and scores of each question's `k` best documents or passages; of equal ones the first row's."""
    scored = BlockScorer(candidates_of(unit, vectors, whole_of, weight), COLUMNS)
    indices, values = np.empty((len(questions), k), dtype=np.int64), np.empty((len(questions), k), dtype=np.float32)
    for rows in spans(len(questions), block):
        best = TopScores(rows.stop - rows.start, k)
        for number, start in enumerate(scored.starts):
            best.add(scored(questions[rows], number), partial(_row_from, start))
        indices[rows], values[rows] = best.indices, best.values
    return indices, values


def _row_from(start, _, column):
    return start + column


# Two texts are alike if they share this part of the words of the longer one.
LEAST = 0.9
# Number of bits of the hashed set of a text's words.
BITS = 1024


def find_repeated(texts: Sequence[str], least: float = LEAST) -> list[int]:
    """Return for each text the number of the first text that it repeats, or its own number.

    Two texts are alike if they share enough words, counted with repetitions, and all of their words with a digit, as
    texts that differ in a number say different things. Of a text without words, such as emoji, the signs between
    blanks are compared. `least` is the share of the words of the longer text that both must have.
    """
    words = [_Words.of(text) for text in texts]
    originals: list[int] = []
    for number, counts in enumerate(words):
        alike = (first for first in range(number) if originals[first] == first and _alike(words[first], counts, least))
        originals.append(next(alike, number))
    return originals


@dataclass(frozen=True)
class _Words:
    """The counts of a text's words, their total, and a hashed set with one bit per word, in which words may collide."""

    counts: Counter[str]
    total: int
    bits: int

    @classmethod
    def of(cls, text):
        counts = Counter(split_plain_words(text) or text.split())
        return cls(counts, counts.total(), sum({1 << hash(word) % BITS for word in counts}))


def _alike(one, other, least):
    longer, shorter = (one, other) if one.total >= other.total else (other, one)
    needed = least * longer.total
    # Each bit that the shorter text lacks is a word that is not shared. This quick test rules out most pairs.
    if min(shorter.total, longer.total - (longer.bits & ~shorter.bits).bit_count()) < needed:
        return False
    shared = (one.counts & other.counts).total()
    return shared >= needed and _numbers(one.counts) == _numbers(other.counts)


def _numbers(counts):
    return {word: times for word, times in counts.items() if any(char.isdigit() for char in word)}
