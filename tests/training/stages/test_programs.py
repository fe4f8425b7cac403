"""Where each shape is a program a stage has few, whatever the lengths of its texts, and a smaller batch is filled."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace

import keras
import numpy as np
import pytest
from fixtures.commands import ON_JAX
from fixtures.encoders import Words

from distill.data.parallel import make_labelled_text
from distill.encoders.encoder import KerasEncoder
from distill.settings.sections import ScorerSettings, StudentSettings, TeacherSettings, TrainingSettings
from distill.students.static import StaticEncoder
from distill.students.transformer import TransformerEncoder
from distill.training.session import Scorer, Session
from distill.training.stages.lines import label_translations
from distill.training.stages.targets import Targets, add_scores
from distill.training.stages.transfer_stage import TransferStage
from distill.training.stages.triplet_stage import TripletStage
from distill.training.trainer import select_packed

# One question is left for the last batch, or a few.
SIZE = 12
SCORER = Scorer(Words(20), ScorerSettings("words", margin_weight=0.4))
# XLA compiles a program for each shape.
COMPILED = TrainingSettings(jit=True)

COUNT = """
import json, sys
from collections import Counter
from distill.system.lean_imports import lean_imports
lean_imports()
from distill.system.backend import start
start()
import jax
from distill.data.loading import load_dataset
from distill.encoders.library_tokenizer import load_tokenizer
from distill.settings.sections import StudentSettings
from distill.training.stages.transfer_stage import transfer
from test_programs import attending, with_texts_of_any_lengths

programs = Counter()
def note(event, seconds, **facts):
    if event.endswith("backend_compile_duration"):
        programs[facts["fun_name"]] += 1
jax.monitoring.register_event_duration_secs_listener(note)

data, base = with_texts_of_any_lengths(load_dataset(sys.argv[1])), attending(load_tokenizer(sys.argv[2]))
language, *_ = data.questions
transfer(base, base, data, language, list(data.questions), StudentSettings(epochs=1, batch_size=16))
print(json.dumps(programs))
"""


def with_texts_of_any_lengths(data):
    random, words = np.random.default_rng(0), ["river", "sea", "moon", "air", "bread", "salt"]

    def text():
        return " ".join(random.choice(words, size=min(random.geometric(0.03), 300)))

    return replace(
        data,
        splits={"train": data.splits["train"][:64], "dev": data.splits["dev"][:8]},
        passages=tuple(replace(passage, text=text(), sentences=()) for passage in data.passages),
        questions={
            language: {id: replace(question, text=text(), answers=()) for id, question in of.items()}
            for language, of in list(data.questions.items())[:2]
        },
    )


def attending(tokenizer):
    """An encoder whose rows of long texts are wider than those of short ones."""
    sizes = {"width": 8, "depth": 1, "heads": 1, "head_size": 8, "inner": 8, "dimension": 8, "positions": 600}
    return KerasEncoder(TransformerEncoder(len(tokenizer), **sizes), tokenizer)


def test_few_programs_are_compiled_of_stage_2_on_texts_of_any_lengths(tokenizer, sample_folder, tmp_path):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed: only it compiles a program for each shape")
    tokenizer.save(tmp_path / "tokenizer.model")
    done = subprocess.run(
        [sys.executable, "-c", COUNT, sample_folder, tmp_path / "tokenizer.model"],
        env={**os.environ, **ON_JAX, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    programs = json.loads(done.stdout.splitlines()[-1])
    of_steps, of_encoding = (
        sum(count for name, count in programs.items() if part in name) for part in ("train_step", "predict_step")
    )
    # The student, of other weights, is scored by three programs of its own.
    assert 1 <= of_steps <= 4 and 1 <= of_encoding <= 6, programs


def test_the_steps_of_stage_1_have_few_shapes_on_texts_of_any_lengths(tokenizer, sample):
    """JAX compiles as many programs; to count its own would take ten times as long."""
    settings, session = TeacherSettings(bm25_epochs=2, online_epochs=0, batch_size=16), Session(options=COMPILED)
    stage = TripletStage(attending(tokenizer), with_texts_of_any_lengths(sample), "en", settings, 0, session)
    shapes, widths = set(), set()
    for epoch in (1, 2):
        makers = stage.batches(epoch)
        stage.trainer.plan_shapes(makers)
        batches = [make() for make in makers]
        widths |= {batch["long_ids"].shape for batch in batches if "long_ids" in batch}
        shapes |= {
            tuple((name, array.shape) for name, array in stage.trainer.shape_batch(batch).items()) for batch in batches
        }
    assert len(shapes) <= 4 < len(widths)


@pytest.fixture(scope="module")
def start(tokenizer):
    keras.utils.set_random_seed(0)
    sizes = {"width": 16, "hidden": 16, "dimension": Words.DIMENSION}
    return KerasEncoder(StaticEncoder(vocabulary=len(tokenizer), **sizes), tokenizer, "start")


def last_losses(stage):
    """The terms of the last batch's loss, and how many rows it has."""
    x = stage.batches(1)[-1]()
    terms = stage.trainer.batch_loss(np.asarray(stage.used.small.encode_packed(**select_packed(x))), x)
    rows = len(x["anchor"] if "anchor" in x else x["teacher_answers"])
    return {name: float(value) for name, value in terms.items()} if isinstance(terms, dict) else float(terms), rows


def count_programs(stage):
    """Of an epoch's steps with the last, smaller one: by the axes that no padding changes."""
    makers = stage.batches(1)
    stage.trainer.plan_shapes(makers)
    for make in makers:
        stage.trainer.shape_batch(make())
    return len({others for _, others, _ in stage.trainer.shapes.used})


@pytest.mark.parametrize("typed", [0.0, 0.5])
def test_a_filled_batch_of_stage_2_has_the_terms_of_its_own_samples(start, sample, typed):
    names = ("qq", "dd", "dq", "list", "softmax", "translation")
    settings = StudentSettings(
        objectives=names, batch_size=SIZE, lines_a_step=3, units=("document", "passage"), typed_share=typed
    )
    lines = label_translations(make_labelled_text({"de": ["eins", "zwei", "drei", "vier"]}), Words(), 1.0)
    targets = Targets.of(Words(), sample, "en", settings.units, lines)
    targets = add_scores(targets, SCORER, sample, "en", settings.units)
    stages = [
        TransferStage(start, targets, sample, ["en", "de"], settings, 0, None, Session(options=options))
        for options in (TrainingSettings(), COMPILED)
    ]
    (plain, rows), (filled, more) = map(last_losses, stages)
    assert rows < more == SIZE and filled.keys() == {*names, "scorer"}
    assert filled == pytest.approx(plain, rel=1e-5)
    assert count_programs(stages[1]) == 1


@pytest.mark.parametrize("loss", ["triplet", "contrastive"])
def test_a_filled_batch_of_stage_1_has_the_loss_of_its_own_anchors(start, sample, loss):
    settings = TeacherSettings(bm25_epochs=1, online_epochs=0, batch_size=SIZE, loss=loss)
    stages = [
        TripletStage(start, sample, "en", settings, 0, Session(options=options, scorer=SCORER))
        for options in (TrainingSettings(), COMPILED)
    ]
    (plain, rows), (filled, more) = map(last_losses, stages)
    assert rows < more == SIZE
    assert filled == pytest.approx(plain, rel=1e-5) and count_programs(stages[1]) == 1
    assert len(set(stages[1].batches(1)[-1].ids())) == len(stages[1].batches(1)[-1].ids()) == rows
