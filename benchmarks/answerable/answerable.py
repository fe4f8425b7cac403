"""Fit a passage's weight, and how likely a first passage answers, on collections without training data.

    python benchmarks/answerable/answerable.py multi12-transformer multi12-ngram multi12-static --data data --write
    python benchmarks/answerable/checked.py multi12-transformer --data data --json checked.json

Fitted on the sample's questions in 12 languages, those of its test split apart, and on questions and passages in
Arabic, Chinese, Thai and Turkish, each collection and language alike, whole and cut to fewer passages. The weight of a
passage beside its best sentence comes first, by the whole collections, each of which counts alike. `--write` puts both
into the cards of bundles, with `encode.py` as it is now. `checked.py` measures what is called nothing found where it
was not fitted.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from distill.data.dataset import Dataset, Passage, Question
from distill.data.loading import read_dataset
from distill.encoders.catalog.bundle import CARD_FILE, find_artefact
from distill.encoders.catalog.loading import load_encoder
from distill.evaluation.calibration import (
    MOST_MISSED,
    SIZES,
    WEIGHTS,
    fit_calibration,
    fit_passage_weight,
    mean_reciprocal_rank,
)
from distill.evaluation.unanswerable import WHOLE, Cases, encode, paired_cases
from distill.export import encode as encode_py
from distill.settings.choices import PASSAGE_SCORES
from distill.system.files import require_writable, write_json

# By folder: the language, and files of questions.
OTHERS = {
    "drcd": ("zh", ["questions.zh.jsonl"]),
    "cmrc2018": ("zh", ["questions.dev.zh.jsonl"]),
    "tquad-tr": ("tr", ["questions.tr.jsonl"]),
    "iapp-wiki-qa": ("th", ["questions.train.th.jsonl"]),
    "arcd": ("ar", ["questions.test.ar.jsonl", "questions.train.ar.jsonl"]),
}
PASSAGES, QUESTIONS = 500, 500
SPLIT = "all"


def main():
    options = parse()
    if options.json:
        require_writable(options.json)
    known = {"sample": sample(), **{name: collection(options.data / name, *OTHERS[name]) for name in OTHERS}}
    figures = {}
    for model in options.models:
        encoder = load_encoder(model)
        encoded = {name: encode(encoder, data, SPLIT, data.languages) for name, data in known.items()}
        encoded = weigh(model, encoded)
        weight = next(iter(encoded.values())).passage_weight
        fits = {score: fitted(encoded, score, options.missed) for score in PASSAGE_SCORES}
        counts = {name: {of: len(q) for of, q in one.questions.items()} for name, one in encoded.items()}
        entry = {"scores": {score: one.as_dict() for score, one in fits.items()}, "questions": counts}
        figures[model] = {encode_py.PASSAGE_WEIGHT: weight, encode_py.ANSWERABLE: entry}
        for score, one in fits.items():
            print(f"{model} {score}: best {one.best} margin {one.margin} few {one.few}, threshold {one.threshold}")
        if options.write:
            write(model, figures[model])
    if options.json:
        write_json(options.json, figures)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--missed", type=float, default=MOST_MISSED, help="share of right passages below the threshold")
    parser.add_argument("--json", help="where the fits go")
    parser.add_argument("--write", action="store_true", help="put the fit into the cards of MODELS, which are bundles")
    return parser.parse_args()


def weigh(model, encoded):
    """Return collections with the passage's weight that is fitted on them, after printing what all weights give."""
    for weight in WEIGHTS:
        means = {name: 100 * mean_reciprocal_rank(one, weight) for name, one in encoded.items()}
        said = ", ".join(f"{name} {mean:.1f}" for name, mean in means.items())
        print(f"{model}, MRR with a passage's weight of {weight}: {said}; mean {np.mean(list(means.values())):.2f}")
    weight = fit_passage_weight(list(encoded.values()))
    return {name: replace(one, passage_weight=weight) for name, one in encoded.items()}


def fitted(encoded, score, missed):
    """Return the calibration of a score, fitted on the questions of all collections."""
    parts = {name: paired_cases(one, score, (*SIZES, WHOLE)) for name, one in encoded.items()}
    return fit_calibration(joined(parts), missed)


def sample():
    """Return the sample with the questions that are not in its test split as a split."""
    data = read_dataset("sample")
    return replace(data, splits={SPLIT: (*data.splits["train"], *data.splits["dev"])})


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def collection(folder, language, files):
    """Return passages and questions of one language, drawn by the seed 0, up to a number of each."""
    draw = random.Random(0)
    rows = lines(folder / f"passages.{language}.jsonl")
    rows = draw.sample(rows, PASSAGES) if len(rows) > PASSAGES else rows
    titles = list(dict.fromkeys(row["title"] for row in rows))
    passages = tuple(Passage(str(row["pid"]), row["context"], titles.index(row["title"])) for row in rows)
    order = sorted(range(len(passages)), key=lambda place: passages[place].document)
    passages = tuple(passages[place] for place in order)
    place_of = {passage.id: place for place, passage in enumerate(passages)}
    every = [row for name in files for row in lines(folder / name) if str(row["pid"]) in place_of]
    every = draw.sample(every, QUESTIONS) if len(every) > QUESTIONS else every
    questions = {
        str(row["id"]): Question(str(row["id"]), language, row["question"], place_of[str(row["pid"])]) for row in every
    }
    return Dataset(folder.name, language, tuple(titles), passages, {language: questions}, {SPLIT: tuple(questions)})


def joined(parts):
    """The cases of several collections, whose languages count by collection: "sample en"."""
    return Cases.concatenate(
        [replace(cases, language=np.char.add(f"{name} ", cases.language)) for name, cases in parts.items()]
    )


def write(model, entries):
    """Put what is fitted into the card of a bundle, and `encode.py`, which computes by it, where it has its own."""
    folder = find_artefact(model)
    path = Path(encode_py.__file__)
    if (folder / path.name).exists():
        shutil.copyfile(path, folder / path.name)
    card = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    card["files"]["encode.py"] = {"bytes": path.stat().st_size, "sha256": encode_py.sha256(path)}
    card["bytes"] = sum(file["bytes"] for file in card["files"].values())
    write_json(folder / CARD_FILE, {**card, **entries})


if __name__ == "__main__":
    main()
