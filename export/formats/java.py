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
java -cp classes Example {MODEL} "Where does the Danube end?"
```

In Kotlin (not tested: no Kotlin, Gradle or phone was available), put the sources except `Example.java` into the app's
`src/main/java/distill`:

```kotlin
val encoder = Encoder.open(File(filesDir, "{MODEL}"))
val index = Index.open(File(filesDir, "kb"), encoder)
for (hit in index.search("Where does the Danube end?", 5)) println("${{{{hit.score()}}}} ${{{{hit.sentence()}}}}")
```"""


def list_sources() -> list[Path]:
    """Return the Java sources that are copied into an artefact."""
    return sorted(SOURCES.glob("*.java"))


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    write_encoder(student, folder, precision, lengths)
    for path in list_sources():
        shutil.copyfile(path, folder / path.name)


# Everything else is as for a program in C.
FORMATS = (replace(C_FORMATS[0], name="java", write=_write, how_to=HOW_TO),)
