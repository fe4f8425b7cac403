"""The format web: a page that searches by itself, with the encoder of the format c, WebAssembly and maybe an index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...system.types import Json
from ..weights.precision import Precision
from . import c
from .format import Lengths

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder

HOW_TO = """A page for any static server; the browser does all the work. To try it, run `python -m http.server` in this
folder and open http://localhost:8000. docs/web.md says more."""


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    from ..web.site import write_page

    c.write_encoder(student, folder, precision, lengths)
    write_page(folder)


def _add_answerable(folder: Path, said: Mapping[str, Json], weight: float = 1.0) -> None:
    from ..web.site import write_page

    c.add_answerable(folder, said, weight)
    # The page shows the size of the encoder's file.
    write_page(folder)


# Everything else is as for a program in C.
FORMATS = (replace(c.FORMATS[0], name="web", write=_write, how_to=HOW_TO, add_answerable=_add_answerable),)
