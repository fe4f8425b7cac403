"""The tokenizer of another library's model, run by that library itself: the package `tokenizers`.

It reads texts while such a model is evaluated, labels texts or is trained. What cuts its pieces or writes a bundle
needs pieces of distill's own, which are compared with it on texts first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EncoderError, first_line
from ..system.extras import require_extra
from ..system.text import make_well_formed
from .tokenizer import READING, Tokenizer, parse_reading

if TYPE_CHECKING:
    from ..export.encode import Reading
    from ..system.types import File, Json, Role

# The library's own file, beside that of the tokenizer.
LIBRARY_FILE = "library_tokenizer.json"
# The number of texts that are compared with each prompt in front.
PROMPTED = 100


class LibraryTokenizer(Tokenizer):
    """A tokenizer that the package `tokenizers` runs.

    `content` is that of its `tokenizer.json`; a text is cut where its `truncation` says, at the limit of the reading.
    `convert` makes the SentencePiece model with the same ids.
    """

    def __init__(self, content: Json, reading: Reading, source: str, convert: Callable[[], bytes]) -> None:
        require_extra(f"{source}: another library's tokenizer", ("tokenizers",), "hub")
        self.content, self.reading, self.source, self.spellings = content, reading, source, None
        self._convert, self._expansions = convert, None
        self._left = (content.get("truncation") or {}).get("direction") == "Left"
        self._size = 1 + max(self._library.get_vocab().values(), default=-1)
        mask = self._library.encode("a").special_tokens_mask
        self._before, self._behind = (_count_leading(one) for one in (mask, mask[::-1]))

    @cached_property
    def _library(self):
        import tokenizers

        try:
            library = tokenizers.Tokenizer.from_str(json.dumps(self.content))
        except Exception as error:  # the package raises plain exceptions
            raise EncoderError(f"{self.source}: the package tokenizers cannot read it: {first_line(error)}") from error
        library.no_truncation()
        library.no_padding()
        return library

    @cached_property
    def proto(self) -> bytes:
        """The SentencePiece model with the same ids. Raises `EncoderError` if there is none."""
        return self._convert()

    @property
    def unknown(self) -> int:
        model = self.content["model"]
        id = model.get("unk_id") if "unk_id" in model else self._library.token_to_id(str(model.get("unk_token")))
        return -1 if id is None else int(id)

    @property
    def stored_bytes(self) -> int:
        """The number of bytes of the library's file, and of the reading."""
        return len(json.dumps(self.content)) + len(self.reading.content())

    @property
    def unexpanded(self) -> Tokenizer:
        """The tokenizer itself, which has no aliases."""
        return self

    @property
    def has_segments(self) -> bool:
        """True if a token of a text has another segment than the first, by the library's `type_ids`."""
        return any(self._library.encode("a").type_ids)

    @property
    def cuts_left(self) -> bool:
        """True if a text that is too long loses its beginning."""
        return self._left and self.reading.longest is not None

    def save(self, path: File) -> None:
        """Write the library's file, the reading, and the SentencePiece model if there is one."""
        Path(path).with_name(LIBRARY_FILE).write_text(json.dumps(self.content, ensure_ascii=False), encoding="utf-8")
        if content := self.reading.content():
            Path(path).with_name(READING).write_bytes(content)
        try:
            Path(path).write_bytes(self.proto)
        except EncoderError:
            return

    def to_own(self, texts: Iterable[str] = ()) -> Tokenizer:
        """Return distill's own tokenizer with the same ids; `EncoderError` if there is none, or a text has others."""
        tokenizer = Tokenizer(self.proto, self.source, reading=self.reading)
        require_same_ids(self, tokenizer, list(dict.fromkeys(texts)))
        return tokenizer

    def _rows(self, texts):
        return [one.ids for one in self._library.encode_batch(texts)]

    def _shorten(self, ids):
        longest = self.reading.longest
        if longest is None or len(ids) <= longest:
            return ids
        if self._left:
            return ids[: self._before] + ids[len(ids) - longest + self._before :]
        return ids[: longest - self._behind] + ids[len(ids) - self._behind :]

    def _place_pieces(self, text):
        encoding = self._library.encode(text, add_special_tokens=False)
        return list(zip(encoding.ids, encoding.offsets, strict=True))


def load_tokenizer(path: File) -> Tokenizer:
    """Load the tokenizer that `save` wrote at a path and beside it, be it another library's or distill's own."""
    path = Path(path)
    return _load_library(path) if path.with_name(LIBRARY_FILE).is_file() else Tokenizer.load(path)


def _load_library(path: Path) -> LibraryTokenizer:
    library, reading = path.with_name(LIBRARY_FILE), path.with_name(READING)
    try:
        content = json.loads(library.read_text(encoding="utf-8"))
        rules = parse_reading(reading.read_bytes() if reading.is_file() else b"{}", str(reading))
        proto = path.read_bytes() if path.is_file() else b""
    except (OSError, ValueError, RecursionError) as error:
        raise EncoderError(f"{library}: cannot be read: {first_line(error)}") from error
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise EncoderError(f"{library}: not a file of the package tokenizers; save the encoder again")

    def read_proto() -> bytes:
        if not proto:
            raise EncoderError(
                f"{library}: no pieces of distill's own give its ids, so its vocabulary cannot be cut and no bundle "
                "can be made; take a model with XLM-R's, Gemma's or BERT's pieces"
            )
        return proto

    return LibraryTokenizer(content, rules, str(library), read_proto)


def require_same_ids(library: LibraryTokenizer, tokenizer: Tokenizer, texts: Sequence[str]) -> None:
    """Raise `EncoderError` if a text has other ids by distill's own tokenizer, with a prompt or without."""
    roles: tuple[Role, ...] = ("question", "document")
    prompted = [role for role in roles if library.reading.prompts.get(role)]
    for role, some in ((None, texts), *((role, texts[:PROMPTED] or ["a"]) for role in prompted)):
        rows = zip(some, library.encode(some, role), tokenizer.encode(some, role), strict=True)
        differing = [(text, theirs, ours) for text, theirs, ours in rows if theirs != ours]
        if differing:
            raise EncoderError(_describe_difference(library, differing, len(some), role))


def _describe_difference(library, differing, count, role):
    text, theirs, ours = min(differing, key=lambda one: len(one[0]))
    names = {id: name for name, id in library._library.get_vocab().items()}
    place = next((at for at, pair in enumerate(zip(theirs, ours, strict=False)) if pair[0] != pair[1]), len(ours))
    pieces, others = (
        " ".join(names.get(id, "?") for id in ids[place : place + 4]) or "nothing" for ids in (theirs, ours)
    )
    said = f" behind the prompt {library.reading.prompts[role]!r}" if role else ""
    return (
        f"{library.source}: distill's own pieces read {len(differing)} of {count} texts{said} otherwise, such as "
        f"{make_well_formed(text)[:60]!r}: {others} in place of {pieces}; it can be measured, label texts and be "
        "trained, but not be cut or exported"
    )


def _count_leading(mask):
    return next((at for at, one in enumerate(mask) if not one), len(mask))
