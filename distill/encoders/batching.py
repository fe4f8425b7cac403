"""Texts of like length together, so that little is spent on padding."""

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


def rounded(length: int, few: bool = False) -> int:
    """Return a length rounded up to a multiple of 8; with `few` to 8, 16, 24, 32, 48, 64 and so on, two an octave."""
    fine = int(-(-length // _ROUND) * _ROUND)
    step = max(_ROUND, (1 << (fine - 1).bit_length()) // 4)
    return -(-fine // step) * step if few else fine


def pad(rows: IdLists, few: bool = False) -> NDArray[np.int32]:
    """Return lists of token ids as int32 `(n, t)` padded with -1; t is the longest row's length, `rounded`.

    With `few`, for a compiler that makes a program of each shape, there are more rows, copies of the last: as many as
    `by_length` puts together of that length, or the next power of two.
    """
    t = rounded(max((len(row) for row in rows), default=1), few)
    n = max(len(rows), min(1 << (len(rows) - 1).bit_length(), MOST, BUDGET // t)) if few and rows else len(rows)
    padded = np.full((n, t), PAD, dtype=np.int32)
    for row, ids in zip(padded, rows, strict=False):
        row[: len(ids)] = ids
    padded[len(rows) :] = padded[len(rows) - 1 : len(rows)]
    return padded


def by_length(lengths: Sequence[int], budget: int = BUDGET, most: int = MOST, few: bool = False) -> list[list[int]]:
    """Return groups of indices of like length, each at most `most` rows and `budget` padded tokens (or one row).

    With `few` lengths are `rounded` so.
    """
    groups: list[list[int]] = []
    group: list[int] = []
    for index in np.argsort(lengths, kind="stable")[::-1]:
        longest = rounded(lengths[group[0]] if group else lengths[index], few)
        if group and (len(group) == most or (len(group) + 1) * longest > budget):
            groups.append(group)
            group = []
        group.append(int(index))
    return groups + [group] if group else groups


def pack(rows: IdLists, gap: int, multiple: int = 256) -> dict[str, np.ndarray]:
    """Return lists of token ids as one row, for `Student.encode_packed`.

    That is `ids` `(t,)`, `segments` `(t,)` and `pieces` `(u,)`, int32, and `counts` `(n, 1)`, float32. Texts follow
    each other with `gap` paddings between; t is rounded up to `multiple`, so that few shapes occur. `pieces` are the
    distinct ids, ascending: each row of the table is looked up once.
    """
    lengths, number = np.array([len(row) for row in rows]), np.arange(len(rows), dtype=np.int32)
    end = int(lengths.sum()) + gap * len(rows)
    ids = np.full(-(-end // multiple) * multiple, PAD, dtype=np.int32)
    segments = np.full(len(ids), len(rows) - 1, dtype=np.int32)
    segments[:end] = np.repeat(number, lengths + gap)
    tokens = np.concatenate([np.asarray(row, dtype=np.int32) for row in rows])
    ids[np.arange(len(tokens)) + np.repeat(gap * number, lengths)] = tokens
    return {"ids": ids, "segments": segments, **_counted(tokens, lengths)}


def pack_rows(rows: IdLists, least: int = 64) -> dict[str, np.ndarray]:
    """Return lists of token ids as rows of one or two widths, each of whole texts, for networks with attention.

    As `pack`, with `ids` and `segments` `(r, w)`, and `long_ids` and `long_segments` `(m, v)` of the texts that are
    longer than w, and of others where these leave room: a token has to look along its own row alone, and a long text
    makes no row wide but its own. v is at least `least`, and the longest text's length rounded up to one of four sizes
    an octave; w is `least` times a power of two where that costs a fifth less than v for all, and else v, without long
    ones. Longer texts come first, each into the first row that has room.
    """
    lengths = np.array([len(row) for row in rows])
    step = max(least, 1 << int(lengths.max() - 1).bit_length()) // 8
    widest = max(least, -(-int(lengths.max()) // step) * step)
    width, places, widths = _cheapest(lengths, widest, least)
    many = int((widths > width).sum())
    packed = _padding((len(widths) - many, width), len(rows))
    packed |= _padding((many, widest), len(rows), "long_") if many else {}
    for text, (row, column) in enumerate(places):
        prefix, row = ("long_", row) if row < many else ("", row - many)
        packed[f"{prefix}ids"][row, column : column + lengths[text]] = rows[text]
        packed[f"{prefix}segments"][row, column : column + lengths[text]] = text
    return {**packed, **_counted(np.concatenate([np.asarray(row, dtype=np.int32) for row in rows]), lengths)}


def _cheapest(lengths, widest, least):
    """The width of the narrow rows, or `widest` without such, and `_lay`'s of it."""
    narrow = [least << octave for octave in range(widest.bit_length()) if least << octave < widest]
    layouts = [(width, *_lay(lengths, width, widest)) for width in (widest, *narrow)]
    costs = [float((widths * (widths + _REST)).sum()) for _, _, widths in layouts]
    return layouts[int(np.argmin([_WORTH * costs[0], *costs[1:]]))]


def _lay(lengths, narrow, widest):
    """(row, column) of each text, and the widths of the rows: those that a text above `narrow` opens are first."""
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
    """Rows of padding, which count to the last text."""
    return {f"{prefix}ids": np.full(shape, PAD, np.int32), f"{prefix}segments": np.full(shape, texts - 1, np.int32)}


def _counted(tokens, lengths):
    used = np.zeros(tokens.max() + 1, dtype=bool)
    used[tokens] = True
    return {"counts": lengths.astype(np.float32)[:, None], "pieces": np.flatnonzero(used).astype(np.int32)}
