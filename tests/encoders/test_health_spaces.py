"""Two encoders have one space where their vectors agree without what all have in common."""

import numpy as np
import pytest

from distill.encoders.catalog.loading import load_encoder
from distill.encoders.health import PROBES, measure_alignment, require_space
from distill.errors import EncoderError

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
