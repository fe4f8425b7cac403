import numpy as np
import pytest

from distill.students.ngram import NGramEncoder
from distill.students.project import factorise

IDS = np.array([[3, 7, 11, 2, -1], [19, 0, 4, 4, 5]], dtype="int32")


def table_of(model):
    """The table that a model computes with, its factor multiplied in."""
    table = model.get_layer("embedding").get_weights()[0]
    return table @ model.get_layer("factor").get_weights()[0] if model.rank else table


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_the_small_table_is_numpys_truncated_svd(model, rank):
    left, singular, right = np.linalg.svd(table_of(model).astype(np.float64), full_matrices=False)
    smaller = factorise(model, rank)
    assert smaller.rank == rank and smaller.get_layer("embedding").get_weights()[0].shape == (20, rank)
    np.testing.assert_allclose(table_of(smaller), left[:, :rank] * singular[:rank] @ right[:rank], atol=1e-6)


def test_factorised_again_it_is_the_best_of_the_lower_rank_uncut_itself_and_loses_nothing_of_low_rank(model):
    twice = factorise(factorise(model, 5), 3)
    np.testing.assert_allclose(table_of(twice), table_of(factorise(model, 3)), atol=1e-5)
    assert factorise(model, 6) is model and factorise(model, 9) is model
    copy = NGramEncoder.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    random = np.random.default_rng(1)
    copy.get_layer("embedding").set_weights([random.normal(size=(20, 2)) @ random.normal(size=(2, 6))])
    np.testing.assert_allclose(np.asarray(factorise(copy, 2)(IDS)), np.asarray(copy(IDS)), atol=1e-5)


def test_rows_that_count_more_are_kept_better(model):
    counts = np.ones(20)
    counts[4] = 1e6
    row = table_of(model)[4]
    np.testing.assert_allclose(table_of(factorise(model, 1, counts))[4], row, atol=1e-4)
    assert np.abs(table_of(factorise(model, 1))[4] - row).max() > 0.05
