"""The index that is served: threads search it, and it is read again when `distill index` has written a new one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...encoders.catalog.identity import weights_fingerprint
from ...encoders.encoder import Encoder
from ...errors import DataError, DistillError, EncoderError, InputError, first_line
from ...export.encode import COMPARED
from ...system.progress import say
from ...system.types import File, Floats, Json
from ..indexing.answers import Answers
from ..indexing.index_file import FILE
from .forms import SearchRequest
from .limits import shorten_quote, value_refusal

# The question that checks an index before it is served.
TRIAL = "Where does the Danube end?"
# The number of values of `where` whose passages are cached.
HELD = 8


class Collection:
    """An index of documents for one encoder. Several threads may call `search` if they may share `encoder`.

    Raises `InputError` if there is no index, if it belongs to another encoder, or if it cannot answer a question.
    """

    def __init__(self, folder: File, source: File, encoder: Encoder) -> None:
        self._path, self._arguments = Path(folder) / FILE, (folder, source, encoder)
        self._fingerprint = weights_fingerprint(source)
        self._lock = threading.Lock()
        self._load()

    def _load(self):
        folder, source, encoder = self._arguments
        self._seen = self._state()
        if weights_fingerprint(source) != self._fingerprint:
            raise EncoderError(f"{source}: another encoder than the one that is served; start distill serve again")
        try:
            answers = Answers(folder, source, encoder=encoder)
            _try_question(answers)
        except DistillError:
            raise
        except Exception as error:  # a file that was made to break what reads it may do so anywhere
            raise DataError(f"{self._path}: a broken index: {first_line(error)}; run distill index again") from error
        self._answers, self._mask = answers, lru_cache(HELD)(answers.index.mask)

    def _state(self):
        try:
            state = self._path.stat()
        except OSError:
            return None
        return state.st_ino, state.st_mtime_ns, state.st_size

    @property
    def card(self) -> dict[str, Json]:
        """Figures of the index: the numbers of documents and passages, and whether it takes a hybrid search."""
        index = self._answers.index
        return {"documents": index.documents, "passages": index.passages, "hybrid": index.has_words}

    def _current(self):
        """Return the answers and masks of the index as it is on disk, or the previous ones if that is broken now."""
        with self._lock:
            state = self._state()
            if state not in (None, self._seen):
                try:
                    self._load()
                except DistillError as error:
                    self._seen = state
                    say(f"{error}; the index is searched as it was")
            return self._answers, self._mask

    def search(self, request: SearchRequest, vectors: Floats) -> Iterator[dict[str, Json]]:
        """Answer questions from one version of the index, the one that is on disk at the first question.

        Yields an object per question, in the form of `distill search --json`. Raises `Refusal` if the index has no
        words for a hybrid search, or no field of a name in `where`.
        """
        answers, mask_of = self._current()
        if request.hybrid and not answers.index.has_words:
            raise value_refusal("hybrid", "the index has no words, or an earlier version's; run distill index --hybrid")
        try:
            mask = mask_of(request.where) if request.where else None
        except InputError:
            names = shorten_quote(", ".join(dict(request.where)))
            raise value_refusal("where", f"no document has a field of this name: {names}") from None
        for question, vector in zip(request.questions, vectors, strict=True):
            yield answers.judge(question, vector, request.top, mask, request.hybrid).as_dict()


def _try_question(answers):
    vector = np.full(answers.encoder.dimension, answers.encoder.dimension**-0.5, np.float32)
    for hybrid in (False, True)[: 1 + answers.index.has_words]:
        answers.judge(TRIAL, vector, COMPARED, None, hybrid)
