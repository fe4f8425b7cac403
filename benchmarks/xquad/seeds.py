"""Measure P@1 over several seeds: base, teacher, student and bundle, with mean and standard deviation by language.

    python benchmarks/xquad/seeds.py --dataset data/xquad --languages ar,de,es,ru,th,tr,zh --seeds 0,1,2 --json out.json

Each seed is one `distill run` (seven languages took 25 minutes on 2 busy CPU cores); a run folder that holds a
`metrics.json` already is not repeated.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ENCODERS = ("base", "teacher", "student", "bundle")


def main():
    options = parse()
    runs = [metrics(options, seed) for seed in options.seeds.split(",")]
    table = {unit: rows(runs, unit) for unit in ("document", "maxp")}
    for unit, figures in table.items():
        show(unit, figures, runs[0]["languages"], len(runs))
    Path(options.json).write_text(json.dumps(table, indent=1), encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--languages", default="ar,de,es,ru,th,tr,zh")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--runs", default="runs/xquad-seeds")
    parser.add_argument("--json", default="xquad.json")
    return parser.parse_args()


def metrics(options, seed):
    """Run one seed if its run is not there yet, and return its metrics."""
    path = Path(options.runs) / f"seed-{seed}" / "metrics.json"
    if not path.is_file():
        command = [sys.executable, "-m", "distill", "run", "--recipe", "muse", "--teacher", "en"]
        command += ["--dataset", options.dataset, "--languages", options.languages]
        command += ["--seed", seed, "--runs", options.runs, "--name", f"seed-{seed}"]
        subprocess.run(command, check=True)
    return json.loads(path.read_text(encoding="utf-8"))


def rows(runs, unit):
    """Return `{encoder: {language or "mean": [P@1 of each seed]}}` on dev."""
    found = {}
    for name in ENCODERS:
        tables = [run["splits"]["dev"]["encoders"][name][unit] for run in runs]
        found[name] = {language: [table[language]["p@1"] for table in tables] for language in runs[0]["languages"]}
        found[name]["mean"] = [run["splits"]["dev"]["mean_p@1"][name][unit] for run in runs]
    return found


def show(unit, figures, languages, seeds):
    print(f"dev P@1, %, unit {unit}, mean (standard deviation) of {seeds} seeds")
    print("encoder  " + "".join(f"{name:>13}" for name in [*languages, "mean"]))
    for name, row in figures.items():
        cells = [f"{100 * np.mean(row[key]):.1f} ({100 * np.std(row[key]):.1f})" for key in [*languages, "mean"]]
        print(f"{name:9}" + "".join(f"{cell:>13}" for cell in cells))


if __name__ == "__main__":
    main()
