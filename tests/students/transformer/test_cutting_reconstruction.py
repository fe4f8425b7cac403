"""Blocks fitted to the whole encoder: against least squares by NumPy, and on texts that they were not fitted to."""

import keras
import numpy as np
import pytest

from distill.encoders.batching import pad
from distill.students.transformer import TransformerEncoder
from distill.students.transformer.cutting import RIDGE, encode_batches, reconstruct_blocks, select_blocks

SIZES = {"vocabulary": 30, "width": 8, "depth": 3, "heads": 2, "head_size": 4, "inner": 12, "positions": 12}
SIZES |= {"dimension": 8}
BLOCKS = {"bert": {}, "modern": {"block": "modern", "local": (1,), "window": 2}}


@pytest.fixture(scope="module", params=BLOCKS)
def whole(request, randomised):
    return randomised(TransformerEncoder(**SIZES, **BLOCKS[request.param]), 0.4)


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
