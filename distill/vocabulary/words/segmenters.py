"""Split or stem the words of languages that need a library of the extra `morphology`.

The libraries split Thai, Chinese, Japanese and Korean, and stem Bengali. Each function takes folded text and returns
its words. The libraries bring their dictionaries and download nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np

from ...errors import InputError
from ...system.extras import install_command

# Sudachi refuses 49,150 bytes or more.
CHUNK_LENGTH = 8000
CHUNK = re.compile(rf"(?s).{{1,{CHUNK_LENGTH}}}(?:(?<=[。！？.!?\s])|$)|.{{1,{CHUNK_LENGTH}}}")
# Parts that follow a Korean stem and mark its function: particles (J), endings (E) and suffixes of verbs.
KOREAN_DROPPED = ("J", "E", "XSV", "XSA", "VCP")
JAPANESE_DROPPED = ("助詞", "助動詞")


def load_bengali_stemmer() -> Callable[[str], str]:
    """Return Sentri's Bengali stemmer, which cuts some suffixes (ঢাকার: ঢাকা) and may leave what is no word."""
    stemmer = import_extra("bangla_stemmer.stemmer.stemmer", "Bengali")
    # The stemmer prints a line for each rule that it applies.
    vars(stemmer)["print"] = _print_nothing
    stem: Callable[[str], str] = stemmer.BanglaStemmer().stem
    return stem


def _print_nothing(*_):
    pass


def split_thai(text: str) -> list[str]:
    """Split Thai by PyThaiNLP's newmm: maximal matching with its dictionary over whole character clusters."""
    # Otherwise PyThaiNLP makes a folder in the home directory.
    os.environ.setdefault("PYTHAINLP_READ_ONLY", "1")
    cut = import_extra("pythainlp.tokenize", "Thai").word_tokenize
    return [word for part in CHUNK.findall(text) for word in cut(part, engine="newmm", keep_whitespace=False)]


def split_chinese(text: str) -> list[str]:
    """Split Chinese by jieba-rs."""
    return [word for part in CHUNK.findall(text) for word in import_extra("rjieba", "Chinese").cut(part)]


def split_japanese(text: str) -> list[str]:
    """Return Sudachi's shortest units in their normalised form (食べた: 食べる), without particles and auxiliaries."""
    tokens = [token for part in CHUNK.findall(text) for token in _load_sudachi().tokenize(part)]
    kept = [token for token in tokens if token.part_of_speech()[0] not in JAPANESE_DROPPED]
    return [token.normalized_form().casefold() for token in kept or tokens]


def split_japanese_surfaces(text: str) -> list[str]:
    """Return Sudachi's shortest units as they are written."""
    return [token.surface() for part in CHUNK.findall(text) for token in _load_sudachi().tokenize(part)]


@lru_cache(maxsize=1)
def _load_sudachi():
    import_extra("sudachidict_small", "Japanese")
    sudachi = import_extra("sudachipy", "Japanese")
    return sudachi.Dictionary(dict="small").tokenizer(mode=sudachi.SplitMode.A)


def split_korean(text: str) -> list[str]:
    """Return MeCab-ko's morphemes without particles and endings (서울에서: 서울); inflected ones give the stem."""
    morphemes = [morpheme for part in CHUNK.findall(text) for morpheme in _load_mecab().parse(part)]
    kept = [stem for stem in map(_stem_korean, morphemes) if stem]
    return kept or [morpheme.surface for morpheme in morphemes]


def _stem_korean(morpheme):
    feature = morpheme.feature
    if feature.pos.startswith(KOREAN_DROPPED):
        return ""
    # 도왔 is written 돕/VV/*+았/EP/*.
    return feature.expression.split("/")[0] if feature.type == "Inflect" else morpheme.surface


@lru_cache(maxsize=1)
def _load_mecab():
    return import_extra("mecab", "Korean").MeCab()


def import_extra(module: str, language: str) -> ModuleType:
    """Import a module of the extra `morphology`."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"{language} needs {module.partition('.')[0]}, which is not installed; run: {install_command('morphology')}"
        ) from error


SEGMENTERS = {"ja": split_japanese, "ko": split_korean, "th": split_thai, "zh": split_chinese}


# The language of a text that is too short or too mixed to tell.
FALLBACK = "en"
# The languages that have a code of two letters (ISO 639-1), by the first of them; others have one of three.
# fmt: off
SECOND = {
    "a": "abefkmnrsvyz", "b": "aegimnors", "c": "aehorsuvy", "d": "aevz", "e": "elnostu", "f": "afijory",
    "g": "adlnuv", "h": "aeiortuyz", "i": "adegikostu", "j": "av", "k": "agijklmnorsuvwy", "l": "abginotuv",
    "m": "ghiklnrsty", "n": "abdeglnorvy", "o": "cjmrs", "p": "ailst", "q": "u", "r": "mnouw",
    "s": "acdegiklmnoqrstuvw", "t": "aeghiklnorstwy", "u": "gkrz", "v": "eio", "w": "ao", "x": "h", "y": "io",
    "z": "ahu",
}
# fmt: on
# The least probability of a detected language.
LEAST = 0.9
# The greatest number of characters that the detector reads.
LOOKED_AT = 2000
LETTER = re.compile(r"[^\W\d_]")
# Thai, and the packages of the extra `morphology` that its sentences need.
THAI, FOR_THAI = "th", ("pycrfsuite", "pythainlp")


def is_language(code: str) -> bool:
    """Return whether a text can be the code of a language, such as de, fil or pt-BR."""
    first = re.split("[-_]", code)[0].lower()
    return first[1:] in [*SECOND.get(first[:1], "")] or bool(re.fullmatch("[a-z]{3}", first))


def detect_language(text: str) -> str:
    """Detect the language of a text and return its ISO 639-1 code, or "en" if that is not certain."""
    text = text[:LOOKED_AT]
    if not LETTER.search(text):
        return FALLBACK
    ranked = _load_ranker()(text)
    scores = np.array([score for _, score in ranked])
    code, share = ranked[0][0], 1 / np.exp(scores - scores[0]).sum()
    if share < LEAST or (code == THAI and not _cuts_thai()):
        return FALLBACK
    return str(code)


@cache
def _load_ranker():
    # The import takes a tenth of a second, and reading the model a second.
    import py3langid

    return py3langid.rank


@cache
def _cuts_thai():
    return all(find_spec(package) for package in FOR_THAI)
