"""Figures that are kept until a run is finished."""

import numpy as np

from distill.evaluation.evaluate import Evaluation
from distill.jobs.pipeline.run import load_measured, save_measured
from distill.training.checkpoints import Checkpoint


def evaluation(split, first):
    languages = {"en": np.arange(first, first + 3), "de": np.array([1, 5, 2])}
    return Evaluation("teacher", split, {unit: dict(languages) for unit in ("document", "maxp")})


def test_figures_come_back_as_they_were(tmp_path):
    figures = {"dev": evaluation("dev", 1), "test": evaluation("test", 7)}
    bias = {"map": 0.1 + 0.2, "languages": {"en": 1 / 3}}
    save_measured(Checkpoint(tmp_path), figures, bias)
    again, said = load_measured(Checkpoint(tmp_path), "teacher")
    assert load_measured(Checkpoint(tmp_path / "other"), "base") is None
    assert said == bias and list(again) == ["dev", "test"]
    for split, one in figures.items():
        assert (again[split].encoder, again[split].split) == ("teacher", split)
        assert again[split].table() == one.table()
        assert list(again[split].ranks["maxp"]) == ["en", "de"]
