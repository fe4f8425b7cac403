"""One file for a program in C, the program, and what compiles it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...system.types import Json
from ..weights.precision import Precision
from .folder import whole_file
from .format import Artefact, Format, Label, Lengths

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder

MODEL = "encoder.bin"
SOURCES = Path(__file__).parents[1] / "c"
# What of them goes into an artefact.
PROGRAM = (
    *("distill.h", "distill_inside.h", "distill.c", "distill_writer.c"),
    *("example.c", "distill_sqlite.c", "CMakeLists.txt"),
)
HOW_TO = f"""`{MODEL}` is the encoder in one file, and `distill.c` with `distill.h`, C99 without a library, reads it:

```
cc -std=c99 -O3 -o example example.c distill.c -lm
echo "Where does the Danube end?" | ./example {MODEL}
```"""


def write_encoder(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    """Write the encoder's one file. Raises `ExportError` for what a program in C does not take."""
    from ...system.sections import write_sections
    from ..c.encoder_file import encoder_sections, require_table

    require_table(precision.table)
    content = precision.content or _converted(student, precision)
    sections = encoder_sections(content, student.tokenizer, student.name, precision.table, lengths.fixed)
    write_sections(folder / MODEL, sections)


def _converted(student, precision):
    # With TensorFlow, which a bundle that is taken as it is does without.
    from ..tflite.convert import convert

    return convert(student.model, precision)


def add_answerable(folder: Path, said: Mapping[str, Json]) -> None:
    """Put what a card says of answers into the encoder's one file."""
    from ...system.sections import read_sections, write_sections
    from ..c.encoder_file import answerable_sections

    # Out of the file, in whose place the new one comes.
    sections = {name: np.array(array) for name, array in read_sections(folder / MODEL).items()}
    write_sections(folder / MODEL, {**sections, **answerable_sections(said)})


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    write_encoder(student, folder, precision, lengths)
    for name in PROGRAM:
        shutil.copyfile(SOURCES / name, folder / name)


def load_sections(folder: Path, label: Label, threads: int) -> Artefact:
    """The artefact by its one file, computed by NumPy. Raises `EncoderError` when it is not whole."""
    from ..c.reference import SectionsEncoder

    return SectionsEncoder(whole_file(folder, label, MODEL), label.name)


FORMATS = (
    Format(
        "c",
        MODEL,
        _write,
        load_sections,
        HOW_TO,
        fixable=True,
        keeps=True,
        reads=True,
        add_answerable=add_answerable,
    ),
)
