"""A transformer is cut where its vectors lose least."""

import itertools

import keras
import numpy as np
import pytest

from distill.encoders.batching import pad
from distill.errors import ConfigError
from distill.students.ngram import NGramEncoder
from distill.students.shape import Shape
from distill.students.transformer import TransformerEncoder
from distill.students.transformer.cutting import (
    RIDGE,
    choose_blocks,
    cut,
    encode_batches,
    reconstruct_blocks,
    select_blocks,
    select_units,
)

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


THREE_BLOCKS = {"vocabulary": 30, "width": 8, "depth": 3, "heads": 2, "head_size": 4, "inner": 12, "positions": 12}
THREE_BLOCKS |= {"dimension": 8}
BLOCKS = {"bert": {}, "modern": {"block": "modern", "local": (1,), "window": 2}}


@pytest.fixture(scope="module", params=BLOCKS)
def whole(request, randomised):
    return randomised(TransformerEncoder(**THREE_BLOCKS, **BLOCKS[request.param]), 0.4)


def rows_of(seed, count=60):
    random = np.random.default_rng(seed)
    return [random.integers(0, 30, size=random.integers(2, 10)).tolist() for _ in range(count)]


def tokens(model, place, rows):
    """The tokens behind the block at a place, or before the first one, of all texts one after another."""
    layer = model.get_layer(f"block_{place}" if place >= 0 else "positions")
    states = keras.Model(model.input, layer.output)
    return [np.asarray(states(pad([row])))[:, : len(row)] for row in rows]


def test_the_last_kernel_is_the_one_of_least_squares(whole):
    rows, places = rows_of(1), [0, 2]
    fitted = reconstruct_blocks(select_blocks(whole, places), whole, places, rows)
    first, last = whole.blocks[0], whole.blocks[1]
    inputs, wanted = [], []
    for before, between in zip(tokens(whole, -1, rows), tokens(whole, 0, rows), strict=True):
        looks, order = np.ones((1, 1, before.shape[1]), bool), np.arange(before.shape[1])[None]
        x, y = first.add_attention(before, looks, order), last.add_attention(between, looks, order)
        inputs.append(np.asarray(first.compute_units(x))[0])
        wanted.append(np.asarray(y + last.second(last.compute_units(y)) - x)[0])
    inputs, wanted = np.concatenate(inputs), np.concatenate(wanted)
    weights = first.second.get_weights()
    kernel = np.concatenate([np.atleast_2d(weight) for weight in weights])
    if len(weights) > 1:
        inputs = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)
    pull = np.sqrt(RIDGE * np.square(inputs).sum(axis=0).mean())
    inputs = np.concatenate([inputs, pull * np.eye(len(kernel))])
    expected = np.linalg.lstsq(inputs, np.concatenate([wanted, pull * kernel]), rcond=None)[0]
    got = np.concatenate([np.atleast_2d(weight) for weight in fitted.blocks[0].second.get_weights()])
    np.testing.assert_allclose(got, expected, atol=2e-3 * np.abs(expected).max())


def test_vectors_of_other_texts_come_nearer_to_the_whole_encoders(whole):
    places, others = [0, 2], [pad(rows_of(2, 20))]
    expected = encode_batches(whole, range(3), others)
    fitted = reconstruct_blocks(select_blocks(whole, places), whole, places, rows_of(1, 200))
    before, after = encode_batches(whole, places, others), encode_batches(fitted, [0, 1], others)
    assert np.square(after - expected).sum() < 0.7 * np.square(before - expected).sum()


def test_where_no_block_goes_every_kernel_stays(whole):
    same = reconstruct_blocks(select_blocks(whole, range(3)), whole, range(3), rows_of(1))
    for one, other in zip(same.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
