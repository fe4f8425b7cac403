"""Check what is called "nothing found" in collections of 10 passages, of 100 and whole, as `distill search` answers.

    python benchmarks/answerable/checked.py multi12-transformer multi12-ngram multi12-static --data data --json new.json
    python benchmarks/answerable/checked.py multi12-transformer --hybrid --data data
    python benchmarks/answerable/checked.py multi12-ngram:multi12-static --data data

Each question of the sample's test split, of XQuAD's dev split and of `mlqa-dev-a` is asked twice in passages that a
seed draws for it: with the one that answers and without its documents. `missed` is the share of the questions whose
first passage answers and of which nothing is called found; `told` is that share of the questions without their
documents. A model `DOCUMENTS:QUESTIONS` is a pair.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from distill.data.loading import read_dataset
from distill.evaluation.calibration import calibration_error
from distill.evaluation.unanswerable import number_articles
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import IndexChange, IndexSettings, build_index
from distill.system.files import require_writable, write_json

SIZES = (10, 100, None)
SEED = 0


def main():
    options = parse()
    if options.json:
        require_writable(options.json)
    sources = {"sample": "test", str(options.data / "xquad"): "dev", str(options.data / "mlqa-dev-a"): None}
    figures = {}
    for model in options.models:
        for source, split in sources.items():
            data = read_dataset(source)
            with tempfile.TemporaryDirectory() as place:
                answers = opened(data, model, Path(place), options.hybrid)
                rows = judged(answers, data, split, options.hybrid)
            named = f"{model}{' --hybrid' if options.hybrid else ''}"
            figures.setdefault(named, {})[data.name] = {size: measured(part) for size, part in rows.items()}
            show(named, data.name, figures[named][data.name])
    if options.json:
        write_json(options.json, figures)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--hybrid", action="store_true", help="rank by words too")
    parser.add_argument("--json", help="where the figures go")
    return parser.parse_args()


def opened(data, model, place, hybrid):
    """Return the answers of an index of the data set's passages, in their order."""
    documents, folder = place / "documents.jsonl", place / "kb"
    parts = [[] for _ in data.titles]
    for passage in data.passages:
        parts[passage.document].append({"id": passage.id, "text": passage.text})
    rows = [{"id": f"data-{n}", "title": data.titles[n], "passages": part} for n, part in enumerate(parts)]
    documents.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    made_by, _, asked_by = model.partition(":")
    settings = IndexSettings(hybrid=hybrid)
    build_index(folder, IndexChange([documents]), made_by, settings, question_model=asked_by or None)
    return Answers(folder, hybrid=hybrid)


def judged(answers, data, split, hybrid):
    """Return by size rows of (there, right, probability, answered)."""
    draw, article_of = np.random.default_rng(SEED), number_articles(data)
    rows = {"whole" if size is None else str(size): [] for size in SIZES}
    for language in data.languages:
        questions = data.select(language, split) if split else list(data.questions[language].values())
        vectors = answers.encoder.encode([question.text for question in questions], "question")
        for question, vector in zip(questions, vectors, strict=True):
            for size, part in zip(SIZES, rows.values(), strict=True):
                for mask in masks(question.passage, article_of, size, draw):
                    answer = answers.judge(question.text, vector, 1, mask, hybrid)
                    there = bool(mask[question.passage])
                    right = there and answer.hits[0].row == question.passage
                    part.append((there, right, answer.probability, answer.answered))
    return rows


def masks(gold, article_of, size, draw):
    """Return the passages to search with the one that answers, then without its article's."""
    others = np.flatnonzero(article_of != article_of[gold])
    every = np.delete(np.arange(len(article_of)), gold)
    with_it = np.append(every if size is None else draw.choice(every, min(size - 1, len(every)), False), gold)
    without = others if size is None else draw.choice(others, min(size, len(others)), False)
    return [np.isin(np.arange(len(article_of)), rows) for rows in (with_it, without)]


def measured(rows):
    """Return the figures of a size, as shares."""
    there, right, probability, answered = map(np.array, zip(*rows, strict=True))
    return {
        "questions": int(there.sum()),
        "right": float(right[there].mean()),
        "missed": float(1 - answered[right].mean()),
        "told": float(1 - answered[~there].mean()),
        "ece": calibration_error(probability, right),
    }


def show(model, name, figures):
    said = "; ".join(
        f"{size}: missed {100 * row['missed']:.1f}, told {100 * row['told']:.1f} (P@1 {100 * row['right']:.1f}, "
        f"calibration error {100 * row['ece']:.1f})"
        for size, row in figures.items()
    )
    print(f"{model}, {name}: {said}", flush=True)


if __name__ == "__main__":
    main()
