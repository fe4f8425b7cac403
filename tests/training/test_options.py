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

MIXED, JIT = TrainingSettings(precision="mixed_bfloat16"), TrainingSettings(jit=True)


def test_the_same_precision_at_one_within_a_point(tokenizer, sample):
    """All English questions are train and dev."""
    every = [id for ids in sample.splits.values() for id in ids]
    data = replace(sample, splits={split: every for split in ("train", "dev", "test")})

    def scores(options, epochs):
        keras.utils.set_random_seed(1)
        model = StaticEncoder(vocabulary=len(tokenizer), width=64, hidden=16, dimension=64, channels=8)
        log, settings = (
            RunLog(),
            TeacherSettings(learning_rate=2e-3, bm25_epochs=epochs, online_epochs=0, unit="document"),
        )
        teach(KerasEncoder(model, tokenizer), data, "en", settings, session=Session(log, options=options))
        return [row["p@1"] for row in log.of("teacher")]

    whole = scores(TrainingSettings(), 4)
    assert max(whole) > 5 / 48
    assert max(scores(MIXED, 4)) == pytest.approx(max(whole), abs=0.01)
    # XLA compiles every shape of a batch, which takes longer than to train it: one epoch.
    assert scores(JIT, 1) == pytest.approx(whole[:2], abs=0.01)
