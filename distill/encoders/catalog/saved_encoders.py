"""Load encoders that distill saved: a run's student, and pairs of encoders by role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import EncoderError
from ...system.backend import start
from ...system.files import require_inside
from ...teachers.centring import CentredEncoder, is_teacher, read_teacher
from ..dual_encoder import is_dual, load_dual
from ..encoder import CARD_FILE, MODEL_FILE, TOKENIZER_FILE, KerasEncoder
from ..kind import Kind
from ..library_tokenizer import LIBRARY_FILE
from ..spellings import FILE as SPELLINGS_FILE
from ..tokenizer import READING as READING_FILE
from .identity import fingerprint
from .kinds import RUN_FILE, require_kind
from .loading import load_keras_encoder

if TYPE_CHECKING:
    from ...system.types import File
    from ..encoder import Encoder
    from ..kind import Load


FILES = (MODEL_FILE, TOKENIZER_FILE, LIBRARY_FILE, SPELLINGS_FILE, READING_FILE, CARD_FILE)


class _Saved(Kind):
    """A folder that `KerasEncoder.save` wrote, or the run whose student it is."""

    def matches(self, source: File) -> bool:
        return (_folder(source) / MODEL_FILE).is_file()

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        start()
        from ...students.families import register_networks

        register_networks()
        return KerasEncoder.load(self.folder(source))

    def folder(self, source: File) -> Path:
        folder = _folder(source)
        require_inside(folder, *FILES)
        return folder

    def files(self, folder: Path) -> list[Path]:
        # Others may come to lie there, such as vectors, or what `distill lir fit` learned.
        return [path for path in super().files(folder) if path.name in FILES]


class _Dual(Kind):
    """A folder that `DualEncoder.save` wrote."""

    def matches(self, source: File) -> bool:
        return is_dual(source)

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        return load_dual(source, load_keras_encoder)


def _folder(source: File) -> Path:
    folder = Path(source)
    return folder / "student" if (folder / RUN_FILE).is_file() else folder


SAVED = _Saved("a saved encoder", trainable=True)
DUAL = _Dual("a dual encoder")


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
