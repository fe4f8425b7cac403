from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.data.loading import load_dataset
from distill.data.parallel import Parallel
from distill.encoders.catalog.loading import load_encoder
from distill.encoders.dual_encoder import DualEncoder, is_dual
from distill.encoders.encoder import KerasEncoder, normalise_rows
from distill.errors import ConfigError, TrainingError
from distill.evaluation.evaluate import Evaluation
from distill.jobs.pipeline.execute import choose_start, count_weights, make_teacher
from distill.jobs.pipeline.first_stage import (
    collect_pairs,
    question_languages,
    record_closeness,
    require_gain,
    require_lines,
    teacher_job,
)
from distill.jobs.pipeline.inputs import Inputs
from distill.jobs.pipeline.preparing import read_inputs
from distill.jobs.pipeline.run import Run
from distill.jobs.pipeline.second_stage import StudentStart, make_student
from distill.settings.sections import Settings, TeacherSettings
from distill.settings.store import change_settings
from distill.students.shape import Shape
from distill.training.stages.pair_stage import make_miner

SMALL = [
    "--set",
    "teacher.batch_size=4",
    "--bm25-epochs",
    "1",
    "--online-epochs",
    "1",
    "--set",
    "teacher.learning_rate=0.01",
]


def settings(folder, batches="x-y"):
    values = {"teacher.loss": "softmax", "data.dataset": str(folder), "pairs.batches": batches}
    return change_settings(Settings(), values)


def pairs_in(options, dataset, languages):
    return collect_pairs(options.data, options.teacher, options.pairs, dataset, languages)


def test_languages_that_ask_and_answer_are_those_of_the_batches(sentence_data, sample):
    assert question_languages("en-en", "en", ("en", "de")) == ("en",)
    assert question_languages("x-y", "en", ("en", "de")) == ("en", "de")
    data = load_dataset(sentence_data)
    for batches, languages in (("x-en", ["en"]), ("en-en", ["en"]), ("x-y", ["de", "en"])):
        pairs = pairs_in(settings(sentence_data, batches), data, ("en", "de"))
        assert sorted(set(pairs.languages.tolist())) == languages
    assert pairs_in(Settings(), sample, sample.languages) is None


def test_descriptions_and_titles_ask_in_pairs_too_and_have_negatives():
    inputs = read_inputs(change_settings(Settings(), {"teacher.loss": "softmax", "teacher.own_text": True}))
    rows = {question.id: row for row, question in enumerate(inputs.pairs.questions)}
    described = [rows[question.id] for question in inputs.titled.select("en", "train")]
    assert described == list(range(len(rows))) and len(rows) > 2 * len(inputs.dataset.splits["train"])
    job = teacher_job(inputs)
    negatives = make_miner(job.dataset, job.options, inputs.pairs)(1, None)
    assert sum(len(of) > 0 for of in negatives) > 0.9 * len(rows)


def test_a_teachers_language_without_passages_and_parallel_text_of_it_alone_are_refused(
    sentence_data, sample, sample_folder
):
    options = change_settings(settings(sample_folder, "x-en"), {"teacher.language": "de"})
    with pytest.raises(ConfigError, match="x-en"):
        pairs_in(options, sample, ("de", "en"))
    with pytest.raises(ConfigError, match=" en "):
        require_lines(0.5, "en", [Parallel("x", 1.0, ("One",), ("en",), ("One",))])
    require_lines(0.5, "en", [Parallel("x", 1.0, ("Eins",), ("de",), ("One",))])


@pytest.fixture(scope="module")
def trained(slim, tiny_folder, sentence_data, tmp_path_factory):
    """Both stages of a run with two encoders: the run and its student."""
    values = {"teacher.base": str(tiny_folder), "teacher.batch_size": 4, "teacher.learning_rate": 0.01}
    values |= {"teacher.bm25_epochs": 1, "teacher.online_epochs": 0, "student.epochs": 0}
    options = change_settings(settings(sentence_data), {**values, "pairs.encoders": "dual", "pairs.chunk_size": 2})
    run = Run(read_inputs(options), tmp_path_factory.mktemp("run"))
    teacher, beginning = make_teacher(run, slim), StudentStart(Shape())
    count_weights(run, teacher)
    return run, teacher, make_student(run, beginning, teacher, choose_start(run, beginning, slim, teacher))


def test_a_run_has_both_encoders_counted_a_student_of_one_and_a_log_of_what_was_filtered(trained, slim):
    run, teacher, student = trained
    one = sum(weight.size for weight in slim.model.get_weights())
    assert run.figures["size"] == {"teacher": {"parameters": 2 * one, "bytes": 8 * one}}
    assert is_dual(run.folder / "teacher") and isinstance(teacher, DualEncoder) and isinstance(student, KerasEncoder)
    # Not trained, it is what it started from.
    np.testing.assert_allclose(student.encode(["Old?"]), teacher.encode(["Old?"], "question"), atol=1e-6)
    rows = trained[0].log.of("teacher")
    assert [set(row["filtered"]) for row in rows] == [set(), {"passage", "answer", "parallel"}]
    assert set(rows[1]["filtered"]["answer"]) <= {"en", "de"}


def test_stage_one_alone_takes_pairs_too(distill, tiny_folder, sentence_data, tmp_path):
    arguments = [
        "--base",
        tiny_folder,
        "--dataset",
        sentence_data,
        "--loss",
        "softmax",
        "--set",
        "pairs.batches=x-x-mono",
    ]
    arguments += [*SMALL, "--online-epochs", "0", "--set", "pairs.filters=", "--output", tmp_path / "teacher"]
    assert distill("teach", *arguments) == 0
    assert load_encoder(str(tmp_path / "teacher")).dimension == 16


def test_batches_that_the_data_lacks_are_refused_before_training(distill, tiny_folder, tmp_path, capsys):
    flags = ["--loss", "softmax", "--set", "pairs.batches=x-x"]
    assert distill("run", "--base", tiny_folder, *flags, *SMALL, "--runs", tmp_path / "runs") == 2
    assert "en-en or x-en" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


# A fixed teacher that is worse than the base.
def run(base, teacher, dev=None, **changed):
    """A run whose encoders have these ranks of English MaxP on dev; of all else the teacher is the worse."""
    prepared = Run(Inputs(None, ("en", "de"), teacher=TeacherSettings(**changed), dev=dev), Path("runs/x"))
    for name, english, other in (("base", base, 1), ("teacher", teacher, 9)):
        ranks = {"maxp": {"en": np.array(english), "de": np.array([other])}, "document": {"en": np.array([other])}}
        prepared.evaluations.setdefault("dev", {})[name] = Evaluation(name, "dev", ranks)
    return prepared


# P@1 0.5, MRR@10 0.75
BASE = [1, 2]


WORSE = {"lower": {}, "another dev": {"dev": "other"}, "the base but for its means": {"base": "e5", "centre": True}}


@pytest.mark.parametrize("case", WORSE)
def test_a_fixed_teacher_that_is_worse_stops_the_run(case, capsys):
    for base, teacher in ((BASE, [2, 2]), ([1, 1], [1, 2])):
        with pytest.raises(TrainingError, match="e5.*--resume runs/x "):
            require_gain(run_with(base, teacher, **WORSE[case]))
        require_gain(run_with(base, teacher, **WORSE[case], allow_weak=True))
        assert "WEAK TEACHER" in capsys.readouterr().err


def run_with(ranks, teacher, base="muse", **changed):
    prepared = run(ranks, teacher, model="e5", **changed)
    prepared.inputs.teacher.base = base
    return prepared


@pytest.mark.parametrize(("worse", "stops"), [(20, True), (2, False)])
def test_on_lines_alone_a_fixed_teacher_has_to_be_clearly_worse(worse, stops):
    """Of 20 halves all, or two, come second and not first: p of the sign flips is 2^-19, and .5."""
    ids = tuple(str(number) for number in range(20))
    passages = tuple(Passage(id, id, int(id)) for id in ids)
    questions = {"en": {id: Question(id, "en", id, int(id)) for id in ids}}
    data = Dataset("lines", "en", ids, passages, questions, {"train": (), "dev": ids})
    lines = [Parallel("a", 1.0, ("eins",), ("de",), ("one",))]
    prepared = run_with([1] * 20, [2] * worse + [1] * (20 - worse))
    prepared.inputs = replace(prepared.inputs, dataset=data, sources=lines)
    with pytest.raises(TrainingError) if stops else nullcontext():
        require_gain(prepared)


NOTHING = [run(BASE, BASE, bm25_epochs=0, online_epochs=0), run(BASE, [2, 2])]
NOTHING += [run_with(BASE, BASE), run_with([1, 1], [1, 1]), run_with(BASE, [1, 1]), run_with(BASE, [2, 2], base="e5")]


@pytest.mark.parametrize("prepared", [run([1, 3], [1, 1]), run([1, 3], [2, 1]), *NOTHING])
def test_a_better_one_goes_on_or_where_there_is_nothing_to_beat(prepared, capsys):
    require_gain(prepared)
    assert capsys.readouterr().err == ""


class Fixed:
    """An encoder with these vectors: `turn` is a matrix that vectors of a text's letters are multiplied by."""

    def __init__(self, turn):
        self.turn, self.dimension, self.name = turn, turn.shape[1], "fixed"

    def encode(self, texts, role="question", progress=None):
        counts = np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], dtype=np.float64) + 0.1
        return normalise_rows(counts @ self.turn)


def test_base_and_student_are_compared_with_a_fixed_teacher_on_held_out_questions(sample, tmp_path):
    inputs = Inputs(sample, ("en", "de"), teacher=TeacherSettings(model="st:mine"))
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    measured = Run(inputs, tmp_path)
    record_closeness(measured, True, Fixed(turned), Fixed(np.eye(8)), Fixed(np.eye(8)))
    closeness = measured.figures["closeness"]
    assert closeness["split"] == "test" and list(closeness["encoders"]) == ["base", "student"]
    for name, cosine in (("base", None), ("student", 1.0)):
        row = closeness["encoders"][name]["en"]
        assert row["spearman"] == pytest.approx(1) and row["neighbours"] == pytest.approx(1, abs=0.01)
        assert row["cosine_mean"] == (cosine and pytest.approx(cosine))
    # The teacher reads the English version of a German question, the student the German one.
    letters = [
        Fixed(np.eye(8)).encode([question.text for question in sample.select(language, "test")])
        for language in ("en", "de")
    ]
    assert closeness["encoders"]["student"]["de"]["cosine_mean"] == pytest.approx(
        np.sum(letters[0] * letters[1], 1).mean()
    )
    trained = Run(replace(inputs, teacher=TeacherSettings()), tmp_path)
    record_closeness(trained, False, *[Fixed(np.eye(8))] * 3)
    assert "closeness" not in trained.figures
