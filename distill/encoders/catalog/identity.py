"""Identify an encoder, and describe where it comes from."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ...settings.store import load_settings
from ...system.input_files import read_json
from ..kind import files_in
from .kinds import METRICS, RUN_FILE, find_folder, find_kind, require_kind
from .provenance import read_learned
from .setting_files import named_paths, select_learned

if TYPE_CHECKING:
    from ...settings.sections import Settings
    from ...system.types import File, Json
    from ..encoder import Encoder


def fingerprint(source: File, encoder: Encoder | None) -> str:
    """Return a text that stays the same as long as `source` names the same encoder."""
    return getattr(encoder, "fingerprint", None) or require_kind(source).fingerprint(source)


def weights_fingerprint(source: File, encoder: Encoder | None = None) -> str:
    """Return the text by which an index identifies an encoder: the hashes of a bundle's card, or else `fingerprint`."""
    from ...export.formats.format import bundle_fingerprint
    from .bundle import is_artefact

    folder = find_folder(source)
    known = bundle_fingerprint(folder) if folder is not None and is_artefact(folder) else None
    return known or fingerprint(source, encoder)


def own_files(folder: Path) -> list[Path]:
    """Return the files that an encoder's folder is made of, sorted; for another folder, all its files."""
    kind = find_kind(folder)
    return kind.files(folder) if kind else files_in(folder)


def locate_encoder(source: File) -> str:
    """Return a name for the encoder that is valid in any folder: an absolute path, or a handle or name as it is."""
    return require_kind(source).place(source)


def describe_origin(source: File) -> dict[str, Json]:
    """Return where an encoder comes from, for the card of another: its name, and for a run its data and seed."""
    kind, folder = find_kind(source), Path(source)
    if kind and kind.name:
        return {"source": kind.name}
    if (folder / RUN_FILE).is_file():
        return _of_run(folder)
    if (folder.resolve().parent / RUN_FILE).is_file():
        with suppress(ConfigError):  # another program's
            return _of_run(folder.resolve().parent)
    return {"source": folder.resolve().name if folder.exists() else str(source)}


def _of_run(folder: Path) -> dict[str, Json]:
    metrics = read_json(folder / METRICS) if (folder / METRICS).is_file() else {}
    # Its own names, where the settings name none.
    languages = {"languages": metrics["languages"]} if "languages" in metrics else {}
    training = describe_training(load_settings(folder / RUN_FILE))
    return {"source": folder.resolve().name, **training, **languages, **read_learned(metrics.get("learned", {}))}


def describe_training(settings: Settings) -> dict[str, Json]:
    """Return how a run's encoder was trained, for its card. No languages means all languages of the data set."""
    data, teacher, scores, scorer = settings.data, settings.teacher, settings.evaluation.score, settings.scorer.encoder
    more: dict[str, list[Path]] = {}
    for one in select_learned(named_paths(settings)):
        more.setdefault(one.card, []).append(one.path)
    model = f"{describe_origin(teacher.model)['source']}{', centred' * teacher.centre}" if teacher.model else ""
    return {
        "dataset": Path(data.dataset).resolve().name,
        "languages": list(data.languages) or ["all"],
        "teacher": teacher.language,
        **({"teacher_model": model} if model else {}),
        # Many files are called questions.tsv, so with their folder.
        **{key: ["/".join(path.parts[-2:]) for path in files] for key, files in more.items()},
        **({"score": scores[0]} if scores else {}),
        **({"scorer": describe_origin(scorer)["source"]} if scorer else {}),
        "seed": settings.seed,
    }
