"""Encoders side by side on real questions: latency, throughput, cold start, memory, size.

Each encoder lives in a process of its own. In every round each takes its turn with all questions, in an order that
rotates; a turn starts with a few calls that are not timed, so that none pays for the caches that the one before it
has filled.
"""

import time

import numpy as np

from .latency import by_language, summarise
from .process import Worker, started

WARM_UP = 20
ROUNDS = 3
WARM_TURN = 5
BATCH = 32
BATCH_ROUNDS = 3
COLD_STARTS = 3
QUESTIONS = 200


def bench(specs, questions, rounds=ROUNDS, threads=1, documents=(), progress=None):
    """`{name: row}` of the encoders in `specs`, `{name: Spec}`; `questions` are `Question`s.

    A row holds `summarise`'s figures of tokenize + encode at batch 1, `languages` (the same of each), `search` (the
    same, up to the nearest of `documents`, where there are any), `texts_per_s` at batch 32, `cold_start_s`,
    `memory_bytes` (peak, while answering one at a time), `bytes` on disk, `dimension`, `versions`, `note`.
    `progress(1)` is called `steps` times. Raises `EncoderError` or `ExportError`; no process is left.
    """
    tell, texts = progress or (lambda steps: None), [question.text for question in questions]
    languages = [question.language for question in questions]
    with started(specs, threads) as workers:
        spent = latency(workers, texts, rounds, tell)
        rows = {name: worker.ask("report") for name, worker in workers.items()}
        for name, row in rows.items():
            row.update(summarise(spent[name]), languages=by_language(spent[name], languages))
            row.update(kind=specs[name].kind, note=specs[name].note, bytes=specs[name].bytes or row["bytes"])
        for name, rate in throughput(workers, texts, tell).items():
            rows[name]["texts_per_s"] = rate
        if documents:
            for name, figures in search(workers, texts, documents, rounds, tell).items():
                rows[name]["search"] = summarise(figures)
    for name, seconds in cold_starts(specs, texts[0], threads, tell).items():
        rows[name].update(cold_start_s=float(np.median(seconds)), cold_starts_s=seconds)
    return rows


def steps(encoders, rounds=ROUNDS, documents=()):
    """How often `bench` of that many encoders tells its progress."""
    return encoders * rounds * (2 if documents else 1) + BATCH_ROUNDS + COLD_STARTS


def latency(workers, texts, rounds, tell=lambda steps: None, do="encode"):
    """`{name: float (rounds, texts)}`: milliseconds of each text alone, after a warm-up; `tell` once a turn."""
    for worker in workers.values():
        worker.ask(do, texts=texts[:WARM_UP])
    spent = {name: np.zeros((rounds, len(texts))) for name in workers}
    for number in range(rounds):
        for name in rotated(list(workers), number):
            spent[name][number] = workers[name].ask(do, warm=texts[-WARM_TURN:], texts=texts)["ms"]
            tell(1)
    return spent


def rotated(names, turn):
    first = turn % len(names)
    return names[first:] + names[:first]


def search(workers, texts, documents, rounds, tell):
    """As `latency`, up to the number of the nearest document; each worker encodes the documents once."""
    for worker in workers.values():
        worker.ask("documents", texts=list(documents))
    return latency(workers, texts, rounds, tell, "search")


def throughput(workers, texts, tell):
    """`{name: texts a second}` at batch 32, of the median call; the first call of each is not counted."""
    batches = [
        [texts[(BATCH * number + place) % len(texts)] for place in range(BATCH)] for number in range(BATCH_ROUNDS)
    ]
    spent = {name: [] for name in workers}
    for worker in workers.values():
        worker.ask("encode", texts=batches[-1], batch=BATCH)
    for turn, batch in enumerate(batches):
        for name in rotated(list(workers), turn):
            spent[name] += workers[name].ask("encode", texts=batch, batch=BATCH)["ms"]
        tell(1)
    return {name: 1000 * BATCH / float(np.median(figures)) for name, figures in spent.items()}


def cold_starts(specs, text, threads, tell):
    """`{name: [seconds]}` from just before a new process to its first vector, files in the page cache."""
    found = {name: [] for name in specs}
    for turn in range(COLD_STARTS):
        for name in rotated(list(specs), turn):
            found[name].append(cold_start(name, specs[name], text, threads))
        tell(1)
    return found


def cold_start(name, spec, text, threads):
    began = time.perf_counter()
    with Worker(name, spec, threads) as worker:
        worker.send("encode", texts=[text])
        worker.ready().reply()
        return time.perf_counter() - began


def select_questions(dataset, languages, most=QUESTIONS):
    """Dev questions of all languages in turn, `most` in all."""
    asked = [dataset.select(language, "dev") for language in languages]
    return [question for row in zip(*asked, strict=False) for question in row][:most]
