"""One code path from an encoder to its figures, whatever the encoder is."""

from dataclasses import dataclass, field

import numpy as np

from ..encoders.health import collapsed, require_finite, told
from ..retrieval.exact import unit_ranks
from ..retrieval.metrics import SUMMARY, summary
from ..settings.choices import UNITS
from ..system.progress import say


@dataclass(frozen=True)
class Evaluation:
    """`ranks[unit][language]`, int `(q,)`, of one encoder on one split; `recall` is `token_recall`'s, if asked for."""

    encoder: str
    split: str
    ranks: dict
    recall: dict = field(default_factory=dict)

    def table(self, metrics=SUMMARY):
        """`{unit: {language: metrics}}`."""
        return {
            unit: {language: summary(ranks, metrics) for language, ranks in by_language.items()}
            for unit, by_language in self.ranks.items()
        }

    def recalls(self):
        """`{metric: {language: {"recall", "questions"}}}`."""
        return {
            metric: {
                language: {"recall": float(np.mean(found)), "questions": len(found)}
                for language, (_, found) in by_language.items()
            }
            for metric, by_language in self.recall.items()
        }

    def mean(self, unit, languages, metric="p@1"):
        """The mean of a metric over languages, each language with the same weight."""
        return float(np.mean([summary(self.ranks[unit][language])[metric] for language in languages]))


def evaluate(encoder, dataset, split, languages, units=UNITS, progress=None, recalls=()):
    """Encode the documents and every language's questions of a split, and rank. Returns an `Evaluation`.

    `recalls`: metrics of `recall.token_recall`, which passages are encoded for. A collapsed encoder is told of.
    """
    vectors = encode_units(encoder, dataset, needed_units(units, recalls), progress)
    asked = encode_questions(encoder, dataset, split, languages, progress)
    ids = [question.id for language in languages for question in dataset.select(language, split)]
    if (found := collapsed(np.concatenate([*asked.values()]), ids)) is not None:
        say(told(encoder.name, found))
    recall = {}
    if recalls:
        from .token_recall import token_recall

        recall = token_recall(asked, vectors["passage"], dataset, split, recalls)
    return Evaluation(encoder.name, split, rank(asked, vectors, dataset, split, units), recall)


def needed_units(units, recalls):
    """The units to encode: recall by tokens is of passages."""
    return (*units, "passage") if recalls else units


def encode_questions(encoder, dataset, split, languages, progress=None):
    """`{language: float32 (q, d)}` of a split's questions. Raises `EncoderError` for vectors that are no numbers."""
    texts = {language: [question.text for question in dataset.select(language, split)] for language in languages}
    return {
        language: require_finite(encoder.encode(asked, "question", progress), encoder)
        for language, asked in texts.items()
    }


def encode_units(encoder, dataset, units=UNITS, progress=None):
    """`{unit: float32 (n, d)}`; `passage` and `maxp` share one array. Errors as of `encode_questions`."""

    def encoded(texts):
        return require_finite(encoder.encode(texts, "document", progress), encoder)

    vectors = {}
    if "document" in units:
        vectors["document"] = encoded(dataset.document_texts)
    if "passage" in units or "maxp" in units:
        vectors["passage"] = vectors["maxp"] = encoded(dataset.passage_texts)
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
