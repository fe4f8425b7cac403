"""Words of a text by language, in a form in which inflection does not count.

Sorokin et al. (2022), Ask Me Anything in Your Native Language (Sentri), section 2.1 and appendix C. Which library
turns text of a language into words:

| languages | by | comes with |
|---|---|---|
| ar ca cs da de el en eo es et eu fa fi fr ga hi hu hy id it lt ne nl no (nb, nn) pl pt ro ru sr st sv ta tr yi | Snowball stemmers (`snowballstemmer`) | distill |
| th | PyThaiNLP, newmm | extra `morphology` |
| zh | jieba-rs (`rjieba`) | extra `morphology` |
| ja | Sudachi, small dictionary (`sudachipy`, `sudachidict_small`) | extra `morphology` |
| ko | MeCab-ko (`python-mecab-ko`) | extra `morphology` |
| bn | `bangla-stemmer`; BM25 also takes the character n-grams of the stems | extra `morphology` |
| vi | its syllables: it does not inflect | distill |
| bo dz km lo my, written without blanks | character clusters; BM25 also takes pairs of them | distill |
| all others, such as he, te, uk | whole words; BM25 also takes their character n-grams | distill |

All text is folded first (`folding.fold`). `$DISTILL_LEMMAS` names a folder of tables of normal forms, LANGUAGE.tsv, in
place of these: Sentri has them of a lemmatizer of Telugu.
"""  # noqa: E501

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import regex

from ...errors import DataError
from ...system.input_files import read_text
from ...system.progress import say
from .folding import fold
from .segmenters import SEGMENTERS, load_bengali_stemmer

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "st": "sesotho", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
# Bengali is stemmed by a library of the extra, which leaves many words as they are.
BENGALI = "bn"
UNINFLECTED = ("vi",)
# Languages that are written without blanks between words.
UNSPACED = ("bo", "dz", "km", "lo", "my")
# The length of the character n-grams that BM25 uses without a stemmer (McNamee and Mayfield, 2004); see
# docs/morphology.md.
GRAM = 3
WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# A letter with its signs; the signs U+17D2 and U+1039 put the next letter below it.
CLUSTER = regex.compile(r"[\p{N}\p{Latin}]+|\p{L}\p{M}*(?:(?<=[\u17d2\u1039])\p{L}\p{M}*)*")
CACHED_WORDS = 2**18


@dataclass(frozen=True)
class WordAnalyser:
    """A splitter of text into the words of one language, of which `more` makes further terms for BM25."""

    language: str
    cut: Callable[[str], list[str]]
    more: Callable[[Sequence[str]], list[str]] | None = None

    def words(self, text: str) -> list[str]:
        """Return the words of a text in order, for answer detection, F1 and exact match."""
        return self.cut(fold(text, self.language))

    def terms(self, text: str) -> list[str]:
        """Return the terms that BM25 compares: the words, and their parts if the language has no stemmer."""
        words = self.words(text)
        return words + self.more(words) if self.more else words


def split_words(text: str, language: str) -> list[str]:
    """Split a text into folded words, without inflection if the language has a stemmer. Odd text never raises.

    Anything after a hyphen is ignored (zh-Hant).
    """
    return get_analyser(language).words(text)


def get_analyser(language: str) -> WordAnalyser:
    """Return the `WordAnalyser` of a language. It does not warn of a missing stemmer; callers use `warn_unstemmed`."""
    language = _language_code(language)
    return _make_analyser(language, find_lemmas(language))


def find_lemmas(language: str) -> Path | None:
    """Return the table of normal forms in `$DISTILL_LEMMAS` for a language, None for none."""
    folder = os.environ.get("DISTILL_LEMMAS")
    path = Path(folder or "", f"{language}.tsv")
    return path if folder and path.is_file() else None


def read_lemmas(path: Path, language: str) -> dict[str, str]:
    """Read a table of words and their normal forms, with a tab between them, and fold both."""
    rows = [line.split("\t") for line in read_text(path).splitlines() if line.strip()]
    if wrong := next((number for number, row in enumerate(rows, start=1) if len(row) != 2), 0):
        raise DataError(f"{path}, row {wrong}: expected a word, a tab and its normal form, got {rows[wrong - 1]}")
    return {fold(word, language): fold(lemma, language) for word, lemma in rows}


def _language_code(language):
    return regex.split("[-_]", language)[0].lower()


@cache
def _make_analyser(language, lemmas=None):
    if lemmas:
        return WordAnalyser(language, _stem_with(read_lemmas(lemmas, language).get))
    if language in STEMMERS:
        return WordAnalyser(language, _stem_with(_load_snowball(STEMMERS[language])))
    if language == BENGALI:
        return WordAnalyser(language, _stem_with(load_bengali_stemmer()), character_ngrams)
    if language in SEGMENTERS:
        return WordAnalyser(language, _segment_with(SEGMENTERS[language]))
    if language in UNINFLECTED:
        return WordAnalyser(language, WORD.findall)
    if language in UNSPACED:
        return WordAnalyser(language, CLUSTER.findall, pair_clusters)
    return WordAnalyser(language, WORD.findall, character_ngrams)


def warn_unstemmed(language: str, texts: str, bm25: bool = False) -> None:
    """Warn, once in a process, that the words of a language in some texts are neither stemmed nor cut.

    BM25 compares parts of words too.
    """
    language = _language_code(language)
    if language in UNSPACED:
        parts = ", for BM25 with pairs of them" if bm25 else ""
        _warn(f"{language}: no library cuts its words here; character clusters of {texts} are compared{parts}")
    elif language not in (*STEMMERS, *SEGMENTERS, *UNINFLECTED, BENGALI) and not find_lemmas(language):
        parts = f", for BM25 with their {GRAM}-grams" if bm25 else ""
        _warn(f"{language}: no stemmer; the words of {texts} are compared whole{parts}")


@cache
def _warn(text):
    say(f"warning: {text}")


def _load_snowball(algorithm):
    import snowballstemmer

    return snowballstemmer.stemmer(algorithm).stemWord


def _stem_with(stem):
    # Texts repeat their words: a cache cuts the time to a tenth.
    stem = lru_cache(CACHED_WORDS)(stem)
    return lambda text: [stem(word) or word for word in WORD.findall(text)]


def _segment_with(segment):
    # A dictionary form may hold a blank, which no word may.
    return lambda text: [word for part in segment(text) for word in part.split() if WORD.search(word)]


def pair_clusters(clusters: Sequence[str]) -> list[str]:
    """Join each cluster to the next."""
    return [first + second for first, second in zip(clusters, clusters[1:], strict=False)]


def character_ngrams(words: Sequence[str], n: int = GRAM) -> list[str]:
    """Return the character n-grams of words that are longer than n, with a "_" at either end."""
    parts = []
    for word in words:
        marked = f"_{word}_"
        parts += [marked[start : start + n] for start in range(len(marked) - n + 1)] if len(word) > n else []
    return parts
