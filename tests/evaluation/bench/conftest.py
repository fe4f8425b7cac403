"""A bundle whose script does as it is told."""

import pytest

SCRIPT = """
import os, signal, sys, time
import numpy as np

class BundleError(Exception):
    pass

class Encoder:
    def __init__(self, folder, threads):
        self.folder = folder
        {load}

    def encode(self, texts, role="question"):
        vectors = np.ones((len(texts), 2), dtype=np.float32)
        {encode}
        return vectors

    def log(self, *words):
        with open(os.path.join(self.folder, "log"), "a") as file:
            print(*words, sep="|", file=file)
"""


@pytest.fixture
def scripted(tmp_path):
    """A maker of bundles whose code is given: `scripted(name, encode, load)` -> `WorkerSpec`."""
    from distill.evaluation.bench.process import WorkerSpec

    def make(name="toy", encode="pass", load="pass"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "encode.py").write_text(SCRIPT.format(load=load, encode=encode), encoding="utf-8")
        return WorkerSpec("bundle", str(folder), values={"code": str(folder / "encode.py")})

    return make
