"""`distill compress ENCODER`: an encoder that somebody has as a run that trained nothing, and the search over it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..catalog.kinds import METRICS, RUN_FILE, require_trainable
from ..catalog.loading import load_keras_encoder
from ..errors import InputError
from ..pipeline.execute import execute
from ..pipeline.preparing import prepare
from ..settings.sections import BudgetSettings, DataSettings, Settings, TeacherSettings
from ..settings.store import load_settings
from ..system.backend import require_export_backend
from ..system.types import File
from .compress import budget_of, compress, is_run

if TYPE_CHECKING:
    from .rows import Result

# A family's name, and the recipe for it.
RECIPE = "transformer"


def compress_encoder(source: File, folder: File, settings: Settings) -> Result:
    """Measure an encoder as it is, search smaller ones within a budget, and return the search's result.

    Args:
        source: an encoder with weights of ours, such as `st:FOLDER`, a saved encoder or a bundle.
        folder: gets the run that leaves the encoder as it is, and in `small` the search as `compress` leaves it; where
            it holds both in part, what is there is not made again.
        settings: the data set and its languages, the limits in `budget` and `export.max_drop`, and how students of
            other shapes are trained.

    Returns:
        The search's rows, and the name of the one that was chosen.

    Raises:
        InputError: for a folder that holds something else, or another encoder's search.
        ConfigError: for a size that is none.
        EncoderError: where `source` names no encoder that can be trained.
    """
    require_export_backend("distill compress")
    require_trainable(source)
    budget_of(settings.budget, settings.export.max_drop)
    # A run whose base, teacher and student are the encoder as it is.
    student = replace(settings.student, epochs=0)
    teacher = replace(settings.teacher, base=str(source), model=str(source))
    untrained = replace(settings, teacher=teacher, student=student, budget=BudgetSettings())
    if (Path(folder) / METRICS).is_file():
        require_of(untrained.teacher, untrained.data, Path(folder))
    else:
        execute(prepare(untrained, folder, resume=is_run(folder)))
    return compress(folder, replace(untrained, student=settings.student, budget=settings.budget))


def require_of(teacher: TeacherSettings, data: DataSettings, folder: Path) -> None:
    """Raise `InputError` where a finished run is of another teacher or other data."""
    before = load_settings(folder / RUN_FILE)
    if (before.teacher.model, before.data) != (teacher.model, data):
        other = before.teacher.model or before.teacher.base
        raise InputError(f"{folder}: it holds a run of {other} on {before.data.dataset}; choose another --output")


def recipe_of(source: File) -> str:
    """Return the recipe whose settings students of an encoder are trained with; empty for the settings' defaults."""
    return RECIPE if load_keras_encoder(source).model.family == RECIPE else ""
