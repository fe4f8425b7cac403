"""Words of a text by language, in a form in which inflection does not count.

Sorokin et al. (2022), Ask Me Anything in Your Native Language (Sentri), section 2.1 and appendix C. Which library
turns text of a language into words:

| languages | by | comes with |
|---|---|---|
| ar ca cs da de el en eo es et eu fa fi fr ga hi hu hy id it lt ne nl no (nb, nn) pl pt ro ru sr st sv ta tr yi | Snowball stemmers (`snowballstemmer`) | distill |
| th | PyThaiNLP, newmm | `distill[morphology]` |
| zh | jieba-rs (`rjieba`) | `distill[morphology]` |
| ja | Sudachi, small dictionary (`sudachipy`, `sudachidict_small`) | `distill[morphology]` |
| ko | MeCab-ko (`python-mecab-ko`) | `distill[morphology]` |
| bn | `bangla-stemmer`; BM25 also takes the character n-grams of the stems | `distill[morphology]` |
| vi | its syllables: it does not inflect | distill |
| bo dz km lo my, written without blanks | character clusters; BM25 also takes pairs of them | distill |
| all others, such as he, te, uk | whole words; BM25 also takes their character n-grams | distill |

All text is folded first (`folding.fold`).
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import regex

from ..system.progress import say
from .folding import fold
from .segmenters import SEGMENTERS, bengali_stem

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "st": "sesotho", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
# Stemmed by a library of the extra, which leaves many words as they are.
BENGALI = "bn"
UNINFLECTED = ("vi",)
# Written without blanks between words.
UNSPACED = ("bo", "dz", "km", "lo", "my")
# Of the character n-grams that BM25 takes where there is no stemmer (McNamee and Mayfield, 2004); docs/morphology.md.
GRAM = 3
WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
# A letter with its signs; the signs U+17D2 and U+1039 put the next letter below it.
CLUSTER = regex.compile(r"[\p{N}\p{Latin}]+|\p{L}\p{M}*(?:(?<=[\u17d2\u1039])\p{L}\p{M}*)*")
CACHED_WORDS = 2**18


@dataclass(frozen=True)
class Analyser:
    """Text to words of one language: `cut` gives the words of folded text, `more` what BM25 takes beside them."""

    language: str
    cut: Callable[[str], list[str]]
    more: Callable[[Sequence[str]], list[str]] | None = None

    def words(self, text: str) -> list[str]:
        """Return the words in order, for answers: detection, F1, exact match."""
        return self.cut(fold(text, self.language))

    def terms(self, text: str) -> list[str]:
        """Return what BM25 compares: the words, and where there is no stemmer their parts."""
        words = self.words(text)
        return words + self.more(words) if self.more else words


def words(text: str, language: str) -> list[str]:
    """Return the words of `text`, folded, without inflection where the language's entry has a stemmer.

    `language`: an ISO 639-1 code; what follows a hyphen is not read (zh-Hant). Never raises for odd text. Raises
    `InputError` where a library of the extra `morphology` is missing.
    """
    return analyser(language).words(text)


def analyser(language: str) -> Analyser:
    """The `Analyser` of a language. Where there is no stemmer `say_unstemmed` says it: who knows the texts calls it."""
    return _analyser(_code(language))


def _code(language):
    return regex.split("[-_]", language)[0].lower()


@cache
def _analyser(language):
    if language in STEMMERS:
        return Analyser(language, _stemming(_snowball(STEMMERS[language])))
    if language == BENGALI:
        return Analyser(language, _stemming(bengali_stem()), grams)
    if language in SEGMENTERS:
        return Analyser(language, _segmenting(SEGMENTERS[language]))
    if language in UNINFLECTED:
        return Analyser(language, WORD.findall)
    if language in UNSPACED:
        return Analyser(language, CLUSTER.findall, pairs)
    return Analyser(language, WORD.findall, grams)


def say_unstemmed(language: str, texts: str, bm25: bool = False) -> None:
    """Warn, once in a process, of `texts` such as "240 passages" in a language whose words are not stemmed nor cut."""
    language = _code(language)
    if language in UNSPACED:
        parts = ", for BM25 with pairs of them" if bm25 else ""
        _warn(f"{language}: no library cuts its words here; character clusters of {texts} are compared{parts}")
    elif language not in (*STEMMERS, *SEGMENTERS, *UNINFLECTED, BENGALI):
        parts = f", for BM25 with their {GRAM}-grams" if bm25 else ""
        _warn(f"{language}: no stemmer; the words of {texts} are compared whole{parts}")


@cache
def _warn(text):
    say(f"warning: {text}")


def _snowball(algorithm):
    import snowballstemmer

    return snowballstemmer.stemmer(algorithm).stemWord


def _stemming(stem):
    # Texts repeat their words: held, they cost a tenth.
    stem = lru_cache(CACHED_WORDS)(stem)
    return lambda text: [stem(word) or word for word in WORD.findall(text)]


def _segmenting(segment):
    # A dictionary form may hold a blank, which no word may.
    return lambda text: [word for part in segment(text) for word in part.split() if WORD.search(word)]


def pairs(clusters: Sequence[str]) -> list[str]:
    """Return each cluster joined to the next."""
    return [first + second for first, second in zip(clusters, clusters[1:], strict=False)]


def grams(words: Sequence[str], n: int = GRAM) -> list[str]:
    """Return the character n-grams of words longer than n, with a "_" at either end."""
    parts = []
    for word in words:
        marked = f"_{word}_"
        parts += [marked[start : start + n] for start in range(len(marked) - n + 1)] if len(word) > n else []
    return parts
