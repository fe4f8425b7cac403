"""The format fastembed: a folder with an ONNX model of masked ids and a tokenizer for the package tokenizers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..weights.precision import Precision
from .format import Artefact, Format, Label, Lengths, require_whole_folder

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder
    from ...encoders.spellings import Expansions

MODEL = "model.onnx"
# The share of dev questions whose token ids may differ.
OTHERS = 0.005
HOW_TO = """```
pip install fastembed
```

```python
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

TextEmbedding.add_custom_model(
    model="distill/{folder}",
    pooling=PoolingType.DISABLED,
    normalization=False,
    sources=ModelSource(url="file:{folder}"),
    dim={dimension},
    model_file="model.onnx",
)
model = TextEmbedding("distill/{folder}", specific_model_path="{folder}")
(vector,) = model.embed("Where does the Danube end?")
```

If there is a `reading.json`, put its prompts before the texts;
`distill.search_engine.plugs.fastembed` does this for you."""


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    from ..hub.onnx_reference import write_tokenizer_files
    from ..onnx.model import add_masked_inputs, convert_to_onnx

    write_tokenizer_files(student.tokenizer, folder)
    inputs = partial(add_masked_inputs, spellings=_spellings(student))
    (folder / MODEL).write_bytes(convert_to_onnx(student.model, precision.dense, precision.table, inputs))


def _spellings(student: KerasEncoder) -> Expansions | None:
    from ...encoders.spellings import Expansions, pack_spellings
    from ...encoders.tokenizer import list_spellings

    spellings = list_spellings(student.tokenizer)
    return Expansions.in_array(len(student.tokenizer), pack_spellings(spellings)) if spellings else None


def _load(folder: Path, label: Label, threads: int) -> Artefact:
    from ..hub.onnx_reference import OnnxFolderEncoder

    return OnnxFolderEncoder(require_whole_folder(folder), MODEL, label.name, label.dimension, threads)


FORMATS = (
    Format(
        "fastembed",
        MODEL,
        _write,
        _load,
        HOW_TO,
        needs=("onnx", "onnxruntime", "tokenizers"),
        extra="onnx,hub",
        others=OTHERS,
        expanded=False,
        reads=True,
    ),
)
