"""The format sentence-transformers: modules of the library, or a class of ours in PyTorch beside its weights."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ..weights.precision import Precision
from .format import Artefact, Format, Label, Lengths, require_whole_folder

if TYPE_CHECKING:
    from ...encoders.encoder import KerasEncoder

MODEL = "modules.json"
CODE = Path(__file__).parents[1] / "hub" / "distill_ngram.py"
# The share of dev questions whose token ids may differ.
OTHERS = 0.005
HOW_TO = """```
pip install sentence-transformers
```

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("{folder}"{options})
passages = model.encode_document(["The Danube rises in the Black Forest.", "The Nile is a river in Africa."])
model.similarity(model.encode_query(["Wo entspringt die Donau?"]), passages)
```"""


def _write(student: KerasEncoder, folder: Path, precision: Precision, lengths: Lengths) -> None:
    from ..hub.modules import NGRAM, EncoderPair, modules_of, prompts_of, write_pipeline, write_router

    routes = {"query": modules_of(student)}
    if isinstance(student, EncoderPair):
        routes["document"] = modules_of(student.documents)
        write_router(folder, routes, prompts_of(student))
    else:
        write_pipeline(folder, routes["query"], prompts_of(student))
    if any(module.type == NGRAM for modules in routes.values() for module in modules):
        shutil.copyfile(CODE, folder / CODE.name)


def _load(folder: Path, label: Label, threads: int) -> Artefact:
    from ..hub.reference import FolderEncoder

    return FolderEncoder(require_whole_folder(folder), label.name, label.dimension)


FORMATS = (
    Format(
        "sentence-transformers",
        MODEL,
        _write,
        _load,
        HOW_TO,
        needs=("safetensors", "tokenizers"),
        extra="hub",
        others=OTHERS,
        expanded=False,
        reads=True,
        library="sentence-transformers",
    ),
)
