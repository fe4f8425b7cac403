"""Seconds an epoch of both stages and texts a second, with Keras on JAX: on a CPU and on what else JAX finds.

    python benchmarks/accelerator.py --base muse --dataset path/to/xquad --json accelerator.json --docs docs/training.md

A row is a device, the precision of the layers over tokens and whether XLA compiles the step; each is a process of its
own. An epoch is the median of `--epochs` but the first, with its scoring on dev, and the first, which compiles, beside
it. Texts are the data set's questions and passages, in float32, as encoding always is. Where JAX finds no accelerator
its rows say so, and nothing is claimed of one. `--docs` writes the table into a page, between the lines
"<!-- accelerator -->" and "<!-- /accelerator -->".
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from distill.system.files import require_writable, write_json, write_text
from distill.system.progress import say
from distill.system.reading import read_text

PRECISIONS = ("float32", "mixed_bfloat16")
MARKS = "<!-- accelerator -->", "<!-- /accelerator -->"
PROBE = "import jax; device = jax.devices()[0]; print(device.platform, device.device_kind, sep='|')"
HEADS = (
    "device",
    "precision",
    "`--set training.jit=true`",
    "stage 1, s an epoch (first)",
    "stage 2, s an epoch (first)",
    "texts a second",
)
NOT_MEASURED = "not measured"


def main():
    options = parse()
    if options.measure:
        print(json.dumps(measured(options, *options.measure.split(","))))
        return
    require_writable(options.json)
    devices = {"cpu": probed("cpu"), "accelerator": probed(None)}
    if devices["accelerator"][0] == "cpu":
        devices["accelerator"] = None
        say("JAX finds no accelerator: its rows are not measured")
    rows = [row_of(name, device, options) for name, device in devices.items()]
    rows = [row for of_device in rows for row in of_device]
    lines = table(rows)
    print("\n".join(lines))
    write_json(options.json, {"base": options.base, "dataset": Path(options.dataset).name, "rows": rows})
    if options.docs:
        write_docs(Path(options.docs), lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="muse", help="the encoder that is trained")
    parser.add_argument("--dataset", default="sample")
    parser.add_argument("--epochs", type=int, default=3, help="of each stage, from 2")
    parser.add_argument("--json", default="accelerator.json")
    parser.add_argument("--docs", help="the page that gets the table")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.epochs < 2:
        parser.error(f"--epochs: expected at least 2, got {options.epochs}")
    return options


def probed(platform):
    """(platform, name) of the first device that JAX finds."""
    out = subprocess.run([sys.executable, "-c", PROBE], env=environment(platform), capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"error: JAX does not start: {out.stderr.strip().splitlines()[-1]}; pip install 'distill[jax]'")
    return tuple(out.stdout.strip().splitlines()[-1].split("|"))


def environment(platform):
    chosen = {"JAX_PLATFORMS": platform} if platform else {}
    return {**os.environ, "KERAS_BACKEND": "jax", **chosen}


def row_of(name, device, options):
    """The rows of a device, `[{…}]`; of one that is not there a single one without figures."""
    if device is None:
        return [{"device": name, "precision": None, "jit": None}]
    rows = []
    for precision in PRECISIONS:
        for jit in (False, True):
            say(f"{device[1]}, {precision}, {'with' if jit else 'without'} --set training.jit=true")
            command = [sys.executable, __file__, *("--base", options.base, "--dataset", options.dataset)]
            command += ["--epochs", str(options.epochs), "--measure", f"{precision},{int(jit)}"]
            platform = "cpu" if name == "cpu" else None
            out = subprocess.run(command, env=environment(platform), stdout=subprocess.PIPE, text=True)
            if out.returncode:
                sys.exit(f"error: {precision} on {device[1]} failed; its message stands above")
            figures = json.loads(out.stdout.strip().splitlines()[-1])
            rows.append({"device": device[1], "precision": precision, "jit": jit, **figures})
    return rows


def measured(options, precision, jit):
    """Figures of this process's device: both stages, and texts a second."""
    from distill.catalog.loading import load_keras_encoder
    from distill.data.loading import load_dataset
    from distill.settings.sections import StudentSettings, TeacherSettings, TrainingSettings
    from distill.stages.transfer_stage import transfer
    from distill.stages.triplet_stage import teach
    from distill.training.log import RunLog
    from distill.training.session import Session

    base, dataset = load_keras_encoder(options.base), load_dataset(options.dataset)
    training, language = TrainingSettings(precision=precision, jit=jit == "1"), dataset.document_language
    teacher = TeacherSettings(bm25_epochs=0, online_epochs=options.epochs)
    student = StudentSettings(epochs=options.epochs, patience=options.epochs)
    session = Session(RunLog(), options=training)
    teach(base, dataset, language, teacher, session=session)
    second = replace(session, log=RunLog())
    transfer(base, base, dataset, language, dataset.languages, student, session=second)
    texts = [*dataset.passage_texts, *(q.text for of in dataset.questions.values() for q in of.values())]
    base.encode(texts)
    began = time.perf_counter()
    base.encode(texts)
    return {
        "stage 1": epochs(session.log.rows),
        "stage 2": epochs(second.log.rows),
        "texts a second": round(len(texts) / (time.perf_counter() - began), 1),
    }


def epochs(rows):
    """`{"first", "median"}`: seconds of the first epoch and the median of the others."""
    seconds = np.diff([row["seconds"] for row in rows])
    return {"first": round(float(seconds[0]), 2), "median": round(float(np.median(seconds[1:])), 2)}


def table(rows):
    lines = [HEADS, ("---",) * len(HEADS), *map(cells, rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def cells(row):
    if row["precision"] is None:
        return (row["device"], *(NOT_MEASURED,) * (len(HEADS) - 1))
    stages = [f"{row[stage]['median']:.1f} ({row[stage]['first']:.1f})" for stage in ("stage 1", "stage 2")]
    return row["device"], row["precision"], "yes" if row["jit"] else "no", *stages, f"{row['texts a second']:.0f}"


def write_docs(page, lines):
    """Put the table between the page's marks."""
    before, _, rest = read_text(page).partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    if not rest:
        sys.exit(f"error: {page}: no line {MARKS[0]} in it; write it and {MARKS[1]} where the table is to stand")
    write_text(page, "\n".join([before + MARKS[0], "", *lines, "", MARKS[1] + after]))


if __name__ == "__main__":
    main()
