import numpy as np
import pytest
from fixtures.vectors import unit_rows

from distill.errors import InputError
from distill.pipeline.preparing import read_inputs
from distill.retrieval import approximate
from distill.retrieval.approximate import build, lists_of, nearest, search, search_of
from distill.retrieval.exact import top_k
from distill.settings.sections import Settings, TeacherSettings

pytest.importorskip("faiss")


@pytest.fixture(scope="module")
def space():
    """Questions near passages that lie in clusters, and of each two passages that it may not have."""
    random = np.random.default_rng(0)
    corpus = unit_rows(300, 24, 1)[random.integers(0, 300, 10_000)] + 0.8 * unit_rows(10_000, 24, 2)
    corpus /= np.linalg.norm(corpus, axis=1, keepdims=True)
    gold = random.integers(0, 10_000, 200)
    queries = corpus[gold] + 0.4 * unit_rows(200, 24, 3)
    forbidden = np.repeat(np.arange(200), 2)[::-1], np.column_stack([gold, (gold + 1) % 10_000]).ravel()[::-1]
    return queries / np.linalg.norm(queries, axis=1, keepdims=True), corpus, forbidden


@pytest.fixture(scope="module")
def nearest_rows(space):
    return nearest(*space[:2], 10, space[2])


def recall(indices, expected):
    return np.mean([len(np.intersect1d(*rows)) / len(rows[1]) for rows in zip(indices, expected, strict=True)])


def test_most_of_the_nearest_are_found_once_with_exact_similarities_and_the_best_first(space, nearest_rows):
    (queries, corpus, (rows, columns)), (indices, values) = space, nearest_rows
    scores = queries @ corpus.T
    scores[rows, columns] = -np.inf
    assert recall(indices, np.argsort(-scores, axis=1)[:, :10]) > 0.9
    # Those of what is forbidden are infinite here.
    np.testing.assert_allclose(values, np.take_along_axis(scores, indices, axis=1), atol=1e-6)
    assert (np.diff(values, axis=1) <= 0).all()
    assert all(len(set(row)) == 10 for row in indices.tolist())
    # Lists, not the whole corpus, are looked through.
    assert lists_of(len(corpus)) > 3 * approximate.PROBED


def test_the_same_vectors_give_the_same_rows(space, nearest_rows):
    for again, first in zip(nearest(*space[:2], 10, space[2]), nearest_rows, strict=True):
        np.testing.assert_array_equal(again, first)


def test_queries_do_not_depend_on_each_other(space, nearest_rows):
    index = build(space[1])
    for row in (0, 150):
        columns = space[2][1][space[2][0] == row]
        one = search(index, space[0][row : row + 1], space[1], 10, (np.zeros(2, int), columns))
        np.testing.assert_array_equal(one[0][0], nearest_rows[0][row])


def test_a_small_corpus_is_looked_through_whole():
    corpus = unit_rows(30, 6, 1)
    queries, forbidden = unit_rows(4, 6, 2), (np.array([0, 0, 3]), np.array([1, 2, 29]))
    indices, values = nearest(queries, corpus, 40, forbidden)
    expected = top_k(queries, corpus, 40, forbidden)
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(values, expected[1], atol=1e-6)
    assert indices[0, 28:].tolist() == [-1] * 12 and np.isneginf(values[0, 28:]).all()


def test_vectors_that_are_no_numbers_are_near_nothing():
    corpus, queries = unit_rows(30, 6, 1), unit_rows(4, 6, 2)
    corpus[[3, 7]], queries[1], corpus[9, 0] = np.nan, np.nan, np.inf
    with np.errstate(invalid="ignore"):
        indices, values = nearest(queries, corpus, 40)
    finite = [row for row in range(30) if row not in (3, 7, 9)]
    assert (indices[1] == -1).all() and np.isneginf(values[1]).all()
    for row in (0, 2, 3):
        numbers = [index for index in indices[row] if index in finite]
        assert sorted(numbers) == finite
        assert numbers == sorted(finite, key=lambda index: -(corpus[index] @ queries[row]))
    assert not np.isin([3, 7], indices).any()


def test_an_empty_corpus_has_nothing_near_and_one_of_another_space_is_refused():
    indices, values = nearest(unit_rows(2, 6), np.zeros((0, 6), np.float32), 3)
    assert indices.tolist() == [[-1] * 3] * 2 and np.isneginf(values).all()
    with pytest.raises(InputError, match="6 .*5"):
        nearest(unit_rows(2, 6), unit_rows(9, 5), 3)


def test_equal_rows_go_to_the_lower_index():
    corpus = np.repeat(np.eye(3, dtype=np.float32), 3, axis=0)
    assert nearest(corpus[[4]], corpus, 3)[0].tolist() == [[3, 4, 5]]


def test_a_mapped_corpus_in_small_blocks_gives_the_same(space, tmp_path, nearest_rows, monkeypatch):
    for name, rows in (("queries", space[0]), ("corpus", space[1])):
        np.save(tmp_path / f"{name}.npy", rows)
    queries, corpus = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("queries", "corpus"))
    for name, size in (("ROWS", 70), ("COLUMNS", 900), ("CELLS", 24 * 22 * 9)):
        monkeypatch.setattr(approximate, name, size)
    indices, values = nearest(queries, corpus, 10, space[2])
    assert type(indices) is type(values) is np.ndarray
    np.testing.assert_array_equal(indices, nearest_rows[0])


def test_the_setting_says_what_searches_and_without_faiss_how_to_get_it(monkeypatch):
    assert search_of("faiss") is nearest
    monkeypatch.setattr(approximate, "find_spec", lambda name: None)
    assert search_of("exact") is top_k
    # A run is refused before it starts.
    settings = Settings(teacher=TeacherSettings(mining="faiss"))
    for ask in (lambda: search_of("faiss"), lambda: build(unit_rows(3, 2)), lambda: read_inputs(settings)):
        with pytest.raises(InputError, match="faiss-cpu"):
            ask()
    assert read_inputs(Settings()).teacher.mining == "exact"
