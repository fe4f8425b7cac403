"""The encoder and the index that are served: texts to embeddings, and searches in threads.

The index is read again when `distill index` has written a new one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from ...encoders.catalog.identity import weights_fingerprint
from ...encoders.encoder import Encoder
from ...encoders.files.questions import count_pieces, encode_apart, pieces_problem
from ...encoders.health import require_finite
from ...errors import DataError, DistillError, EncoderError, InputError, first_line
from ...export.encode import COMPARED
from ...system.progress import say
from ...system.types import File, Floats, Json, Progress, Role
from ..indexing.answers import Answers
from ..indexing.index_file import FILE
from .batching import Vectors
from .forms import SearchRequest
from .limits import Limits, Refusal, busy_refusal, shorten_quote, size_refusal, value_refusal

# Suffixes of the model's name, for clients that have no other way to state the role of a text.
SUFFIXES: dict[str, Role] = {"query": "question", "document": "document"}
PROBE = "Where does the Danube end?"


class ServedEncoder:
    """A served `Encoder`, which one thread uses at a time, for texts of at most `most` tokens."""

    def __init__(self, encoder: Encoder, name: str, most: int = Limits.pieces) -> None:
        self.name, self.dimension = name, encoder.dimension
        self._encoder, self._lock, self._most = encoder, threading.Lock(), most
        self._stopped = threading.Event()
        question, document = (self.encode([PROBE], role) for role in SUFFIXES.values())
        self.has_roles = not np.array_equal(question, document)

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Encode texts, and between two of them raise `Refusal` if the server is stopped."""
        with self._lock:
            return require_finite(self._encoder.encode(texts, role, progress or self._require_running), self._encoder)

    def vectors(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode texts and count their tokens, or the words for an encoder that does not show its tokens."""
        pieces = count_pieces(self._encoder, texts, role)
        longest = int(pieces.argmax())
        if problem := pieces_problem(int(pieces[longest]), self._most):
            raise size_refusal(None, f"{f'{texts[longest][:20]}…'!r}: {problem}")
        return Vectors(encode_apart(self.encode, texts, role, pieces), pieces)

    def stop(self) -> None:
        """Encode nothing from now on."""
        self._stopped.set()

    def _require_running(self, steps: int = 1, note: str = "") -> None:
        if self._stopped.is_set():
            raise busy_refusal("it is told to stop")

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a request may use for the encoder."""
        return (self.name, *(f"{self.name}:{suffix}" for suffix in SUFFIXES))

    def require(self, model: str | None) -> None:
        """Raise `Refusal` for the name of another model. None stands for this one."""
        if model is not None and model not in self.names:
            raise Refusal(
                404,
                f"model: {model[:80]!r} is not served; there are {', '.join(self.names)}",
                "model_not_found",
                "model",
            )

    def role(self, model: str | None, role: Role | None) -> Role:
        """Determine the role of the texts in a request: that it names, or else that at the end of its model's name.

        Raises `Refusal` if the model is another one, if there are two roles, or if there is none and it makes a
        difference.
        """
        self.require(model)
        suffix = SUFFIXES.get((model or "").removeprefix(self.name).removeprefix(":"))
        if role and suffix and role != suffix:
            raise Refusal(
                422, f"input_type: another role than that of the model {model!r}", "invalid_value", "input_type"
            )
        if not (role or suffix) and self.has_roles:
            raise Refusal(
                422,
                f"input_type: {self.name} encodes queries and documents differently; give input_type, query or "
                f"document, or as model {' or '.join(self.names[1:])}",
                "no_role",
                "input_type",
            )
        return cast(Role, role or suffix or "document")


def served_name(source: File) -> str:
    """Return the name under which the encoder `source` is served: its own name, or that of its folder."""
    path = Path(source)
    return (path.resolve().parent if path.name == "bundle" else path).name or str(source)


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
