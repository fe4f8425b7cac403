"""Measure what a training step costs the host by commit: packing, and the wait of the loop for it.

    git worktree add ../earlier 41ab613
    python benchmarks/steps.py --against ../earlier --dataset xquad --json steps.json --docs benchmarks/README.md

Each row is a process of its own; the two checkouts take turns, `--rounds` times, and a row is the median of its rounds.
What is measured says `step_clock.py`. Networks are small, so that the host counts as much as it ever does.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from distill.system.device import machine
from distill.system.files import require_writable, write_json, write_text
from distill.system.input_files import read_text
from distill.system.progress import say

MARKS = "<!-- steps -->", "<!-- /steps -->"
# The base and the questions of a step that make about 256 texts with what answers them.
STAGES = {"stage 1": ("n-grams", 72), "stage 2": ("static", 240)}
HEADS = ("stage", "commit", "texts a step", "packing, ms", "wait, ms", "longest wait, ms")
HEADS += ("step, ms", "of the processor, ms", "steps a second")
HERE = Path(__file__).resolve().parents[1]


def main():
    options = parse()
    if options.measure:
        print(json.dumps(measured(options.measure, options)))
        return
    require_writable(options.json)
    rows = measured_by_turns(options)
    lines = table(rows)
    print("\n".join(lines))
    kept = {"machine": machine(), "dataset": Path(options.dataset).name, "rounds": options.rounds, "rows": rows}
    write_json(options.json, {**kept, "load": os.getloadavg()})
    if options.docs:
        write_docs(Path(options.docs), lines)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", help="a checkout of an earlier commit")
    parser.add_argument("--dataset", default="sample")
    parser.add_argument("--steps", type=int, default=30, help="steps that are measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", default="steps.json")
    parser.add_argument("--docs", help="the page that gets the table")
    parser.add_argument("--measure", choices=STAGES, help=argparse.SUPPRESS)
    return parser.parse_args()


def measured(stage, options):
    """Return figures of this process's checkout."""
    from step_clock import student_stage, teacher_stage, timed_steps

    from distill.data.loading import load_dataset

    make = teacher_stage if stage == "stage 1" else student_stage
    return timed_steps(make(STAGES[stage][0], load_dataset(options.dataset), STAGES[stage][1]), options.steps)


def measured_by_turns(options):
    """Return a row for each stage and checkout."""
    checkouts = [Path(folder).resolve() for folder in (options.against, HERE) if folder]
    rows = []
    for stage in STAGES:
        rounds = {folder: [] for folder in checkouts}
        for number in range(options.rounds):
            for folder in checkouts:
                say(f"{stage}, {folder.name}, round {number + 1} of {options.rounds}")
                rounds[folder].append(of_process(stage, folder, options))
        rows += [{"stage": stage, "commit": commit_of(folder), **medians(rounds[folder])} for folder in checkouts]
    return rows


def of_process(stage, folder, options):
    command = [sys.executable, __file__, "--measure", stage, "--dataset", str(Path(options.dataset).absolute())]
    command = command[:-1] + [options.dataset] if options.dataset == "sample" else command
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command += ["--steps", str(options.steps)]
    out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if out.returncode:
        sys.exit(f"error: {stage} of {folder} failed; its message stands above")
    return json.loads(out.stdout.strip().splitlines()[-1])


def commit_of(folder):
    out = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return out.stdout.strip() or "unknown"


def medians(rounds):
    return {name: round(float(np.median([figures[name] for figures in rounds])), 3) for name in rounds[0]}


def table(rows):
    lines = [HEADS, ("---",) * len(HEADS), *map(cells, rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def cells(row):
    times = [f"{row[name]:.2f}" for name in ("packing", "wait", "longest wait")]
    steps = f"{row['step']:.1f}", f"{row['processor']:.1f}", f"{1000 / row['step']:.1f}"
    return row["stage"], row["commit"], f"{row['texts']:.0f}", *times, *steps


def write_docs(page, lines):
    """Put the table between the page's marks."""
    before, _, rest = read_text(page).partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    if not rest:
        sys.exit(f"error: {page}: no line {MARKS[0]} in it; write it and {MARKS[1]} where the table is to stand")
    write_text(page, "\n".join([before + MARKS[0], "", *lines, "", MARKS[1] + after]))


if __name__ == "__main__":
    main()
