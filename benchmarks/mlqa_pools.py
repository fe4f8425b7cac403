"""P@1 on MLQA by each language's own pool, as the authors' MLQA.ipynb has it, and in the pool of all passages.

    python benchmarks/mlqa_pools.py runs/seven-0 --base muse --data data/mlqa-dev-a --json mlqa.json

A language's own pool is of the English passages that its questions are about. `data` is a data set whose passages are
documents, of which every question is measured. `only_here` and `only_base` count the questions of a pool that only the
encoder or only the base answers.
"""

import argparse

import numpy as np
from hits import compare_hits

from distill.data.loading import read_dataset
from distill.encoders.catalog.loading import load_teacher
from distill.evaluation.evaluate import encode_questions
from distill.retrieval.exact import ranks
from distill.system.files import write_json


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="what names the encoder, such as muse")
    parser.add_argument("--base", default="muse", help="the encoder to test against, question by question")
    parser.add_argument("--data", required=True)
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    write_json(
        options.json, measure(load_teacher(options.model), load_teacher(options.base), read_dataset(options.data))
    )


def measure(encoder, base, dataset):
    """By language the number of questions and of passages in its pool, and P@1 in that and in the pool of all."""
    dataset.splits["all"] = tuple(dict.fromkeys(id for known in dataset.questions.values() for id in known))
    here, there = (hits(one, dataset) for one in (encoder, base))
    return {language: compare(dataset, language, here[language], there[language]) for language in here}


def hits(encoder, dataset):
    """Of each question, by language and pool, whether its passage is first."""
    passages = encoder.encode(dataset.passage_texts, "document")
    questions = encode_questions(encoder, dataset, "all", dataset.languages)
    return {language: of_pools(vectors, passages, gold(dataset, language)) for language, vectors in questions.items()}


def gold(dataset, language):
    return np.array([question.passage for question in dataset.select(language, "all")])


def of_pools(vectors, passages, right):
    pool, place = np.unique(right, return_inverse=True)
    own, whole = ranks(vectors @ passages[pool].T, place), ranks(vectors @ passages.T, right)
    return {"own": own == 1, "whole": whole == 1}


def compare(dataset, language, here, base):
    right = gold(dataset, language)
    counts = {"questions": len(right), "pool": len(np.unique(right)), "passages": len(dataset.passage_texts)}
    return counts | {pool: compare_hits(one, base[pool]) for pool, one in here.items()}


if __name__ == "__main__":
    main()
