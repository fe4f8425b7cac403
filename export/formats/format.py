"""The parts of an artefact format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np

from ...encoders.encoder import Encoder
from ...errors import ExportError
from ...system.types import Floats, Json
from ..weights.codecs import Remade
from ..weights.precision import Precision

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder


@dataclass(frozen=True)
class Lengths:
    """Numbers of tokens that an artefact takes: one `fixed`, or some `signatures`, else any; bos and eos count."""

    fixed: int | None = None
    signatures: tuple[int, ...] = ()

    @property
    def longest(self) -> int | None:
        """Most tokens of a text, None for any number."""
        return max(self.signatures, default=self.fixed)


@dataclass(frozen=True)
class Label:
    """The lines of a card that loading needs; `files` are names, `max_length` is None for texts of any length."""

    name: str
    format: str
    dimension: int
    max_length: int | None
    files: tuple[str, ...]


class Artefact(Encoder, Protocol):
    """An exported encoder; `max_length` is the most tokens of a text, None for any number."""

    max_length: int | None

    def tokenize(self, text: str) -> Sequence[int]:
        """The ids of a text: bos, pieces, eos."""


def _in_card_alone(folder: Path, said: Mapping[str, Json]) -> None:
    """Leave the files as they are: what reads these reads the card."""


def _unreadable(content: bytes, rows: int, codec: str, remade: Remade | None = None) -> NoReturn:
    raise ExportError("weights in this format cannot be read back")


@dataclass(frozen=True)
class Format:
    """A way to write a student as an artefact, and to run it again.

    `write(student, folder, precision, lengths)` puts the files into a folder that is there, `file` the model among
    them; `load(folder, label, threads)` is the encoder back again. `how_to` is for the artefact's page, where
    `{dimension}` and `{max_length}` are filled in. `needs` are packages beyond the installation, which the `extra`
    brings; `worker` is the loader of `bench/worker.py` that runs it without our package, if there is one. A format
    takes texts of any length unless it is `fixable` to one length, or has `signatures` of some; `length` is that of a
    format which needs a fixed one and was given none.

    Of the content of `file`, whose table has so many rows and is stored by a codec, `weights(content, rows, codec)` are
    the student's by name, and `with_table(content, rows, codec, remade)` is the same file with what is `remade` of the
    table's arrays. Both raise `ExportError` or `ValueError` for a file that is none of ours, and where a format cannot
    be read back. `table(content, rows, codec)` is the table alone, where that costs less than all weights, and
    `arrays(content, rows)` what it is stored in; a format without keeps no codes of what it is made from. One that
    `keeps` takes the weights of a bundle as they are stored there. `add_answerable(folder, said)` puts what the card
    says of answers into what `write` has written, where that is read without the card.

    One that is not `expanded` has ids of spellings too, and what these stand for is read behind its tokenizer. One that
    `reads` puts a prompt before a text and cuts a long one, where the encoder's tokenizer does.

    One with a `library` is a folder for the hub of models that this library reads, with float32 weights alone. Of the
    dev questions a share of `others` may have other ids there; their vectors are left out of the gate's cosines.
    """

    name: str
    file: str
    write: Callable[[KerasEncoder, Path, Precision, Lengths], None]
    load: Callable[[Path, Label, int], Artefact]
    how_to: str
    needs: tuple[str, ...] = ()
    extra: str = ""
    worker: str = ""
    fixable: bool = False
    signatures: bool = False
    length: int | None = None
    weights: Callable[[bytes, int, str], dict[str, Floats]] = _unreadable
    table: Callable[[bytes, int, str], Floats] | None = None
    with_table: Callable[[bytes, int, str, Remade], bytes] = _unreadable
    arrays: Callable[[bytes, int], tuple[np.ndarray, ...]] | None = None
    keeps: bool = False
    library: str = ""
    others: float = 0.0
    expanded: bool = True
    reads: bool = False
    add_answerable: Callable[[Path, Mapping[str, Json]], None] = _in_card_alone
