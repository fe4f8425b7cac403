"""Each pooling over padded and packed texts is NumPy's of a text's own tokens, and only some are in artefacts."""

import numpy as np
import pytest

from distill.errors import ExportError
from distill.students.transformer.pooling import POOLINGS, count_poolings, pool_packed, pool_padded, require_bundled

TEXTS = [np.random.default_rng(text).normal(size=(length, 4)).astype(np.float32) for text, length in enumerate((3, 5))]


def pool(name, x):
    places = np.arange(1, len(x) + 1, dtype=np.float32)[:, None]
    return {
        "mean": x.mean(axis=0),
        "first": x[0],
        "max": x.max(axis=0),
        "root": x.sum(axis=0) / np.sqrt(len(x)),
        "weighted": (x * places).sum(axis=0) / places.sum(),
        "last": x[-1],
    }[name]


@pytest.mark.parametrize("name", [*POOLINGS, "first+weighted"])
def test_padded_and_packed_texts_give_the_pooling_of_their_own_tokens(name):
    expected = np.stack([np.concatenate([pool(one, x) for one in name.split("+")]) for x in TEXTS])
    padded, there = np.full((2, 6, 4), 9, np.float32), np.zeros((2, 6, 1), np.float32)
    # Padding may come before a text.
    for row, (x, begin) in enumerate(zip(TEXTS, (2, 0), strict=True)):
        padded[row, begin : begin + len(x)], there[row, begin : begin + len(x)] = x, 1
    np.testing.assert_allclose(pool_padded(name, padded, there), expected, atol=1e-5)
    packed = np.concatenate([*TEXTS, np.full((2, 4), 9, np.float32)])
    inside = np.array([[1]] * 8 + [[0]] * 2, np.float32)
    segments = np.array([0] * 3 + [1] * 7, np.int32)
    counts, starts = np.array([[3], [5]], np.float32), np.array([0, 3], np.int32)
    np.testing.assert_allclose(pool_packed(name, packed, inside, segments, counts, starts), expected, atol=1e-5)
    assert count_poolings(name) * 4 == expected.shape[1]


def test_what_artefacts_do_not_compute_is_refused_by_its_name():
    require_bundled("max", "tanh")
    for pooling, dense, named in (("last", None, "last"), ("mean+max", None, "mean"), ("mean", "silu", "silu")):
        with pytest.raises(ExportError, match=named):
            require_bundled(pooling, dense)
