"""Normalisation of answers as the evaluation scripts of XOR-TyDi and MLQA do it, and XOR-TyDi's BLEU.

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
# Japanese and Korean counters of years, ages and people, which follow a number.
COUNTERS = str.maketrans("", "", "年歳人년")
ARTICLES = {
    "en": r"\b(a|an|the)\b",
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    # MLQA's script removes it anywhere, also inside a word.
    "ar": "ال",
}
# MLQA counts each of these Chinese characters as a word.
CHINESE = re.compile(r"[\u4e00-\u9fa5]")
# BLEU counts runs of up to four characters and weights each length alike.
LONGEST = 4


def xor_words(text: str, language: str) -> list[str]:
    """Return the words of an answer as XOR-TyDi's script compares them.

    Words are in lower case, without ASCII punctuation and without counters; articles are kept. Japanese is first cut
    into words by Sudachi. The original script uses MeCab, whose words may differ.
    """
    text = _japanese(text) if language == "ja" else text
    return text.lower().translate(PUNCTUATION).translate(COUNTERS).split()


def xor_prediction(text: str, language: str) -> str:
    """Return a predicted answer after the changes that XOR-TyDi's script makes to predictions alone.

    The script changes Japanese middle dots and commas in predictions but not in gold answers.

    Returns:
        The changed text; the text itself in any other language than Japanese.
    """
    return text.replace("・", " ").replace("、", ",") if language == "ja" else text


def _japanese(text):
    from ..vocabulary.words.segmenters import split_japanese_surfaces

    return " ".join(split_japanese_surfaces(text))


def mlqa_words(text: str, language: str) -> list[str]:
    """Return the words of an answer as MLQA's script compares them.

    Words are in lower case, without Unicode punctuation and without the articles of the language. Chinese is cut into
    characters; other runs of text are cut at blanks. A language that MLQA does not have has no articles.
    """
    text = "".join(one for one in text.lower() if not _punctuation(one))
    if language in ARTICLES:
        text = re.sub(ARTICLES[language], " ", text)
    return (CHINESE.sub(r" \g<0> ", text) if language == "zh" else text).split()


def _punctuation(one):
    return one in string.punctuation or unicodedata.category(one).startswith("P")


def bleu(prediction: str, golds: Sequence[str], language: str) -> float:
    """Return XOR-TyDi's BLEU of a predicted answer: NLTK's BLEU over up to four characters.

    There is no smoothing, so an answer of fewer than four characters scores close to 0 even where it is right. Japanese
    gold answers are cut by blanks and the prediction is not, as in the original script.

    Returns:
        The score in [0, 1].

    Raises:
        InputError: If NLTK is not installed.
    """
    require_training("nltk")
    from nltk.translate.bleu_score import sentence_bleu

    references = [list(_japanese(gold) if language == "ja" else gold) for gold in golds]
    with warnings.catch_warnings():
        # NLTK warns of every length that has no run in common.
        warnings.simplefilter("ignore")
        return float(sentence_bleu(references, list(prediction), weights=[1 / LONGEST] * LONGEST))
