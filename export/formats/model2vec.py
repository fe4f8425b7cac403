"""The format model2vec: a static student without a network as a folder that model2vec and its ports open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..weights.precision import Precision
from .format import Artefact, Format, Label, Lengths, require_whole_folder

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder

MODEL = "model.safetensors"
# The share of dev questions whose token ids may differ: SentencePiece joins adjacent unknown characters.
OTHERS = 0.05
HOW_TO = """```
pip install model2vec
```

```python
from model2vec import StaticModel

model = StaticModel.from_pretrained("{folder}")
model.encode(["Wo entspringt die Donau?"]) @ model.encode(["The Danube rises in the Black Forest."]).T
```"""


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    from ..hub.modules import linear_rows, write_model2vec

    write_model2vec(folder, linear_rows(student), student.tokenizer)


def _load(folder: Path, label: Label, threads: int) -> Artefact:
    from ..hub.reference import FolderEncoder

    return FolderEncoder(require_whole_folder(folder), label.name, label.dimension, known=True)


FORMATS = (
    Format(
        "model2vec",
        MODEL,
        _write,
        _load,
        HOW_TO,
        needs=("safetensors", "tokenizers"),
        extra="hub",
        others=OTHERS,
        expanded=False,
        library="model2vec",
    ),
)
