"""The objective "tokens", by small transformers of which the student is the teacher's first block."""

from dataclasses import replace
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from fixtures.encoders import Words

from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer
from distill.errors import EncoderError
from distill.export.weights.precision import Precision
from distill.settings.sections import StudentSettings
from distill.settings.stages import LossSettings, TokenSettings
from distill.stages.token_states import TokenTrainer, token_teacher
from distill.stages.transfer_stage import Targets, TransferStage, batch_loss, require_trainable, transfer
from distill.students.static import StaticEncoder
from distill.students.transformer import TransformerEncoder
from distill.students.vocabulary.pieces import pruned_encoder
from distill.training.fake_quantisation import quantised
from distill.training.session import Session

SIZES = {"width": 16, "heads": 2, "head_size": 8, "inner": 32, "positions": 128, "dimension": 16}
SETTINGS = StudentSettings(
    objectives=("qq", "dd", "tokens"),
    losses=LossSettings(tokens=TokenSettings(0.5)),
    learning_rate=1e-2,
    epochs=2,
    batch_size=16,
    units=("passage",),
    document_tokens=400,
)
LANGUAGES = ["en", "de"]
ROWS = np.array([20, 3, 7, 60])


@pytest.fixture(scope="module")
def encoders(tokenizer, randomised):
    def make(**changes):
        model = randomised(TransformerEncoder(vocabulary=len(tokenizer), **{**SIZES, **changes}), 0.3)
        return KerasEncoder(model, tokenizer, "made")

    return SimpleNamespace(make=make, teacher=make(depth=2), start=make(depth=1))


@pytest.fixture(scope="module")
def few(sample):
    ids = sample.splits["train"][:48]
    return replace(sample, splits={split: ids for split in ("train", "dev", "test")})


@pytest.fixture(scope="module")
def stage(encoders, few):
    targets = Targets.of(encoders.teacher, few, "en", SETTINGS.units)
    return TransferStage(encoders.start, targets, few, LANGUAGES, SETTINGS, 0, Precision("int8", "uint8"))


def states_of(encoder, texts):
    """The last states of each text alone, padding left out: `[(t, width)]`."""
    model = encoder.model
    last = keras.Model(model.input, model.get_layer(f"block_{model.depth - 1}").output)
    return [np.asarray(last(np.array([ids], dtype=np.int32)))[0] for ids in texts]


def share_apart(student, teacher, texts):
    """Squares of differences over squares of the teacher's states, of all tokens together."""
    states, targets = (np.concatenate(states_of(encoder, texts)) for encoder in (student, teacher))
    return np.sum((states - targets) ** 2) / np.sum(targets**2)


def texts_in(stage, x):
    rows = [x["ids"][(x["segments"] == number) & (x["ids"] >= 0)] for number in range(len(x["counts"]))]
    if "long_ids" in x:
        of_text = [(x["long_segments"] == number) & (x["long_ids"] >= 0) for number in range(len(x["counts"]))]
        rows = [np.concatenate([row, x["long_ids"][long]]) for row, long in zip(rows, of_text, strict=True)]
    return [stage.used.rows[row].tolist() for row in rows]


@pytest.mark.parametrize("rounded", [False, True])
def test_the_loss_is_that_of_the_vectors_and_of_the_states_of_each_text_alone(stage, encoders, rounded):
    x, trainer = stage.batch(ROWS), stage.trainer
    texts = texts_in(stage, x)
    assert min(map(len, texts)) > 2
    trainer.quantise(rounded)
    with trainer.as_shipped() if rounded else quantised(trainer.encoder, Precision("float32", "float32")):
        student = KerasEncoder(stage.used.restore(encoders.start.model), encoders.start.tokenizer)
        vectors = np.stack([np.asarray(student.model(np.array([ids])))[0] for ids in texts])
    apart = share_apart(student, encoders.teacher, texts)
    expected = float(batch_loss(vectors, x, SETTINGS)) + 100 * 0.5 * apart
    assert float(trainer.compute_loss(x, None, trainer(x))) == pytest.approx(expected, rel=1e-4)
    assert apart > 0.1
    trainer.quantise(False)


def test_a_student_comes_nearer_to_its_teachers_states_which_stay(encoders, few):
    before = encoders.teacher.model.get_weights()
    texts = encoders.start.tokenizer.encode([question.text for question in few.select("de", "train")])
    student = transfer(encoders.teacher, encoders.start, few, "en", LANGUAGES, SETTINGS)
    first, last = (share_apart(one, encoders.teacher, texts) for one in (encoders.start, student))
    assert last < 0.8 * first
    for one, other in zip(before, encoders.teacher.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_the_objective_no_teacher_is_kept(encoders, few):
    targets = Targets.of(encoders.teacher, few, "en", SETTINGS.units)
    stage = TransferStage(encoders.start, targets, few, LANGUAGES, replace(SETTINGS, objectives=("qq",)), 0)
    assert not isinstance(stage.trainer, TokenTrainer)


def test_what_has_no_common_states_is_refused_before_the_teacher_is_asked(encoders, tokenizer, few):
    start, teacher = encoders.start, encoders.teacher
    assert token_teacher(teacher, start) is teacher
    static = KerasEncoder(StaticEncoder(vocabulary=len(tokenizer), width=16, hidden=8, dimension=16), tokenizer)
    fewer = pruned_encoder(start, range(len(tokenizer) - 50))
    narrow = encoders.make(depth=1, width=8, heads=1, dense="linear")
    others = (Words(16), start), (static, start), (teacher, static), (teacher, fewer), (teacher, narrow)
    for one, other in others:
        with pytest.raises(EncoderError, match="^student.objectives: "):
            require_trainable(one, other, Session().options, SETTINGS)
    assert isinstance(tokenizer, Tokenizer)
