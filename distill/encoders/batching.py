"""Group texts of similar length, so that few paddings are computed, and draw a sample of texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..system.types import IdLists

PAD = -1
# The arrays of packed texts; the last two are those of networks with attention alone.
PACKED = ("ids", "segments", "counts", "pieces", "long_ids", "long_segments")
# Lengths are rounded up to these.
_ROUND = 8
# Padded tokens and texts that are computed at once.
BUDGET, MOST = 8192, 256
# A token costs a network with attention as much besides as its scores with so many others do: measured of an e5-small
# in bfloat16, whose step took 0.36 ms a token in rows of 64 and 0.68 ms in rows of 448.
_REST = 384
# Rows of two widths have to cost at most this much of what rows of one do: a compiler makes more programs of them.
_WORTH = 0.8
# The number of tokens in a sample on which kernels are rounded and fitted, and the maximum per text.
SAMPLE_TOKENS, LONGEST_SAMPLED = 60_000, 192


def round_length(length: int, few: bool = False) -> int:
    """Round a length up.

    Args:
        few: Whether to round to 8, 16, 24, 32, 48, 64 and so on, two sizes per octave.

    Returns:
        The length, a multiple of 8.
    """
    fine = int(-(-length // _ROUND) * _ROUND)
    step = max(_ROUND, (1 << (fine - 1).bit_length()) // 4)
    return -(-fine // step) * step if few else fine


def pad(rows: IdLists, few: bool = False) -> NDArray[np.int32]:
    """Pad lists of token ids with -1 to the rounded length of the longest.

    Args:
        few: Whether few shapes may occur, for a compiler that makes a program of each. Copies of the last row are then
            added, up to as many rows as `group_by_length` groups at that length, or up to the next power of two.

    Returns:
        The ids, int32 `(n, t)`.
    """
    t = round_length(max((len(row) for row in rows), default=1), few)
    n = max(len(rows), min(1 << (len(rows) - 1).bit_length(), MOST, BUDGET // t)) if few and rows else len(rows)
    padded = np.full((n, t), PAD, dtype=np.int32)
    for row, ids in zip(padded, rows, strict=False):
        row[: len(ids)] = ids
    padded[len(rows) :] = padded[len(rows) - 1 : len(rows)]
    return padded


def group_by_length(
    lengths: Sequence[int], budget: int = BUDGET, most: int = MOST, few: bool = False
) -> list[list[int]]:
    """Group texts of similar length.

    Args:
        budget: The largest number of padded tokens of a group with more than one row.
        most: The largest number of rows of a group.
        few: Whether to round lengths to few sizes.
    """
    groups: list[list[int]] = []
    group: list[int] = []
    for index in np.argsort(lengths, kind="stable")[::-1]:
        longest = round_length(lengths[group[0]] if group else lengths[index], few)
        if group and (len(group) == most or (len(group) + 1) * longest > budget):
            groups.append(group)
            group = []
        group.append(int(index))
    return groups + [group] if group else groups


def pack(rows: IdLists, gap: int, multiple: int = 256) -> dict[str, np.ndarray]:
    """Pack lists of token ids into one row, for `Student.encode_packed`.

    Args:
        gap: The number of paddings between two texts.
        multiple: A number of which the length becomes a multiple, so that few shapes occur.

    Returns:
        `ids` `(t,)`, `segments` `(t,)` and `pieces` `(u,)`, the distinct ids in ascending order, so that each embedding
            is
        looked up once, all int32; and `counts` `(n, 1)`, float32.
    """
    lengths, number = np.array([len(row) for row in rows]), np.arange(len(rows), dtype=np.int32)
    end = int(lengths.sum()) + gap * len(rows)
    ids = np.full(-(-end // multiple) * multiple, PAD, dtype=np.int32)
    segments = np.full(len(ids), len(rows) - 1, dtype=np.int32)
    segments[:end] = np.repeat(number, lengths + gap)
    tokens = np.concatenate([np.asarray(row, dtype=np.int32) for row in rows])
    ids[np.arange(len(tokens)) + np.repeat(gap * number, lengths)] = tokens
    return {"ids": ids, "segments": segments, **_count_tokens(tokens, lengths)}


def pack_rows(rows: IdLists, least: int = 64) -> dict[str, np.ndarray]:
    """Pack lists of token ids into rows of one or two widths, each of whole texts, for networks with attention.

    A token attends to its own row only, so long texts get wide rows of their own and the others narrow ones. The wide
    rows are as wide as the longest text, rounded up to one of four sizes per octave, and at least `least`. The narrow
    ones are `least` times a power of two wide, if that costs a fifth less than wide rows for all. Longer texts are
    placed first, each in the first row with room.

    Returns:
        The arrays of `pack`, with `ids` and `segments` `(r, w)`, and `long_ids` and `long_segments` `(m, v)` of the
            wide
        rows.
    """
    lengths = np.array([len(row) for row in rows])
    step = max(least, 1 << int(lengths.max() - 1).bit_length()) // 8
    widest = max(least, -(-int(lengths.max()) // step) * step)
    width, places, widths = _choose_width(lengths, widest, least)
    many = int((widths > width).sum())
    packed = _padding((len(widths) - many, width), len(rows))
    packed |= _padding((many, widest), len(rows), "long_") if many else {}
    for text, (row, column) in enumerate(places):
        prefix, row = ("long_", row) if row < many else ("", row - many)
        packed[f"{prefix}ids"][row, column : column + lengths[text]] = rows[text]
        packed[f"{prefix}segments"][row, column : column + lengths[text]] = text
    return {**packed, **_count_tokens(np.concatenate([np.asarray(row, dtype=np.int32) for row in rows]), lengths)}


def _choose_width(lengths, widest, least):
    """Return the width of the narrow rows, or `widest` if they do not pay, and the layout of `_lay_out`."""
    narrow = [least << octave for octave in range(widest.bit_length()) if least << octave < widest]
    layouts = [(width, *_lay_out(lengths, width, widest)) for width in (widest, *narrow)]
    costs = [float((widths * (widths + _REST)).sum()) for _, _, widths in layouts]
    return layouts[int(np.argmin([_WORTH * costs[0], *costs[1:]]))]


def _lay_out(lengths, narrow, widest):
    """Return the place of each text and the widths of the rows.

    Rows that a text longer than `narrow` opens come first.
    """
    # A row for each is the most that is needed.
    free, widths, places = np.full(len(lengths), widest), np.zeros(len(lengths), dtype=np.int64), {}
    for text in np.argsort(-lengths, kind="stable"):
        row = int(np.argmax(free >= lengths[text]))
        if not widths[row]:
            widths[row] = free[row] = narrow if lengths[text] <= narrow else widest
        places[text] = row, widths[row] - free[row]
        free[row] -= lengths[text]
    return [places[text] for text in range(len(lengths))], widths[widths > 0]


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
