"""The pairs that a collection teaches: headings and sentences with their passages, and lines of parallel text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.parallel import Parallel
from ...system.types import Integers
from .pooled_features import PooledFeatures, PooledPassages, concatenate

# Sentences that stay in their passage: Lee et al. (2019), section 4.
LEFT_IN = 0.1
# Of a step's pairs those that a sentence asks, where headings do too, and those of parallel text, where there is any.
SENTENCES, LINES = 0.375, 0.25


@dataclass(frozen=True)
class Pairs:
    """Queries and the passages that answer them, with the `groups` `(n,)` of passages that may answer the same."""

    queries: PooledFeatures
    passages: PooledFeatures
    groups: Integers


# `(random, n)` to so many pairs.
Draw = Callable[[np.random.Generator, int], Pairs]


def pair_headings(summed: PooledPassages, asking: PooledFeatures, rows: Integers, groups: Integers) -> Draw:
    """Pair headings, by their features `(m, f)`, with the rows of their passages `(m,)`."""

    def draw(random: np.random.Generator, count: int) -> Pairs:
        chosen = random.integers(len(rows), size=count)
        return Pairs(asking.of(chosen), summed.passages.of(rows[chosen]), groups[rows[chosen]])

    return draw


def pair_sentences(summed: PooledPassages, rows: Integers, groups: Integers) -> Draw:
    """Pair sentences with their passages, usually without the sentence itself."""
    learned = np.flatnonzero(np.isin(summed.passage_of, rows) & ~summed.alone)

    def draw(random: np.random.Generator, count: int) -> Pairs:
        chosen = learned[random.integers(len(learned), size=count)]
        left = random.random(count) < LEFT_IN
        taken_out, whole = summed.without(chosen), summed.passages.of(summed.passage_of[chosen])
        features = np.where(left[:, None], whole.features, taken_out.features)
        passages = PooledFeatures(features, np.where(left[:, None], whole.counts, taken_out.counts))
        return Pairs(summed.sentences.of(chosen), passages, groups[summed.passage_of[chosen]])

    return draw


def pair_translations(sources: Sequence[Parallel], sums: Callable[[Sequence[str]], PooledFeatures]) -> Draw:
    """Pair lines with their translations into the documents' language, each source by its weight."""
    lines = [concatenate([sums(source.texts), sums(source.pivots)]) for source in sources]
    weights = np.array([source.weight for source in sources]) / sum(source.weight for source in sources)
    first = np.cumsum([0, *(len(source.texts) for source in sources)])

    def draw(random: np.random.Generator, count: int) -> Pairs:
        parts = []
        for number, drawn in enumerate(random.multinomial(count, weights)):
            length = len(sources[number].texts)
            rows = random.integers(length, size=drawn)
            groups = -1 - first[number] - rows
            parts.append(Pairs(lines[number].of(rows), lines[number].of(length + rows), groups))
        return concatenate_pairs(parts)

    return draw


def concatenate_pairs(parts: Sequence[Pairs]) -> Pairs:
    queries, passages = concatenate([part.queries for part in parts]), concatenate([part.passages for part in parts])
    return Pairs(queries, passages, np.concatenate([part.groups for part in parts]))


def mix_pairs(of_headings: Draw | None, of_sentences: Draw, of_lines: Draw | None) -> Draw:
    """Draw pairs of all kinds that there are."""

    def draw(random: np.random.Generator, count: int) -> Pairs:
        lines = round(LINES * count) if of_lines else 0
        sentences = round(SENTENCES * (count - lines)) if of_headings else count - lines
        parts = [of_sentences(random, sentences)]
        parts += [of_headings(random, count - lines - sentences)] if of_headings else []
        return concatenate_pairs(parts + ([of_lines(random, lines)] if of_lines else []))

    return draw
