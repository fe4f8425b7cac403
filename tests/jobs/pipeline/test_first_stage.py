import numpy as np
import pytest

from distill.data.loading import load_dataset
from distill.data.parallel import Parallel
from distill.encoders.catalog.loading import load_encoder
from distill.encoders.dual_encoder import DualEncoder, is_dual
from distill.encoders.encoder import KerasEncoder
from distill.errors import ConfigError
from distill.jobs.pipeline.execute import choose_start, count_weights, make_teacher
from distill.jobs.pipeline.first_stage import collect_pairs, question_languages, require_lines, teacher_job
from distill.jobs.pipeline.preparing import read_inputs
from distill.jobs.pipeline.run import Run
from distill.jobs.pipeline.second_stage import StudentStart, make_student
from distill.settings.sections import Settings
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
