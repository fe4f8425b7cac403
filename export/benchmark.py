"""Milliseconds a query: tokenize and encode, batch 1, encoders in turns so that the machine's moods hit all alike."""

import platform
import time

import numpy as np

WARM_UP = 20
ROUNDS = 3


def bench(encoders, texts, rounds=ROUNDS, progress=None):
    """`{name: {"median_ms", "p95_ms", "p99_ms", "mean_ms", "std_ms"}}`, one text a call, over `rounds` passes."""
    times = {name: [] for name in encoders}
    for encoder in encoders.values():
        for text in texts[:WARM_UP]:
            encoder.encode([text])
    for _ in range(rounds):
        for text in texts:
            for name, encoder in encoders.items():
                start = time.perf_counter()
                encoder.encode([text])
                times[name].append(1000 * (time.perf_counter() - start))
        if progress:
            progress(1)
    return {name: summarise(np.array(spent)) for name, spent in times.items()}


def summarise(milliseconds):
    median, p95, p99 = np.percentile(milliseconds, [50, 95, 99])
    return {
        "median_ms": float(median),
        "p95_ms": float(p95),
        "p99_ms": float(p99),
        "mean_ms": float(milliseconds.mean()),
        "std_ms": float(milliseconds.std()),
    }


def machine():
    """The processor's name and the operating system, for the line under a table."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        processor = f"{names[0]}, {len(names)} cores"
    except (OSError, IndexError):
        processor = platform.processor() or platform.machine()
    return f"{processor}, {platform.system()}"
