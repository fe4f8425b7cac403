"""One code path from an encoder to its figures, whatever the encoder is."""

from dataclasses import dataclass

import numpy as np

from .config import UNITS
from .errors import EncoderError
from .metrics import question_scores, summary
from .retrieval import unit_ranks


@dataclass(frozen=True)
class Evaluation:
    """`ranks[unit][language]`, int `(q,)`, of one encoder on one split."""

    encoder: str
    split: str
    ranks: dict

    def table(self):
        """`{unit: {language: metrics}}`."""
        return {unit: {lang: summary(r) for lang, r in by_lang.items()} for unit, by_lang in self.ranks.items()}

    def mean(self, unit, languages, metric="p@1"):
        """The mean of a metric over languages, each language with the same weight."""
        return float(np.mean([summary(self.ranks[unit][language])[metric] for language in languages]))


def evaluate(encoder, dataset, split, languages, units=UNITS, progress=None):
    """Encode the documents and every language's questions of a split, and rank. Returns an `Evaluation`."""
    vectors = encode_units(encoder, dataset, units, progress)
    asked = encode_questions(encoder, dataset, split, languages, progress)
    return Evaluation(encoder.name, split, rank(asked, vectors, dataset, split, units))


def encode_questions(encoder, dataset, split, languages, progress=None):
    """`{language: float32 (q, d)}` of a split's questions."""
    texts = {language: [question.text for question in dataset.select(language, split)] for language in languages}
    return {language: encoder.encode(asked, "question", progress) for language, asked in texts.items()}


def encode_units(encoder, dataset, units=UNITS, progress=None):
    """`{unit: float32 (n, d)}`; `passage` and `maxp` share one array."""
    vectors = {}
    if "document" in units:
        vectors["document"] = encoder.encode(dataset.document_texts, "document", progress)
    if "passage" in units or "maxp" in units:
        vectors["passage"] = vectors["maxp"] = encoder.encode(dataset.passage_texts, "document", progress)
    return vectors


def rank(asked, vectors, dataset, split, units=UNITS):
    """`{unit: {language: int (q,)}}` from what `encode_questions` and `encode_units` gave."""
    found = {unit: {} for unit in units}
    for language, encoded in asked.items():
        gold = np.array([question.passage for question in dataset.select(language, split)])
        for unit in units:
            found[unit][language] = unit_ranks(encoded, vectors[unit], gold, dataset.document_of, unit)
    return found


def evaluation_size(dataset, splits, languages, units=UNITS):
    """How many texts are encoded to evaluate on some splits, for a progress bar."""
    documents = len(dataset.titles) * ("document" in units)
    passages = len(dataset.passages) * ("passage" in units or "maxp" in units)
    questions = [len(dataset.select(language, split)) for split in splits for language in languages]
    return documents + passages + sum(questions)


def require_one_dimension(models, encoders):
    """Raise `EncoderError` where two encoders differ in dimension; `models` is what the user calls them."""
    (a, b), (first, second) = models, (encoder.dimension for encoder in encoders)
    if first != second:
        raise EncoderError(
            f"{a} has {first} dimensions and {b} has {second}, which may explain a difference; "
            "--any-dimension compares them all the same"
        )


def paired_scores(first, second, dataset, metric):
    """`{unit: {language: (ids, a, b)}}` of two evaluations of one split: what `paired.compare_scores` takes.

    `ids`: list of the questions' ids in the split's order; `a`, `b`: float `(q,)`.
    """
    return {
        unit: {language: _pair(first, second, dataset, metric, unit, language) for language in by_language}
        for unit, by_language in first.ranks.items()
    }


def _pair(first, second, dataset, metric, unit, language):
    ids = [question.id for question in dataset.select(language, first.split)]
    a, b = (question_scores(evaluation.ranks[unit][language], metric) for evaluation in (first, second))
    return ids, a, b
