"""The saved fixed teacher of a run: an encoder that stays in its own place, and a folder that refers to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...errors import EncoderError
from ...teachers.centring import CentredEncoder, is_teacher, read_teacher
from ..kind import Kind
from .identity import fingerprint
from .kinds import require_kind

if TYPE_CHECKING:
    from ...system.types import File
    from ..encoder import Encoder
    from ..kind import Load


class _Fixed(Kind):
    """A folder that `teachers.centring.save_teacher` wrote."""

    def matches(self, source: File) -> bool:
        return is_teacher(source)

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        """Load the encoder and subtract its means. Raises `EncoderError` if the encoder has changed."""
        card, means = read_teacher(source)
        with _read_note(source):
            encoder = load(card["source"])
        if fingerprint(card["source"], encoder) != card["fingerprint"] or encoder.dimension != card["dimension"]:
            raise EncoderError(
                f"{source}: its teacher, {card['source']}, is another one now; restore that, or repeat the run"
            )
        return encoder if means is None else CentredEncoder(encoder, means)

    def on_disk(self, source: File) -> list[str]:
        """Return the folder, and the files of the encoder that it refers to."""
        card, _ = read_teacher(source)
        with _read_note(source):
            return [*super().on_disk(source), *require_kind(card["source"]).on_disk(card["source"])]


@contextmanager
def _read_note(source: File) -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise EncoderError(f"{source}: its teacher is, in the end, itself; repeat the run that wrote it") from error


FIXED = _Fixed("a fixed teacher")
