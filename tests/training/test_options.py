"""Mixed precision and XLA train to the same P@1 on the sample's questions; what is saved is float32."""

from dataclasses import replace
from types import SimpleNamespace

import keras
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.settings.sections import TeacherSettings, TrainingSettings
from distill.stages.triplet_stage import teach
from distill.students.static import StaticEncoder
from distill.training.log import RunLog
from distill.training.session import Session

SETTINGS = TeacherSettings(learning_rate=2e-3, bm25_epochs=4, online_epochs=0, unit="document")
MIXED, JIT = TrainingSettings(precision="mixed_bfloat16"), TrainingSettings(jit=True)
OPTIONS = {"float32": TrainingSettings(), "mixed": MIXED, "jit": JIT}


@pytest.fixture(scope="module")
def trained(tokenizer, sample):
    """The same training in each way, `{way: (teacher, log rows)}`; all English questions are train and dev."""
    every = [id for ids in sample.splits.values() for id in ids]
    data = replace(sample, splits={split: every for split in ("train", "dev", "test")})
    scores = {}
    for way, options in OPTIONS.items():
        keras.utils.set_random_seed(0)
        model = StaticEncoder(vocabulary=len(tokenizer), width=64, hidden=16, dimension=64, channels=8)
        log = RunLog()
        teacher = teach(KerasEncoder(model, tokenizer), data, "en", SETTINGS, session=Session(log, options=options))
        scores[way] = SimpleNamespace(teacher=teacher, rows=log.of("teacher"))
    return scores


@pytest.mark.parametrize("way", ["mixed", "jit"])
def test_the_same_precision_at_one_within_a_point(trained, way):
    plain, other = (max(row["p@1"] for row in trained[one].rows) for one in ("float32", way))
    assert plain > 5 / 48
    assert other == pytest.approx(plain, abs=0.01)
