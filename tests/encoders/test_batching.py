"""Padding, grouping and packing, by hand."""

import numpy as np
import pytest

from distill.encoders.batching import by_length, pack, pad

# pad


def test_rows_are_padded_with_minus_one():
    got = pad([[5, 0, 7], [9]])
    assert got.dtype == np.int32
    assert got.tolist() == [[5, 0, 7, -1, -1, -1, -1, -1], [9, -1, -1, -1, -1, -1, -1, -1]]


@pytest.mark.parametrize(("longest", "width"), [(1, 8), (7, 8), (8, 8), (9, 16), (16, 16), (17, 24)])
def test_the_width_is_the_longest_row_rounded_up_to_eight(longest, width):
    assert pad([[1], [2] * longest]).shape == (2, width)


def test_no_rows_are_an_empty_batch():
    assert pad([]).shape == (0, 8)


# by_length


def lengths_of(groups, lengths):
    return [[lengths[i] for i in group] for group in groups]


def test_texts_of_like_length_go_together():
    lengths = [8, 40, 16, 40, 8, 16]
    groups = by_length(lengths, budget=80)
    assert [sorted(group) for group in groups] == [[1, 3], [0, 2, 4, 5]]


def test_every_text_is_in_one_group():
    lengths = np.random.default_rng(0).integers(1, 200, size=500)
    groups = by_length(lengths, budget=1000, most=16)
    assert sorted(i for group in groups for i in group) == list(range(500))


def test_no_group_is_longer_than_the_shortest_of_the_one_before():
    lengths = np.random.default_rng(1).integers(1, 200, size=300)
    groups = lengths_of(by_length(lengths, budget=1000, most=16), lengths)
    assert len(groups) > 10
    assert all(min(one) >= max(next) for one, next in zip(groups, groups[1:], strict=False))


def test_a_group_has_at_most_so_many_rows():
    assert [len(group) for group in by_length([8] * 5, budget=1000, most=2)] == [2, 2, 1]


def test_a_group_fills_its_budget():
    assert [len(group) for group in by_length([8] * 5, budget=16)] == [2, 2, 1]


def test_the_budget_counts_padding():
    # 40 + 8 + 8 tokens would fit, but three rows of 40 do not.
    assert lengths_of(by_length([8, 40, 8], budget=60), [8, 40, 8]) == [[40], [8, 8]]


def test_the_budget_counts_what_pad_rounds_up():
    lengths = [9] * 10
    groups = by_length(lengths, budget=96)
    assert max(pad([[1] * lengths[i] for i in group]).size for group in groups) <= 96


def test_a_text_over_the_budget_stands_alone():
    assert lengths_of(by_length([8, 100, 200], budget=50), [8, 100, 200]) == [[200], [100], [8]]


def test_no_texts_are_no_groups():
    assert by_length([]) == []


def test_groups_index_lists_and_arrays():
    group = by_length(np.array([3, 2]))[0]
    assert all(type(i) is int for i in group)


# pack


def test_texts_follow_each_other_with_a_gap():
    got = pack([[4, 5, 6], [7], [0, 9]], gap=2, multiple=8)
    # 3 + 2 + 1 + 2 + 2 + 2 = 12, rounded up to 16
    assert got["ids"].tolist() == [4, 5, 6, -1, -1, 7, -1, -1, 0, 9, -1, -1, -1, -1, -1, -1]
    assert got["segments"][[0, 1, 2, 5, 8, 9]].tolist() == [0, 0, 0, 1, 2, 2]
    assert got["counts"].tolist() == [[3.0], [1.0], [2.0]]


def test_the_types_that_the_encoder_reads():
    got = pack([[4, 5], [7]], gap=1)
    assert {name: (array.dtype.name, array.ndim) for name, array in got.items()} == {
        "ids": ("int32", 1),
        "segments": ("int32", 1),
        "counts": ("float32", 2),
    }


@pytest.mark.parametrize(("tokens", "length"), [(1, 256), (254, 256), (255, 512), (510, 512), (511, 768)])
def test_the_length_is_rounded_up_to_the_multiple(tokens, length):
    got = pack([[3] * tokens], gap=2)
    assert got["ids"].shape == got["segments"].shape == (length,)


def test_every_segment_is_a_text_even_in_the_padding():
    # A segment sum over n texts would drop or refuse anything else.
    segments = pack([[1], [2], [3]], gap=1)["segments"]
    assert (segments.min(), segments.max()) == (0, 2)


@pytest.mark.parametrize("gap", [0, 1, 2, 3])
def test_packed_texts_can_be_read_back(gap):
    random = np.random.default_rng(gap)
    rows = [random.integers(0, 50, size=random.integers(1, 20)).tolist() for _ in range(30)]
    got = pack(rows, gap)
    kept = got["ids"] >= 0
    assert [got["ids"][kept & (got["segments"] == i)].tolist() for i in range(30)] == rows
    starts = np.flatnonzero(kept & (np.diff(got["segments"], prepend=-1) != 0))
    assert got["counts"][:, 0].tolist() == [len(row) for row in rows]
    assert kept.sum() == sum(map(len, rows))
    if gap:
        assert all(not kept[start - gap : start].any() for start in starts[1:])
