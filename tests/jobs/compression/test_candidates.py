from dataclasses import replace

import numpy as np
import pytest
from fixtures.pieces import cut

from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import model_proto
from distill.export.weights.precision import Precision
from distill.jobs.compression.budget import Budget
from distill.jobs.compression.candidates import (
    GRID,
    LAYERS,
    SEARCHED_TABLES,
    SHAPES,
    Candidate,
    Material,
    choose_grid,
    choose_to_train,
    relative_cost,
)
from distill.settings.choices import SHAPE_NAMES, TABLES
from distill.settings.sections import StudentSettings
from distill.students.ngram import NGramEncoder
from distill.students.shape import Shape
from distill.students.transformer import TransformerEncoder
from distill.students.vocabulary.vocabularies import VOCABULARIES, Additions, Vocabularies
from distill.training.stages.student_job import StudentJob

ORDER = [Candidate("all", "uint8"), Candidate("used", "int4"), Candidate("used", "pq8")]
SPEEDS = {"full": 3.0, "small": 1.0}
BYTES = {("all", "uint8"): 100, ("used", "int4"): 50, ("used", "pq8"): 20, "full": 30, "small": 10}


def size(candidate):
    return BYTES[candidate.vocabulary.removesuffix("+new"), candidate.table] + BYTES[candidate.shape]


def test_the_cheap_ones_are_every_vocabulary_in_every_format_that_an_artefact_can_have():
    assert len(set(GRID.untrained_candidates())) == len(VOCABULARIES) * len(SEARCHED_TABLES) and set(
        SEARCHED_TABLES
    ) <= set(TABLES)
    assert not any(candidate.trained for candidate in GRID.untrained_candidates())


def test_every_shape_is_a_cut_of_the_base():
    sizes = {"vocabulary": 10}
    assert all(shape.check(NGramEncoder(**sizes)) for shape in SHAPES.values())
    assert SHAPES["full"] == Shape()
    assert {*SHAPES, *LAYERS} == set(SHAPE_NAMES) and choose_grid(NGramEncoder(**sizes)) is GRID


def test_of_a_transformer_shares_of_its_layers_are_tried():
    sizes = {"vocabulary": 10, "width": 8, "heads": 2, "head_size": 4, "inner": 8, "positions": 8, "dimension": 8}
    shapes = choose_grid(TransformerEncoder(depth=12, **sizes)).shapes
    assert shapes["half"] == Shape(depth=6) and shapes["quarter"] == Shape(depth=3) and "small" not in shapes
    assert choose_grid(TransformerEncoder(depth=2, **sizes)).shapes["quarter"] == Shape(depth=1)


def test_names_say_what_a_candidate_is():
    assert Candidate("used", "int4").name == "full-used-int4"
    assert Candidate("all", "pq8", "static", True).name == "static-all-pq8-trained"


@pytest.mark.parametrize(
    ("budget", "full", "small"),
    [
        (Budget(), Candidate("all", "uint8", "full", True), Candidate("all", "uint8", "small", True)),
        (Budget(bytes=60), Candidate("used", "pq8", "full", True), Candidate("used", "int4", "small", True)),
        # One that is too slow or too large is left out.
        (Budget(ms=2.0), None, Candidate("all", "uint8", "small", True)),
        (Budget(bytes=30), None, Candidate("used", "pq8", "small", True)),
    ],
)
def test_each_shape_takes_the_first_that_fits(budget, full, small):
    assert choose_to_train(ORDER, SPEEDS, size, budget) == {"full": full, "small": small}


def test_a_static_student_has_a_table_that_learns_and_what_is_trained_pieces_for_new_languages():
    assert choose_to_train(ORDER[1:][::-1], {"static": 1.0}, lambda one: 0, Budget())["static"].table == "int4"
    chosen = choose_to_train(ORDER, SPEEDS, size, Budget(bytes=60), new=True)
    assert [one.vocabulary for one in chosen.values()] == ["used+new", "used+new"]


def test_the_cost_of_the_whole_shape_is_one():
    assert relative_cost(5, 5) == 1
    assert relative_cost(0, 5) == 0.2


CORPUS = {"de": ["Der Fluss fließt durch die Stadt."] * 3, "el": ["Το ποτάμι κυλά", "Το ποτάμι είναι μεγάλο"] * 20}


@pytest.fixture(scope="module")
def student(tokenizer, randomised):
    model = NGramEncoder(vocabulary=len(tokenizer), width=8, channels=6, orders=(2,), hidden=7, dimension=10)
    return KerasEncoder(randomised(model), tokenizer, "student")


@pytest.fixture(scope="module")
def material(student, sample):
    words = Vocabularies(student, sample, ["en", "de"], CORPUS)
    return Material.of(words, StudentJob(sample, "en", ("en", "de"), StudentSettings(), Precision()), student)


@pytest.fixture(scope="module")
def with_greek(student, sample):
    words = Vocabularies(student, sample, ["en", "de", "el"], CORPUS, ["el", "fi"], Additions(400))
    job = StudentJob(sample, "en", ("en", "de", "el"), StudentSettings(units=("passage",)), Precision())
    return Material.of(words, job, student)


def test_lines_are_the_train_questions_and_the_corpus_with_the_students_vectors(material, with_greek, student, sample):
    questions = [q.text for language in ("en", "de") for q in sample.select(language, "train")]
    assert sorted(material.targets.lines.texts) == sorted(questions + CORPUS["de"] + CORPUS["el"])
    np.testing.assert_allclose(material.targets.lines.vectors, student.encode(material.targets.lines.texts), atol=1e-6)
    # Of new languages the student says nothing.
    assert with_greek.words.new == ["el"] and not set(with_greek.targets.lines.texts) & set(CORPUS["el"])


@pytest.mark.parametrize("name, least", [("used", 1), ("twice", 2)])
def test_a_vocabulary_holds_what_is_used_so_often(material, student, name, least):
    counts = np.bincount(
        [id for ids in student.tokenizer.encode(material.words.texts) for id in ids[1:-1]],
        minlength=len(student.tokenizer),
    )
    pieces = {piece.piece for piece in model_proto(material.words.vocabulary(name).tokenizer).pieces}
    all_pieces = model_proto(student.tokenizer).pieces
    assert {all_pieces[id].piece for id in np.flatnonzero(counts >= least)} <= pieces
    assert len(pieces) < len(all_pieces)
    assert material.words.vocabulary("all") is student


def test_new_languages_get_pieces_and_old_texts_stay_as_they_were(with_greek, student, sample):
    larger = with_greek.words.vocabulary("all+new")
    assert len(larger.tokenizer) > len(student.tokenizer)
    german = [q.text for q in sample.select("de", "train")]
    assert cut(larger.tokenizer, german) == cut(student.tokenizer, german)
    before, after = (sum(map(len, each.tokenizer.encode(CORPUS["el"]))) for each in (student, larger))
    assert after < before
    np.testing.assert_allclose(larger.encode(german[:5]), student.encode(german[:5]), atol=1e-6)


def test_languages_that_are_left_out_are_named_with_their_unknown_share(material, student):
    left = material.words.left(student.tokenizer)
    assert "ru" in left and not {"en", "de"} & set(left)
    assert all(before == after for before, after in left.values())


def test_a_start_of_a_shape_is_trained_towards_teacher_and_student(material, student):
    start = material.start(material.words.vocabulary("used"), Shape(static=True, rank=6, hidden=5))
    settings = StudentSettings(epochs=1, batch_size=64, learning_rate=3e-3, lines_a_step=64)
    trained = material.train(start, replace(material.job, settings=settings))
    texts = material.targets.lines.texts[:200]
    before, after = (np.sum(one.encode(texts) * student.encode(texts), axis=1).mean() for one in (start, trained))
    assert after > before
