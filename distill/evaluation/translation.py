"""Translate-test: questions are asked in the documents' language, by way of a translation.

The baseline of LAReQA (Roy et al., 2020, section 4) and, with machine translation, of XOR-TyDi's and Sentri's tables.
"""

import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from ..data.readers import text_of
from ..data.tsv import read_table
from ..errors import DataError, InputError
from ..system.progress import say, task
from ..system.reading import read_jsonl
from .translators import BEAM, Translators, load_translators, require_beam

# In place of a file: the data's own questions in the documents' language.
PARALLEL = "parallel"
# What an encoder is called whose questions are translated.
SUFFIX = ", translated"
ID, LANGUAGE, TEXT = "id", "language", "text"


@dataclass(frozen=True)
class Asked:
    """A question to translate."""

    id: str
    language: str
    text: str


class ParallelQuestions:
    """The data's own questions in the documents' language: the ceiling of any translator."""

    name, candidates = "the data's parallel questions", False
    remedy = "name the documents' language among --languages, too, or give a file"

    def texts(self, asked, pivots, progress=None):
        """A text of each of the `asked`, None where there is none; `pivots`: `{id: its text in that language or None}`

        of all questions of the data.
        """
        return [pivots.get(question.id) for question in asked]


@dataclass(frozen=True)
class TranslationFile:
    """`lines[id, language]`, or under `(id, None)` of every language."""

    name: str
    lines: dict
    candidates = False
    remedy = "give the translations of these questions"

    def texts(self, asked, pivots, progress=None):
        """As `ParallelQuestions.texts`. Raises `DataError` for ids that the data lacks."""
        unknown = list(dict.fromkeys(id for id, _ in self.lines if id not in pivots))
        if unknown:
            raise DataError(
                f"{self.name}: {len(unknown)} ids of no question of the data, the first is {unknown[0]!r}; "
                "give the translations of this data set"
            )
        return [self.lines.get((q.id, q.language)) or self.lines.get((q.id, None)) for q in asked]


@dataclass(frozen=True)
class MachineTranslation:
    """What `translators`, a `translators.Translators`, make of the questions, and of candidates in other languages."""

    translators: Translators
    candidates = True
    remedy = "give a translator of one of these, as LANGUAGE=FOLDER, or of all, as FOLDER"

    @property
    def name(self):
        return self.translators.name

    def texts(self, asked, pivots=None, progress=None):
        """As `ParallelQuestions.texts`: None for a language that has no translator, or an empty translation."""
        found = {}
        for language in dict.fromkeys(question.language for question in asked):
            places = [place for place, question in enumerate(asked) if question.language == language]
            if self.translators.serves(language):
                made = self.translators.translate([asked[place].text for place in places], language, progress)
                found.update(zip(places, made, strict=True))
        return [found.get(place, "").strip() or None for place in range(len(asked))]


def translation_of(source=None, translators=(), beam=None):
    """What `--translations` (a file, or `parallel`) or `--translator` name; None for neither.

    Raises `InputError` for both, `DataError` for a file that cannot be used, `TranslatorError` for a translator.
    """
    if source and translators:
        raise InputError("--translations and --translator: either are the translations; give one")
    require_beam(translators, beam)
    if translators:
        return MachineTranslation(load_translators(translators, beam or BEAM))
    if source == PARALLEL:
        return ParallelQuestions()
    return read_translations(source) if source else None


def read_translations(path):
    """A `TranslationFile` of `{"id", "text"}` lines, or a .tsv headed so; with "language", it is of that one alone.

    Raises `DataError` naming the line that is wrong, and for a file without any.
    """
    path = Path(path)
    lines = {}
    for number, row in _from_tsv(path) if path.suffix == ".tsv" else read_jsonl(path):
        place = f"line {number}"
        id, text = text_of(path, row, ID, place), text_of(path, row, TEXT, place)
        key = id, text_of(path, row, LANGUAGE, place) if LANGUAGE in row else None
        if key in lines:
            raise DataError(f"{path}, {place}: question {id} is translated twice" + f" from {key[1]}" * bool(key[1]))
        lines[key] = text
    if not lines:
        raise DataError(f'{path}: no translations in it; write one a line, such as {{"id": "1", "text": "…"}}')
    return TranslationFile(path.name, lines)


def _from_tsv(path):
    columns = read_table(path, (ID, LANGUAGE, TEXT))
    kept = [name for name in (ID, LANGUAGE, TEXT) if name in columns]
    if not {ID, TEXT} <= set(kept):
        raise DataError(f"{path}, line 1: expected a .tsv headed by {ID}, {TEXT} and, of one language, {LANGUAGE}")
    cells = zip(*(columns[name] for name in kept), strict=True)
    return [(number, dict(zip(kept, row, strict=True))) for number, row in enumerate(cells, start=2)]


def translated(dataset, translation, split, languages):
    """The `Dataset` with the questions of `split` in other `languages` than its documents' replaced, and what was done.

    What was done: `"translations"`, `{"source", "questions": {language: how many}, "as_they_are": {language: how many},
    "candidates": how many}`, and of a translator `"timings"`, milliseconds a translated question in batches. Questions
    without a translation stay as they are; a warning counts them. Raises `InputError` where no question is in another
    language, `DataError` where none has a translation, and what `texts` raises.
    """
    pivot, every = dataset.document_language, dataset.questions
    asked = [q for language in languages if language != pivot for q in dataset.select(language, split)]
    pivots = dict.fromkeys(id for known in every.values() for id in known)
    pivots.update({id: question.text for id, question in every.get(pivot, {}).items()})
    texts, done = _texts(translation, [Asked(q.id, q.language, q.text) for q in asked], pivots, pivot)
    questions = {language: dict(known) for language, known in every.items()}
    for question, text in zip(asked, texts, strict=True):
        questions[question.language][question.id] = replace(question, text=text)
    return replace(dataset, questions=questions), done


def translated_pool(pool, translation, pivot):
    """As `translated`, of a `Pool`; a translator translates its sentences, too, as in the paper, others do not."""
    languages = [pool.languages[number] for number in pool.asked_in]
    every = [Asked(*row) for row in zip(pool.ids, languages, pool.questions, strict=True)]
    pivots = dict.fromkeys(pool.known or pool.ids)
    pivots.update({question.id: question.text for question in every if question.language == pivot})
    asked = [question for question in every if question.language != pivot]
    texts, done = _texts(translation, asked, pivots, pivot)
    made = iter(texts)
    pool = replace(pool, questions=tuple(q.text if q.language == pivot else next(made) for q in every))
    if not translation.candidates:
        return pool, done
    sentences = _sentences(pool, translation, pivot)
    changed = sum(new != old for new, old in zip(sentences, pool.sentences, strict=True))
    contexts = _contexts(pool, sentences)
    done["translations"]["candidates"] = changed
    return replace(pool, sentences=sentences, contexts=contexts), done


def _texts(translation, asked, pivots, pivot):
    require_others(asked, pivot)
    with task(f"questions translated by {translation.name}", len(asked)) as advance:
        began = time.perf_counter()
        found = translation.texts(asked, pivots, advance)
        seconds = time.perf_counter() - began
    counts, left = require_some(translation.name, asked, found, translation.remedy)
    done = {"translations": {"source": translation.name, "questions": counts, "as_they_are": left, "candidates": 0}}
    if isinstance(translation, MachineTranslation):
        done["timings"] = {"translation_ms": 1000 * seconds / sum(counts.values())}
    return [text or question.text for question, text in zip(asked, found, strict=True)], done


def require_others(asked, pivot):
    """Raise `InputError` where no question is asked in another language than the documents', `pivot`."""
    if not asked:
        raise InputError(f"all questions that are asked are in {pivot}, the documents' language: nothing to translate")


def require_some(name, asked, found, remedy):
    """`{language: how many}` of the questions `asked` that are `found` a translation, and of the others.

    A warning counts the others; `name` is that of the translation. Raises `DataError`, ending in the `remedy`, where
    none is found.
    """
    if not any(found):
        raise DataError(f"{name}: no translation of a question that is asked, in {_languages(asked)}; {remedy}")
    left = _counted(asked, [not text for text in found])
    if left:
        counts = ", ".join(f"{language} {count}" for language, count in left.items())
        total = sum(left.values())
        say(f"warning: {name}: {total} questions without a translation, asked as they are: {counts}")
    return _counted(asked, found), left


def _counted(asked, kept):
    """`{language: how many}` of the questions that are kept."""
    return dict(Counter(question.language for question, keep in zip(asked, kept, strict=True) if keep))


def _sentences(pool, translation, pivot):
    """The pool's sentences, those of other languages than `pivot` translated."""
    languages = [pool.languages[number] for number in pool.language_of]
    given = [Asked("", *row) for row in zip(languages, pool.sentences, strict=True)]
    others = [sentence for sentence in given if sentence.language != pivot]
    with task(f"sentences translated by {translation.name}", len(others)) as advance:
        made = iter(translation.texts(others, progress=advance))
    return tuple(s.text if s.language == pivot else next(made) or s.text for s in given)


def _contexts(pool, sentences):
    """The paragraph of each sentence, of the translated sentences."""
    paragraphs = list(zip(pool.language_of.tolist(), pool.contexts, strict=True))
    parts = {}
    for paragraph, sentence in zip(paragraphs, sentences, strict=True):
        parts.setdefault(paragraph, []).append(sentence)
    return tuple(" ".join(parts[paragraph]) for paragraph in paragraphs)


def _languages(asked):
    return ", ".join(dict.fromkeys(question.language for question in asked))
