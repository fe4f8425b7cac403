"""Load encoders that distill saved: a run's student, and pairs of encoders by role."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...system.backend import start
from ...system.files import require_inside
from ..dual_encoder import is_dual, load_dual
from ..encoder import CARD_FILE, MODEL_FILE, TOKENIZER_FILE, KerasEncoder
from ..kind import Kind
from ..library_tokenizer import LIBRARY_FILE
from ..spellings import FILE as SPELLINGS_FILE
from ..tokenizer import READING as READING_FILE
from .kinds import RUN_FILE
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
