from dataclasses import replace

import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.errors import ConfigError
from distill.settings.sections import ShapeSettings
from distill.students.ngram import NGramEncoder
from distill.students.project import map_space
from distill.students.shape import Shape, find_limits, shape_encoder
from distill.students.static import StaticEncoder

TEXTS = ["Wo liegt Berlin?", "Where is the river?", "a b c d e"]


@pytest.fixture(scope="module")
def encoder(tokenizer, randomised):
    model = NGramEncoder(vocabulary=len(tokenizer), width=8, channels=6, orders=(2, 3), hidden=7, dimension=10)
    return KerasEncoder(randomised(model), tokenizer, "whole")


@pytest.fixture(scope="module")
def vectors(encoder):
    return encoder.encode(TEXTS * 4)


def test_the_encoder_itself_comes_back_uncut_and_cut_features_are_refitted(encoder, vectors):
    assert shape_encoder(encoder, Shape(), TEXTS, vectors) is encoder
    sizes = {"rank": 8, "channels": 6, "convolutions": 2, "hidden": 7, "inner": 10, "dimension": 10}
    assert find_limits(encoder.model) == sizes
    # Against plain slicing, whose pooling layer is a part of the encoder's.
    smaller = shape_encoder(encoder, Shape(orders=(2,)), TEXTS, vectors)
    sliced = np.asarray(encoder.model.get_layer("pooling").dense.kernel)[: 8 + 6]
    assert not np.allclose(np.asarray(smaller.model.get_layer("pooling").dense.kernel), sliced)


@pytest.mark.parametrize(
    "shape, sizes",
    [
        (Shape(rank=4), {"rank": 4}),
        (Shape(channels=3), {"channels": 3}),
        (Shape(orders=(3,)), {"orders": (3,)}),
        (Shape(convolutions=1), {"convolutions": 1}),
        (Shape(hidden=5), {"hidden": 5, "inner": 10}),
        (Shape(inner=4), {"hidden": 7, "inner": 4}),
        (Shape(dimension=3), {"dimension": 3, "space": 10}),
        (
            Shape(rank=4, channels=3, orders=(2,), convolutions=1, hidden=5, inner=4, dimension=3),
            {"rank": 4, "channels": 3, "orders": (2,), "convolutions": 1, "hidden": 5, "inner": 4, "dimension": 3}
            | {"space": 10},
        ),
    ],
    ids=str,
)
def test_only_what_is_asked_for_is_cut(encoder, vectors, shape, sizes):
    smaller = shape_encoder(encoder, shape, TEXTS, vectors)
    changed = {**encoder.model.get_config(), "name": None, **sizes}
    config = {**smaller.model.get_config(), "name": None}
    assert {**config, "orders": tuple(config["orders"])} == {**changed, "orders": tuple(changed["orders"])}
    assert smaller.encode(TEXTS).shape == (3, sizes.get("dimension", 10))
    assert smaller.tokenizer is encoder.tokenizer


@pytest.mark.parametrize("shape", [Shape(channels=3, hidden=5), Shape(static=True, rank=10, hidden=3)], ids=str)
def test_a_student_in_anothers_space_is_cut_and_stays_there(encoder, vectors, shape):
    labels = np.random.default_rng(5).normal(size=(12, 14))
    model = map_space(encoder.model, vectors, labels)
    smaller = shape_encoder(KerasEncoder(model, encoder.tokenizer), shape, TEXTS, None)
    assert (smaller.model.space, smaller.dimension, smaller.model.foreign) == (10, 14, True)
    np.testing.assert_array_equal(
        smaller.model.get_layer("projection").get_weights()[0], model.get_layer("projection").get_weights()[0]
    )
    with pytest.raises(ConfigError, match="dimension: .* 14"):
        shape_encoder(KerasEncoder(model, encoder.tokenizer), replace(shape, dimension=5), TEXTS, vectors)


def test_a_static_student_has_its_sizes_from_the_shape(encoder, vectors):
    smaller = shape_encoder(encoder, Shape(static=True, rank=4, hidden=3, dimension=5), TEXTS, vectors)
    assert isinstance(smaller.model, StaticEncoder)
    assert (smaller.model.width, smaller.model.hidden, smaller.model.dimension) == (4, 3, 5)
    # No more columns than its start has dimensions, and it is cut no further.
    whole = shape_encoder(encoder, Shape(static=True), TEXTS, vectors)
    assert whole.model.width == whole.dimension == encoder.dimension
    assert find_limits(smaller.model) == {}
    with pytest.raises(ConfigError, match="static"):
        shape_encoder(smaller, Shape(rank=2), TEXTS, vectors)


@pytest.mark.parametrize(
    "shape, message",
    [
        (Shape(channels=7), "channels: .* 6, .* 7"),
        (Shape(dimension=11), "dimension: .* 10, .* 11"),
        (Shape(orders=(2, 5)), "orders: .* 2,3, .* 5"),
    ],
)
def test_what_is_no_cut_is_refused(encoder, vectors, shape, message):
    with pytest.raises(ConfigError, match=message):
        shape_encoder(encoder, shape, TEXTS, vectors)


def test_a_shape_of_settings_has_whole_numbers_as_orders_and_a_text_of_what_is_cut():
    assert Shape.of(ShapeSettings(orders=("2", "3"), channels=4)) == Shape(orders=(2, 3), channels=4)
    assert Shape.of(ShapeSettings()).whole
    assert str(Shape()) == "full"
    assert str(Shape(static=True, rank=64)) == "static-rank64"
    assert str(Shape(channels=8, orders=(2, 3))) == "channels8-orders2,3"
