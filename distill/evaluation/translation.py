"""Translate-test: questions are asked in the documents' language, by way of a translation.

This is the baseline of LAReQA (Roy et al., 2020, section 4) and, with machine translation, of the tables of XOR-TyDi
and Sentri.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ..data.dataset import Dataset
from ..data.parsing import parse_id, parse_text, read_table
from ..data.pool import Pool
from ..errors import DataError, InputError
from ..system.input_files import read_jsonl
from ..system.progress import say, task
from ..system.types import File, Json, Progress
from .translators import BEAM, Translators, load_translators, require_beam

# Given in place of a file, it selects the data's own questions in the documents' language.
PARALLEL = "parallel"
# The end of the name of an encoder whose questions are translated.
SUFFIX = ", translated"
ID, LANGUAGE, TEXT = "id", "language", "text"


@dataclass(frozen=True)
class SourceText:
    """A text to translate: a question, or a candidate sentence, whose id is empty."""

    id: str
    language: str
    text: str


class TextInLanguage(Protocol):
    """A text in a language, such as a question."""

    @property
    def language(self) -> str:
        """Return the language code of the text."""
        ...


@dataclass(frozen=True)
class TranslationCounts:
    """Numbers of questions with and without a translation by language, and milliseconds per translated one."""

    source: str
    questions: dict[str, int]
    as_they_are: dict[str, int]
    candidates: int = 0
    milliseconds: float | None = None

    def as_dict(self) -> dict[str, Json]:
        """Return plain values, as `--json` writes them."""
        counts: dict[str, Json] = {"questions": self.questions, "as_they_are": self.as_they_are}
        part: dict[str, Json] = {"translations": {"source": self.source, **counts, "candidates": self.candidates}}
        return part if self.milliseconds is None else {**part, "timings": {"translation_ms": self.milliseconds}}


class TranslationSource(Protocol):
    """A source of translations, maybe of candidates too, and the `remedy` in the error if it has none at all."""

    candidates: bool
    remedy: str

    @property
    def name(self) -> str:
        """Return the name of the source."""
        ...

    def texts(
        self, questions: Sequence[SourceText], pivots: Mapping[str, str | None], progress: Progress | None = None
    ) -> list[str | None]:
        """Return a translation of each question, or None, where `pivots` has the text of an id in the documents'
        language.
        """
        ...


class ParallelQuestions:
    """The data's own questions in the documents' language, which are the ceiling of any translator."""

    name: str = "the data's parallel questions"
    candidates = False
    remedy = "name the documents' language among --languages, too, or give a file"

    def texts(
        self, questions: Sequence[SourceText], pivots: Mapping[str, str | None], progress: Progress | None = None
    ) -> list[str | None]:
        """Return the question in the documents' language that has the same id, or None."""
        return [pivots.get(question.id) for question in questions]


@dataclass(frozen=True)
class TranslationFile:
    """Translations of a file by id and language, None for a translation of all languages."""

    name: str
    lines: dict[tuple[str, str | None], str]
    candidates = False
    remedy = "give the translations of these questions"

    def texts(
        self, questions: Sequence[SourceText], pivots: Mapping[str, str | None], progress: Progress | None = None
    ) -> list[str | None]:
        """Return the file's translation of each question, None for a question without one."""
        unknown = list(dict.fromkeys(id for id, _ in self.lines if id not in pivots))
        if unknown:
            raise DataError(
                f"{self.name}: {len(unknown)} ids belong to no question of the data, such as {unknown[0]!r}; "
                "give the translations of this data set"
            )
        return [self.lines.get((q.id, q.language)) or self.lines.get((q.id, None)) for q in questions]


@dataclass(frozen=True)
class MachineTranslation:
    """Translations of questions, and of candidates in other languages, by translation models."""

    translators: Translators
    candidates = True
    remedy = "give a translator for one of them, as LANGUAGE=FOLDER, or for all, as FOLDER"

    @property
    def name(self) -> str:
        return self.translators.name

    def texts(
        self, questions: Sequence[SourceText], pivots: Mapping[str, str | None], progress: Progress | None = None
    ) -> list[str | None]:
        """Translate each question by the translator of its language, if that gives a letter or digit."""
        translations: dict[int, str] = {}
        for language in dict.fromkeys(question.language for question in questions):
            places = [place for place, question in enumerate(questions) if question.language == language]
            if self.translators.serves(language):
                sources = [questions[place].text for place in places]
                translations.update(zip(places, self.translators.translate(sources, language, progress), strict=True))
        texts = [translations.get(place, "").strip() for place in range(len(questions))]
        return [text if any(map(str.isalnum, text)) else None for text in texts]


def translation_of(
    source: str | None = None, translators: Sequence[str] = (), beam: int | None = None, target: str = "en"
) -> TranslationSource | None:
    """Return the translation of questions into the documents' language that the options name.

    Args:
        source: A file of translations, or "parallel" for those that the data itself has.
        translators: `[LANGUAGE=]FOLDER` of models that CTranslate2 runs.
        beam: Number of hypotheses of a translator, where 1 is greedy; None for the default.
        target: The documents' language, into which a translator of many languages translates.

    Returns:
        The translation for `measure_models`; None if the options name none.

    Raises:
        InputError: If both a source and translators are given.
        DataError: If the file cannot be used.
        TranslatorError: If a translator cannot be run.

    Example:
        >>> import distill, pathlib
        >>> _ = pathlib.Path("english.jsonl").write_text('{"id": "1", "text": "Where does it end?"}')
        >>> distill.translation_of("english.jsonl").name
        'english.jsonl'
    """
    if source and translators:
        raise InputError("--translations and --translator both give the translations; give one of them")
    require_beam(translators, beam)
    if translators:
        return MachineTranslation(load_translators(translators, beam or BEAM, target=target))
    if source == PARALLEL:
        return ParallelQuestions()
    return read_translations(source) if source else None


def read_translations(path: File) -> TranslationFile:
    """Read translations of {"id", "text"}, by lines or a .tsv; those with a "language" are of that language alone."""
    path = Path(path)
    lines: dict[tuple[str, str | None], str] = {}
    for number, row in _from_tsv(path) if path.suffix == ".tsv" else read_jsonl(path):
        place = f"line {number}"
        id, text = parse_id(path, row, ID, place), parse_text(path, row, TEXT, place)
        key = id, parse_text(path, row, LANGUAGE, place) if row.get(LANGUAGE) is not None else None
        if key in lines:
            raise DataError(f"{path}, {place}: question {id} is translated twice" + f" from {key[1]}" * bool(key[1]))
        lines[key] = text
    if not lines:
        raise DataError(f'{path}: no translations in it; write one per line, such as {{"id": "1", "text": "…"}}')
    return TranslationFile(path.name, lines)


def _from_tsv(path):
    columns = read_table(path, (ID, LANGUAGE, TEXT))
    kept = [name for name in (ID, LANGUAGE, TEXT) if name in columns]
    if not {ID, TEXT} <= set(kept):
        raise DataError(f"{path}, line 1: expected a .tsv headed by {ID}, {TEXT} and optionally {LANGUAGE}")
    cells = zip(*(columns[name] for name in kept), strict=True)
    return [(number, dict(zip(kept, row, strict=True))) for number, row in enumerate(cells, start=2)]


def translate_questions(
    dataset: Dataset, translation: TranslationSource, split: str, languages: Sequence[str]
) -> tuple[Dataset, TranslationCounts]:
    """Replace the questions of a split that are not in the documents' language by their translations.

    Questions without a translation stay as they are, and a warning counts them.
    """
    pivot, every = dataset.document_language, dataset.questions
    originals = [q for language in languages if language != pivot for q in dataset.select(language, split)]
    pivots: dict[str, str | None] = dict.fromkeys(id for of_language in every.values() for id in of_language)
    pivots.update({id: question.text for id, question in every.get(pivot, {}).items()})
    texts, done = _texts(translation, [SourceText(q.id, q.language, q.text) for q in originals], pivots, pivot)
    questions = {language: dict(of_language) for language, of_language in every.items()}
    for question, text in zip(originals, texts, strict=True):
        questions[question.language][question.id] = replace(question, text=text)
    return replace(dataset, questions=questions), done


def translate_pool(pool: Pool, translation: TranslationSource, pivot: str) -> tuple[Pool, TranslationCounts]:
    """Replace the questions of a pool that are not in the documents' language by their translations.

    A translator also translates the sentences of the pool, as in the paper; other sources do not. Raises `InputError`
    if no question is in another language and `DataError` if no question has a translation.
    """
    languages = [pool.languages[number] for number in pool.asked_in]
    every = [SourceText(*row) for row in zip(pool.ids, languages, pool.questions, strict=True)]
    pivots: dict[str, str | None] = dict.fromkeys(pool.known or pool.ids)
    pivots.update({question.id: question.text for question in every if question.language == pivot})
    others = [question for question in every if question.language != pivot]
    texts, done = _texts(translation, others, pivots, pivot)
    remaining = iter(texts)
    pool = replace(pool, questions=tuple(q.text if q.language == pivot else next(remaining) for q in every))
    if not translation.candidates:
        return pool, done
    sentences = _sentences(pool, translation, pivot)
    changed = sum(new != old for new, old in zip(sentences, pool.sentences, strict=True))
    return replace(pool, sentences=sentences, contexts=_contexts(pool, sentences)), replace(done, candidates=changed)


def _texts(translation, questions, pivots, pivot):
    require_foreign_questions(questions, pivot)
    with task(f"questions translated by {translation.name}", len(questions)) as advance:
        began = time.perf_counter()
        texts = translation.texts(questions, pivots, advance)
        seconds = time.perf_counter() - began
    counts, left = require_translations(translation.name, questions, texts, translation.remedy)
    timed = isinstance(translation, MachineTranslation)
    milliseconds = 1000 * seconds / sum(counts.values()) if timed else None
    done = TranslationCounts(translation.name, counts, left, milliseconds=milliseconds)
    return [text or question.text for question, text in zip(questions, texts, strict=True)], done


def require_foreign_questions(questions: Sequence[TextInLanguage], pivot: str) -> None:
    """Raise `InputError` if there are no questions in other languages than the documents'."""
    if not questions:
        raise InputError(f"all questions are in {pivot}, the documents' language: there is nothing to translate")


def require_translations(
    name: str, questions: Sequence[TextInLanguage], translations: Sequence[str | bool | None], remedy: str
) -> tuple[dict[str, int], dict[str, int]]:
    """Count the questions with and without a translation, by language, and warn of the latter."""
    if not any(translations):
        raise DataError(f"{name}: no translation of any question in {_languages(questions)}; {remedy}")
    left = _count_questions(questions, [not text for text in translations])
    if left:
        counts = ", ".join(f"{language} {count}" for language, count in left.items())
        total = sum(left.values())
        say(f"warning: {name}: {total} questions have no translation and are asked as they are: {counts}")
    return _count_questions(questions, translations), left


def _count_questions(questions, kept):
    """Return `{language: number of questions}` of the questions that are kept."""
    return dict(Counter(question.language for question, keep in zip(questions, kept, strict=True) if keep))


def _sentences(pool, translation, pivot):
    """Return the pool's sentences, with those of other languages than `pivot` translated."""
    languages = [pool.languages[number] for number in pool.language_of]
    candidates = [SourceText("", *row) for row in zip(languages, pool.sentences, strict=True)]
    others = [sentence for sentence in candidates if sentence.language != pivot]
    with task(f"sentences translated by {translation.name}", len(others)) as advance:
        remaining = iter(translation.texts(others, {}, advance))
    return tuple(s.text if s.language == pivot else next(remaining) or s.text for s in candidates)


def _contexts(pool, sentences):
    """Return the paragraph of each sentence, made of the translated sentences."""
    paragraphs = list(zip(pool.language_of.tolist(), pool.contexts, strict=True))
    parts = {}
    for paragraph, sentence in zip(paragraphs, sentences, strict=True):
        parts.setdefault(paragraph, []).append(sentence)
    return tuple(" ".join(parts[paragraph]) for paragraph in paragraphs)


def _languages(questions):
    return ", ".join(dict.fromkeys(question.language for question in questions))
