"""The index that is served: searched by threads, and read anew when `distill index` has written another."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..catalog.identity import weights_fingerprint
from ..encoders.encoder import Encoder
from ..errors import DataError, DistillError, EncoderError, InputError, first_line
from ..export.encode import COMPARED
from ..indexing.answers import Answers
from ..indexing.stored import FILE
from ..system.progress import say
from ..system.types import File, Floats, Json
from .forms import SearchRequest
from .refusals import quoted, wrong

# Asked of an index before it is served.
TRIAL = "Where does the Danube end?"
# Values of `where` of which the passages are held.
HELD = 8


class Collection:
    """An index of the encoder that `source` names. `search` may be called by several threads, where `encoder` may.

    Raises `InputError` where there is none, it is another encoder's, or no question can be asked of it.
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
            _try(answers)
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
        """The numbers of documents and passages, and what may be asked of it."""
        index = self._answers.index
        return {"documents": index.documents, "passages": index.passages, "hybrid": index.has_words}

    def _current(self):
        """The answers of the index as it is on disk, with their masks; of one that is broken now, as it was."""
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
        """Yield what `distill search --json` prints, an object a question, of questions with unit vectors `(q, d)`.

        All are answered by one index, that of the first. Raises `Refusal`.
        """
        answers, mask_of = self._current()
        if request.hybrid and not answers.index.has_words:
            raise wrong("hybrid", "the index has no words, or an earlier version's; run distill index --hybrid")
        try:
            mask = mask_of(request.where) if request.where else None
        except InputError:
            names = quoted(", ".join(dict(request.where)))
            raise wrong("where", f"no document has a field of this name: {names}") from None
        for question, vector in zip(request.questions, vectors, strict=True):
            yield answers.judge(question, vector, request.top, mask, request.hybrid).as_dict()


def _try(answers):
    vector = np.full(answers.encoder.dimension, answers.encoder.dimension**-0.5, np.float32)
    for hybrid in (False, True)[: 1 + answers.index.has_words]:
        answers.judge(TRIAL, vector, COMPARED, None, hybrid)
