"""Answers compared as the evaluation scripts of XOR-TyDi and of MLQA compare them, with XOR-TyDi's BLEU.

Asai et al. (2021), XOR QA, section 4: F1, exact match and BLEU of XOR-Full; Lewis et al. (2020), MLQA, section 3.
"""

from __future__ import annotations

import re
import string
import unicodedata
import warnings
from collections.abc import Sequence

from ..system.extras import require_training

PUNCTUATION = str.maketrans("", "", string.punctuation)
# Japanese and Korean words for years, ages and people, which stand behind a number.
COUNTERS = str.maketrans("", "", "年歳人년")
ARTICLES = {
    "en": r"\b(a|an|the)\b",
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    # Wherever it stands, within a word too, as the script has it.
    "ar": "ال",
}
# Each of these is a word of MLQA's Chinese.
CHINESE = re.compile(r"[\u4e00-\u9fa5]")
# Of BLEU, up to four characters in a row, each length with the same weight.
LONGEST = 4


def xor_words(text: str, language: str) -> list[str]:
    """Return the words of an answer as XOR-TyDi's: lower case, no ASCII punctuation, no counters, articles kept.

    Japanese is cut into words first: there by MeCab, here by Sudachi, whose words may be others.
    """
    text = _japanese(text) if language == "ja" else text
    return text.lower().translate(PUNCTUATION).translate(COUNTERS).split()


def xor_prediction(text: str, language: str) -> str:
    """Return a predicted answer as XOR-TyDi's script changes it, and gold ones not: Japanese middle dots and commas."""
    return text.replace("・", " ").replace("、", ",") if language == "ja" else text


def _japanese(text):
    from ..words.segmenters import japanese_surfaces

    return " ".join(japanese_surfaces(text))


def mlqa_words(text: str, language: str) -> list[str]:
    """Return the words of an answer as MLQA's: lower case, no punctuation of Unicode's, no articles of its language.

    Chinese is cut into its characters, runs of others into words at blanks; a language that MLQA has not has no
    articles.
    """
    text = "".join(one for one in text.lower() if not _punctuation(one))
    if language in ARTICLES:
        text = re.sub(ARTICLES[language], " ", text)
    return (CHINESE.sub(r" \g<0> ", text) if language == "zh" else text).split()


def _punctuation(one):
    return one in string.punctuation or unicodedata.category(one).startswith("P")


def bleu(prediction: str, golds: Sequence[str], language: str) -> float:
    """Return XOR-TyDi's BLEU of a predicted answer, in [0, 1]: NLTK's of up to four characters, as they are written.

    Without smoothing, so that an answer of less than four characters has next to nothing even where it is right;
    Japanese gold answers are cut by blanks, the prediction is not. Raises `InputError` without NLTK.
    """
    require_training("nltk")
    from nltk.translate.bleu_score import sentence_bleu

    references = [list(_japanese(gold) if language == "ja" else gold) for gold in golds]
    with warnings.catch_warnings():
        # Of lengths without a run in common.
        warnings.simplefilter("ignore")
        return float(sentence_bleu(references, list(prediction), weights=[1 / LONGEST] * LONGEST))
