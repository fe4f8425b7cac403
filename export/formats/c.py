"""The format c: the encoder in one file, a program in C that reads it, and its build files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...system.types import Json
from ..weights.precision import Precision
from .format import Artefact, Format, Label, Lengths, require_whole_file

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder

MODEL = "encoder.bin"
SOURCES = Path(__file__).parents[1] / "c"
# The sources that are copied into an artefact.
PROGRAM = (
    *("distill.h", "distill_inside.h", "distill.c", "distill_writer.c"),
    *("example.c", "distill_sqlite.c", "CMakeLists.txt"),
)
HOW_TO = f"""`{MODEL}` is the encoder in one file. `distill.c` with `distill.h`, C99 without a library, reads it:

```
cc -std=c99 -O3 -o example example.c distill.c -lm
echo "Where does the Danube end?" | ./example {MODEL} kb/index.bin
```

`kb` is an index that `distill index` made with this encoder. Without it the first numbers of the vector are printed."""


def write_encoder(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    """Write the encoder's one file.

    Raises `InputError` for a table, and `ExportError` for an encoder, that a program in C does not support.
    """
    from ...system.sections import write_sections
    from ..c.encoder_file import encoder_sections, require_table

    require_table(precision.table)
    content = precision.content or _convert(student, precision)
    sections = encoder_sections(content, student.tokenizer, student.name, precision.table, lengths.fixed)
    write_sections(folder / MODEL, sections)


def _convert(student, precision):
    # This import needs TensorFlow, which copying the weights of a bundle does not.
    from ..tflite.convert import convert

    return convert(student.model, precision)


def add_answerable(folder: Path, said: Mapping[str, Json], weight: float = 1.0) -> None:
    """Add a card's calibration of answers, and a passage's weight, to the encoder's one file."""
    from ...system.sections import read_sections, write_sections
    from ..c.encoder_file import answerable_sections

    # Copied out of the mapped file, which the new one replaces.
    sections = {name: np.array(array) for name, array in read_sections(folder / MODEL).items()}
    write_sections(folder / MODEL, {**sections, **answerable_sections(said, weight)})


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    write_encoder(student, folder, precision, lengths)
    for name in PROGRAM:
        shutil.copyfile(SOURCES / name, folder / name)


def load_sections(folder: Path, label: Label, threads: int) -> Artefact:
    """Load an artefact from its one file, to be computed by NumPy. Returns the artefact as an `Encoder`."""
    from ..c.reference import SectionsEncoder

    return SectionsEncoder(require_whole_file(folder, label, MODEL), label.name)


FORMATS = (
    Format(
        "c", MODEL, _write, load_sections, HOW_TO, fixable=True, keeps=True, reads=True, add_answerable=add_answerable
    ),
)
