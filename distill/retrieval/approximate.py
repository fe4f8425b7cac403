"""The rows of a corpus that are most like a query, looked for near it alone: FAISS's inverted lists."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..errors import InputError
from ..system.types import Floats, Integers
from .blocks import CELLS, COLUMNS, ROWS, spans
from .exact import Forbidden, by_query, require_alike, top_k

if TYPE_CHECKING:
    from faiss import IndexIVFScalarQuantizer

# Lists that are looked through for a query, of `lists_of` the corpus.
PROBED = 64
# Vectors a list that k-means learns from, as FAISS asks for at least, and its rounds.
SAMPLED, ROUNDS = 40, 10
# Of what the lists say is near, vectors held in a byte a number, so many times the wanted number are scored exactly.
SCORED = 2


class Search(Protocol):
    """A search for the rows of a corpus that are most similar to each query, as `exact.top_k`."""

    def __call__(
        self, queries: Floats, corpus: Floats, k: int, forbidden: Forbidden | None = None
    ) -> tuple[Integers, Floats]: ...


def require_faiss() -> None:
    """Raise `InputError` where FAISS is not installed."""
    if find_spec("faiss") is None:
        raise InputError("faiss is not installed; run: pip install faiss-cpu (or 'distill[faiss]')")


def search_of(mining: str) -> Search:
    """Return the search for the hardest passages that a teacher's setting `mining` names.

    Raises `InputError` without FAISS.
    """
    if mining == "exact":
        return top_k
    require_faiss()
    return nearest


def nearest(
    queries: Floats, corpus: Floats, k: int, forbidden: Forbidden | None = None, seed: int = 0
) -> tuple[Integers, Floats]:
    """Return most of the `k` most similar rows, not all, as `exact.top_k`, by an index that serves this one call.

    The choice of rows is approximate, their similarities and their order are not. The same of the same vectors.
    Raises `InputError` where FAISS is not installed, or for vectors of two spaces.
    """
    require_alike(queries, corpus)
    if not len(corpus):
        return top_k(queries, corpus, k, forbidden)
    return search(build(corpus, seed), queries, corpus, k, forbidden)


def build(corpus: Floats, seed: int = 0) -> IndexIVFScalarQuantizer:
    """Return FAISS's index of unit rows `(n, d)`, memory-mapped or not, in inner product; it holds n x d bytes.

    Jégou et al. (2011), Product Quantization for Nearest Neighbor Search, section IV, the lists; Douze et al. (2024),
    The Faiss library, the bytes.
    """
    require_faiss()
    import faiss

    n, dimension = corpus.shape
    lists, kind = lists_of(n), faiss.ScalarQuantizer.QT_8bit
    centres = faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFScalarQuantizer(centres, dimension, lists, kind, faiss.METRIC_INNER_PRODUCT)
    index.nprobe, index.cp.niter, index.cp.seed = PROBED, ROUNDS, seed % 2**31
    drawn = np.random.default_rng(seed).choice(n, min(n, max(SAMPLED * lists, ROWS)), replace=False)
    index.train(_float32(corpus[np.sort(drawn)]))
    for block in spans(n, COLUMNS):
        index.add(_float32(corpus[block]))
    return index


def lists_of(n: int) -> int:
    """The number of lists that `n` vectors are put into: four times the root of n, each with enough to learn from."""
    return max(1, min(int(4 * n**0.5), n // SAMPLED))


def _float32(rows):
    """As FAISS takes them, which a NaN would stop: what is no number is near nothing by its exact scores."""
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    return rows if np.isfinite(rows).all() else np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0)


def search(
    index: IndexIVFScalarQuantizer, queries: Floats, corpus: Floats, k: int, forbidden: Forbidden | None = None
) -> tuple[Integers, Floats]:
    """Return the most similar rows as `exact.top_k`, by the `index` that `build` gave of `corpus`."""
    bounds, columns = by_query(forbidden, len(queries))
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    values = np.full((len(queries), k), -np.inf, dtype=np.float32)
    for block in spans(len(queries), ROWS):
        # The index returns what is forbidden too, which takes places.
        more = int(np.diff(bounds[block.start : block.stop + 1]).max())
        many = min(max(1, SCORED * k + more), len(corpus))
        _, near = index.search(_float32(queries[block]), many)
        for part in spans(len(near), max(1, CELLS // (many * corpus.shape[1]))):
            rows = slice(block.start + part.start, block.start + part.stop)
            banned = [columns[bounds[row] : bounds[row + 1]] for row in range(rows.start, rows.stop)]
            best, scores = _scored(queries[rows], corpus, near[part], banned)
            kept = min(k, many)
            indices[rows, :kept], values[rows, :kept] = best[:, :kept], scores[:, :kept]
    return indices, values


def _scored(queries, corpus, near, banned):
    """The rows `near` `(q, m)` with their similarities, most similar first, and behind them what is none."""
    near = np.sort(near, axis=1)
    scores = np.matmul(corpus[near], queries[:, :, None])[:, :, 0].astype(np.float32)
    none = (near < 0) | np.isnan(scores)
    for row, columns in enumerate(banned):
        none[row] |= np.isin(near[row], columns)
    scores[none] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")
    scores = np.take_along_axis(scores, order, axis=1)
    return np.where(scores > -np.inf, np.take_along_axis(near, order, axis=1), -1), scores
