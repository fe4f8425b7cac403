import numpy as np
import pytest

from distill.encoders.catalog import vector_cache as cache
from distill.encoders.catalog.vector_cache import CachedEncoder, cache_folder
from distill.system.hashes import fingerprint_of


class Counting:
    """A vector for each text and role; remembers what it computed."""

    name, dimension = "counting", 2

    def __init__(self):
        self.computed = []

    def encode(self, texts, role="question", progress=None, contexts=None):
        self.computed += texts
        if progress:
            progress(len(texts))
        return np.array([[len(text), role == "document"] for text in texts], dtype=np.float32)


@pytest.fixture
def cached(tmp_path):
    return CachedEncoder(Counting(), "one", tmp_path)


def test_a_text_is_computed_once_in_each_role_and_counted_but_none_with_a_context_is_kept(cached):
    first, steps = cached.encode(["a", "bb", "a"]), []
    np.testing.assert_array_equal(first, [[1, 0], [2, 0], [1, 0]])
    np.testing.assert_array_equal(cached.encode(["ccc", "bb", "ccc"], progress=steps.append), [[3, 0], [2, 0], [3, 0]])
    np.testing.assert_array_equal(cached.encode(["bb"], "document"), [[2, 1]])
    assert cached.encoder.computed == ["a", "bb", "ccc", "bb"] and sum(steps) == 3
    assert first.dtype == np.float32 and cached.encode([]).shape == (0, 2)
    for _ in range(2):
        cached.encode(["a"], "document", contexts=["b"])
    assert cached.encoder.computed[4:] == ["a", "a"]


def test_a_second_run_computes_nothing(cached, tmp_path):
    texts = ["Größe", "河", "a\nb", "\ud800"]
    expected = [cached.encode(texts), cached.encode(["河"], "document")]
    again, other = Counting(), CachedEncoder(Counting(), "other", tmp_path)
    second = CachedEncoder(again, "one", tmp_path)
    np.testing.assert_array_equal(second.encode(texts), expected[0])
    np.testing.assert_array_equal(second.encode(["河"], "document"), expected[1])
    assert again.computed == []
    other.encode(["河"])
    assert other.encoder.computed == ["河"]


def test_what_was_computed_before_it_broke_off_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "PART", 2)

    class Breaking(Counting):
        def encode(self, texts, role="question", progress=None, contexts=None):
            if "e" in texts:
                raise KeyboardInterrupt
            return super().encode(texts, role, progress)

    with pytest.raises(KeyboardInterrupt):
        CachedEncoder(Breaking(), "one", tmp_path).encode(list("abcdef"))
    again = CachedEncoder(Counting(), "one", tmp_path)
    assert again.encode(list("abcdef")).shape == (6, 2)
    assert again.encoder.computed == ["e", "f"]


@pytest.mark.parametrize("damage", ["keys", "vectors", "half", "shape"])
def test_damaged_files_are_computed_anew(cached, tmp_path, damage):
    cached.encode(["a", "b"])
    (keys,), (vectors,) = tmp_path.rglob("*.keys"), tmp_path.rglob("*.npy")
    if damage == "keys":
        keys.write_bytes(keys.read_bytes()[:-1] + b"xyz" * 30)
    elif damage == "vectors":
        vectors.unlink()
    elif damage == "half":
        vectors.write_bytes(vectors.read_bytes()[:-3])
    else:
        np.save(vectors, np.zeros((2, 5), np.float32))
    again = CachedEncoder(Counting(), "one", tmp_path)
    np.testing.assert_array_equal(again.encode(["a", "b"]), [[1, 0], [1, 0]])
    assert again.encoder.computed == ["a", "b"]


def test_the_folder_is_the_users_unless_it_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("DISTILL_CACHE", raising=False)
    assert cache_folder() == tmp_path / "distill"
    monkeypatch.setenv("DISTILL_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_fingerprint_is_of_texts_and_of_what_files_hold(tmp_path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("1")
    assert fingerprint_of("x", tmp_path / "a") == fingerprint_of("x", tmp_path / "b")
    (tmp_path / "b").write_text("2")
    parts = [("x", tmp_path / "a"), ("x", tmp_path / "b"), ("y", tmp_path / "a"), ("x",), ("x1",)]
    assert len({fingerprint_of(*part) for part in parts}) == len(parts)


def test_a_part_has_few_texts_or_few_characters(monkeypatch):
    monkeypatch.setattr(cache, "PART", 3)
    monkeypatch.setattr(cache, "CHARACTERS", 10)
    slices = cache.cut_portions([1, 1, 1, 1, 9, 1, 20, 5])
    assert [(part.start, part.stop) for part in slices] == [(0, 3), (3, 5), (5, 6), (6, 7), (7, 8)]
    assert cache.cut_portions([]) == []
