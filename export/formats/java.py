"""The format java: the encoder in one file and the Java sources that read it, for Kotlin and Android too."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..weights.precision import Precision
from .c import FORMATS as C_FORMATS
from .c import MODEL, write_encoder
from .format import Lengths

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder

SOURCES = Path(__file__).parents[1] / "java"
HOW_TO = f"""`{MODEL}` is the encoder in one file. The sources, Java 8 without dependencies, are the package
`distill` and `Example.java`:

```
javac -d classes *.java
java -cp classes Example {MODEL} "Where does the Danube end?" kb
```

`kb` is an index that `distill index` made with this encoder. Without it the vector is printed. For an app on Android
(not tested: no phone was available) put the sources except `Example.java` into `src/main/java/distill`. `Encoder.open`
and `Index.open` take a file, or a `ByteBuffer` such as a mapped asset."""


def list_sources() -> list[Path]:
    """Return the Java sources that are copied into an artefact."""
    return sorted(SOURCES.glob("*.java"))


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    write_encoder(student, folder, precision, lengths)
    for path in list_sources():
        shutil.copyfile(path, folder / path.name)


# Everything else is as for a program in C.
FORMATS = (replace(C_FORMATS[0], name="java", write=_write, how_to=HOW_TO),)
