import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from fixtures.commands import ROOT

from distill.training.batches import BatchMaker
from distill.training.training_model import TrainedModel

ROW = {"backend": "tensorflow", "device": "a processor", "precision": "float32", "size": 32, "step": 1234.5}
ROW |= {"texts a second": 99.6, "share": 0.0312, "memory": 2345, "hours": 4.56, "processor": 2100.4}


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def script():
    return load("accelerator")


def test_rows_become_a_table_in_a_page_and_what_is_not_there_is_not_run(script, tmp_path):
    lines = script.table([ROW, {"backend": "jax", "device": "GPU", "precision": None}])
    assert (
        lines[2]
        == "| tensorflow | a processor | float32 | 32 | 100 | 1234 | 2100 | 3.1 % | 2,345 | 4.6 | – | – | – | – | – |"
    )
    assert lines[3] == "| jax | GPU |" + " not yet run |" * 13
    kinds = {"training": {"seconds": 20.4}, "encoding": {"seconds": 3.2}}
    more = {"programs": kinds, "tokens a second": 571779, "peak": 0.0739, "busy": 0.92, "plain": 22.62}
    assert script.table([{**ROW, **more}])[2].endswith("| 4.6 | 24 | 571,779 | 7.4 % | 92.0 % | 23 |")
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- accelerator -->\nold\n<!-- /accelerator -->\nb\n", encoding="utf-8")
    script.write_docs(page, lines)
    begin, end = script.MARKS
    assert page.read_text(encoding="utf-8").split("\n") == ["a", begin, "", *lines, "", end, "b", ""]
    page.write_text("a\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="page.md"):
        script.write_docs(page, lines)


def test_the_share_of_the_peak_is_six_products_a_token_and_weight(script, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    # 6 * 21.3e6 * 571779 of 989e12 a second.
    figures = {"weights": 21_300_000, "tokens a second": 571_779}
    assert script.share_of_peak(figures, "NVIDIA H200") == pytest.approx(0.0739, abs=1e-4)
    assert script.share_of_peak(figures, "a processor") is None


def test_ten_epochs_are_their_steps_and_their_scores(script):
    # Ten times 313 steps of 1.15 s and 10 s of scoring.
    assert script.ten_epochs(1150.0, 313, 10.0) == pytest.approx(10 * (313 * 1.15 + 10) / 3600, abs=0.005)


class Waiting(TrainedModel):
    """A step of 20 ms that learns nothing."""

    def __init__(self):
        super().__init__()
        self.place = self.add_weight(shape=(), initializer="zeros")
        self.compile(optimizer="sgd")
        self.built = True
        self.encoder = SimpleNamespace(get_weights=list, set_weights=list)

    def take_step(self, batch):
        import time

        time.sleep(0.02)

    def last_losses(self, count):
        return [[1.0]] * count


def test_the_clock_tells_the_steps_from_the_time_between_them():
    clock = load("step_clock")

    def make(seconds):
        import time

        time.sleep(seconds)
        return {"ids": np.zeros(7), "counts": np.zeros((3, 1))}

    def stage(ahead):
        makers = [BatchMaker(lambda: make(0.01), list, "loss", ahead)] * 5
        return SimpleNamespace(trainer=Waiting(), batches=lambda epoch: [*makers, *makers])

    waiting, ready = (clock.timed_steps(stage(ahead), 5) for ahead in (False, True))
    for figures in (waiting, ready):
        assert (figures["steps"], figures["texts"], figures["tokens"]) == (5, 3, 7)
        assert figures["packing"] >= 10
    assert waiting["wait"] >= 10 and waiting["wait"] > ready["wait"]
    assert waiting["step"] >= 20 and waiting["share"] > ready["share"]
