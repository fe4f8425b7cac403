"""Load exported encoders: bundles, and those that distill comes with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import EncoderError
from ...export.encode import ANSWERABLE, PASSAGE_WEIGHT, Calibration, calibrations, passage_weight
from ...export.formats.format import as_encoder_error, bundle_fingerprint, load_artefact, read_label
from ...export.student import load_student
from ...system.files import usable_path
from ...system.input_files import read_json
from ..kind import Kind
from .kinds import RUN_FILE

if TYPE_CHECKING:
    from ...system.types import File, Json
    from ..encoder import Encoder, KerasEncoder
    from ..kind import Load

CARD_FILE, READ_ME = "card.json", "README.md"
# Entries of a card that are fitted to scores, and hold for the same vectors alone.
SCORING = (PASSAGE_WEIGHT, ANSWERABLE)


class _Bundle(Kind):
    """A folder with an artefact and its card."""

    def matches(self, source: File) -> bool:
        return is_artefact(source)

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        return load_artefact(self.folder(source), threads)

    def load_trainable(self, source: File, load: Load) -> KerasEncoder:
        return load_student(self.folder(source))

    def folder(self, source: File) -> Path:
        return Path(source)

    def files(self, folder: Path) -> list[Path]:
        names = {CARD_FILE, READ_ME, *read_label(folder).files}
        return [path for path in super().files(folder) if path.relative_to(folder).as_posix() in names]


@dataclass(frozen=True)
class _Released(_Bundle):
    """A bundle in this copy of distill, found by its name or by its `alias`, the former name, which its folder has."""

    alias: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return self.name, self.alias

    def matches(self, source: File) -> bool:
        return source in self.names

    def folder(self, source: File) -> Path:
        folder = released_folder(self.alias)
        if not is_artefact(folder):
            raise EncoderError(
                f"{source}: this copy of distill comes without an encoder, no {CARD_FILE} in {folder}; install a "
                "release of distill, or give a run folder, a bundle, a saved encoder or muse"
            )
        return folder


def released_folder(name: str) -> Path:
    """Return the folder of the shipped bundle with that name or alias."""
    alias = next((kind.alias for kind in SHIPPED if name in kind.names), name)
    return Path(__file__).resolve().parents[2] / alias.replace("-", "_")


def is_artefact(folder: File) -> bool:
    """Return True for a folder with the card of an exported encoder."""
    return (Path(folder) / CARD_FILE).is_file()


def find_shipped(source: File) -> _Released | None:
    return next((kind for kind in SHIPPED if kind.matches(source)), None)


def shipped_name(fingerprint: str) -> str | None:
    there = (kind for kind in SHIPPED if is_artefact(released_folder(kind.alias)))
    return next((kind.name for kind in there if bundle_fingerprint(released_folder(kind.alias)) == fingerprint), None)


def find_artefact(source: File) -> Path:
    """Return the folder of the exported encoder that `source` names: itself, a run's `bundle`, or a shipped one."""
    named = find_shipped(source)
    folder = named.folder(source) if named else usable_path(source)
    folder = folder / "bundle" if (folder / RUN_FILE).is_file() else folder
    if not is_artefact(folder):
        raise EncoderError(f"{source}: no {CARD_FILE} in it; give a bundle or the run folder that holds one")
    return folder


def read_answerable(source: File) -> Json | None:
    """Return what the card of an exported encoder, or of a run's bundle, says about answers, if anything."""
    return read_scoring(source).get(ANSWERABLE)


def read_scoring(source: File) -> dict[str, Json]:
    """Return the entries of the card of an exported encoder about scores: a passage's weight, and answers."""
    try:
        card = read_json(find_artefact(source) / CARD_FILE)
    except EncoderError:
        return {}
    known = card if isinstance(card, dict) else {}
    return {name: known[name] for name in SCORING if known.get(name)}


def read_passage_weight(source: File) -> float:
    """Return the weight of a passage in the card that `read_scoring` reads, or 1. Raises `EncoderError`."""
    with as_encoder_error():
        return passage_weight({"passage_weight": read_scoring(source).get(PASSAGE_WEIGHT, 1.0)})


def read_calibrations(source: File) -> dict[str, Calibration]:
    """Return the calibrations by score in the card that `read_answerable` reads. Raises `EncoderError`."""
    said = read_answerable(source)
    with as_encoder_error():
        return calibrations({"answerable": said} if said else {})


BUNDLE = _Bundle("an exported encoder", trainable=True)
RELEASED = _Released("an exported encoder", name="multi12-ngram", alias="released", trainable=True)
SMALL = _Released("an exported encoder", name="multi12-static", alias="released-small", trainable=True)
TRANSFORMER = _Released("an exported encoder", name="multi12-transformer", alias="released-transformer", trainable=True)
SIX = _Released("an exported encoder", name="multi12-six", alias="released-six", trainable=True)
THREE = _Released("an exported encoder", name="multi12-three", alias="released-three", trainable=True)
SHIPPED = (RELEASED, SMALL, TRANSFORMER, SIX, THREE)
