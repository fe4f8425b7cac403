"""Measure the cost of compression: P@1 on dev of bundles within a budget and of the uncompressed student.

    python benchmarks/compression.py --dataset path/to/xquad --corpus path/to/text --run runs/xquad12 --json out.json

Makes the run where it is not there (all languages of the data set), then one `distill compress` for each of `BUDGETS`.
The corpus folder holds `<language>.txt`, a text a line. Trials that are there are not repeated.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

# name, languages (empty: all), flags
BUDGETS = (
    ("20MB", "", ["--max-size", "20MB", "--max-drop", "1"]),
    ("10MB", "", ["--max-size", "10MB", "--max-drop", "3"]),
    ("5MB-en-de-th", "de,th", ["--max-size", "5MB", "--max-drop", "3"]),
)


def main():
    options = parse()
    make_run(options)
    found = {name: search(options, languages, flags) for name, languages, flags in BUDGETS}
    for name, result in found.items():
        show(name, result)
    Path(options.json).write_text(json.dumps(found, indent=1), encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--corpus", required=True, help="a folder of <language>.txt")
    parser.add_argument("--run", default="runs/xquad12")
    parser.add_argument("--epochs", default="8", help="at most, of each student that is trained")
    parser.add_argument("--shapes", default="full,small,static,tiny")
    parser.add_argument("--json", default="compression.json")
    return parser.parse_args()


def make_run(options):
    run = Path(options.run)
    if not (run / "metrics.json").is_file():
        flags = ["--dataset", options.dataset, "--runs", run.parent, "--name", run.name]
        distill("run", "--recipe", "muse", "--teacher", "en", *flags)


def search(options, languages, flags):
    """Return the result of one budget; budgets of the same languages share their trials."""
    output = Path(options.run) / "-".join(filter(None, ["small", *languages.split(",")]))
    chosen = [language for language in languages.split(",") if language]
    files = [path for path in sorted(Path(options.corpus).glob("*.txt")) if not chosen or path.stem in ("en", *chosen)]
    corpus = ["--corpus", ",".join(map(str, files))]
    only = ["--languages", languages] if languages else []
    training = ["--epochs", options.epochs, "--shapes", options.shapes]
    distill("compress", options.run, "--output", output, *training, *corpus, *only, *flags)
    return json.loads((output / "search.json").read_text(encoding="utf-8"))


def distill(*arguments):
    subprocess.run([sys.executable, "-m", "distill", *map(str, arguments)], check=True)


def show(name, result):
    print(f"{name}: chosen {result['chosen']}, {'within the budget' if not result['excess'] else result['excess']}")
    for row in result["bundles"]:
        times, worse = (
            result["whole"]["ms"] / row["ms"],
            [k for k, t in row["mcnemar"].items() if t["significant"] and t["b"] < t["a"]],
        )
        print(
            f"  {row['name']:32} {row['bytes'] / 1e6:5.1f} MB {row['ms']:.3f} ms ({times:.2f} times) "
            f"P@1 {100 * row['p@1']:.1f} lost {row['drop']:.1f} significant {','.join(worse) or 'none'}"
        )


if __name__ == "__main__":
    main()
