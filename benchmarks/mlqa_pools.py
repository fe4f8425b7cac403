"""P@1 on MLQA by each language's own pool, as the authors' MLQA.ipynb has it, and in the pool of all passages.

    python benchmarks/mlqa_pools.py muse --data data/mlqa-dev-a --json mlqa.json

A language's own pool is of the English passages that its questions are about. `data` is a data set whose passages are
documents, of which every question is measured.
"""

import argparse

import numpy as np

from distill.catalog.loading import load_teacher
from distill.data.loading import read_dataset
from distill.evaluation.evaluate import encode_questions
from distill.retrieval.exact import ranks
from distill.system.files import write_json


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="what names the encoder, such as muse")
    parser.add_argument("--data", required=True)
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    write_json(options.json, measure(load_teacher(options.model), read_dataset(options.data)))


def measure(encoder, dataset):
    """By language the number of questions and of passages in its pool, and P@1 in that and in the pool of all."""
    dataset.splits["all"] = tuple(dict.fromkeys(id for known in dataset.questions.values() for id in known))
    passages = encoder.encode(dataset.passage_texts, "document")
    questions = encode_questions(encoder, dataset, "all", dataset.languages)
    return {language: of_language(dataset, language, vectors, passages) for language, vectors in questions.items()}


def of_language(dataset, language, vectors, passages):
    gold = np.array([question.passage for question in dataset.select(language, "all")])
    pool, place = np.unique(gold, return_inverse=True)
    own, whole = ranks(vectors @ passages[pool].T, place), ranks(vectors @ passages.T, gold)
    figures = {"own": float(np.mean(own == 1)), "whole": float(np.mean(whole == 1))}
    return {"questions": len(gold), "pool": len(pool), "passages": len(passages), **figures}


if __name__ == "__main__":
    main()
