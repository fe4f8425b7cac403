"""The format bundle: a TFLite model, the tokenizer and `encode.py`, which runs them without this package."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...system.backend import hush_stderr
from ...system.types import Floats, Progress, Role
from .. import encode
from ..weights.codecs import TableEdit
from ..weights.precision import Precision
from .format import Format, Label, Lengths, as_encoder_error

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder


class Bundle(encode.Encoder):
    """The `Encoder` of `encode.py`, with this package's errors."""

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        language: str | None = None,
    ) -> Floats:
        """Encode texts as `encode.Encoder` does; an error of the script is raised as `EncoderError`."""
        with as_encoder_error():
            return super().encode(texts, role, progress, language)


def load_bundle(folder: Path, label: Label, threads: int) -> Bundle:
    """Load an artefact that has an `encode.py`, as that script runs it."""
    with as_encoder_error(), hush_stderr():
        return Bundle(folder, threads)


def write_tokenizer(student: KerasEncoder, folder: Path) -> None:
    """Write the files beside a model: the tokenizer and `encode.py`."""
    student.tokenizer.save(folder / encode.TOKENIZER)
    shutil.copyfile(encode.__file__, folder / "encode.py")


def usage_text(runtime: str) -> str:
    """Return the README's section on using an artefact that has an `encode.py`."""
    return f"""```
pip install numpy sentencepiece {runtime}
```

```python
from encode import Encoder

encoder = Encoder()
vectors = encoder.encode(["Where does the Danube end?"])  # float32 (1, {{dimension}})
documents = encoder.encode(["It ends in the Black Sea."], "document")
```"""


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    content = precision.content or _convert(student, precision, lengths)
    (folder / encode.MODELS["bundle"]).write_bytes(content)
    write_tokenizer(student, folder)


def _convert(student, precision, lengths):
    # This import needs TensorFlow, which the weights of another bundle do not.
    from ..tflite.convert import convert

    return convert(student.model, precision, lengths.fixed, lengths.signatures)


def _weights(content: bytes, rows: int, codec: str) -> dict[str, Floats]:
    from ..tflite.weights import weights_in

    return weights_in(content, rows, codec)


def _table(content: bytes, rows: int, codec: str) -> Floats:
    from ..tflite.weights import rows_in

    return rows_in(content, rows, codec)


def _with_table(content: bytes, rows: int, codec: str, remade: TableEdit) -> bytes:
    from ..tflite.weights import with_table

    return with_table(content, rows, codec, remade)


def _arrays(content: bytes, rows: int) -> tuple[np.ndarray, ...]:
    from ..tflite.weights import arrays_in

    return arrays_in(content, rows)


FORMATS = (
    Format(
        "bundle",
        encode.MODELS["bundle"],
        _write,
        load_bundle,
        usage_text("ai-edge-litert"),
        worker="bundle",
        fixable=True,
        signatures=True,
        reads=True,
        weights=_weights,
        table=_table,
        with_table=_with_table,
        arrays=_arrays,
    ),
)
