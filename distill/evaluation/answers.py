"""Exact match and F1 of predicted answers, as SQuAD counts them and with inflection removed.

Rajpurkar et al. (2016), SQuAD, section 6.1; Sorokin et al. (2022), Sentri, appendix C.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np

from ..data.parsing.fields import as_id, parse_answer_texts
from ..errors import DataError, InputError
from ..settings.choices import COMPARED
from ..system.input_files import read_jsonl
from ..system.types import File, Json
from ..vocabulary.words.morphology import split_words, warn_unstemmed
from .answer_scripts import bleu, mlqa_words, xor_prediction, xor_words

ARTICLES = ("a", "an", "the")
PUNCTUATION = str.maketrans("", "", string.punctuation)
# {language: {question id: (prediction, gold answers)}}; the gold answers are None if the line has none.
Predictions: TypeAlias = dict[str, dict[str, tuple[str, list[str] | None]]]


@dataclass(frozen=True)
class Match:
    """Means over the questions, in [0, 1].

    Attributes:
        em: Exact match.
        f1: F1 of the words.
        bleu: BLEU of the normalisation "xor"; None for the others.
    """

    em: float
    f1: float
    bleu: float | None = None

    def as_dict(self) -> dict[str, Json]:
        """Return the measures that are not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class AnswerFigures:
    """The figures of one language's predictions.

    Attributes:
        questions: Number of questions.
        missing: Number of questions without a prediction.
        matches: `{normalisation: Match}`.
    """

    questions: int
    missing: int
    matches: dict[str, Match]

    def as_dict(self) -> dict[str, Json]:
        """Return plain values, as `--json` writes them."""
        matches: dict[str, Json] = {name: match.as_dict() for name, match in self.matches.items()}
        return {"questions": self.questions, "missing": self.missing, **matches}


def plain_words(text: str, language: str | None = None) -> list[str]:
    """Return the words of a text as SQuAD's script compares them.

    Words are in lower case, without ASCII punctuation and without English articles.

    Args:
        language: Not used; it is there so that all normalisations are called alike.
    """
    return re.sub(rf"\b({'|'.join(ARTICLES)})\b", " ", text.lower().translate(PUNCTUATION)).split()


def stemmed_words(text: str, language: str) -> list[str]:
    """Return the words of a text without inflection, and of English without articles.

    Returns:
        The stems from `morphology.split_words`; the `plain_words` if there are no stems.
    """
    stems = [word for word in split_words(text, language) if language != "en" or word not in ARTICLES]
    return stems or plain_words(text)


# The functions behind the names in `choices.NORMALISATIONS`: from a text and its language to its words.
WORDS: Mapping[str, Callable[[str, str], list[str]]] = {
    "plain": plain_words,
    "morphology": stemmed_words,
    "xor": xor_words,
    "mlqa": mlqa_words,
}
# These scripts give two empty answers an F1 of 0, although they match exactly.
SCRIPTS = ("xor", "mlqa")


def f1(predicted: list[str], gold: list[str]) -> float:
    """Return the harmonic mean of precision and recall of the words that two lists share.

    Returns:
        A value in [0, 1]; 1 if both lists are empty.
    """
    if not predicted or not gold:
        return float(predicted == gold)
    common = sum((Counter(predicted) & Counter(gold)).values())
    return 2 * common / (len(predicted) + len(gold))


def score_answer(
    prediction: str, golds: Sequence[str], language: str, normalisation: str = "plain"
) -> tuple[float, float]:
    """Return exact match and F1 of an answer, each the best over the gold answers.

    Args:
        normalisation: A name in `choices.NORMALISATIONS`.

    Returns:
        Exact match, 0 or 1, and F1 in [0, 1].

    Raises:
        InputError: If there is no gold answer.
    """
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
    """Measure the predictions of one language; a question without a prediction scores 0.

    Args:
        predictions: `{question id: predicted answer}`.
        golds: `{question id: gold answers}`.
        normalisations: Names in `choices.NORMALISATIONS`.

    Raises:
        DataError: If `predictions` has ids that `golds` lacks.
    """
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

    Each line has an "id" and a "prediction" or "answer". It may have a "language" and its gold "answers".

    Args:
        default: Language code of the lines that name no language.

    Returns:
        `{language: {id: (prediction, gold answers or None)}}`.

    Raises:
        DataError: If a line cannot be used; the message names the line.
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
    """Return True if the lines of a file of predictions have their gold answers.

    Args:
        predictions: Its lines, from `read_predictions`.

    Raises:
        DataError: If only some lines have gold answers.
    """
    have = {golds is not None for rows in predictions.values() for _, golds in rows.values()}
    if len(have) > 1:
        raise DataError(
            f"{path}: some lines have 'answers' and some do not; give answers to all lines, or use --dataset"
        )
    return have == {True}
