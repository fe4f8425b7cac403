"""P@1 by document with questions as they are and in people's translation, compared with the first encoder.

    python benchmarks/translated.py muse runs/seven-0 runs/four-0 --data data/xquad --json translated.json

The translations are the data set's own questions in the documents' language. `only_here` and `only_base` count the
questions that one of both answers, where the base is the first encoder with questions as they are. `against_translated`
counts them where the base has the translations.
"""

import argparse

from hits import compare_hits

from distill.data.loading import read_dataset
from distill.encoders.catalog.loading import load_teacher
from distill.evaluation.tasks.retrieval import RetrievalTask
from distill.evaluation.translation import ParallelQuestions
from distill.system.files import write_json


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", help="what names the encoders, such as muse; the first is the base")
    parser.add_argument("--data", required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    write_json(options.json, measure(options.models, read_dataset(options.data), options.split))


def measure(models, dataset, split):
    """By encoder, then `plain` and `translated`, the figures of each language."""
    task = RetrievalTask(dataset, tuple(dataset.languages), split, ("document",))
    tasks = {"plain": task, "translated": task.with_translations(ParallelQuestions(), "en")[0]}
    answered = {model: answer(load_teacher(model), tasks) for model in models}
    bases = answered[models[0]]
    return {model: {kind: compare(one, bases) for kind, one in kinds.items()} for model, kinds in answered.items()}


def answer(encoder, tasks):
    return {kind: hits(encoder, task) for kind, task in tasks.items()}


def hits(encoder, task):
    """Of each question, by language, whether the right document is first."""
    return {language: ranks == 1 for language, ranks in task.measure(encoder).ranks["document"].items()}


def compare(answered, bases):
    plain, translated = bases["plain"], bases["translated"]
    return {
        name: {
            **compare_hits(right, plain[name]),
            "against_translated": compare_hits(right, translated[name]),
        }
        for name, right in answered.items()
        if name in translated
    }


if __name__ == "__main__":
    main()
