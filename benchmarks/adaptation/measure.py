"""Compare an adapted encoder with its base, on held-out questions of the collection and on other text.

    python benchmarks/adaptation/measure.py runs/adapted --base multi12-ngram --collection collection --data data

Both are asked in float32 and by the sum of a passage's and its best sentence's score. All that differs are the layers
behind the sums, so each text goes through the others once. Other text: `mlqa-dev-a`, FLORES devtest (a sentence to its
English translation) and the sample. Writes a table, and `figures.json` beside the run's metrics.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from distill.data.loading import read_dataset
from distill.data.parsing import read_table
from distill.encoders.catalog.loading import load_encoder, load_keras_encoder
from distill.evaluation.paired_comparison import compare_scores
from distill.jobs.adapting.pooled_features import FeaturePooler
from distill.jobs.adapting.question_sets import QuestionSet
from distill.jobs.adapting.training import Head
from distill.retrieval.metrics import question_scores

METRICS = ("p@1", "mrr@10")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--base", default="multi12-ngram")
    parser.add_argument("--collection", default="collection")
    parser.add_argument("--data", default="data", help="the folder of the collections")
    options = parser.parse_args()
    base, student = load_keras_encoder(options.base), load_encoder(Path(options.run) / "student")
    summing, heads = FeaturePooler(base), [Head(student.model), Head(base.model)]
    figures = {
        "collection": of_questions(summing, heads, read_dataset(options.collection), ("test",)),
        "collection, dev": of_questions(summing, heads, read_dataset(options.collection), ("dev",)),
        "sample": of_questions(summing, heads, *whole("sample")),
        "mlqa-dev-a": of_questions(summing, heads, *whole(Path(options.data) / "mlqa-dev-a")),
        "FLORES devtest": of_lines(summing, heads, Path(options.data) / "flores" / "devtest.tsv"),
    }
    (Path(options.run) / "figures.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    for name, rows in figures.items():
        for metric, by_language in rows.items():
            for language, row in by_language.items():
                told = " | ".join(f"{key} {value:.4f}" for key, value in row.items())
                print(f"{name} | {metric} | {language} | {told}", flush=True)


def whole(source):
    data = read_dataset(source)
    return data, tuple(data.splits)


ASKED = {}


def of_questions(summing, heads, data, splits):
    """Return `{metric: {language: figures}}` of the student and its base."""
    # The passages of one collection are encoded once.
    known = ASKED.get(data.name)
    asked = QuestionSet.of(summing, data, splits, known.passages if known else None)
    ASKED[data.name] = asked
    ranks = [asked.ranks(head) for head in heads]
    ids = {name: [q.id for split in splits for q in data.select(name, split)] for name in data.languages}
    return {
        metric: told(
            compare_scores(
                {"": {name: (ids[name], *(question_scores(one[name], metric) for one in ranks)) for name in ids}},
                metric,
            )[""]
        )
        for metric in METRICS
    }


def of_lines(summing, heads, path):
    """Return the share of sentences whose English translation is the nearest, for the languages that the base knows."""
    lines = read_table(path, ("en",))
    known = [name for name in ("ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh") if name in lines]
    sums = {name: summing.sums(lines[name]) for name in ("en", *known)}
    ids, hits = list(map(str, range(len(lines["en"])))), {}
    for name in known:
        pairs = [(head.vectors(sums[name]), head.vectors(sums["en"])) for head in heads]
        hits[name] = [(a @ b.T).argmax(axis=1) == np.arange(len(ids)) for a, b in pairs]
    return {"p@1": told(compare_scores({"": {name: (ids, *map(as_scores, hits[name])) for name in known}}, "p@1")[""])}


def as_scores(hits):
    return hits.astype(float)


def told(rows):
    names = ("a", "b", "difference", "low", "high", "p", "p_holm", "questions")
    each = {language: {name: float(getattr(row, name)) for name in names} for language, row in rows.items()}
    languages = [row for language, row in each.items() if language != "all"]
    each["mean"] = {name: float(np.mean([row[name] for row in languages])) for name in ("a", "b", "difference")}
    return each


if __name__ == "__main__":
    main()
