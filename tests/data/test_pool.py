import numpy as np
import pytest

from distill.data.pool import make_pool
from distill.errors import DataError


@pytest.fixture
def pool():
    german = (["d0", "d1", "d2"], ["d", "d", "e"], [("x", "Was?", [2]), ("y", "Wo?", [1, 0, 1])])
    return make_pool("toys", {"th": (["t0"], ["t"], [("y", "ที่ไหน", [0])]), "de": german})


def test_sentences_stand_by_language_in_order_and_translations_share_their_targets(pool):
    assert pool.languages == ("de", "th")
    assert pool.sentences == ("d0", "d1", "d2", "t0")
    assert pool.contexts == ("d", "d", "e", "t")
    np.testing.assert_array_equal(pool.language_of, [0, 0, 0, 1])
    np.testing.assert_array_equal(pool.starts, [0, 3, 4])
    assert pool.count(pool.language_of) == {"de": 3, "th": 1}
    assert pool.count(pool.asked_in) == {"de": 2, "th": 1}
    assert pool.questions == ("Was?", "Wo?", "ที่ไหน")
    assert pool.ids == ("x", "y", "y")
    np.testing.assert_array_equal(pool.asked_in, [0, 0, 1])
    np.testing.assert_array_equal(pool.targets, [[2, -1, -1], [0, 1, 3], [0, 1, 3]])
    np.testing.assert_array_equal(pool.target_language, [[0, -1, -1], [0, 0, 1], [0, 0, 1]])
    chosen = pool.select(["y", "z"])
    assert chosen.sentences == pool.sentences
    assert chosen.ids == ("y", "y")
    np.testing.assert_array_equal(chosen.targets, [[0, 1, 3], [0, 1, 3]])


def test_a_language_without_questions_or_sentences_is_named(pool):
    with pytest.raises(DataError, match="^toys: .* th "):
        pool.select(["x"])
    with pytest.raises(DataError, match="^toys: .* th "):
        make_pool("toys", {"de": (["a"], ["a"], [("x", "?", [0])]), "th": ([], [], [])})
