"""`clusters.bin`: an index laid out for ranges, of which a page loads the lists and records that a question needs."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from ....errors import InputError
from ....settings.choices import PASSAGE_SCORES
from ....system.sections import write_sections
from ....system.types import File
from ..index_file import Index
from .coder import PLACES, Coder
from .lists import Vectors, sort_into_lists
from .records import UNIT, Records

VERSION, NUMBERS = 1, 16
# Vectors in a list, and the most lists: the page loads a centroid of each before its first question.
LIST, MOST_LISTS = 200, 1024
# Vectors of which centroids, axes and codewords are learned.
SAMPLE = 50_000
# What a question loads of lists and of records at most, in bytes.
LIST_BYTES, RECORD_BYTES = 68_000, 34_000
TITLES = 10


def write_clusters(index: File, output: File, seed: int = 0) -> None:
    """Write the `clusters.bin` of an index.

    Args:
        index: The folder of `distill index`.
        seed: The seed of the samples, the centroids and the codewords.

    Raises:
        ExportError: If the index is larger than a page can hold.
        DataError: If the folder has no whole index.
        InputError: If the index has fewer bits than 8, words or no passage, or a file cannot be read or written.
    """
    stored = Index(index)
    _require_plain(stored)
    vectors, random = Vectors(stored), np.random.default_rng(seed)
    count = len(vectors.passage_of)
    sample = vectors.rows(np.sort(random.permutation(count)[:SAMPLE]))
    coder = Coder.learn(sample, int(np.clip(count // LIST, 1, MOST_LISTS)), random)
    lists = sort_into_lists(vectors, coder)
    records = Records(stored, coder, lists.order)
    parts = {**_head(stored, coder), **coder.sections(), **lists.sections(records.units)}
    write_sections(output, {**parts, "records": records.section()})


def _require_plain(index: Index) -> None:
    kinds = {"of fewer bits than 8 a number": index.bits != 8, "that finds words": index.has_words}
    kinds["of no passage"] = not index.passages
    for kind in (kind for kind, holds in kinds.items() if holds):
        raise InputError(f"{index.path}: a page of ranges takes no index {kind}; make one with distill index alone")


def _head(index: Index, coder: Coder) -> dict[str, NDArray[np.generic]]:
    numbers = [VERSION, index.axes, coder.width, PLACES, PASSAGE_SCORES.index(index.score)]
    numbers += [index.passages, LIST_BYTES, RECORD_BYTES, UNIT]
    rows = np.linspace(0, index.documents - 1, min(TITLES, index.documents)).astype(int)
    titles = [title for row in rows.tolist() if (title := index.fields(row).get("title"))]
    card = json.dumps({**index.card, "titles": titles}, ensure_ascii=False).encode()
    return {
        "numbers": np.array(numbers + [0] * (NUMBERS - len(numbers)), np.int32),
        "card": np.frombuffer(card, np.uint8),
    }
