"""A transformer is cut where its vectors lose least."""

import itertools

import numpy as np
import pytest

from distill.encoders.batching import pad
from distill.errors import ConfigError
from distill.students.ngram import NGramEncoder
from distill.students.shape import Shape
from distill.students.transformer import TransformerEncoder
from distill.students.transformer.cutting import choose_blocks, cut, encode_batches, select_blocks, select_units

SIZES = {"vocabulary": 20, "width": 8, "depth": 4, "heads": 2, "head_size": 4, "inner": 6, "positions": 12}


@pytest.fixture(scope="module")
def model(randomised):
    """One whose second and fourth block do next to nothing."""
    model = randomised(TransformerEncoder(**SIZES, dimension=8), 0.3)
    for place, block in enumerate(model.blocks):
        for norm in (block.attention_norm, block.norm):
            norm.set_weights([np.ones(8), np.zeros(8)])
        for layer in (block.attention, block.second) if place % 2 else ():
            layer.set_weights([0.02 * weight for weight in layer.get_weights()])
    return model


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(2)
    return [random.integers(0, 20, size=length).tolist() for length in (3, 7, 5, 9, 4, 6)]


def test_the_blocks_stay_without_which_the_vectors_change_most(model, rows):
    batch = [pad(rows)]
    whole = encode_batches(model, range(4), batch)
    change = {
        pair: np.square(encode_batches(model, pair, batch) - whole).sum(axis=1).mean()
        for pair in itertools.combinations(range(4), 2)
    }
    assert choose_blocks(model, 2, rows) == [0, 2] == list(min(change, key=change.get))
    smaller = select_blocks(model, [0, 2])
    np.testing.assert_allclose(np.asarray(smaller(batch[0])), encode_batches(model, [0, 2], batch), atol=1e-6)
    # Those that stay make up for those that go.
    fitted = np.asarray(cut(model, Shape(depth=2), rows)(batch[0]))
    assert np.square(fitted - whole).sum(axis=1).mean() < 0.7 * change[0, 2]


def test_units_that_nothing_reads_leave_without_a_change(model, rows):
    wider = TransformerEncoder.from_config(model.get_config())
    wider.set_weights(model.get_weights())
    for block in wider.blocks:
        kernel, bias = block.second.get_weights()
        kernel[[1, 4]] = 0
        block.second.set_weights([kernel, bias])
    smaller = select_units(wider, 4, rows)
    assert smaller.inner == 4 and smaller.get_layer("block_0").first.kernel.shape == (8, 4)
    np.testing.assert_allclose(np.asarray(smaller(pad(rows))), np.asarray(wider(pad(rows))), atol=1e-6)


def test_of_modern_blocks_the_first_stays_and_the_others_look_as_far_as_before(randomised, rows):
    sizes = {**SIZES, "dimension": 8, "block": "modern", "local": (1, 2), "window": 1}
    model = randomised(TransformerEncoder(**sizes), 0.3)
    # The first does next to nothing, the fourth nothing at all.
    for place, factor in ((0, 0.02), (3, 0)):
        for layer in (model.blocks[place].attention, model.blocks[place].second):
            layer.set_weights([factor * weight for weight in layer.get_weights()])
    smaller = cut(model, Shape(depth=3), rows)
    assert (smaller.depth, smaller.local, smaller.get_layer("block_2").window) == (3, (1, 2), 1)
    np.testing.assert_allclose(np.asarray(smaller(pad(rows))), np.asarray(model(pad(rows))), atol=1e-6)
    assert choose_blocks(model, 2, rows)[0] == 0
    for block in model.blocks:
        block.second.set_weights([block.second.get_weights()[0] * np.array([[1], [0], [1], [1], [0], [1]])])
    smaller = select_units(model, 4, rows)
    assert smaller.get_layer("block_0").gate.kernel.shape == (8, 4)
    np.testing.assert_allclose(np.asarray(smaller(pad(rows))), np.asarray(model(pad(rows))), atol=1e-6)


def test_a_table_of_fewer_numbers_is_the_nearest_of_its_rank(model, rows):
    smaller = cut(model, Shape(rank=5), rows)
    table = smaller.get_layer("embedding").get_weights()[0] @ smaller.get_layer("factor").get_weights()[0]
    left, lengths, right = np.linalg.svd(model.get_layer("embedding").get_weights()[0], full_matrices=False)
    np.testing.assert_allclose(table, left[:, :5] * lengths[:5] @ right[:5], atol=1e-5)


def test_sizes_of_another_family_and_larger_ones_are_refused(model):
    with pytest.raises(ConfigError, match="channels"):
        Shape(channels=4).check(model)
    with pytest.raises(ConfigError, match="depth.*4"):
        Shape(depth=5).check(model)
    with pytest.raises(ConfigError, match="depth"):
        Shape(depth=2).check(NGramEncoder(vocabulary=9, width=4, channels=3, orders=(2,), hidden=5, dimension=6))
