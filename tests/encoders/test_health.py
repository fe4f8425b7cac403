import numpy as np
import pytest

from distill.encoders.catalog.loading import load_encoder
from distill.encoders.health import (
    LEAST,
    LIMIT,
    PROBES,
    collapse_warning,
    find_collapse,
    mean_cosine,
    measure_alignment,
    require_space,
)
from distill.errors import EncoderError
from distill.jobs.pipeline.shipping import list_warnings

TEXTS = [f"What is {number}?" for number in range(50)]


def rows(n, d, seed=0, common=0.0):
    """Unit rows, around a common direction."""
    vectors = np.random.default_rng(seed).normal(size=(n, d))
    vectors[:, 0] += common
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def in_loops(vectors, ids):
    rows = list(zip(vectors.astype(np.float64), ids, strict=True))
    return np.mean([np.dot(a, b) for a, one in rows for b, other in rows if one != other])


@pytest.mark.parametrize("common", [0.0, 3.0, 300.0])
def test_the_mean_is_that_of_all_pairs_of_other_questions_in_plain_loops(common):
    vectors, ids = rows(30, 5, common=common), [f"q{number % 12}" for number in range(30)]
    assert mean_cosine(vectors, ids) == pytest.approx(in_loops(vectors, ids), abs=1e-6)


def test_translations_of_one_question_do_not_count():
    # Eight questions at right angles, each in three languages alike.
    vectors = np.repeat(np.eye(8), 3, axis=0)
    assert mean_cosine(vectors, np.repeat(np.arange(8), 3)) == pytest.approx(0.0, abs=1e-12)
    assert mean_cosine(vectors, np.arange(24)) == pytest.approx(24 * 2 / (24 * 23))


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_equal_vectors_are_collapsed_and_so_are_zeros(value):
    vectors = np.full((9, 4), value, dtype=np.float32)
    assert mean_cosine(vectors, range(9)) == pytest.approx(1.0)
    assert find_collapse(vectors, range(9), TEXTS[:9]) == 1.0


def test_the_limit_is_between_a_narrow_cone_and_a_collapse_and_of_few_questions_nothing_is_said():
    # Of the mean m and noise of d - 1 dimensions the cosine is about m² / (m² + d - 1).
    cone, point = rows(50, 65, common=16.0), rows(50, 65, common=160.0)
    assert (
        mean_cosine(cone, range(50)) == pytest.approx(0.8, abs=0.03) and find_collapse(cone, range(50), TEXTS) is None
    )
    assert find_collapse(point, range(50), TEXTS) > LIMIT
    vectors = np.ones((LEAST, 1))
    assert find_collapse(vectors, range(LEAST), TEXTS[:LEAST]) == 1.0
    assert find_collapse(vectors[1:], range(LEAST - 1), TEXTS[1:LEAST]) is None
    assert find_collapse(vectors, [0] * LEAST, TEXTS[:LEAST]) is None


def test_equal_texts_have_equal_vectors_and_say_nothing_of_an_encoder():
    texts, vectors = ["What?", " what? "] * 1500 + TEXTS[:LEAST], np.eye(2)[[0] * 3000 + [1] * LEAST]
    # Of nine distinct texts 28 of 36 pairs have a cosine of 1, the others of 0.
    assert mean_cosine(vectors, range(3008)) > LIMIT and find_collapse(vectors, range(3008), texts) is None
    alike = np.full((3008, 1), 1.0)
    assert (
        find_collapse(alike, range(3008), ["What?"] * 3008) is None and find_collapse(alike, range(3008), texts) == 1.0
    )


def test_a_wide_matrix_of_pairs_is_not_made():
    # All pairs would take 80 GB.
    assert mean_cosine(rows(100_000, 2), np.arange(100_000)) == pytest.approx(0.0, abs=0.01)


def test_what_is_said_names_the_encoder_or_the_stage_and_says_when_and_how_much():
    assert collapse_warning("muse", 0.99912).startswith("WARNING: muse ") and "0.9991" in collapse_warning(
        "muse", 0.99912
    )
    scores = {"p@1": 0.1, "mrr@10": 0.2}
    log = [
        {"event": "data", "files": {}},
        {"event": "teacher", "step": 0, **scores},
        {"event": "teacher", "step": 4, **scores, "collapsed": 0.9912},
        {"event": "teacher", "step": 8, **scores, "collapsed": 0.99951},
        {"event": "student", "step": 0, **scores},
    ]
    [warning] = list_warnings(log)
    assert warning.startswith("teacher: ") and all(part in warning for part in ("2 of 3", "step 4", "0.9995"))
    assert list_warnings([row for row in log if "collapsed" not in row]) == []


def test_the_encoders_here_are_far_from_it(tiny, sample):
    questions = sample.select("en", "dev")
    vectors = tiny.encode([question.text for question in questions])
    assert 0.5 < mean_cosine(vectors, [question.id for question in questions]) < 0.96


# Two encoders have one space where their vectors agree without what all have in common.
NAMES = "small", "large"


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class Fixed:
    """An encoder that gives the vectors that it was made with."""

    def __init__(self, vectors):
        self.vectors, self.dimension = vectors, vectors.shape[1]

    def encode(self, texts, role="question", progress=None):
        return self.vectors[: len(texts)]


def test_what_all_vectors_have_in_common_does_not_count():
    a = np.array([[0.6, 0.8, 0], [0.6, 0, 0.8]])
    # Less their means the rows are (0, .4, -.4) and its opposite, and (0, -.3, -.3) and its opposite: a right angle.
    b = np.array([[0.9, -0.3, -0.3], [0.9, 0.3, 0.3]])
    assert measure_alignment(a, b) == pytest.approx(0, abs=1e-6)
    assert measure_alignment(a, np.array([[0, 0.9, 0.1], [0, 0.1, 0.9]])) == pytest.approx(1)
    assert measure_alignment(a[:1], np.array([[0, 1, 0]])) == pytest.approx(0.8)


def test_an_encoder_of_another_space_or_dimension_is_refused():
    rng = np.random.default_rng(0)
    cone = unit(rng.normal(size=(len(PROBES), 64)) * 0.1 + 1)
    near, far = unit(cone + 0.003 * rng.normal(size=cone.shape)), unit(rng.normal(size=cone.shape) * 0.1 + 1)
    # With what they have in common every cosine of the two is near 1.
    assert np.sum(cone * far, axis=1).min() > 0.95
    assert require_space(Fixed(near), cone, NAMES) > 0.8
    with pytest.raises(EncoderError, match="small .*large"):
        require_space(Fixed(far), cone, NAMES)
    with pytest.raises(EncoderError, match="64 .*large 32"):
        require_space(Fixed(near), cone[:, :32], NAMES)
    with pytest.raises(EncoderError, match="nan"):
        require_space(Fixed(near * np.nan), cone, NAMES)


def test_the_encoders_of_one_teacher_that_distill_comes_with_have_one_space():
    small, large = load_encoder("multi12-static"), load_encoder("multi12-ngram")
    assert require_space(small, large.encode(PROBES, "question"), NAMES) > 0.7
