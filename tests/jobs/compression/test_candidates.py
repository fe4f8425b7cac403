import pytest

from distill.jobs.compression.budget import Budget
from distill.jobs.compression.candidates import (
    GRID,
    LAYERS,
    SEARCHED_TABLES,
    SHAPES,
    Candidate,
    choose_grid,
    choose_to_train,
    relative_cost,
)
from distill.settings.choices import SHAPE_NAMES, TABLES
from distill.students.ngram import NGramEncoder
from distill.students.shape import Shape
from distill.students.transformer import TransformerEncoder
from distill.students.vocabulary.vocabularies import VOCABULARIES

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
