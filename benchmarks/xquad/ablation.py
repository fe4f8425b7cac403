"""Measure the gain of each ingredient: one student per row that differs in one thing, on XQuAD dev and FLORES.

    python benchmarks/xquad/ablation.py --flores data/flores/dev.tsv --output runs/ablation
    python benchmarks/xquad/ablation.py --flores data/flores/dev.tsv --output runs/ablation --rows "all;qq;cosine"

A row is `distill run --config benchmarks/xquad/released.toml` with `SHORT` and its flags of `ROWS`; here a teacher is
trained once for the rows that share it, and nothing is exported. What is in OUTPUT/rows.json is not repeated.
"""

import argparse
import json
import shlex
import time
from pathlib import Path

import click
import numpy as np

from distill.commands.shared.options import settings_options, take_settings
from distill.data.pairs import load_bitext
from distill.evaluation.tasks.bitext import accuracies, retrieve
from distill.settings.store import load_settings
from distill.system.backend import start

CONFIG = Path(__file__).with_name("released.toml")
SUPPORTED, UNSEEN = ("ar", "de", "es", "ru", "th", "tr", "zh"), ("el", "hi", "ro", "vi")
# Few epochs, the best of them on dev, Equation 2 with all its weights 1, and new rows from old pieces.
SHORT = "--epochs 3 --set student.averaged_epochs=0 --set student.losses.qq=1 --aligner ''"
SHORT += " --set student.losses.list.weight=0.3"
WITHOUT_DICTIONARY = "--parallel " + ",".join(
    source for source in load_settings(CONFIG).student.parallel if "wiktionary" not in source
)
# What there is in Spanish and German too; and e5, which takes 25 ms a text, has less to label.
LITTLE_TEXT = "--parallel materials/ntrex=1,data/mintaka-dev/questions.tsv=0.5,data/qald/questions.tsv=0.5"
ROWS = {
    "all": "",
    "qq": "--objectives qq",
    "qq, dd": "--objectives qq,dd",
    "qq, dd, dq": "--objectives qq,dd,dq",
    "and softmax": "--objectives qq,dd,dq,list,softmax",
    "cosine": "--set student.distance=cosine",
    "beta 3": "--set student.losses.qq=3",
    "beta 8": "--set student.losses.qq=8",
    "passages alone": "--set student.units=passage",
    "no parallel text": "--set student.lines_a_step=0",
    "no dictionary": WITHOUT_DICTIONARY,
    "no new pieces": "--add-languages ''",
    "new pieces by e5": "--aligner e5",
    "teacher untrained": "--teacher-model muse",
    "little text": LITTLE_TEXT,
    "little text, teacher es": f"{LITTLE_TEXT} --teacher es",
    "little text, teacher de": f"{LITTLE_TEXT} --teacher de",
    "little text, teacher e5": f"{LITTLE_TEXT} --teacher-model e5 --set teacher.centre=true",
}


@click.command()
@settings_options("", "data", "teacher", "student", "vocabulary", "shape", "export")
def flags(**values):
    return take_settings(values, CONFIG)


def main():
    options = parse()
    start()
    found = read(options)
    for name in options.rows.split(";") if options.rows else ROWS:
        if name not in found:
            found[name] = figures(name, options)
            write(options, found)
    show(found)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flores", required=True, help="sentences by language, a .tsv headed by languages")
    parser.add_argument("--rows", default="", help="names of rows, separated by ; [default: all]")
    parser.add_argument("--output", default="runs/ablation")
    return parser.parse_args()


def read(options):
    path = Path(options.output) / "rows.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def write(options, found):
    Path(options.output).mkdir(parents=True, exist_ok=True)
    (Path(options.output) / "rows.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


def figures(name, options):
    """Return P@1 by unit and language on dev, and bitext accuracy XX -> en, of the student of one row."""
    from distill.evaluation.evaluate import evaluate
    from distill.jobs.pipeline.preparing import prepare
    from distill.training.stages.transfer_stage import train_towards

    settings = flags.main(shlex.split(f"{SHORT} {ROWS[name]}"), standalone_mode=False)
    run = prepare(with_teacher(settings, Path(options.output)), Path(options.output) / "none")
    targets, first = material(run)
    began = time.perf_counter()
    student = train_towards(targets, first, run.dataset, run.languages, settings.student, settings.seed)
    seconds = round(time.perf_counter() - began)
    table = evaluate(student, run.dataset, "dev", run.languages, ("document", "maxp")).table()
    found = accuracies(retrieve(student, load_bitext(options.flores, run.languages)))
    return {
        "flags": ROWS[name],
        "seconds": seconds,
        "p@1": {unit: {key: row["p@1"] for key, row in rows.items()} for unit, rows in table.items()},
        "bitext": {language: row["to"] for language, row in found.items()},
    }


MADE = {}


def material(run):
    """Return the teacher's vectors, including those of the parallel text, and the untrained student that rows share."""
    from distill.jobs.pipeline.second_stage import shape_student, student_job
    from distill.training.stages.targets import Targets

    inputs = run.inputs
    key = repr((inputs.teacher, inputs.vocabulary, run.shape, inputs.student.parallel))
    if key not in MADE:
        MADE.clear()
        teacher, base, shape, foreign = parts(run)
        lines = student_job(inputs).lines(teacher)
        MADE[key] = teacher, shape_student(inputs, base, teacher, shape, foreign), lines
    teacher, first, lines = MADE[key]
    return Targets.of(teacher, run.dataset, inputs.teacher.language, inputs.student.units, lines), first


def with_teacher(settings, output):
    """Train stage 1's teacher if it is not there yet, and return the settings with it as a fixed one."""
    folder = output / "teachers" / settings.teacher.language
    if settings.teacher.model:
        return settings
    if not folder.exists():
        train(settings, folder)
    settings.teacher.model = settings.teacher.base = str(folder)
    return settings


def train(settings, folder):
    from distill.data.loading import load_settings_data
    from distill.encoders.catalog.loading import load_keras_encoder
    from distill.training.stages.triplet_stage import teach

    base, language = load_keras_encoder(settings.teacher.base), settings.teacher.language
    teach(base, load_settings_data(settings.data, settings.seed), language, settings.teacher, settings.seed).save(
        folder
    )


def parts(run):
    """Return the teacher, the student's start and shape, and True if their spaces differ, for `shape_student`."""
    import keras

    from distill.encoders.catalog.loading import load_keras_encoder
    from distill.jobs.pipeline.fixed_teacher import centre, is_foreign
    from distill.students.shape import Shape

    settings = run.inputs.teacher
    keras.utils.set_random_seed(run.inputs.seed)
    base, teacher = load_keras_encoder(settings.base), run.inputs.fixed
    foreign = is_foreign(teacher, base, run.dataset, settings.language)
    teacher = centre(teacher, run.dataset, settings.language) if settings.centre else teacher
    return teacher, base, Shape.of(run.shape).check(base.model), foreign


def show(found):
    heads = ("maxp 7", "maxp 4", "document 7", "document 4", "FLORES 7", "FLORES 4", "s")
    print(f"{'':22}" + "".join(f"{head:>12}" for head in heads))
    for name, row in found.items():
        tables = row["p@1"]["maxp"], row["p@1"]["document"], row["bitext"]
        means = [np.mean([table[key] for key in keys]) for table in tables for keys in (SUPPORTED, UNSEEN)]
        print(f"{name:22}" + "".join(f"{100 * mean:12.1f}" for mean in means) + f"{row['seconds']:12}")


if __name__ == "__main__":
    main()
