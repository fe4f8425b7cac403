"""Texts of like length together, so that little is spent on padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..system.types import IdLists

PAD = -1
# The arrays of packed texts.
PACKED = ("ids", "segments", "counts", "pieces")
# Lengths are rounded up to these, so that few shapes are ever compiled.
_ROUND = 8


def pad(rows: IdLists) -> NDArray[np.int32]:
    """Return lists of token ids as int32 `(n, t)` padded with -1; t is the longest row's length rounded up to 8."""
    longest = max((len(row) for row in rows), default=1)
    padded = np.full((len(rows), _rounded(longest)), PAD, dtype=np.int32)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return padded


def _rounded(length):
    return -(-length // _ROUND) * _ROUND


def by_length(lengths: Sequence[int], budget: int = 8192, most: int = 256) -> list[list[int]]:
    """Return groups of indices of like length, each at most `most` rows and `budget` padded tokens (or one row)."""
    groups: list[list[int]] = []
    group: list[int] = []
    for index in np.argsort(lengths, kind="stable")[::-1]:
        longest = _rounded(lengths[group[0]] if group else lengths[index])
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
    used = np.zeros(ids.max() + 1, dtype=bool)
    used[ids[ids >= 0]] = True
    pieces = np.flatnonzero(used).astype(np.int32)
    return {"ids": ids, "segments": segments, "counts": lengths.astype(np.float32)[:, None], "pieces": pieces}
