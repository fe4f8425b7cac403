"""Group texts of similar length, so that few paddings are computed, and draw rows and batches by a seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..system.types import IdLists, Integers

PAD = -1
# The arrays of packed texts; the last two are those of networks with attention alone.
PACKED = ("ids", "segments", "counts", "pieces", "long_ids", "long_segments")
# Lengths are rounded up to these.
_ROUND = 8
# Padded tokens and texts that are computed at once.
BUDGET, MOST = 8192, 256
# Where each shape is a program: the widths of short texts besides that of the longest, the rows of a shape at most, and
# the width of the longest from which on batches without a text of more than half of it have rows of half of it.
NARROW, FEWER, WIDE = (32, 128), 128, 1024
# A token costs a network with attention as much besides as its scores with so many others do: measured of an e5-small
# in bfloat16, whose step took 0.36 ms a token in rows of 64 and 0.68 ms in rows of 448.
_REST = 384
# Rows of two widths have to cost at most this much of what rows of one do: a compiler makes more programs of them.
_WORTH = 0.8
# The number of tokens in a sample on which kernels are rounded and fitted, and the maximum per text.
SAMPLE_TOKENS, LONGEST_SAMPLED = 60_000, 192


def round_length(length: int, few: bool = False) -> int:
    """Round a length up to a multiple of 8, or if `few` to 8, 16, 24, 32, 48, 64 and so on, two sizes per octave."""
    fine = int(-(-length // _ROUND) * _ROUND)
    step = max(_ROUND, (1 << (fine - 1).bit_length()) // 4)
    return -(-fine // step) * step if few else fine


def pad(rows: IdLists, shape: tuple[int, int] | None = None) -> NDArray[np.int32]:
    """Pad lists of token ids with -1 to the rounded length of the longest, or with copies of the last to a shape."""
    n, t = shape or (len(rows), round_length(max((len(row) for row in rows), default=1)))
    padded = np.full((n, t), PAD, dtype=np.int32)
    for row, ids in zip(padded, rows, strict=False):
        row[: len(ids)] = ids
    padded[len(rows) :] = padded[len(rows) - 1 : len(rows)]
    return padded


def group_by_length(lengths: Sequence[int], budget: int = BUDGET, most: int = MOST) -> list[list[int]]:
    """Group texts of similar length, with at most `budget` padded tokens in a group of several."""
    groups: list[list[int]] = []
    group: list[int] = []
    for index in np.argsort(lengths, kind="stable")[::-1]:
        longest = round_length(lengths[group[0]] if group else lengths[index])
        if group and (len(group) == most or (len(group) + 1) * longest > budget):
            groups.append(group)
            group = []
        group.append(int(index))
    return groups + [group] if group else groups


def group_in_shapes(lengths: Sequence[int], longest: int) -> list[tuple[list[int], tuple[int, int]]]:
    """Group texts of any number and length so that their paddings have at most three shapes, a single text's besides.

    Returns the indices of each group, longer texts first, and the shape of their ids.
    """
    order, groups = np.argsort(lengths, kind="stable")[::-1], []
    last = round_length(longest, few=True)
    for shorter, width in ((NARROW[1], last), (NARROW[0], NARROW[1]), (-1, NARROW[0])):
        of_width = [int(place) for place in order if shorter < lengths[place] <= width]
        # Whoever asks one question at a time waits for its vector.
        rows = 1 if len(lengths) == 1 else max(1, min(FEWER, BUDGET // width))
        groups += [(of_width[at : at + rows], (rows, width)) for at in range(0, len(of_width), rows)]
    return groups


def pack(rows: IdLists, gap: int, multiple: int = 256) -> dict[str, np.ndarray]:
    """Pack lists of token ids into one row, for `Student.encode_packed`, with `gap` paddings between two texts.

    The length becomes a multiple of `multiple`, so that few shapes occur. Returns `ids` `(t,)`, `segments` `(t,)` and
    `pieces` `(u,)`, the distinct ids in ascending order, so that each embedding is looked up once, all int32; and
    `counts` `(n, 1)`, float32.
    """
    lengths, number = np.array([len(row) for row in rows]), np.arange(len(rows), dtype=np.int32)
    end = int(lengths.sum()) + gap * len(rows)
    ids = np.full(-(-end // multiple) * multiple, PAD, dtype=np.int32)
    segments = np.full(len(ids), len(rows) - 1, dtype=np.int32)
    segments[:end] = np.repeat(number, lengths + gap)
    tokens = np.concatenate([np.asarray(row, dtype=np.int32) for row in rows])
    ids[np.arange(len(tokens)) + np.repeat(gap * number, lengths)] = tokens
    return {"ids": ids, "segments": segments, **_count_tokens(tokens, lengths)}


def pack_rows(rows: IdLists, least: int = 64, longest: int = 0) -> dict[str, np.ndarray]:
    """Pack lists of token ids into rows of one or two widths, each of whole texts, for networks with attention.

    A token attends to its own row only, so long texts get wide rows of their own and the others narrow ones. The wide
    rows are as wide as the longest text, rounded up to one of four sizes per octave, and at least `least`. The narrow
    ones are `least` times a power of two wide, if that costs a fifth less than wide rows for all. Longer texts are
    placed first, each in the first row with room.

    `longest` is the length of the longest text that any call gets, if few widths may occur (`fix_widths`); 0 stands for
    those that cost least. Returns the arrays of `pack`, with `ids` and `segments` `(r, w)`, and `long_ids` and
    `long_segments` `(m, v)` of the wide rows.
    """
    lengths = np.array([len(row) for row in rows])
    if longest:
        width, widest = fix_widths(int(lengths.max()), longest)
        places, widths = _lay_out(lengths, width, widest)
    else:
        step = max(least, 1 << int(lengths.max() - 1).bit_length()) // 8
        widest = max(least, -(-int(lengths.max()) // step) * step)
        width, places, widths = _choose_width(lengths, widest, least)
    count, tokens = int((widths > width).sum()), np.concatenate([np.asarray(row, dtype=np.int32) for row in rows])
    packed = _padding((len(widths) - count, width), len(rows))
    packed |= _padding((count, widest), len(rows), "long_") if count or widest > width and longest else {}
    _fill_rows(packed, tokens, lengths, places, count)
    return {**packed, **_count_tokens(tokens, lengths)}


def fix_widths(length: int, longest: int) -> tuple[int, int]:
    """Return the widths of narrow and wide rows, of which few pairs occur; they are equal if all texts are short."""
    if longest <= NARROW[1]:
        width = max(_ROUND, min(NARROW[1], round_length(longest, few=True)))
        return width, width
    return NARROW[1], round_length(longest if longest <= WIDE or length > WIDE // 2 else WIDE // 2, few=True)


def _fill_rows(packed, tokens, lengths, places, count):
    """Write texts into rows, given the row and the column of each; the first `count` rows are wide ones."""
    rows, columns = places
    for prefix, first, here in (("long_", 0, rows < count), ("", count, rows >= count)):
        if not here.any():
            continue
        width, chosen = packed[f"{prefix}ids"].shape[1], lengths[here]
        begins = (rows[here] - first) * width + columns[here]
        # The places of all tokens: each text's first one, and so many behind it.
        at = np.arange(int(chosen.sum())) + np.repeat(begins - (np.cumsum(chosen) - chosen), chosen)
        packed[f"{prefix}ids"].ravel()[at] = tokens[np.repeat(here, lengths)]
        packed[f"{prefix}segments"].ravel()[at] = np.repeat(np.flatnonzero(here), chosen)


def _choose_width(lengths, widest, least):
    """Return the width of the narrow rows, or `widest` if they do not pay, and the layout of `_lay_out`."""
    narrow = [least << octave for octave in range(widest.bit_length()) if least << octave < widest]
    layouts = [(width, *_lay_out(lengths, width, widest)) for width in (widest, *narrow)]
    costs = [float((widths * (widths + _REST)).sum()) for _, _, widths in layouts]
    return layouts[int(np.argmin([_WORTH * costs[0], *costs[1:]]))]


def _lay_out(lengths, narrow, widest):
    """Return the rows and columns of all texts, each `(n,)`, and the widths of the rows.

    Each text, the longest first, goes into the first row with room, those of one length together. Rows that a text
    longer than `narrow` opens come first.
    """
    order = np.argsort(-lengths, kind="stable")
    rows, columns = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    # A row for each is the most that is needed.
    free, widths, opened, at = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64), 0, 0
    for length, count in zip(*_count_lengths(lengths[order]), strict=True):
        width = narrow if length <= narrow else widest
        room = free[:opened] // length if length else np.full(opened, count)
        fits = np.flatnonzero(room)
        taken = np.minimum(room[fits], np.maximum(0, count - (np.cumsum(room[fits]) - room[fits])))
        per_row = width // length if length else count
        left = count - int(taken.sum())
        more = -(-left // per_row)
        widths[opened : opened + more] = free[opened : opened + more] = width
        new = np.minimum(per_row, left - per_row * np.arange(more))
        chosen = np.concatenate([fits[taken > 0], np.arange(opened, opened + more)])
        of_row = np.concatenate([taken[taken > 0], new])
        texts, row = order[at : at + count], np.repeat(chosen, of_row)
        before = np.arange(count) - np.repeat(np.cumsum(of_row) - of_row, of_row)
        rows[texts], columns[texts] = row, widths[row] - free[row] + before * length
        free[chosen] -= of_row * length
        opened, at = opened + more, at + count
    return (rows, columns), widths[:opened]


def _count_lengths(lengths):
    """Return the distinct values of descending lengths, and how often each occurs."""
    begins = np.flatnonzero(np.diff(lengths, prepend=-1))
    return lengths[begins], np.diff(begins, append=len(lengths))


def _padding(shape, texts, prefix=""):
    """Return rows of padding, which belong to the last text."""
    return {f"{prefix}ids": np.full(shape, PAD, np.int32), f"{prefix}segments": np.full(shape, texts - 1, np.int32)}


def _count_tokens(tokens, lengths):
    used = np.zeros(tokens.max() + 1, dtype=bool)
    used[tokens] = True
    return {"counts": lengths.astype(np.float32)[:, None], "pieces": np.flatnonzero(used).astype(np.int32)}


def draw_texts(rows: IdLists, most: int, random: np.random.Generator) -> list[list[int]]:
    """Draw texts until they have about `most` tokens together, each shortened to `LONGEST_SAMPLED`."""
    # The script of each bundle has it, which imports SentencePiece.
    from ..export.encode import shortened

    drawn = [shortened(list(rows[place]), LONGEST_SAMPLED) for place in random.permutation(len(rows))]
    return drawn[: int(np.searchsorted(np.cumsum([len(ids) for ids in drawn]), most)) + 1]


def draw_rows(groups: Integers, chances: NDArray[np.float64], count: int, first: int, seed: int) -> Integers:
    """Draw rows by their groups. The same `first` and `seed` give the same rows.

    The rows of a group come in a shuffled order, each once before one is repeated. Returns the rows, int `(count,)`.
    """
    order = np.random.default_rng((seed, 1)).permutation(len(groups))
    order = order[np.argsort(groups[order], kind="stable")]
    starts = np.searchsorted(groups[order], np.arange(len(chances) + 1))
    picked = np.random.default_rng((seed, 2)).choice(len(chances), first + count, p=chances)
    places = count_before(picked)[first:]
    picked = picked[first:]
    return order[starts[picked] + places % np.diff(starts)[picked]]


def count_before(values: Integers) -> Integers:
    """Return how often each value has occurred before, `(n,)`."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    begins = np.concatenate([[0], np.flatnonzero(np.diff(ranked)) + 1])
    before = np.empty(len(values), dtype=np.int64)
    before[order] = np.arange(len(values)) - np.repeat(begins, np.diff(np.concatenate([begins, [len(values)]])))
    return before


def draw_cycled(n: int, count: int, first: int, seed: int | tuple[int, ...]) -> Integers:
    """Draw from 0…n-1 in a seeded order; each number comes once before all are shuffled anew."""
    rounds = range(first // n, -(-(first + count) // n))
    seed = seed if isinstance(seed, tuple) else (seed,)
    order = np.concatenate([np.random.default_rng((*seed, 4, turn)).permutation(n) for turn in rounds])
    return order[first - rounds.start * n :][:count]


def shuffle_batches(n: int, size: int, seed: int | tuple[int, ...]) -> list[Integers]:
    """Return batches of the indices 0…n-1 in a seeded order."""
    order = np.random.default_rng(seed).permutation(n)
    return [order[start : start + size] for start in range(0, n, size)]
