"""Padding, grouping and packing, by hand."""

import numpy as np
import pytest

from distill.encoders.batching import (
    BUDGET,
    _lay_out,
    fix_widths,
    group_by_length,
    group_in_shapes,
    pack,
    pack_rows,
    pad,
    round_length,
)


def test_rows_are_padded_with_minus_one():
    got = pad([[5, 0, 7], [9]])
    assert got.dtype == np.int32
    assert got.tolist() == [[5, 0, 7, -1, -1, -1, -1, -1], [9, -1, -1, -1, -1, -1, -1, -1]]
    assert pad([]).shape == (0, 8)


@pytest.mark.parametrize(("longest", "width"), [(1, 8), (7, 8), (8, 8), (9, 16), (16, 16), (17, 24)])
def test_the_width_is_the_longest_row_rounded_up_to_eight(longest, width):
    assert pad([[1], [2] * longest]).shape == (2, width)


def lengths_of(groups, lengths):
    return [[lengths[i] for i in group] for group in groups]


def test_texts_of_like_length_go_together_and_one_over_the_budget_alone():
    lengths = [8, 40, 16, 40, 8, 16]
    groups = group_by_length(lengths, budget=80)
    assert [sorted(group) for group in groups] == [[1, 3], [0, 2, 4, 5]]
    assert lengths_of(group_by_length([8, 100, 200], budget=50), [8, 100, 200]) == [[200], [100], [8]]
    assert group_by_length([]) == []
    group = group_by_length(np.array([3, 2]))[0]
    assert all(type(i) is int for i in group)


def test_every_text_is_in_one_group_none_longer_than_the_shortest_of_the_one_before():
    lengths = np.random.default_rng(0).integers(1, 200, size=500)
    groups = group_by_length(lengths, budget=1000, most=16)
    assert sorted(i for group in groups for i in group) == list(range(500))
    groups = lengths_of(groups, lengths)
    assert len(groups) > 10
    assert all(min(one) >= max(next) for one, next in zip(groups, groups[1:], strict=False))


def test_a_group_has_at_most_so_many_rows_and_fills_its_budget_which_counts_padding():
    assert [len(group) for group in group_by_length([8] * 5, budget=1000, most=2)] == [2, 2, 1]
    assert [len(group) for group in group_by_length([8] * 5, budget=16)] == [2, 2, 1]
    # 40 + 8 + 8 tokens would fit, but three rows of 40 do not.
    assert lengths_of(group_by_length([8, 40, 8], budget=60), [8, 40, 8]) == [[40], [8, 8]]
    # Rows of 9 are padded to 16.
    assert [len(group) for group in group_by_length([9] * 10, budget=96)] == [6, 4]


def test_few_sizes_are_two_an_octave_and_hold_what_they_round():
    lengths = range(1, 2049)
    sizes = [round_length(length, few=True) for length in lengths]
    assert sorted(set(sizes)) == [8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]
    assert all(length <= size <= max(1.5 * length, length + 7) for length, size in zip(lengths, sizes, strict=True))


def test_texts_of_any_number_and_length_come_in_three_shapes_whose_first_rows_they_are():
    random, shapes = np.random.default_rng(0), set()
    for count in (2, 119, 952, 3000, 3001, 3400):
        lengths = random.integers(0, 1200, size=count)
        groups = group_in_shapes(lengths, 1200)
        assert sorted(place for group, _ in groups for place in group) == list(range(count))
        for group, shape in groups:
            rows = [[number % 7] * lengths[number] for number in group]
            got = pad(rows, shape)
            assert [ids[ids >= 0].tolist() for ids in got[: len(group)]] == rows
            assert got.size <= BUDGET and np.all(got[len(group) :] == got[len(group) - 1])
            shapes.add(got.shape)
    # 8192 places in rows of 128, and of 1200 rounded up.
    assert shapes == {(128, 32), (64, 128), (5, 1536)}
    # A single text is alone.
    assert group_in_shapes([20], 1200) == [([0], (1, 32))]


def test_widths_are_those_of_short_texts_and_of_the_longest():
    assert [fix_widths(length, longest) for length, longest in ((3, 5), (20, 40), (90, 100))] == [
        (8, 8),
        (48, 48),
        (128, 128),
    ]
    assert [fix_widths(9, 200), fix_widths(150, 200), fix_widths(9, 1000)] == [(128, 256), (128, 256), (128, 1024)]
    # The longest is an exception: rows of 512 but for batches with a longer text.
    assert [fix_widths(length, 5000) for length in (9, 512, 513)] == [(128, 512), (128, 512), (128, 6144)]


def lay_out_one_by_one(lengths, narrow, widest):
    """First fit by decreasing length, as it is defined."""
    free, widths, places = [], [], {}
    for text in sorted(range(len(lengths)), key=lambda text: -lengths[text]):
        row = next((row for row, room in enumerate(free) if room >= lengths[text]), len(free))
        if row == len(free):
            free.append(narrow if lengths[text] <= narrow else widest)
            widths.append(free[-1])
        places[text] = row, widths[row] - free[row]
        free[row] -= lengths[text]
    return [places[text] for text in range(len(lengths))], widths


@pytest.mark.parametrize("seed", range(20))
def test_each_text_lies_in_the_first_row_with_room_the_longest_first(seed):
    random = np.random.default_rng(seed)
    lengths = random.integers(0 if seed % 2 else 1, random.choice([5, 64, 300]), size=random.integers(1, 200))
    (rows, columns), widths = _lay_out(lengths, 64, 320)
    places, expected = lay_out_one_by_one(lengths.tolist(), 64, 320)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == places and widths.tolist() == expected


def test_texts_follow_each_other_with_a_gap_and_every_segment_is_a_text_even_in_the_padding():
    got = pack([[4, 5, 6], [7], [0, 9]], gap=2, multiple=8)
    # 3 + 2 + 1 + 2 + 2 + 2 = 12, rounded up to 16
    assert got["ids"].tolist() == [4, 5, 6, -1, -1, 7, -1, -1, 0, 9, -1, -1, -1, -1, -1, -1]
    assert got["segments"][[0, 1, 2, 5, 8, 9]].tolist() == [0, 0, 0, 1, 2, 2]
    assert got["counts"].tolist() == [[3.0], [1.0], [2.0]]
    types = {name: (array.dtype.name, array.ndim) for name, array in got.items()}
    of_tokens = {name: ("int32", 1) for name in ("ids", "segments", "pieces")}
    assert types == {**of_tokens, "counts": ("float32", 2)} and got["pieces"].tolist() == [0, 4, 5, 6, 7, 9]
    # A segment sum over n texts would drop or refuse anything else.
    assert (got["segments"].min(), got["segments"].max()) == (0, 2)


@pytest.mark.parametrize(("tokens", "length"), [(1, 256), (254, 256), (255, 512), (510, 512), (511, 768)])
def test_the_length_is_rounded_up_to_the_multiple(tokens, length):
    got = pack([[3] * tokens], gap=2)
    assert got["ids"].shape == got["segments"].shape == (length,)


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


LAYOUTS = {
    # Ten texts of 6 fill a row of 64 but for 4.
    "short alone": ([6] * 20, {"ids": (2, 64)}),
    "one alone": ([70], {"ids": (1, 80)}),
    # 130 leave 30 of the 160, which five texts of 6 fill.
    "a long one among them": ([6] * 44 + [130], {"ids": (4, 64), "long_ids": (1, 160)}),
    "two long ones": ([130, 140] + [6] * 38, {"ids": (3, 64), "long_ids": (2, 160)}),
    # 64 would hold none of the 100, and in 256 two would lie with 56 paddings.
    "narrow is what is short for the longest": ([100] * 40 + [900], {"ids": (39, 128), "long_ids": (1, 1024)}),
    "long alone": ([130, 140, 150], {"ids": (3, 160)}),
    # Four of eight times 160 * (160 + 384) become twice 64 * (64 + 384): 0.91 of all.
    "few short ones": ([60] * 4 + [150] * 6, {"ids": (8, 160)}),
}


@pytest.mark.parametrize("lengths, shapes", LAYOUTS.values(), ids=LAYOUTS)
def test_short_texts_lie_in_narrow_rows_and_long_ones_in_rows_of_their_own_where_that_costs_less(lengths, shapes):
    random = np.random.default_rng(0)
    rows = [random.integers(0, 50, size=length).tolist() for length in lengths]
    got = pack_rows(rows)
    assert {name: array.shape for name, array in got.items() if name.endswith("ids")} == shapes
    # Each text stands in one row, in its order.
    back = {}
    for name in shapes:
        for ids, segments in zip(got[name], got[name.replace("ids", "segments")], strict=True):
            back |= {text: ids[(segments == text) & (ids >= 0)].tolist() for text in set(segments[ids >= 0].tolist())}
    assert back == dict(enumerate(rows))
    assert got["counts"][:, 0].tolist() == lengths and got["pieces"].tolist() == sorted(
        {id for row in rows for id in row}
    )
    assert all(got[name].dtype == np.int32 for name in got if name != "counts")
    assert all(got[name].max() < len(rows) for name in got if name.endswith("segments"))
