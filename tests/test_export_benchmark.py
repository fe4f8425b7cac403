import platform
import time

import numpy as np
import pytest

from distill.export import benchmark
from distill.export.benchmark import WARM_UP, bench, machine, summarise


class Recorder:
    """An encoder that writes down who was asked what, and takes `seconds` once it is warm and `first` before."""

    dimension = 2

    def __init__(self, name, calls, seconds=0.0, first=None):
        self.name, self.calls, self.seconds, self.first = name, calls, seconds, first

    def encode(self, texts, role="question", progress=None):
        own = sum(name == self.name for name, _ in self.calls)
        time.sleep(self.seconds if self.first is None or own >= WARM_UP else self.first)
        self.calls.append((self.name, list(texts)))
        return np.ones((len(texts), 2), dtype=np.float32) / np.sqrt(2)


def test_a_summary_by_hand():
    # Of 1 … 100: linear percentiles are 1 + 99 p; the variance of n numbers in a row is (n^2 - 1) / 12.
    assert summarise(np.arange(1.0, 101.0)) == pytest.approx(
        {"median_ms": 50.5, "p95_ms": 95.05, "p99_ms": 99.01, "mean_ms": 50.5, "std_ms": (9999 / 12) ** 0.5}
    )


def test_a_summary_holds_plain_numbers():
    assert {type(value) for value in summarise(np.array([1.0, 2.0])).values()} == {float}


def test_one_text_a_call_in_turns():
    calls = []
    bench({"a": Recorder("a", calls), "b": Recorder("b", calls)}, ["x", "y"], rounds=2)
    warm_up = [("a", ["x"]), ("a", ["y"]), ("b", ["x"]), ("b", ["y"])]
    one_round = [("a", ["x"]), ("b", ["x"]), ("a", ["y"]), ("b", ["y"])]
    assert calls == warm_up + 2 * one_round


def test_the_warm_up_is_short_and_not_timed():
    calls, texts = [], [str(number) for number in range(WARM_UP + 5)]
    found = bench({"a": Recorder("a", calls, first=0.02)}, texts, rounds=1)
    assert len(calls) == WARM_UP + len(texts)
    assert found["a"]["median_ms"] < 15


def test_times_are_milliseconds_by_encoder():
    found = bench({"slow": Recorder("slow", [], 0.01), "fast": Recorder("fast", [])}, ["x", "y", "z"], rounds=2)
    assert list(found) == ["slow", "fast"]
    assert found["slow"]["median_ms"] >= 10 > found["fast"]["median_ms"]
    assert found["slow"]["p99_ms"] >= found["slow"]["p95_ms"] >= found["slow"]["median_ms"]


def test_progress_is_told_each_round():
    told = []
    bench({"a": Recorder("a", [])}, ["x"], rounds=3, progress=told.append)
    assert told == [1, 1, 1]


def test_the_machine_is_named():
    assert machine().endswith(f", {platform.system()}") and not machine().startswith(",")


@pytest.mark.parametrize("content", [None, "", "Processor : of another kind\n"])
def test_a_machine_without_model_names_is_named_by_its_kind(monkeypatch, tmp_path, content):
    info = tmp_path / "cpuinfo"
    if content is not None:
        info.write_text(content)
    monkeypatch.setattr(benchmark, "open", lambda path, **options: info.open(**options), raising=False)
    assert machine() == f"{platform.processor() or platform.machine()}, {platform.system()}"


def test_cores_are_counted(monkeypatch, tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text(2 * "processor : 0\nmodel name\t: Abacus: 9000\nflags : bead\n\n")
    monkeypatch.setattr(benchmark, "open", lambda path, **options: info.open(**options), raising=False)
    assert machine() == f"Abacus: 9000, 2 cores, {platform.system()}"
