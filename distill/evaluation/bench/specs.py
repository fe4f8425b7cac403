"""From what a user names to how its encoder is run in a worker process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...encoders.catalog.bundle import find_artefact
from ...encoders.catalog.kinds import require_kind
from ...errors import EncoderError
from ...export.formats.folder import read_label
from ...export.formats.registry import format_of
from ...settings.choices import FORMATS
from ...system.types import File
from .process import ROOT, WorkerSpec


def specs_of(sources: Iterable[File]) -> dict[str, WorkerSpec]:
    """Return `{source: specification}` of bundles, run folders (bundle, else student) and other encoders.

    Raises `EncoderError` for anything else, before a process is started.
    """
    return {str(source): spec_of(str(source)) for source in sources}


def spec_of(source: str) -> WorkerSpec:
    """Return how one encoder is run: without our package if its format allows it."""
    try:
        folder = find_artefact(source)
    except EncoderError:
        return _ours(source, require_kind(source).on_disk(source))
    name = read_label(folder).format
    if name not in FORMATS or not format_of(name).worker:
        return _ours(str(folder), [str(folder)])
    return WorkerSpec(format_of(name).worker, str(folder), values={"file": format_of(name).file})


def pair_specs(specs: Mapping[str, WorkerSpec], source: str) -> dict[str, WorkerSpec]:
    """Return specifications that encode documents by another encoder.

    Args:
        specs: `{name: how the encoder of the questions is run}`.

    Returns:
        `{name: specification}`.

    Raises:
        EncoderError: If `source` names no encoder.
    """
    document = spec_of(source).as_values()
    values = {name: {"question": spec.as_values(), "document": document} for name, spec in specs.items()}
    documents = f"documents by {source}"
    notes = {name: "; ".join(filter(None, [spec.note, documents])) for name, spec in specs.items()}
    return {name: replace(spec, kind="pair", values=values[name], note=notes[name]) for name, spec in specs.items()}


def _ours(source, files):
    return WorkerSpec("distill", source, values={"root": str(ROOT), "files": files})
