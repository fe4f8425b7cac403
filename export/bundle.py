"""The bundle: a folder that encodes without TensorFlow, written only when it agrees with the student."""

import shutil
from pathlib import Path

from .. import __version__
from ..files import write_aside, write_json
from . import encode
from .parity import check_parity
from .runtime import load_bundle, size_of
from .tflite import convert


def export_bundle(student, folder, dataset, languages, settings, notes=None):
    """Convert a `KerasEncoder` and write its bundle to `folder`; returns what the parity check measured on dev.

    `notes`, a dict, goes into the bundle's config and README. Raises `ExportError`, leaving nothing under `folder`,
    when the artefact is not within `settings.min_cosine` and `settings.max_drop` of the student.
    """
    with write_aside(folder) as aside:
        aside.mkdir()
        (aside / "encoder.tflite").write_bytes(convert(student.model))
        (aside / "tokenizer.model").write_bytes(student.tokenizer.proto)
        shutil.copyfile(encode.__file__, aside / "encode.py")
        config = {
            "name": Path(folder).resolve().name,
            "dimension": student.dimension,
            "vocabulary": len(student.tokenizer),
        }
        write_json(aside / "config.json", config)
        parity = check_parity(student, load_bundle(aside), dataset, languages, settings)
        write_json(aside / "config.json", {**config, "distill": __version__, "parity": parity, **(notes or {})})
        (aside / "README.md").write_text(readme(config, parity, size_of(aside), notes), encoding="utf-8")
    return parity


def readme(config, parity, size, notes=None):
    facts = "".join(f"- {key}: {value}\n" for key, value in (notes or {}).items())
    languages = ", ".join(f"{language} {row['bundle']:.3f}" for language, row in parity["p@1"].items())
    return f"""# {config["name"]}

A sentence encoder for retrieval question answering: text in, {config["dimension"]} numbers of unit length out.
The document whose vector has the largest dot product with the question's answers it.

```
pip install numpy sentencepiece ai-edge-litert
```

```python
from encode import Encoder
vectors = Encoder().encode(["Where does the Danube end?"])  # float32 (1, {config["dimension"]})
```

- size: {size / 1e6:.1f} MB
- cosine to the student: {parity["cosine_mean"]:.5f}, least {parity["cosine_min"]:.5f} ({parity["texts"]} dev questions)
- dev P@1, one vector a document: {languages}
{facts}
The weights derive from Google's multilingual Universal Sentence Encoder, Apache-2.0.
"""
