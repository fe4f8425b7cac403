"""The index that is served: searched by threads, and read anew when `distill index` has written another."""

from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path

from ..catalog.identity import weights_fingerprint
from ..encoders.encoder import Encoder
from ..errors import DistillError, EncoderError, InputError
from ..indexing.answers import Answers
from ..indexing.stored import FILE
from ..system.progress import say
from ..system.types import File, Floats, Json
from .forms import SearchRequest
from .refusals import wrong

# Values of `where` of which the passages are held.
HELD = 8


class Collection:
    """An index of the encoder that `source` names. `search` may be called by several threads, where `encoder` may.

    Raises `InputError` where there is none, or it is another encoder's.
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
        self._answers = Answers(folder, source, encoder=encoder)
        self._mask = lru_cache(HELD)(self._answers.index.mask)

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

    def search(self, request: SearchRequest, vectors: Floats) -> list[dict[str, Json]]:
        """Return what `distill search --json` prints, an object a question, of questions with unit vectors `(q, d)`.

        Raises `Refusal`.
        """
        answers, mask_of = self._current()
        if request.hybrid and not answers.index.has_words:
            raise wrong("hybrid", "the index has no words, or an earlier version's; run distill index --hybrid")
        try:
            mask = mask_of(request.where) if request.where else None
        except InputError:
            names = ", ".join(dict(request.where))
            raise wrong("where", f"no document has a field of this name: {names}") from None
        pairs = zip(request.questions, vectors, strict=True)
        judged = [answers.judge(question, vector, request.top, mask, request.hybrid) for question, vector in pairs]
        return [answer.as_dict() for answer in judged]
