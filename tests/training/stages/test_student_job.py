"""Who trains a student builds the same job: the commands' students of the same settings have the same weights."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from distill.data.loading import load_dataset
from distill.encoders.catalog.loading import load_keras_encoder
from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import model_proto
from distill.errors import ConfigError, InputError
from distill.export.form import Form
from distill.export.weights.kernels import LEVELS_OF_4, is_rounded
from distill.export.weights.precision import Precision
from distill.jobs.compression.candidates import Candidate, Grid, Material
from distill.jobs.compression.trials import Trials
from distill.jobs.pipeline.preparing import prepare, read_inputs
from distill.jobs.pipeline.second_stage import (
    TeacherSource,
    determine_start,
    make_student,
    student_job,
    transfer_alone,
)
from distill.jobs.tuning.space import SearchedSettings
from distill.jobs.tuning.tune import Students
from distill.settings.sections import Settings, StudentSettings
from distill.settings.store import change_settings
from distill.students.embeddings import TABLE
from distill.students.shape import Shape
from distill.students.transformer import TransformerEncoder
from distill.students.vocabulary.vocabularies import Vocabularies
from distill.training.session import Session
from distill.training.stages.student_job import StudentJob

LANGUAGES = ("en", "de")


@pytest.fixture(scope="module")
def base(artefacts):
    """A bundle whose table is in codewords, which a student of it keeps."""
    return str(artefacts(Form(precision=Precision(table="int4-pq5"))))


@pytest.fixture(scope="module")
def own_data(sentence_data, tmp_path_factory):
    """The data set with parallel text and descriptions of its own beside it."""
    folder = tmp_path_factory.mktemp("own")
    for path in sentence_data.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    lines = [("en", "de"), *((f"Bridge {number}", f"Brücke {number}") for number in range(20))]
    (folder / "parallel.tsv").write_text("\n".join(map("\t".join, lines)), encoding="utf-8")
    passages = [passage.id for passage in load_dataset(folder).passages][:6]
    rows = [{"passage": id, "de": f"Es geht um {id}.", "en": f"It is about {id}."} for id in passages]
    (folder / "descriptions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def settings(own_data, base):
    """Those of the tests: the table alone is trained, on the data's own text too, and its codewords are kept.

    Nothing trains the teacher, which is the base; the last epoch is quantised. It is the mean of the last, whatever dev
    says of it, which another processor's rounding may move.
    """
    values = {
        "data.dataset": str(own_data),
        "data.languages": list(LANGUAGES),
        "teacher.base": base,
        "teacher.bm25_epochs": 0,
        "teacher.online_epochs": 0,
        "student.trained_weights": "table",
        "student.own_text": True,
        "student.epochs": 2,
        "student.quantised_epochs": 1,
        "student.averaged_epochs": 1,
        "student.learning_rate": 1e-2,
        "student.batch_size": 8,
        "student.dev_unit": "maxp",
        "export.table": "int4-pq5",
    }
    return change_settings(Settings(), values)


def of_run(settings, folder):
    encoder = load_keras_encoder(settings.teacher.base)
    run = prepare(settings, folder)
    return make_student(run, determine_start(run.inputs, encoder, run.shape), encoder, encoder)


def of_transfer(settings, folder):
    # A bundle teaches as it computes, in int8; the run's teacher has its weights.
    load_keras_encoder(settings.teacher.base).save(folder / "teacher")
    return transfer_alone(settings, TeacherSource(str(folder / "teacher"), start=settings.teacher.base))


def of_trial(settings, folder):
    encoder = load_keras_encoder(settings.teacher.base)
    students = Students(read_inputs(settings), encoder, Session(), Shape())
    return students.train(SearchedSettings(settings.teacher, settings.student, None))


def weights_of(encoder):
    return {weight.path: np.asarray(weight) for weight in encoder.model.weights}


def equal(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def of_the_run(settings, tmp_path_factory):
    return weights_of(of_run(settings, tmp_path_factory.mktemp("run")))


@pytest.mark.parametrize("door", [of_transfer, of_trial])
def test_transfer_and_a_trial_train_the_student_of_a_run(settings, of_the_run, tmp_path, door):
    assert equal(weights_of(door(settings, tmp_path)), of_the_run)


@pytest.mark.parametrize("values", [{"vocabulary.most_pieces": 500}, {"shape.static": True}])
def test_transfer_refuses_what_would_change_its_start(settings, values):
    with pytest.raises(ConfigError, match=f"^{next(iter(values))}: "):
        transfer_alone(change_settings(settings, values), TeacherSource("nowhere"))


@pytest.mark.parametrize("lines", ["student.parallel", "student.labelled_text"])
def test_lines_are_enough_to_transfer_where_data_has_no_train_questions(own_data, tmp_path, lines):
    (tmp_path / "data").mkdir()
    for path in own_data.glob("??.json"):
        (tmp_path / "data" / path.name).write_bytes(path.read_bytes())
    ids = json.loads((own_data / "splits.json").read_text(encoding="utf-8"))
    (tmp_path / "data" / "splits.json").write_text(json.dumps({**ids, "train": []}), encoding="utf-8")
    named = {"student.parallel": f"{own_data}/parallel.tsv", "student.labelled_text": f"de={own_data}/parallel.tsv"}
    values = {"data.dataset": str(tmp_path / "data"), "student.objectives": ["qq"], lines: [named[lines]]}
    # All else is read before the teacher.
    with pytest.raises(InputError, match="nowhere"):
        transfer_alone(change_settings(Settings(), values), TeacherSource("nowhere"))


def test_the_table_alone_is_trained(settings, of_the_run):
    before = weights_of(load_keras_encoder(settings.teacher.base))
    assert {name for name in before if not np.array_equal(before[name], of_the_run[name])} == {f"{TABLE}/embeddings"}


def test_the_datas_own_text_is_learned_where_it_is_asked_for(settings):
    jobs = [student_job(read_inputs(change_settings(settings, {"student.own_text": text}))) for text in (True, False)]
    assert [len(source.texts) for job in jobs for source in job.sources] == [40]
    # Twenty lines in two languages; six descriptions beside eight questions.
    assert [len(job.dataset.splits["train"]) for job in jobs] == [14, 8]


def test_a_candidate_that_keeps_the_runs_shape_is_trained_as_the_run_trains(settings, tmp_path):
    # Without lines, of which a search has others: it learns from the student that it makes smaller.
    settings = change_settings(settings, {"student.lines_a_step": 0})
    inputs, encoder = read_inputs(settings), load_keras_encoder(settings.teacher.base)
    words = Vocabularies(encoder, inputs.dataset, LANGUAGES, {})
    material, grid = Material.of(words, student_job(inputs), encoder), Grid(shapes={"full": Shape()})
    trials = Trials(material, settings.export, settings.training, grid=grid)
    trained = trials._encoder(Candidate("all", "int4-pq5", trained=True), tmp_path)
    assert equal(weights_of(trained), weights_of(of_run(settings, tmp_path / "run")))


def test_a_candidate_of_another_shape_or_with_a_fixed_table_trains_all_that_it_may(settings, tiny_encoder, sample):
    job = StudentJob(sample, "en", LANGUAGES, settings.student, Precision())
    grid = Grid(shapes={"full": Shape(), "static": Shape(static=True)})
    material = Material(Vocabularies(tiny_encoder, sample, LANGUAGES, {}), job, None, tiny_encoder)
    trials = Trials(material, settings.export, settings.training, grid=grid)

    def trained(shape, table):
        options = trials.job(Candidate("all", table, shape, True)).settings
        return options.trained_weights, options.train_table

    assert trained("full", "uint8") == ("table", True)
    assert trained("static", "uint8") == ("all", True)
    assert trained("full", "pq8") == ("all", False)


def test_epochs_of_a_candidate_are_chosen_on_the_dev_data_that_is_named(
    settings, tiny_encoder, sample, monkeypatch, tmp_path
):
    sessions = []

    def trained(material, start, job, session):
        sessions.append(session)
        return start

    monkeypatch.setattr(Material, "train", trained)
    job = StudentJob(sample, "en", LANGUAGES, settings.student, Precision())
    words, targets = Vocabularies(tiny_encoder, sample, LANGUAGES, {}), SimpleNamespace(documents=None)
    material = Material(words, job, targets, tiny_encoder)
    dev = replace(sample, name="elsewhere")
    trials = Trials(material, settings.export, settings.training, grid=Grid(shapes={"full": Shape()}), dev=dev)
    trials._encoder(Candidate("all", "uint8", "full", True), tmp_path)
    assert [session.dev for session in sessions] == [dev]


def test_a_transformer_that_dev_kept_as_it_began_is_rounded_by_its_inputs_and_a_rounded_one_stays(tokenizer, sample):
    """In 4 bits, where the last epochs round: the start itself may be what is shipped."""
    sizes = {"width": 16, "depth": 1, "heads": 2, "head_size": 8, "inner": 32, "positions": 64, "dimension": 16}
    model = TransformerEncoder(vocabulary=len(tokenizer), dense="linear", **sizes)
    start, texts = KerasEncoder(model, tokenizer, "student"), {"en": [q.text for q in sample.select("en", "train")]}
    settings, precision = StudentSettings(epochs=1, quantised_epochs=1, significance=0.05), Precision("int4", "int4")
    job = StudentJob(sample, "en", LANGUAGES, settings, precision)
    shipped, _ = job.prepare_export(start, precision, texts)
    never = replace(job, settings=replace(settings, quantised_epochs=0))
    assert equal(weights_of(shipped), weights_of(never.prepare_export(start, precision, texts)[0]))
    for path, wide in model.narrow_kernels.items():
        kernel = weights_of(shipped)[path]
        assert is_rounded(kernel[wide:], LEVELS_OF_4) and not is_rounded(weights_of(start)[path][wide:], LEVELS_OF_4)
    assert equal(weights_of(job.prepare_export(shipped, precision, texts)[0]), weights_of(shipped))


def test_new_rows_are_those_of_pieces_that_the_first_encoder_lacks(settings, sample, slim, tiny_encoder):
    job = StudentJob(sample, "en", LANGUAGES, replace(settings.student, trained_weights="new-rows"), Precision())
    fewer = Vocabularies(slim, sample, ("en",), {}).vocabulary("twice")
    known = set(pieces_of(fewer))
    rows = job.trained_rows(slim, fewer)
    assert [name for name in pieces_of(slim) if name not in known] == [pieces_of(slim)[row] for row in rows]
    assert 0 < len(rows) < len(slim.tokenizer)


def pieces_of(encoder):
    return [piece.piece for piece in model_proto(encoder.tokenizer).pieces]
