"""Questions with the passages that answer them, in many languages: what a retriever learns from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..system.types import Integers
from .dataset import Dataset, Question
from .more_questions import Collection
from .parallel import Parallel
from .pool import Pool

NONE = -1


@dataclass(frozen=True)
class More:
    """Questions of other collections: those from `first` on, of which `rows_of(epoch)`, counted from it, are asked."""

    first: int
    rows_of: Callable[[int], Integers]


@dataclass(frozen=True)
class Pairs:
    """`questions` `(n,)`, each with rows of `passages` that answer it and rows that do not.

    `passages` `(p,)` are texts in `languages` `(p,)`; those of one `content`, int `(p,)`, are translations of each
    other. `positives` `(n,)` and `negatives` `(n,)` are int arrays: at least one positive each, negatives perhaps none.
    A sentence of a passage has a content of its own, and that passage's in `whole`, int `(p,)`, None where all passages
    are whole. Questions from `first` of `more` on are of other collections.
    """

    questions: tuple[Question, ...]
    passages: tuple[str, ...]
    languages: NDArray[np.str_]
    content: Integers
    positives: tuple[Integers, ...]
    negatives: tuple[Integers, ...]
    whole: Integers | None = None
    more: More | None = None

    @property
    def wholes(self) -> Integers:
        """int `(p,)`: the content of each passage, of a sentence that of its passage."""
        return self.content if self.whole is None else self.whole

    @cached_property
    def asked_in(self) -> NDArray[np.str_]:
        """`(n,)`: the language of each question."""
        return np.array([question.language for question in self.questions])

    @cached_property
    def place(self) -> dict[tuple[int, str], int]:
        """`{(content, language): row}` of the passages."""
        keys = zip(self.content.tolist(), self.languages.tolist(), strict=True)
        return {key: row for row, key in enumerate(keys)}

    def in_language(self, row: int, language: str) -> int:
        """The row of a passage's translation, or itself where there is none."""
        return self.place.get((int(self.content[row]), language), int(row))

    def with_negatives(self, negatives: Sequence[Integers]) -> Pairs:
        """The same pairs with other hard negatives, `(n,)` arrays of rows."""
        return replace(self, negatives=tuple(negatives))


def gold_pairs(dataset: Dataset, contexts: Mapping[str, Sequence[str]], languages: Sequence[str]) -> Pairs:
    """`Pairs` of the train questions in `languages` with their own passages, in every language of `contexts`.

    `contexts`: `{language: texts (p,)}` of the data set's passages, as `contexts.read_contexts` gives them: first as
    they are, each in its language, then in translation.
    """
    size, spoken = len(dataset.passages), tuple(contexts)
    questions = [question for language in languages for question in dataset.select(language, "train")]
    translations = np.arange(len(spoken)) * size
    return Pairs(
        questions=tuple(questions),
        passages=tuple(text for texts in contexts.values() for text in texts),
        languages=np.array(
            [*dataset.passage_languages, *(language for language in spoken[1:] for _ in range(size))], dtype=np.str_
        ),
        content=np.tile(np.arange(size), len(spoken)),
        positives=tuple(translations + question.passage for question in questions),
        negatives=tuple(np.zeros(0, dtype=np.int64) for _ in questions),
    )


def sentence_pairs(dataset: Dataset, pool: Pool, languages: Sequence[str]) -> Pairs:
    """`Pairs` of the train questions in `languages` with the sentences of a `Pool` that answer them, in its languages.

    LAReQA (Roy et al., 2020, section 4). A question that the pool has no answer of is left out. Sentences that answer
    one question are translations of each other.
    """
    targets = {id: rows[rows != NONE] for id, rows in zip(pool.ids, pool.targets, strict=True)}
    train = [question for language in languages for question in dataset.select(language, "train")]
    questions = [question for question in train if len(targets.get(question.id, ()))]
    content = np.arange(len(pool.sentences))
    for question in questions:
        rows = targets[question.id]
        content[rows] = content[rows].min()
    return Pairs(
        questions=tuple(questions),
        passages=pool.sentences,
        languages=np.array(pool.languages, dtype=np.str_)[pool.language_of],
        content=content,
        positives=tuple(targets[question.id] for question in questions),
        negatives=tuple(np.zeros(0, dtype=np.int64) for _ in questions),
    )


def with_sentences(pairs: Pairs, sentences: Sequence[str | None]) -> Pairs:
    """The pairs, and among the positives of each question its sentence, a text out of the first of them, or None."""
    first, content = len(pairs.passages), int(pairs.content.max(initial=-1)) + 1
    keys = [
        None if text is None else (int(pairs.wholes[known[0]]), text)
        for known, text in zip(pairs.positives, sentences, strict=True)
    ]
    row_of = {key: row for row, key in enumerate(dict.fromkeys(key for key in keys if key is not None))}
    spoken = {key: pairs.languages[known[0]] for known, key in zip(pairs.positives, keys, strict=True)}
    return replace(
        pairs,
        passages=(*pairs.passages, *(text for _, text in row_of)),
        languages=np.concatenate([pairs.languages, np.array([spoken[key] for key in row_of], dtype=np.str_)]),
        content=np.concatenate([pairs.content, content + np.arange(len(row_of))]),
        whole=np.concatenate([pairs.wholes, np.array([of for of, _ in row_of], dtype=np.int64)]),
        positives=tuple(
            known if key is None else np.append(known, first + row_of[key])
            for known, key in zip(pairs.positives, keys, strict=True)
        ),
    )


def with_collection(pairs: Pairs, collection: Collection, language: str, rows_of: Callable[[int], Integers]) -> Pairs:
    """The pairs, and after them those of a `Collection` in `language`, of which an epoch asks `rows_of` it."""
    first, content = len(pairs.passages), int(pairs.content.max(initial=-1)) + 1
    return replace(
        pairs,
        questions=(*pairs.questions, *collection.questions),
        passages=(*pairs.passages, *collection.passages),
        languages=np.concatenate([pairs.languages, np.full(len(collection.passages), language)]),
        content=np.concatenate([pairs.content, content + np.arange(len(collection.passages))]),
        whole=np.concatenate([pairs.wholes, content + collection.document_of]),
        positives=(*pairs.positives, *(first + rows for rows in collection.positives)),
        negatives=(*pairs.negatives, *(np.zeros(0, dtype=np.int64) for _ in collection.questions)),
        more=More(len(pairs.questions), rows_of),
    )


def with_lines(pairs: Pairs, sources: Sequence[Parallel], pivot: str) -> Pairs:
    """The pairs, and after them those of parallel text, `[parallel.Parallel]`: a line asks for its translation.

    Each line is a question whose positive is its pivot, the same in `pivot`, the teacher's language. Lines of one pivot
    have its number as their id, so that they are parallel.
    """
    lines = [line for source in sources for line in zip(source.texts, source.languages, source.pivots, strict=True)]
    row_of = {text: row for row, text in enumerate(dict.fromkeys(text for _, _, text in lines))}
    rows = [row_of[text] for _, _, text in lines]
    questions = [
        Question(f"line {row}", language, text, row) for (text, language, _), row in zip(lines, rows, strict=True)
    ]
    first, content = len(pairs.passages), int(pairs.content.max(initial=-1)) + 1
    return replace(
        pairs,
        questions=(*pairs.questions, *questions),
        passages=(*pairs.passages, *row_of),
        languages=np.concatenate([pairs.languages, np.full(len(row_of), pivot)]),
        content=np.concatenate([pairs.content, content + np.arange(len(row_of))]),
        whole=np.concatenate([pairs.wholes, content + np.arange(len(row_of))]),
        positives=(*pairs.positives, *(np.array([first + row]) for row in rows)),
        negatives=(*pairs.negatives, *(np.zeros(0, dtype=np.int64) for _ in rows)),
    )
