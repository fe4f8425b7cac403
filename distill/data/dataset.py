"""A data set: documents of passages in one language, and questions about them in many."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import DataError
from ..system.hashes import digest
from ..system.text import number_copies
from ..system.types import Integers


@dataclass(frozen=True)
class Passage:
    """A passage, the index of its document, and perhaps its sentences and a language other than the documents'."""

    id: str
    text: str
    document: int
    sentences: tuple[tuple[int, int], ...] = ()
    language: str = ""


@dataclass(frozen=True)
class Question:
    """A question in one language; those with the same id are translations. Its `answers` are spans of the documents."""

    id: str
    language: str
    text: str
    passage: int
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sentences:
    """Sentences `(s,)` and the passage of each, int `(s,)`, ascending. Each passage has at least one."""

    texts: list[str]
    passage_of: Integers


@dataclass(frozen=True)
class Dataset:
    """Documents in one language with questions in many, by language and id, and the sha256 of its `files`.

    Documents in `untitled` have no title of their own, and are called by their id or number.
    """

    name: str
    document_language: str
    titles: tuple[str, ...]
    passages: tuple[Passage, ...]
    questions: dict[str, dict[str, Question]]
    splits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    untitled: frozenset[int] = frozenset()

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the questions, sorted by name."""
        return tuple(sorted(self.questions))

    @cached_property
    def passage_texts(self) -> list[str]:
        return [passage.text for passage in self.passages]

    @cached_property
    def first_of(self) -> Integers:
        """The first passage that equals each one, int `(passages,)`. A copy of a right passage is right too."""
        return number_copies(self.passage_texts)

    @cached_property
    def passage_languages(self) -> tuple[str, ...]:
        """The language of each passage: its own, or the documents'."""
        return tuple(passage.language or self.document_language for passage in self.passages)

    @cached_property
    def document_texts(self) -> list[str]:
        """Each document's passages joined by a space, which is what the unit `document` encodes."""
        parts: list[list[str]] = [[] for _ in self.titles]
        for passage in self.passages:
            parts[passage.document].append(passage.text)
        return [" ".join(texts) for texts in parts]

    @cached_property
    def sentences(self) -> Sentences:
        """The sentences of the passages, as the data has them or cut by the passage's language."""
        places = [self.sentence_places(number) for number in range(len(self.passages))]
        texts = [
            passage.text[start:end]
            for passage, pairs in zip(self.passages, places, strict=True)
            for start, end in pairs
        ]
        return Sentences(texts, np.repeat(np.arange(len(places)), [len(pairs) for pairs in places]))

    def sentence_places(self, passage: int) -> Sequence[tuple[int, int]]:
        """Return the sentences of a passage, `(start, end)` in characters."""
        from ..vocabulary.words.cutting import find_sentences_cached

        chosen = self.passages[passage]
        return chosen.sentences or find_sentences_cached(chosen.text, self.passage_languages[passage])

    def texts(self, kind: str) -> list[str]:
        """Return the texts of a kind: "document", "passage" or "sentence"."""
        if kind == "sentence":
            return self.sentences.texts
        return self.document_texts if kind == "document" else self.passage_texts

    def whole_of(self, kinds: Sequence[str]) -> dict[str, Integers]:
        """Return the index of the whole of each part: of the document of a passage, or the passage of a sentence."""
        of_sentences = {"sentence": self.sentences.passage_of} if "sentence" in kinds else {}
        return {"passage": self.document_of, **of_sentences}

    @cached_property
    def document_of(self) -> Integers:
        """The document of each passage, int `(passages,)`."""
        return np.array([passage.document for passage in self.passages], dtype=np.int64)

    def select(self, language: str, split: str) -> list[Question]:
        """Return the questions of a language in a split, in the split's order."""
        self.require((language,))
        if split not in self.splits:
            raise DataError(f"no split {split}: the data set {self.name} has {', '.join(self.splits) or 'none'}")
        known = self.questions[language]
        return [known[id] for id in self.splits[split] if id in known]

    def require(self, languages: Sequence[str]) -> None:
        """Raise `DataError` if the data lacks one of the languages, with those that it has."""
        missing = [language for language in languages if language not in self.questions]
        if missing:
            raise DataError(
                f"no questions in {', '.join(missing)}: the data set {self.name} has {', '.join(self.languages)}"
            )


def digest_texts(dataset: Dataset) -> str:
    """Return the sha256 of a data set's passages, questions and splits, wherever its files are."""
    texts = {name: {id: q.text for id, q in questions.items()} for name, questions in dataset.questions.items()}
    return digest([dataset.passage_texts, texts, dataset.splits])


# Splits that a run cannot do without.
LEARNED = ("train", "dev")


def require_trainable_data(dataset: Dataset, with_lines: bool = False, languages: Sequence[str] = ()) -> Dataset:
    """Raise `DataError` without questions to train on, unless lines are learned too, or to choose by, in `languages`.

    These are all by default.
    """
    for split in LEARNED:
        if split not in dataset.splits:
            raise DataError(
                f"{dataset.name}: the split {split} is missing, and a run needs train and dev; such a data set can be "
                "measured alone, with distill evaluate --split all"
            )
    bare = with_lines and not dataset.splits["train"]
    return require_questions(dataset, [split for split in dataset.splits if not (bare and split == "train")], languages)


def require_questions(dataset: Dataset, splits: Sequence[str] = (), languages: Sequence[str] = ()) -> Dataset:
    """Raise `DataError` for a language without questions, or a split of `splits` without any in one of `languages`.

    These are all by default; a language that the data set lacks is passed over.
    """
    for language, questions in dataset.questions.items():
        if not questions:
            raise DataError(f"{dataset.name}: language {language} has no questions; add some or remove its file")
    for split in splits:
        if not dataset.splits[split]:
            raise DataError(
                f"{dataset.name}: the split leaves {split} empty; use more questions or another split, or measure with "
                "distill evaluate --split all"
            )
        for language in languages or dataset.languages:
            if language in dataset.questions and not dataset.select(language, split):
                raise DataError(
                    f"{dataset.name}: the split leaves {split} empty in language {language}; name questions for it in "
                    "splits.json, or leave the language out with --languages"
                )
    return dataset


def normalise(text: str) -> str:
    """Return the form in which two questions count as identical."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def name_line(source: str, row: int, text: str) -> str:
    """Return the name of a line of text: its number, from row 0 on, and its beginning."""
    return f"{source} {row + 1} ({text[:30]!r})"
