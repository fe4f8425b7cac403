"""Read and check the files that a language is learned from: text, translations, a dictionary and words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...data.corpus import read_corpus, read_words
from ...data.dataset import Dataset, Passage, Question, normalise
from ...data.parallel import Parallel, collect_texts, join_corpora, list_pivots, read_parallel
from ...errors import InputError
from ...students.vocabulary.fertility import SHARED, find_script
from ...system.progress import say
from ...system.types import File
from .lexicon_induction import split_words

# Lines that no training sees: so many, of all at most one in so many.
HELD, SHARE = 500, 10
# Parts the translations in a cell of a dictionary, of which so many are taken.
SEVERAL, MOST = " | ", 3


@dataclass(frozen=True)
class LanguageSources:
    """The files of a language.

    Args:
        language: The code of the language, such as "fi".
        pivot: The language of the translations.
        text: Files of text in the language, with one text per line, or `.jsonl`.
        parallel: Files of translations, `FILE` or `FILE=WEIGHT`: a `.tsv` whose headings are languages, a `.jsonl`, or
            a folder.
        dictionary: Files of translated words, of the same kinds. A cell may hold several words with " | " between them.
        words: Word lists. A line holds a word, a tab and the frequency of the word.
        keep: Files of text in other languages, `language=FILE`, that is cut into the same tokens as before.

    Example:
        >>> import distill
        >>> distill.LanguageSources("fi", parallel=("en-fi.tsv=2",), dictionary=("words.tsv",)).pivot
        'en'
    """

    language: str
    pivot: str = "en"
    text: tuple[File, ...] = ()
    parallel: tuple[File, ...] = ()
    dictionary: tuple[File, ...] = ()
    words: tuple[File, ...] = ()
    keep: tuple[File, ...] = ()


@dataclass(frozen=True)
class Lexicon:
    """The texts of a language, its lines with translations, its words, and `others` that must be cut as before."""

    language: str
    pivot: str
    texts: Sequence[str]
    lines: Sequence[Parallel]
    words: Mapping[str, float]
    others: Mapping[str, Sequence[str]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The lines with their translations."""
        return [pair for source in self.lines for pair in zip(source.texts, source.pivots, strict=True)]


@dataclass(frozen=True)
class Material(Lexicon):
    """A lexicon with held-out lines: `dev`, questions that look for their translations."""

    dev: Dataset

    @property
    def dev_size(self) -> int:
        """The number of held-out lines."""
        return len(self.dev.passages)


def require_new(language: str, known: Collection[str], model: str) -> None:
    """Raise `InputError` for a language that a model has already."""
    if language in known:
        raise InputError(f"{model} has {language} already; it has {', '.join(known)}")


def require_known(language: str, known: Collection[str], model: str) -> None:
    """Raise `InputError` for a language that a model lacks. A model that names no languages takes every one."""
    if known and language not in known:
        raise InputError(f"{model} has no {language}, which distill add-language gives it; it has {', '.join(known)}")


def read_lexicon(sources: LanguageSources) -> Lexicon:
    """Read a dictionary, words and text of a language, without translated lines.

    Without lists of words, those of the dictionary count, by their frequency in the text.
    """
    language, pivot = sources.language, sources.pivot
    if not sources.dictionary:
        raise InputError(
            f"--dictionary: nothing tells what words of {language} mean; give a .tsv headed by {pivot} and {language}"
        )
    corpus = read_corpus([f"{language}={file}" for file in sources.text])
    texts = _select_written(corpus.pop(language, []), language, "--text")
    meant = [
        _lines_in_script(split_translations(source), language)
        for source in read_parallel(sources.dictionary, pivot, [language])
    ]
    others = join_corpora(corpus, read_corpus(sources.keep), {pivot: list_pivots(meant)})
    others.pop(language, None)
    words = read_words(sources.words) if sources.words else words_by_use(meant, texts)
    return Lexicon(language, pivot, texts, meant, words, others)


def words_by_use(sources: Sequence[Parallel], texts: Sequence[str]) -> dict[str, float]:
    """Return a dictionary's words with their share of uses in texts, most frequent first. Each counts once more."""
    uses = Counter(word.lower() for text in texts for word in split_words(text))
    counts = {word: 1 + uses[word] for source in sources for word in map(str.lower, source.texts) if " " not in word}
    whole = sum(counts.values())
    return {word: count / whole for word, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))}


def read_material(sources: LanguageSources, seed: int = 0) -> Material:
    language, pivot = sources.language, sources.pivot
    if not sources.parallel:
        raise InputError(
            f"--parallel: no translations of {language}, and text alone teaches no meaning; give a .tsv headed by "
            f"{pivot} and {language}"
        )
    corpus = read_corpus([f"{language}={file}" for file in sources.text])
    texts = _select_written(corpus.pop(language, []), language, "--text")
    parallel = [_lines_in_script(source, language) for source in read_parallel(sources.parallel, pivot, [language])]
    meant = [
        _lines_in_script(split_translations(source), language)
        for source in read_parallel(sources.dictionary, pivot, [language])
    ]
    rows = collect_texts(read_parallel(sources.parallel, pivot))
    dev = hold_out_lines(parallel, pivot, seed)
    lines = [*(drop_lines(source, dev) for source in parallel), *meant]
    others = join_corpora(corpus, read_corpus(sources.keep), rows, {pivot: list_pivots(lines)})
    others.pop(language, None)
    texts = list(dict.fromkeys([*texts, *collect_texts(lines)[language]]))
    return Material(language, pivot, texts, lines, read_words(sources.words), others, dev)


def _select_written(texts: list[str], language: str, option: str) -> list[str]:
    return [texts[place] for place in select_script(texts, language, option)]


def _lines_in_script(source: Parallel, language: str) -> Parallel:
    return _take_places(source, select_script(source.texts, language, source.name))


def _take_places(source: Parallel, places: Sequence[int]) -> Parallel:
    columns = ([column[place] for place in places] for column in (source.texts, source.languages, source.pivots))
    return Parallel(source.name, source.weight, *map(tuple, columns))


def select_script(texts: Sequence[str], language: str, name: str) -> list[int]:
    """Return the places of the texts that are in a language's script, and print how many are in another."""
    chosen = find_foreign(texts, language)
    script = " or ".join(sorted(scripts_of_language(language)))
    if texts and not chosen.kept:
        raise InputError(f"{name}: {language} is written in {script}, and of {len(texts)} lines {chosen.told}")
    if chosen.counts:
        left = len(texts) - len(chosen.kept)
        say(f"{name}: {left} of {len(texts)} lines left out, as {language} is written in {script}: {chosen.told}")
    return chosen.kept


def split_translations(source: Parallel) -> Parallel:
    """Return a dictionary with one line for each translation of a word."""
    rows = zip(source.texts, source.languages, source.pivots, strict=True)
    cut = [(text, name, one) for text, name, cell in rows for one in cell.split(SEVERAL)[:MOST] if one.strip()]
    return Parallel(source.name, source.weight, *map(tuple, zip(*cut, strict=True)))


def hold_out_lines(sources: Sequence[Parallel], pivot: str, seed: int = 0) -> Dataset:
    """Hold out some lines, whose translations become passages, as the split dev."""
    pairs = {}
    for source in sources:
        for text, language, translation in zip(source.texts, source.languages, source.pivots, strict=True):
            pairs.setdefault(translation, (text, language))
    count = min(HELD, len(pairs) // SHARE)
    if not count:
        raise InputError(f"--parallel: {len(pairs)} lines, expected {SHARE} or more; give more translations")
    chosen, translations = np.random.default_rng(seed).choice(len(pairs), count, replace=False), list(pairs)
    rows = [(translations[place], *pairs[translations[place]]) for place in np.sort(chosen)]
    # A line with two translations would ask for both at once.
    rows = list({normalise(text): (translation, text, name) for translation, text, name in rows}.values())
    questions = [Question(str(n), language, text, n) for n, (_, text, language) in enumerate(rows)]
    return Dataset(
        "held out lines",
        pivot,
        tuple(translation for translation, _, _ in rows),
        tuple(Passage(str(n), translation, n) for n, (translation, _, _) in enumerate(rows)),
        {questions[0].language: {question.id: question for question in questions}},
        {"dev": tuple(question.id for question in questions)},
    )


def drop_lines(source: Parallel, dev: Dataset) -> Parallel:
    """Return the lines of a source that contain neither a text nor a translation of `dev`."""
    held = {question.text for questions in dev.questions.values() for question in questions.values()}
    known = set(dev.passage_texts)
    pairs = enumerate(zip(source.texts, source.pivots, strict=True))
    return _take_places(source, [place for place, (text, pivot) in pairs if text not in held and pivot not in known])


LATIN = "Latn"
# ISO 15924 codes of the languages that are not written in Latin letters, or not in these alone.
CODES = {
    "Arab": "ar arb arz ary fa pes prs ur ps sd ug ckb",
    "Armn": "hy",
    "Beng": "bn as",
    "Cyrl": "ru uk be bg mk kk ky mn tg tt ba cv sr",
    "Deva": "hi mr ne sa mai bho",
    "Ethi": "am ti",
    "Geor": "ka",
    "Grek": "el",
    "Gujr": "gu",
    "Guru": "pa",
    "Hang": "ko",
    "Hani": "zh ja ko",
    "Hebr": "he yi",
    "Hira": "ja",
    "Kana": "ja",
    "Khmr": "km",
    "Knda": "kn",
    "Laoo": "lo",
    "Latn": "sr",
    "Mlym": "ml",
    "Mymr": "my",
    "Orya": "or",
    "Sinh": "si",
    "Taml": "ta",
    "Telu": "te",
    "Thai": "th",
    "Tibt": "bo dz",
}
# Codes of ISO 15924 that stand for other scripts of characters.
COLLECTIVE = {"Hans": {"Hani"}, "Hant": {"Hani"}, "Jpan": {"Hani", "Hira", "Kana"}, "Kore": {"Hang", "Hani"}}


@dataclass(frozen=True)
class ForeignText:
    """The places of texts that are kept, and the number of others by script, most frequent first."""

    kept: list[int]
    counts: dict[str, int]

    @property
    def told(self) -> str:
        return ", ".join(f"{count} in {code}" for code, count in self.counts.items())


def scripts_of_language(language: str) -> frozenset[str]:
    """Return the ISO 15924 codes that a language is written in: that of its code, as in sr-Cyrl, or its usual ones."""
    base, *parts = language.replace("_", "-").split("-")
    if named := [part for part in parts if len(part) == 4 and part.isalpha()]:
        return frozenset(code for part in named for code in COLLECTIVE.get(part.capitalize(), {part.capitalize()}))
    return frozenset(code for code, names in CODES.items() if base.lower() in names.split()) or frozenset({LATIN})


def find_foreign(texts: Sequence[str], language: str) -> ForeignText:
    """Find texts in another script than a language's; return the kept places, and the counts of the others."""
    scripts, kept, counts = scripts_of_language(language), [], Counter[str]()
    for place, text in enumerate(texts):
        code = main_script(text)
        if code is None or code in scripts:
            kept.append(place)
        else:
            counts[code] += 1
    return ForeignText(kept, dict(counts.most_common()))


def main_script(text: str) -> str | None:
    """Return the ISO 15924 code of most letters of a text, or None without letters."""
    counts = Counter(find_script(sign) for sign in text)
    letters = {code: count for code, count in counts.items() if code not in SHARED}
    return max(letters, key=lambda code: letters[code]) if letters else None
