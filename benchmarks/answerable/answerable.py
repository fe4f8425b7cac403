"""Fit how likely a first passage answers on collections without training data, and check it on another one.

    python benchmarks/answerable/answerable.py muse multi12-ngram multi12-static --data data --json answerable.json
    python benchmarks/answerable/answerable.py multi12-ngram --data data --write

Fitted on the sample's questions in 12 languages and on questions and passages in Arabic, Chinese, Thai and Turkish,
each collection and language alike; `mlqa-dev-a` is looked at alone. `--write` puts the fit into the cards of bundles,
with `encode.py` as it is now. Errors of held-out languages are of the sample's questions, each language judged by a fit
that saw none of it, in any collection.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from distill.catalog.bundle import CARD_FILE, find_artefact
from distill.catalog.loading import load_encoder
from distill.data.dataset import Dataset, Passage, Question
from distill.data.loading import read_dataset
from distill.evaluation.calibration import (
    SHARES,
    TARGET_PRECISION,
    calibration_error,
    confidence_figures,
    fit_calibration,
    held_out_probabilities,
)
from distill.evaluation.unanswerable import Cases, encode, half_unanswerable_cases, paired_cases
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
PASSAGES, QUESTIONS = 1000, 1500
SPLIT = "all"


def main():
    options = parse()
    require_writable(options.json)
    known = {"sample": whole("sample"), **{name: collection(options.data / name, *OTHERS[name]) for name in OTHERS}}
    check, figures = whole(options.data / "mlqa-dev-a"), {}
    for model in options.models:
        encoder = load_encoder(model)
        encoded = {name: encode(encoder, data, SPLIT, data.languages) for name, data in known.items()}
        checked = encode(encoder, check, SPLIT, check.languages)
        fits, figures[model] = {}, {}
        for score in PASSAGE_SCORES:
            cases = joined({name: paired_cases(one, score, SHARES) for name, one in encoded.items()})
            fits[score] = fit_calibration(cases, options.promise)
            figures[model][score] = measured(fits[score], cases, encoded["sample"], checked, score)
            show(model, score, figures[model][score])
        if options.write:
            counts = {name: {of: len(q) for of, q in one.questions.items()} for name, one in encoded.items()}
            write(model, {"scores": {score: one.as_dict() for score, one in fits.items()}, "questions": counts})
    if options.json:
        write_json(options.json, figures)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--promise", type=float, default=TARGET_PRECISION, help="precision at the threshold")
    parser.add_argument("--json", help="where the figures go")
    parser.add_argument("--write", action="store_true", help="put the fit into the cards of MODELS, which are bundles")
    return parser.parse_args()


def whole(source):
    """Return a data set with all of its questions as a split."""
    data = read_dataset(source)
    ids = dict.fromkeys(id for questions in data.questions.values() for id in questions)
    return replace(data, splits={**data.splits, SPLIT: tuple(ids)})


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


def measured(fitted, cases, sample, checked, score):
    """Return the figures of a fit."""
    language = np.array([name.split()[-1] for name in cases.language])
    ours = np.char.startswith(cases.language, "sample ") & (cases.share == 1)
    held = held_out_probabilities(cases, language)
    by_language = {
        str(name): calibration_error(held[ours & (language == name)], cases.right[ours & (language == name)])
        for name in np.unique(language[ours])
    }
    both = paired_cases(checked, score, (1.0, 0.5, 0.1))
    half = half_unanswerable_cases(checked, score)
    parts = {f"both, {share:g} of the articles": both.of(np.isclose(both.share, share)) for share in (1.0, 0.5, 0.1)}
    parts["half"] = half
    parts |= {f"half, {name}": half.of(half.language == name) for name in np.unique(half.language)}
    line = fitted.calibration
    return {
        "fit": fitted.as_dict(),
        "held out": {**by_language, "all": calibration_error(held[ours], cases.right[ours])},
        "sample": confidence_figures(
            line.probabilities(cases.first[ours]), cases.right[ours], fitted.threshold
        ).as_dict(),
        "mlqa-dev-a": {
            name: confidence_figures(line.probabilities(part.first), part.right, fitted.threshold).as_dict()
            for name, part in parts.items()
        },
    }


def show(model, score, figures):
    held, fitted = figures["held out"], figures["fit"]
    errors = " ".join(f"{name} {100 * error:.1f}" for name, error in held.items())
    print(f"{model} {score}: threshold {fitted['threshold']:.2f}, promised {100 * fitted['precision']:.1f}")
    print(f"  calibration error, language held out, %: {errors}")
    for name, row in {"sample": figures["sample"], **figures["mlqa-dev-a"]}.items():
        shares = {key: row[key] for key in ("right", "auroc", "ece", "answered", "precision")}
        said = ", ".join(f"{key} {100 * value:.1f}" for key, value in shares.items() if value is not None)
        print(f"  {name} ({row['cases']}): {said}", flush=True)


def write(model, entry):
    """Put what is fitted into the card of a bundle, and `encode.py`, which computes by it, beside it."""
    folder = find_artefact(model)
    shutil.copyfile(encode_py.__file__, folder / "encode.py")
    card = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    path = folder / "encode.py"
    card["files"]["encode.py"] = {"bytes": path.stat().st_size, "sha256": encode_py.sha256(path)}
    card["bytes"] = sum(file["bytes"] for file in card["files"].values())
    write_json(folder / CARD_FILE, {**card, encode_py.ANSWERABLE: entry})


if __name__ == "__main__":
    main()
