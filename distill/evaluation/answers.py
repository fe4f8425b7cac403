"""Exact match and F1 of predicted answers, as SQuAD counts them and with inflection removed.

The scripts of XOR-TyDi and MLQA normalise answers otherwise, and XOR-TyDi's counts BLEU: Asai et al. (2021), XOR QA,
section 4; Lewis et al. (2020), MLQA, section 3.

Rajpurkar et al. (2016), SQuAD, section 6.1; Sorokin et al. (2022), Sentri, appendix C.
"""

from __future__ import annotations

import re
import string
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np

from ..data.parsing import as_id, parse_answer_texts
from ..errors import DataError, InputError
from ..settings.choices import COMPARED
from ..system.extras import require_training
from ..system.input_files import read_jsonl
from ..system.types import File, Json
from ..vocabulary.words.morphology import split_words, warn_unstemmed

# Japanese and Korean counters of years, ages and people, which follow a number.
COUNTERS = str.maketrans("", "", "年歳人년")
ARTICLES_BY_LANGUAGE = {
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
ARTICLES = ("a", "an", "the")
PUNCTUATION = str.maketrans("", "", string.punctuation)
# {language: {question id: (prediction, gold answers)}}; the gold answers are None if the line has none.
Predictions: TypeAlias = dict[str, dict[str, tuple[str, list[str] | None]]]
# These scripts give two empty answers an F1 of 0, although they match exactly.
SCRIPTS = ("xor", "mlqa")


def xor_words(text: str, language: str) -> list[str]:
    """Return the words of an answer as XOR-TyDi's script compares them.

    Japanese is first cut into words by Sudachi. The original script uses MeCab, whose words may differ.
    """
    text = _japanese(text) if language == "ja" else text
    return text.lower().translate(PUNCTUATION).translate(COUNTERS).split()


def xor_prediction(text: str, language: str) -> str:
    """Return a predicted answer after the changes that XOR-TyDi's script makes to predictions alone.

    The script changes Japanese middle dots and commas in predictions but not in gold answers. Returns the changed text;
    the text itself in any other language than Japanese.
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
    if language in ARTICLES_BY_LANGUAGE:
        text = re.sub(ARTICLES_BY_LANGUAGE[language], " ", text)
    return (CHINESE.sub(r" \g<0> ", text) if language == "zh" else text).split()


def _punctuation(one):
    return one in string.punctuation or unicodedata.category(one).startswith("P")


def bleu(prediction: str, golds: Sequence[str], language: str) -> float:
    """Return XOR-TyDi's BLEU of a predicted answer: NLTK's BLEU over up to four characters.

    There is no smoothing, so an answer of fewer than four characters scores close to 0 even where it is right. Japanese
    gold answers are cut by blanks and the prediction is not, as in the original script. Returns the score in [0, 1].
    Raises `InputError` if NLTK is not installed.
    """
    require_training("nltk")
    from nltk.translate.bleu_score import sentence_bleu

    references = [list(_japanese(gold) if language == "ja" else gold) for gold in golds]
    with warnings.catch_warnings():
        # NLTK warns of every length that has no run in common.
        warnings.simplefilter("ignore")
        return float(sentence_bleu(references, list(prediction), weights=[1 / LONGEST] * LONGEST))


@dataclass(frozen=True)
class Match:
    """Means over the questions, in [0, 1]: exact match, F1 of the words, and BLEU of the normalisation "xor" alone."""

    em: float
    f1: float
    bleu: float | None = None

    def as_dict(self) -> dict[str, Json]:
        """Return the measures that are not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class AnswerFigures:
    """The figures of one language's predictions by normalisation, and the number of questions without one."""

    questions: int
    missing: int
    matches: dict[str, Match]

    def as_dict(self) -> dict[str, Json]:
        """Return plain values, as `--json` writes them."""
        matches: dict[str, Json] = {name: match.as_dict() for name, match in self.matches.items()}
        return {"questions": self.questions, "missing": self.missing, **matches}


def plain_words(text: str, language: str | None = None) -> list[str]:
    """Return the words of a text as SQuAD's script compares them, in whatever language.

    Words are in lower case, without ASCII punctuation and without English articles.
    """
    return re.sub(rf"\b({'|'.join(ARTICLES)})\b", " ", text.lower().translate(PUNCTUATION)).split()


def stemmed_words(text: str, language: str) -> list[str]:
    """Return the stems of a text, without the articles of English, or its `plain_words` if there are no stems."""
    stems = [word for word in split_words(text, language) if language != "en" or word not in ARTICLES]
    return stems or plain_words(text)


# The functions behind the names in `choices.NORMALISATIONS`: from a text and its language to its words.
WORDS: Mapping[str, Callable[[str, str], list[str]]] = {
    "plain": plain_words,
    "morphology": stemmed_words,
    "xor": xor_words,
    "mlqa": mlqa_words,
}


def f1(predicted: list[str], gold: list[str]) -> float:
    """Return the harmonic mean of precision and recall of the words that two lists share; 1 if both are empty."""
    if not predicted or not gold:
        return float(predicted == gold)
    common = sum((Counter(predicted) & Counter(gold)).values())
    return 2 * common / (len(predicted) + len(gold))


def score_answer(
    prediction: str, golds: Sequence[str], language: str, normalisation: str = "plain"
) -> tuple[float, float]:
    """Return exact match, 0 or 1, and F1 in [0, 1] of an answer, each the best over the gold answers."""
    if not golds:
        raise InputError("an answer is compared with at least one gold answer, got none")
    cut = WORDS[normalisation]
    prediction = xor_prediction(prediction, language) if normalisation == "xor" else prediction
    predicted, expected = cut(prediction, language), [cut(gold, language) for gold in golds]
    exact = max(float(predicted == gold) for gold in expected)
    if normalisation in SCRIPTS and not predicted:
        return exact, 0.0
    return exact, max(f1(predicted, gold) for gold in expected)


def measure_answers(
    predictions: Mapping[str, str],
    golds: Mapping[str, Sequence[str]],
    language: str,
    normalisations: Sequence[str] = COMPARED,
) -> AnswerFigures:
    """Measure the predictions of one language, by question id; a question without a prediction scores 0."""
    unknown = [id for id in predictions if id not in golds]
    if unknown:
        raise DataError(
            f"{len(unknown)} predictions are for ids without a question that has an answer, such as {unknown[0]}; "
            "check the ids, --dataset and --split"
        )
    if "morphology" in normalisations:
        warn_unstemmed(language, f"the answers of {len(golds)} questions")
    matches = {}
    for name in normalisations:
        rows = [score_answer(text, golds[id], language, name) for id, text in predictions.items()]
        em, overlap = np.sum(rows, axis=0) / len(golds) if rows else (0.0, 0.0)
        runs = sum(bleu(text, golds[id], language) for id, text in predictions.items()) if name == "xor" else None
        matches[name] = Match(float(em), float(overlap), None if runs is None else runs / len(golds))
    return AnswerFigures(len(golds), len(golds) - len(predictions), matches)


def read_predictions(path: File, default: str) -> Predictions:
    """Read predicted answers from a file of JSON lines.

    Each line has an "id" and a "prediction" or "answer". It may have a "language" and its gold "answers". Returns
    `{language: {id: (prediction, gold answers or None)}}`.
    """
    predictions: Predictions = {}
    for number, row in read_jsonl(path):
        place, id, text = f"{path}, line {number}", as_id(row.get("id")), row.get("prediction", row.get("answer"))
        language = default if row.get("language") is None else row["language"]
        golds = parse_answer_texts(row)
        if id is None or not isinstance(text, str):
            given = f"id {row.get('id')!r}, prediction {text!r}"
            raise DataError(f'{place}: expected {{"id": …, "prediction": "…"}}, got {given}')
        if not isinstance(language, str) or not language:
            raise DataError(f"{place}: expected a language code under 'language', got {language!r}")
        if golds is not None and not _texts(golds):
            raise DataError(f"{place}: expected a list of texts under 'answers', got {golds!r}")
        if id in predictions.setdefault(language, {}):
            raise DataError(f"{place}: duplicate id {id} in language {language}")
        predictions[language][id] = (text, golds)
    if not predictions:
        raise DataError(f"{path}: the file has no predictions; write one JSON object per line")
    return predictions


def _texts(value):
    return isinstance(value, list) and value and all(isinstance(text, str) for text in value)


def has_golds(path: File, predictions: Predictions) -> bool:
    """Return True if the lines of `read_predictions` have gold answers; `DataError` if only some of them do."""
    have = {golds is not None for rows in predictions.values() for _, golds in rows.values()}
    if len(have) > 1:
        raise DataError(
            f"{path}: some lines have 'answers' and some do not; give answers to all lines, or use --dataset"
        )
    return have == {True}
