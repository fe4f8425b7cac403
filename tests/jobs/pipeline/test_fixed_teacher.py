import json
import re

import numpy as np
import pytest
from fixtures.encoders import word_vector
from fixtures.vectors import unit

from distill.data.loading import load_dataset
from distill.data.parallel import Parallel
from distill.encoders.catalog.loading import load_encoder
from distill.encoders.encoder import KerasEncoder
from distill.errors import ConfigError, EncoderError
from distill.export.formats.format import load_artefact
from distill.jobs.pipeline.fixed_teacher import (
    centre,
    freeze_teacher,
    is_foreign,
    load_fixed_teacher,
    map_into_space,
    require_no_dimension,
)
from distill.settings.sections import TeacherSettings
from distill.students.linear import fit_linear_map
from distill.students.ngram import NGramEncoder
from distill.students.project import STRENGTH, project_student
from distill.students.shape import Shape
from distill.system.input_files import read_json

SMALL = ["--epochs", "1", "--no-lareqa", "--set", "export.min_cosine=0.5", "--max-drop", "100"]
TEXTS = ["How old is river 0?", "Where does the Danube end?"]


class Words:
    """In the place of a package that tests do without: the mean of random vectors of words, in a narrow cone."""

    name, dimension, fingerprint = "e5", 24, "words 1"
    computed = []

    def encode(self, texts, role="question", progress=None):
        self.computed.extend((role, text) for text in texts)
        rows = [sum(map(self.word, re.findall(r"\w+", f"{text.lower()}"))) for text in texts]
        return unit(np.array(rows) + (30 if role == "document" else 20)).astype(np.float32)

    def word(self, word):
        return word_vector(word, self.dimension)


@pytest.fixture(scope="module")
def data(sentence_data):
    return load_dataset(sentence_data)


@pytest.fixture
def questions(data):
    return [question.text for question in data.select("en", "train")]


class Turned:
    """Vectors of an encoder times a matrix."""

    name = "turned"

    def __init__(self, encoder, matrix):
        self.encoder, self.matrix, self.dimension = encoder, matrix, matrix.shape[1]

    def encode(self, texts, role="question", progress=None):
        return self.encoder.encode(texts, role) @ self.matrix


# x at a right angle to itself: each pair of numbers (a, b) becomes (-b, a).
QUARTER = np.kron(np.eye(8), [[0, 1], [-1, 0]])


@pytest.mark.parametrize(
    "matrix, foreign",
    [(np.eye(16), False), (QUARTER, True), (0.5 * np.eye(16) + 0.75**0.5 * QUARTER, False), (np.eye(16)[:, :8], True)],
    ids=["the same", "at a right angle", "at 60 degrees", "shorter"],
)
def test_a_space_is_foreign_where_vectors_are_not_alike(tiny, data, matrix, foreign):
    assert is_foreign(Turned(tiny, matrix), tiny, data, "en") is foreign


def test_the_space_of_a_student_on_axes_is_its_teachers(tiny, data):
    smaller = KerasEncoder(project_student(tiny.model, tiny.encode(data.passage_texts), 6), tiny.tokenizer)
    assert not is_foreign(tiny, smaller, data, "en")
    assert is_foreign(Turned(tiny, QUARTER), smaller, data, "en") and is_foreign(Words(), smaller, data, "en")


def test_a_map_is_fitted_on_questions_passages_and_pivots(tiny, data, questions):
    teacher, sources = Words(), [Parallel("a", 1.0, ("eins", "zwei"), ("de", "de"), ("one", "one"))]
    mapped = map_into_space(tiny, teacher, data, "en", sources)
    texts = [*questions, "one"]
    vectors = np.concatenate([tiny.encode(texts), tiny.encode(data.passage_texts)])
    labels = np.concatenate([teacher.encode(texts), teacher.encode(data.passage_texts, "document")])
    expected = unit(tiny.encode(TEXTS) @ fit_linear_map(vectors, labels, STRENGTH))
    np.testing.assert_allclose(mapped.encode(TEXTS), expected, atol=1e-5)
    assert mapped.model.foreign and mapped.tokenizer is tiny.tokenizer


def test_a_shorter_vector_of_another_space_is_refused(tiny):
    require_no_dimension(Shape(static=True), Words())
    with pytest.raises(ConfigError, match="shape.dimension: .*e5.* 24 "):
        require_no_dimension(Shape(dimension=8), Words())


@pytest.mark.parametrize("centre", [False, True])
def test_a_teacher_is_saved_and_loads_with_the_same_vectors(centre, slim_folder, data, questions, tmp_path):
    settings = TeacherSettings(model=str(slim_folder), centre=centre)
    plain = load_fixed_teacher(str(slim_folder))
    saved, note = freeze_teacher(plain, settings, data, tmp_path / "teacher")
    expected = plain.encode(TEXTS), plain.encode(TEXTS, "document")
    if centre:
        means = plain.encode(questions).mean(axis=0), plain.encode(data.passage_texts, "document").mean(axis=0)
        expected = [unit(vectors - mean) for vectors, mean in zip(expected, means, strict=True)]
    for encoder in (saved, load_encoder(tmp_path / "teacher")):
        np.testing.assert_allclose(encoder.encode(TEXTS), expected[0], atol=1e-5)
        np.testing.assert_allclose(encoder.encode(TEXTS, "document"), expected[1], atol=1e-5)
    assert {**note, "fingerprint": ""} == {"source": "encoder", "dimension": 16, "centred": centre, "fingerprint": ""}


def test_centred_questions_and_documents_have_no_mean(data, questions):
    teacher = centre(Words(), data, "en")
    assert np.linalg.norm(Words().encode(questions).mean(axis=0)) > 0.9
    assert np.linalg.norm(teacher.encode(questions).mean(axis=0)) < 0.3
    assert np.linalg.norm(teacher.encode(data.passage_texts, "document").mean(axis=0)) < 0.3


@pytest.mark.parametrize(("columns", "place"), [([1.0], r"\(1, 1\), expected \(1, 2\)"), ([1.0, np.nan], "finite")])
def test_an_encoder_whose_vectors_cannot_be_is_refused(columns, place, tmp_path):
    import tensorflow as tf

    def call(texts):
        return tf.cast(tf.strings.length(texts), tf.float32)[:, None] * tf.constant([columns])

    module = tf.Module()
    module.__call__ = tf.function(call, input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(module, str(tmp_path / "hub"))
    with pytest.raises(EncoderError, match=place):
        load_fixed_teacher(str(tmp_path / "hub"))


def test_what_a_teacher_has_computed_is_kept(teacher_folder, monkeypatch, tmp_path):
    monkeypatch.setenv("DISTILL_CACHE", str(tmp_path))
    expected = KerasEncoder.load(teacher_folder).encode(TEXTS)
    np.testing.assert_array_equal(load_fixed_teacher(str(teacher_folder)).encode(TEXTS), expected)
    again, calls = load_fixed_teacher(str(teacher_folder)), []
    monkeypatch.setattr(KerasEncoder, "encode", lambda self, texts, *more: calls.extend(texts) or expected[:1])
    np.testing.assert_array_equal(again.encode(TEXTS), expected)
    assert calls == []
    again.encode(["Which sea?"])
    assert calls == ["Which sea?"]


@pytest.fixture(scope="module")
def teacher_folder(tokenizer, randomised, tmp_path_factory):
    """An encoder with as many dimensions as the base and a space of its own."""
    model = NGramEncoder(vocabulary=len(tokenizer), width=16, channels=8, orders=(2,), hidden=12, dimension=16)
    folder = tmp_path_factory.mktemp("teacher") / "large"
    KerasEncoder(randomised(model), tokenizer, "large").save(folder)
    return folder


@pytest.fixture(scope="module")
def folder(distill, plain, slim_folder, teacher_folder, sentence_data, tmp_path_factory):
    """A run with a fixed teacher: what it leaves."""
    runs = tmp_path_factory.mktemp("runs")
    fixed = ["--base", slim_folder, "--teacher-model", teacher_folder, "--set", "teacher.centre=true"]
    fixed += ["--config", plain, "--dataset", sentence_data]
    assert distill("run", *fixed, *SMALL, "--runs", runs, "--name", "r") == 0
    return runs / "r"


@pytest.fixture(scope="module")
def metrics(folder):
    return read_json(folder / "metrics.json")


def test_a_fixed_teacher_is_not_trained_but_measured_tested_against_and_named(folder, metrics, data, teacher_folder):
    teacher, figures = load_encoder(folder / "teacher"), metrics["splits"]["dev"]
    questions = data.select("de", "dev")
    scores = teacher.encode([q.text for q in questions]) @ teacher.encode(data.passage_texts, "document").T
    expected = np.mean(scores.argmax(axis=1) == [q.passage for q in questions])
    assert figures["encoders"]["teacher"]["passage"]["de"]["p@1"] == pytest.approx(expected)
    assert list(figures["mcnemar"]) == [
        "student against base",
        "student against teacher",
        "bundle against student",
        "teacher against base",
    ]
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["event"] for row in rows} == {"data", "evaluation", "student", "done"}
    assert sorted(path.name for path in (folder / "teacher").iterdir()) == ["means.npz", "teacher.json"]
    described = {key: value for key, value in metrics["teacher"].items() if key != "fingerprint"}
    assert described == {"source": "large", "dimension": 16, "centred": True}
    assert read_json(folder / "bundle" / "card.json")["teacher_model"] == "large, centred"
    assert "taught by large" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_student_has_a_map_into_the_teachers_space_and_so_has_the_bundle(
    folder, data, distill, sentence_data, tmp_path
):
    student, teacher = KerasEncoder.load(folder / "student"), load_encoder(folder / "teacher")
    assert (student.model.foreign, student.model.space, student.dimension) == (True, 16, 16)
    texts = [question.text for question in data.select("en", "train")]
    cosines = np.sum(student.encode(texts) * teacher.encode(texts), axis=1)
    # Four in ten of the way with eight questions and twelve passages; the base's vectors are at a right angle.
    assert cosines.mean() > 0.3
    bundle = load_artefact(folder / "bundle")
    assert np.sum(bundle.encode(texts) * student.encode(texts), axis=1).min() > 0.9
    arguments = ["evaluate", folder, "--document-model", folder / "teacher", "--dataset", sentence_data]
    assert distill(*arguments, "--unit", "passage", "--json", tmp_path / "found.json") == 0
    assert read_json(tmp_path / "found.json")["retrieval"]["encoders"]


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """`e5` is `Words`; what it has computed is kept in a folder of its own."""
    monkeypatch.setattr("distill.teachers.e5.E5Encoder", Words)
    monkeypatch.setattr(Words, "computed", [])
    monkeypatch.setenv("DISTILL_CACHE", str(tmp_path / "cache"))
    return Words


def test_a_broken_teacher_ends_the_run_before_its_student_whatever_the_recipe_allows(
    distill, slim_folder, sentence_data, tmp_path, capsys
):
    """Of an encoder whose rows are all the same, so that it knows no text from another."""
    broken = KerasEncoder.load(slim_folder)
    table = broken.model.get_layer("embedding")
    table.set_weights([np.ones_like(table.get_weights()[0])])
    broken.save(tmp_path / "broken")
    flags = ["--base", slim_folder, "--teacher-model", tmp_path / "broken", "--dataset", sentence_data]
    assert distill("run", "--recipe", "small", *flags, *SMALL, "--runs", tmp_path, "--name", "run") == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("error: ") and "--allow-weak-teacher" in last
    assert not (tmp_path / "run" / "student").exists()


def test_stage_two_alone_takes_any_teacher_and_again_computes_none_of_its_vectors(
    distill, kept, slim_folder, sentence_data, tmp_path
):
    flags = ["--teacher", "e5", "--centre", "--start", slim_folder, "--dataset", sentence_data, "--epochs", "0"]
    flags += ["--set", "student.quantised_epochs=0"]
    assert distill("transfer", *flags, "--output", tmp_path / "student") == 0
    student = KerasEncoder.load(tmp_path / "student")
    assert (student.model.foreign, student.dimension) == (True, 24)
    assert len(set(kept.computed)) == len(kept.computed) > 0
    kept.computed.clear()
    assert distill("transfer", *flags, "--output", tmp_path / "again") == 0
    assert kept.computed == []
    np.testing.assert_array_equal(KerasEncoder.load(tmp_path / "again").encode(TEXTS), student.encode(TEXTS))


def test_what_cannot_teach_is_refused_before_anything_is_written(distill, kept, slim_folder, tmp_path, capsys):
    flags = ["--base", slim_folder, "--teacher-model", "e5", "--set", "shape.dimension=8"]
    assert distill("run", *flags, "--runs", tmp_path / "runs") == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "e5" in last and last.startswith("error: ")
    assert not (tmp_path / "runs").exists()
