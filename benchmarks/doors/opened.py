"""Encode texts by the library that a folder is for, in an environment without distill; `folders.py` runs this.

python opened.py sentence-transformers FOLDER texts.json 1428 vectors.npy
"""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np


def vectors(library, folder, texts, questions):
    """Return the vectors of `questions` questions and of the documents behind them."""
    if library == "model2vec":
        from model2vec import StaticModel

        return StaticModel.from_pretrained(folder).encode(texts)
    from sentence_transformers import SentenceTransformer

    # The folder is one's own; one without code of its own is opened without trust.
    trust = (Path(folder) / "distill_ngram.py").is_file()
    model = SentenceTransformer(folder, device="cpu", trust_remote_code=trust)
    return np.concatenate([model.encode_query(texts[:questions]), model.encode_document(texts[questions:])])


if __name__ == "__main__":
    assert find_spec("distill") is None
    name, place, source, count, target = sys.argv[1:]
    np.save(target, vectors(name, place, json.loads(Path(source).read_text(encoding="utf-8")), int(count)))
