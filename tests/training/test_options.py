"""Mixed precision and XLA train to the same P@1 on the sample's questions."""

from dataclasses import replace

import keras
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.settings.sections import TeacherSettings, TrainingSettings
from distill.stages.triplet_stage import teach
from distill.students.static import StaticEncoder
from distill.training.log import RunLog
from distill.training.session import Session

SETTINGS = TeacherSettings(learning_rate=2e-3, bm25_epochs=4, online_epochs=0, unit="document")
MIXED = TrainingSettings(precision="mixed_bfloat16")
OPTIONS = {"float32": TrainingSettings(), "mixed": MIXED, "jit": TrainingSettings(jit=True)}


def test_the_same_precision_at_one_within_a_point(tokenizer, sample):
    """All English questions are train and dev."""
    every = [id for ids in sample.splits.values() for id in ids]
    data = replace(sample, splits={split: every for split in ("train", "dev", "test")})
    best = {}
    for way, options in OPTIONS.items():
        keras.utils.set_random_seed(1)
        model = StaticEncoder(vocabulary=len(tokenizer), width=64, hidden=16, dimension=64, channels=8)
        log = RunLog()
        teach(KerasEncoder(model, tokenizer), data, "en", SETTINGS, session=Session(log, options=options))
        best[way] = max(row["p@1"] for row in log.of("teacher"))
    assert best["float32"] > 5 / 48
    assert best == pytest.approx(dict.fromkeys(OPTIONS, best["float32"]), abs=0.01)
