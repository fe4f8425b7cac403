"""Measure `distill index` and `distill search --index`: minutes, megabytes, memory, milliseconds, and P@1.

    python benchmarks/indexing/index.py --documents data/wikipedia-en/passages.en.1.jsonl \
        --documents data/wikipedia-en/passages.en.2.jsonl --questions data/mlqa-dev-a --output index.json

Everything runs in processes of its own. With --kills the index is made once more, killed so often on the way, and has
to be the same to the byte.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from distill.data.loading import read_dataset
from distill.encoders.catalog.loading import load_encoder
from distill.retrieval import codes
from distill.search_engine.indexing.batches import TEXTS, VECTORS
from distill.search_engine.indexing.building import PART
from distill.search_engine.indexing.index_file import FILE, Index
from distill.search_engine.indexing.searching import Searcher
from distill.system.hashes import sha256

DISTILL = [sys.executable, "-m", "distill"]
# Questions that are timed, of those of the data set; starts of the command.
TIMED, STARTS = 200, 5


def measured(command):
    """Run a command that has to succeed, and return its seconds and its peak of resident memory in MB."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command}: exit code {process.returncode}")
    seconds = time.perf_counter() - begin
    return {
        "seconds": round(seconds, 2),
        "cpu": round(usage.ru_utime + usage.ru_stime, 2),
        "mb": usage.ru_maxrss // 1024,
    }


def building(model, documents, folder):
    """Return the command that makes an index."""
    return [*DISTILL, "index", "--model", model, "--documents", *documents, "--output", str(folder)]


def killed(command, folder, times, expected):
    """Return the batches that were done at each kill of a command, and True beside them if its index is as expected in
    the end.

    The first kills come while documents are read, the others while batches are encoded, at even distances.
    """
    places = []
    for number in range(times):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not due(folder / PART, number, times):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        places.append([len(list((folder / PART).glob(f"*{ending}"))) for ending in (TEXTS, VECTORS)])
    measured(command)
    return {"read and encoded at each kill": places, "same": sha256(folder / FILE) == expected}


def due(part, number, times):
    """Return True if a kill of that number is due, by the batches that are done."""
    read, encoded = (len(list(part.glob(f"*{ending}"))) for ending in (TEXTS, VECTORS))
    return read > number if number < 2 else encoded > read * (number - 2) / (times - 2)


def searches(folder, model, texts):
    """Return milliseconds per question after loading, including its encoding, by kernel."""
    encoder, searcher = load_encoder(model), Searcher(Index(folder))
    has_kernel, figures = codes.has_kernel, {}
    for name in ["numkong", "numpy"] if has_kernel() else ["numpy"]:
        codes.has_kernel = lambda name=name: name == "numkong"
        # The first reads the file.
        searcher.search(encoder.encode(texts[:1])[0], 10)
        times = []
        for text in texts:
            begin = time.perf_counter()
            searcher.search(encoder.encode([text])[0], 10)
            times.append(1000 * (time.perf_counter() - begin))
        figures[name] = {"median": round(float(np.median(times)), 2), "p95": round(float(np.percentile(times, 95)), 2)}
    codes.has_kernel = has_kernel
    return figures


def precision(folder, model, data):
    """Return P@1 in per cent by language, of an index of a data set's passages."""
    encoder, searcher, figures = load_encoder(model), Searcher(Index(folder)), {}
    for language in data.languages:
        questions = list(data.questions[language].values())
        vectors = encoder.encode([question.text for question in questions], "question")
        hits = [searcher.search(vector, 1).rows[0] for vector in vectors]
        figures[language] = 100 * np.mean(np.array(hits) == [question.passage for question in questions])
    return with_mean(figures)


def with_mean(figures):
    """Return figures by language and their mean, rounded."""
    whole = figures | {"mean": np.mean(list(figures.values()))}
    return {name: round(float(value), 2) for name, value in whole.items()}


def evaluated(model, dataset, folder):
    """Return the same figures by `distill evaluate`."""
    path = folder / "figures.json"
    unit = ["--split", "all", "--ranked", "passage", "--score", "sum", "--json", str(path)]
    measured([*DISTILL, "evaluate", model, "--dataset", dataset, *unit])
    [encoder] = json.loads(path.read_text(encoding="utf-8"))["retrieval"]["encoders"].values()
    figures = {language: 100 * of["p@1"] for language, of in encoder["units"]["passage-sum"].items()}
    return with_mean(figures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", action="append", default=[], help="files or folders")
    parser.add_argument("--questions", required=True, help="a data set's folder with documents.jsonl")
    parser.add_argument("--model", default="multi12-ngram")
    parser.add_argument("--index", help="one that is there, which is not made anew")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--output", default="index.json")
    options = parser.parse_args()
    figures = {"model": options.model, "load": os.getloadavg(), "cores": os.cpu_count()}
    data = read_dataset(options.questions)
    texts = [question.text for known in data.questions.values() for question in known.values()]
    texts = random.Random(0).sample(texts, min(TIMED, len(texts)))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(options.index or Path(place) / "kb")
        if not options.index:
            figures["build"] = measured(building(options.model, options.documents, folder))
        card = Index(folder).card
        figures["index"] = {name: card[name] for name in ("documents", "passages", "sentences")}
        figures["index"]["mb"] = round((folder / FILE).stat().st_size / 1e6, 1)
        if options.kills:
            again = Path(place) / "killed"
            command = building(options.model, options.documents, again)
            figures["killed"] = killed(command, again, options.kills, sha256(folder / FILE))
            shutil.rmtree(again)
        figures["ms"] = searches(folder, options.model, texts)
        cold = [measured([*DISTILL, "search", "--index", str(folder), text]) for text in texts[:STARTS]]
        figures["cold"] = {name: float(np.median([one[name] for one in cold])) for name in ("seconds", "mb")}
        of_questions = Path(place) / "questions"
        measured(building(options.model, [str(Path(options.questions) / "documents.jsonl")], of_questions))
        figures["p@1"] = {
            "index": precision(of_questions, options.model, data),
            "evaluate": evaluated(options.model, options.questions, Path(place)),
        }
    Path(options.output).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
