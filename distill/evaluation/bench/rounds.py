"""Encoders measured side by side on real questions: latency, throughput, cold start, memory and size.

Each encoder lives in a process of its own. In every round each takes its turn with all questions, in an order that
rotates. A turn starts with a few calls that are not timed, so that no encoder pays for the caches that the one before
it filled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from ...data.dataset import Dataset, Question
from ...system.types import Json, Progress
from .process import Worker, WorkerSpec, start_workers

PERCENTILES = {"median_ms": 50, "p90_ms": 90, "p95_ms": 95, "p99_ms": 99}
CONFIDENCE = 0.95
RESAMPLES, BLOCK = 1000, 50
# A float64 array (rounds, questions).
Milliseconds = NDArray[np.float64]


def summarise(milliseconds: Milliseconds, seed: int = 0) -> dict[str, Json]:
    """Return percentiles, mean, deviation and 95 % bootstrap intervals of milliseconds `(rounds, questions)`."""
    values = np.percentile(milliseconds, list(PERCENTILES.values()))
    return {
        **dict(zip(PERCENTILES, values.tolist(), strict=True)),
        "mean_ms": float(milliseconds.mean()),
        "std_ms": float(milliseconds.std()),
        "intervals": intervals(milliseconds, seed),
    }


def intervals(milliseconds: Milliseconds, seed: int = 0) -> dict[str, list[float]]:
    """Return percentile bootstrap intervals, `[low, high]`; a question that is drawn brings all its rounds."""
    random, questions = np.random.default_rng(seed), milliseconds.shape[1]
    # Draws are made in blocks, so that they are never all in memory.
    blocks = (random.integers(questions, size=(BLOCK, questions)) for _ in range(RESAMPLES // BLOCK))
    drawn = [np.percentile(milliseconds[:, rows], list(PERCENTILES.values()), axis=(0, 2)) for rows in blocks]
    ends = np.percentile(np.hstack(drawn), [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)], axis=1)
    return dict(zip(PERCENTILES, ends.T.tolist(), strict=True))


def by_language(milliseconds: Milliseconds, languages: Sequence[str], seed: int = 0) -> dict[str, Json]:
    """Return the figures of each language: `{language: figures}`, with the number of questions."""
    columns = np.array(languages)
    return {
        language: {
            "questions": int(np.sum(columns == language)),
            **summarise(milliseconds[:, columns == language], seed),
        }
        for language in dict.fromkeys(languages)
    }


WARM_UP = 20
ROUNDS = 3
WARM_TURN = 5
BATCH = 32
BATCH_ROUNDS = 3
COLD_STARTS = 3
QUESTIONS = 200
# Called with the number of steps that are done.
ReportSteps = Callable[[int], None]


def bench(
    specs: Mapping[str, WorkerSpec],
    questions: Sequence[Question],
    rounds: int = ROUNDS,
    threads: int = 1,
    documents: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, dict[str, Json]]:
    """Measure encoders side by side.

    A row holds the figures of `summarise` for tokenize + encode at batch 1, `languages` (the same for each), `search`
    (the same up to the nearest document, if there are documents), `texts_per_s` at batch 32, `cold_start_s`,
    `memory_bytes` (peak while answering one at a time), `bytes` on disk, `dimension`, `device`, `versions` and `note`.

    Args:
        specs: `{name: how the encoder is run}`.
        progress: Called with 1 as often as `count_steps` returns.

    Raises:
        EncoderError: If an encoder cannot be loaded.
        ExportError: If a process dies; no process is left in any case.
    """
    tell: ReportSteps = progress or (lambda done: None)
    texts = [question.text for question in questions]
    languages = [question.language for question in questions]
    with start_workers(specs, threads) as workers:
        spent = measure_latency(workers, texts, rounds, tell)
        rows = {name: worker.ask("report") for name, worker in workers.items()}
        for name, row in rows.items():
            row.update(summarise(spent[name]), languages=by_language(spent[name], languages))
            row.update(kind=specs[name].kind, note=specs[name].note, bytes=specs[name].bytes or row["bytes"])
        for name, rate in measure_throughput(workers, texts, tell).items():
            rows[name]["texts_per_s"] = rate
        if documents:
            for name, figures in measure_search(workers, texts, documents, rounds, tell).items():
                rows[name]["search"] = summarise(figures)
    for name, seconds in measure_cold_starts(specs, texts[0], threads, tell).items():
        rows[name].update(cold_start_s=float(np.median(seconds)), cold_starts_s=seconds)
    return rows


def count_steps(encoders: int, rounds: int = ROUNDS, documents: Sequence[str] = ()) -> int:
    """Return the number of times that `bench` reports progress."""
    return encoders * rounds * (2 if documents else 1) + BATCH_ROUNDS + COLD_STARTS


def measure_latency(
    workers: Mapping[str, Worker],
    texts: Sequence[str],
    rounds: int,
    tell: ReportSteps = lambda done: None,
    do: str = "encode",
) -> dict[str, Milliseconds]:
    """Measure the milliseconds of each text alone, after a warm-up: `(rounds, texts)` by worker."""
    for worker in workers.values():
        worker.ask(do, texts=texts[:WARM_UP])
    spent = {name: np.zeros((rounds, len(texts))) for name in workers}
    for number in range(rounds):
        for name in rotate(list(workers), number):
            spent[name][number] = workers[name].ask(do, warm=texts[-WARM_TURN:], texts=texts)["ms"]
            tell(1)
    return spent


def rotate(names: list[str], turn: int) -> list[str]:
    """Return the names in the order of a turn, so that each name comes first in some turn."""
    first = turn % len(names)
    return names[first:] + names[:first]


def measure_search(
    workers: Mapping[str, Worker], texts: Sequence[str], documents: Sequence[str], rounds: int, tell: ReportSteps
) -> dict[str, Milliseconds]:
    """Measure the milliseconds up to the nearest document's number; each worker encodes the documents once."""
    for worker in workers.values():
        worker.ask("documents", texts=list(documents))
    return measure_latency(workers, texts, rounds, tell, "search")


def measure_throughput(workers: Mapping[str, Worker], texts: Sequence[str], tell: ReportSteps) -> dict[str, float]:
    """Measure the texts per second at batch 32, from the median call; the first call of each is not counted."""
    batches = [
        [texts[(BATCH * number + place) % len(texts)] for place in range(BATCH)] for number in range(BATCH_ROUNDS)
    ]
    spent: dict[str, list[float]] = {name: [] for name in workers}
    for worker in workers.values():
        worker.ask("encode", texts=batches[-1], batch=BATCH)
    for turn, batch in enumerate(batches):
        for name in rotate(list(workers), turn):
            spent[name] += workers[name].ask("encode", texts=batch, batch=BATCH)["ms"]
        tell(1)
    return {name: 1000 * BATCH / float(np.median(figures)) for name, figures in spent.items()}


def measure_cold_starts(
    specs: Mapping[str, WorkerSpec], text: str, threads: int, tell: ReportSteps
) -> dict[str, list[float]]:
    """Measure several cold starts, with the files in the page cache. Returns `{name: [seconds]}`."""
    seconds: dict[str, list[float]] = {name: [] for name in specs}
    for turn in range(COLD_STARTS):
        for name in rotate(list(specs), turn):
            seconds[name].append(measure_cold_start(name, specs[name], text, threads))
        tell(1)
    return seconds


def measure_cold_start(name: str, spec: WorkerSpec, text: str, threads: int) -> float:
    """Measure the time from just before a process starts to its first vector."""
    began = time.perf_counter()
    with Worker(name, spec, threads) as worker:
        worker.send("encode", texts=[text])
        worker.wait_until_ready().reply()
        return time.perf_counter() - began


def select_questions(dataset: Dataset, languages: Sequence[str], most: int = QUESTIONS) -> list[Question]:
    """Return dev questions of all languages in turn; a language that has no more is passed over."""
    rows = [dataset.select(language, "dev") for language in languages]
    return [question for row in zip_longest(*rows) for question in row if question][:most]
