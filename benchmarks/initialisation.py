"""Compare slicing, SVD and token vectors with random weights of the same shape as a start: P@1 on dev.

    python benchmarks/initialisation.py --run runs/xquad12 --dataset path/to/xquad --corpus path/to/text

Each shape is trained by stage 2 from both starts, with the same seed, steps and labels (as `distill compress` trains),
and measured before and after (unit maxp). The vocabulary is what the languages' train questions, the documents and the
corpus use.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import keras

from distill.data.corpus import read_corpus
from distill.data.loading import load_dataset
from distill.encoders.catalog.loading import load_keras_encoder
from distill.encoders.encoder import KerasEncoder
from distill.evaluation.evaluate import evaluate
from distill.export.weights.precision import Precision
from distill.jobs.compression.candidates import Material
from distill.settings.store import load_settings
from distill.students.shape import Shape
from distill.students.vocabulary.vocabularies import Vocabularies
from distill.training.stages.student_job import StudentJob

SHAPES = {
    "rank 128": Shape(rank=128),
    "channels 128, one convolution, inner 256": Shape(channels=128, convolutions=1, inner=256),
    "static 256": Shape(static=True, rank=256, hidden=256),
}


def main():
    options = parse()
    settings = load_settings(Path(options.run) / "config.toml")
    material = material_of(options, settings)
    student = replace(settings.student, epochs=options.epochs, dev_unit="maxp")
    rows = [row for name in options.shapes.split(";") for row in compared(material, name, student, settings.seed)]
    for row in rows:
        print(f"{row['shape']:42} {row['start']:8} before {100 * row['before']:.1f} after {100 * row['after']:.1f}")
    Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", required=True)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--corpus", required=True, help="a folder of <language>.txt")
    parser.add_argument("--languages", default="de,th")
    parser.add_argument("--shapes", default=";".join(SHAPES), help="of the three, separated by ;")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--json", default="initialisation.json")
    return parser.parse_args()


def material_of(options, settings):
    languages = ("en", *options.languages.split(","))
    dataset = load_dataset(options.dataset, "en", settings.data.split_by, settings.seed)
    corpus = read_corpus([Path(options.corpus) / f"{language}.txt" for language in languages])
    student, teacher = load_keras_encoder(options.run), load_keras_encoder(Path(options.run) / "teacher")
    words = Vocabularies(student, dataset, languages, corpus)
    job = StudentJob(dataset, "en", languages, settings.student, Precision())
    return Material.of(words, job, teacher)


def compared(material, name, settings, seed):
    """Yield two rows of training: one from the student, one from random weights."""
    made = material.start(material.words.vocabulary("used"), SHAPES[name], seed)
    keras.utils.set_random_seed(seed)
    chance = KerasEncoder(type(made.model).from_config(made.model.get_config()), made.tokenizer, made.name)
    for start, encoder in (("student", made), ("random", chance)):
        keras.utils.set_random_seed(seed)
        trained = material.train(encoder, replace(material.job, settings=settings, seed=seed))
        yield {"shape": name, "start": start, "before": p1(material, encoder), "after": p1(material, trained)}


def p1(material, encoder):
    found = evaluate(encoder, material.words.dataset, "dev", material.words.languages, ("maxp",))
    return found.mean("maxp", material.words.languages)


if __name__ == "__main__":
    main()
