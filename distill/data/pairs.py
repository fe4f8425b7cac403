"""Questions with the passages that answer them, in many languages, from which a retriever learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..system.files import usable_path
from ..system.types import File, Integers
from .dataset import Dataset, Question
from .more_questions import Collection
from .parallel import Parallel
from .parsing import read_columns
from .pool import Pool

NONE = -1


@dataclass(frozen=True)
class OtherQuestions:
    """Questions of other collections, from row `first` on; `rows_of(epoch)`, counted from there, are an epoch's."""

    first: int
    rows_of: Callable[[int], Integers]


@dataclass(frozen=True)
class Pairs:
    """Questions with passages that answer them and passages that do not.

    Attributes:
        questions: The questions `(n,)`.
        passages: The texts of the passages `(p,)`.
        languages: Their languages `(p,)`.
        content: A number for each passage, int `(p,)`, equal for translations of each other.
        whole: For a sentence, the content of its passage, int `(p,)`; None if all passages are whole.
        more: The questions of other collections, or None.
        contexts: The paragraphs beside the first passages, which are sentences; none without `pairs.context`.
    """

    questions: tuple[Question, ...]
    passages: tuple[str, ...]
    languages: NDArray[np.str_]
    content: Integers
    positives: tuple[Integers, ...]
    negatives: tuple[Integers, ...]
    whole: Integers | None = None
    more: OtherQuestions | None = None
    contexts: tuple[str, ...] = ()

    @property
    def wholes(self) -> Integers:
        """The content of each passage, or for a sentence that of its passage, int `(p,)`."""
        return self.content if self.whole is None else self.whole

    @cached_property
    def asked_in(self) -> NDArray[np.str_]:
        """The language of each question, `(n,)`."""
        return np.array([question.language for question in self.questions])

    @cached_property
    def place(self) -> dict[tuple[int, str], int]:
        """The row of each passage by content and language."""
        keys = zip(self.content.tolist(), self.languages.tolist(), strict=True)
        return {key: row for row, key in enumerate(keys)}

    def in_language(self, row: int, language: str) -> int:
        """Return the row of a passage's translation, or the passage itself without one."""
        return self.place.get((int(self.content[row]), language), int(row))

    def with_negatives(self, negatives: Sequence[Integers]) -> Pairs:
        """Return the pairs with other negatives, an array of rows per question."""
        return replace(self, negatives=tuple(negatives))


def make_gold_pairs(dataset: Dataset, contexts: Mapping[str, Sequence[str]], languages: Sequence[str]) -> Pairs:
    """Pair the train questions with their own passages as they are, and then in every language of `contexts`."""
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


def make_sentence_pairs(dataset: Dataset, pool: Pool, languages: Sequence[str], context: bool = False) -> Pairs:
    """Pair the train questions with the sentences that answer them. LAReQA (Roy et al., 2020), section 4.

    With `context` each sentence has its paragraph beside it. A question without an answer in the pool is left out.
    Sentences that answer one question are translations of each other.
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
        contexts=pool.contexts if context else (),
    )


def add_sentences(pairs: Pairs, sentences: Sequence[str | None]) -> Pairs:
    """Add to each question's positives a sentence, a part of its first positive, where there is one."""
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


def add_collection(pairs: Pairs, collection: Collection, language: str, rows_of: Callable[[int], Integers]) -> Pairs:
    """Append the pairs of a collection."""
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
        more=OtherQuestions(len(pairs.questions), rows_of),
    )


def add_lines(pairs: Pairs, sources: Sequence[Parallel], pivot: str) -> Pairs:
    """Append the pairs of parallel text, in which a line is the question and its translation the positive.

    Lines with the same pivot have its number as their id, so that they count as translations of each other.
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


@dataclass(frozen=True)
class Bitext:
    """Aligned sentences: `sentences[language]` has one per line of the others, and `pivot` is a side of every pair."""

    name: str
    pivot: str
    sentences: dict[str, list[str]]

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages but the pivot."""
        return tuple(language for language in self.sentences if language != self.pivot)

    @property
    def size(self) -> int:
        """The number of pairs per language."""
        return len(self.sentences[self.pivot])


def load_bitext(source: File, languages: Sequence[str] = (), pivot: str = "en") -> Bitext:
    """Read a bitext from a folder of `{lang}.txt`, one sentence per line, or from a `.tsv` with a header of languages.

    By default all files, or all columns with a language code (en, pt-BR, zho_Hans), are read.
    """
    path = usable_path(source)
    if not path.exists():
        raise DataError(f"{path}: no such file or folder; expected a folder of {{lang}}.txt or a .tsv")
    columns = read_columns(path, (pivot, *languages))
    chosen = sorted({pivot, *languages}) if languages else sorted(columns)
    missing = [language for language in (pivot, *chosen) if language not in columns]
    if missing or len(chosen) < 2:
        raise DataError(
            f"{path}: no sentences in {missing[0] if missing else f'a language besides {pivot}'}; "
            f"found {', '.join(sorted(columns)) or 'none'}. Use --languages and --document-language"
        )
    return Bitext(
        _name(path.resolve()), pivot, _require_aligned(path, {language: columns[language] for language in chosen})
    )


def _name(path):
    return path.name if path.is_dir() else f"{path.parent.name}/{path.stem}"


def _require_aligned(path, sentences):
    lengths = {language: len(lines) for language, lines in sentences.items()}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{length} lines in {language}" for language, length in lengths.items())
        raise DataError(f"{path}: not line-aligned: {counted}")
    for language, lines in sentences.items():
        blank = next((number for number, line in enumerate(lines, start=1) if not line.strip()), None)
        if blank:
            raise DataError(f"{path}: sentence {blank} in {language} is blank; each line needs one")
    if not all(lengths.values()):
        raise DataError(f"{path}: no sentences in it")
    return sentences
