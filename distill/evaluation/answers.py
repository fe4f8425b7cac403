"""Exact match and F1 of predicted answers, as SQuAD counts them, and with inflection left out.

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

from ..data.parsing.fields import answer_texts, as_id
from ..errors import DataError, InputError
from ..settings.choices import COMPARED
from ..system.reading import read_jsonl
from ..system.types import File, Json
from ..words.morphology import say_unstemmed, words
from .answer_scripts import bleu, mlqa_words, xor_prediction, xor_words

ARTICLES = ("a", "an", "the")
PUNCTUATION = str.maketrans("", "", string.punctuation)
# By language, then by question: the prediction and its gold answers, None where the line has none.
Predictions: TypeAlias = dict[str, dict[str, tuple[str, list[str] | None]]]


@dataclass(frozen=True)
class Match:
    """Means over the questions, in [0, 1]: exact match, F1 and, of the normalisation "xor", BLEU."""

    em: float
    f1: float
    bleu: float | None = None

    def as_dict(self) -> dict[str, Json]:
        """Those that there are."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class AnswerFigures:
    """The figures of one language's predictions, by kind of normalisation; `missing` questions have none."""

    questions: int
    missing: int
    matches: dict[str, Match]

    def as_dict(self) -> dict[str, Json]:
        """Plain values, as `--json` writes them."""
        matches: dict[str, Json] = {name: match.as_dict() for name, match in self.matches.items()}
        return {"questions": self.questions, "missing": self.missing, **matches}


def plain_words(text: str, language: str | None = None) -> list[str]:
    """Return a text's words as SQuAD's script has them: lower case, no ASCII punctuation, no English articles."""
    return re.sub(rf"\b({'|'.join(ARTICLES)})\b", " ", text.lower().translate(PUNCTUATION)).split()


def stemmed_words(text: str, language: str) -> list[str]:
    """Return `morphology.words`, of English without articles; of a text that has none, its `plain_words`."""
    stems = [word for word in words(text, language) if language != "en" or word not in ARTICLES]
    return stems or plain_words(text)


# By name, of `choices.NORMALISATIONS`: the words of a text in a language.
WORDS: Mapping[str, Callable[[str, str], list[str]]] = {
    "plain": plain_words,
    "morphology": stemmed_words,
    "xor": xor_words,
    "mlqa": mlqa_words,
}
# Scripts to which two empty answers have nothing in common, though they match exactly.
SCRIPTS = ("xor", "mlqa")


def f1(predicted: list[str], gold: list[str]) -> float:
    """Harmonic mean of precision and recall of the words in common, in [0, 1]; lists of words. Two empty ones: 1."""
    if not predicted or not gold:
        return float(predicted == gold)
    common = sum((Counter(predicted) & Counter(gold)).values())
    return 2 * common / (len(predicted) + len(gold))


def scores(prediction: str, golds: Sequence[str], language: str, normalisation: str = "plain") -> tuple[float, float]:
    """(exact match 0 or 1, F1) of a text, each the best over the texts `golds`. Raises `InputError` without any."""
    if not golds:
        raise InputError("an answer is compared with at least one gold answer, got none")
    cut = WORDS[normalisation]
    prediction = xor_prediction(prediction, language) if normalisation == "xor" else prediction
    predicted, expected = cut(prediction, language), [cut(gold, language) for gold in golds]
    exact = max(float(predicted == gold) for gold in expected)
    if normalisation in SCRIPTS and not predicted:
        return exact, 0.0
    return exact, max(f1(predicted, gold) for gold in expected)


def measure(
    predictions: Mapping[str, str],
    golds: Mapping[str, Sequence[str]],
    language: str,
    normalisations: Sequence[str] = COMPARED,
) -> AnswerFigures:
    """Return the `AnswerFigures` of one language; a question without a prediction scores 0.

    `predictions`: `{id: text}`; `golds`: `{id: texts}`, in `language`; `normalisations` of `WORDS`. Raises `DataError`
    for ids that `golds` lacks.
    """
    unknown = [id for id in predictions if id not in golds]
    if unknown:
        raise DataError(
            f"{len(unknown)} predictions are of no question that has an answer, such as {unknown[0]}; "
            "check the ids, --dataset and --split"
        )
    if "morphology" in normalisations:
        say_unstemmed(language, f"the answers of {len(golds)} questions")
    matches = {}
    for name in normalisations:
        rows = [scores(text, golds[id], language, name) for id, text in predictions.items()]
        em, overlap = np.sum(rows, axis=0) / len(golds) if rows else (0.0, 0.0)
        runs = sum(bleu(text, golds[id], language) for id, text in predictions.items()) if name == "xor" else None
        matches[name] = Match(float(em), float(overlap), None if runs is None else runs / len(golds))
    return AnswerFigures(len(golds), len(golds) - len(predictions), matches)


def read_predictions(path: File, default: str) -> Predictions:
    """`{language: {id: (prediction, golds or None)}}` of lines {"id", "prediction" or "answer"}.

    A line may have "language", else it is `default`, and its gold "answers". Raises `DataError` naming the line.
    """
    predictions: Predictions = {}
    for number, row in read_jsonl(path):
        place, id, text = f"{path}, line {number}", as_id(row.get("id")), row.get("prediction", row.get("answer"))
        language, golds = row.get("language", default), answer_texts(row)
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
        raise DataError(f"{path}: no predictions in it; write one object a line")
    return predictions


def _texts(value):
    return isinstance(value, list) and value and all(isinstance(text, str) for text in value)


def has_golds(path: File, predictions: Predictions) -> bool:
    """True where the lines of `read_predictions` have their gold answers. Raises `DataError` where only some do."""
    have = {golds is not None for rows in predictions.values() for _, golds in rows.values()}
    if len(have) > 1:
        raise DataError(f"{path}: some lines have 'answers' and some have not; give them to all, or take --dataset")
    return have == {True}
