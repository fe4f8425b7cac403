"""The work of `distill compress ENCODER`: a run that trains nothing is made of an encoder, and searched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..encoders.catalog.kinds import METRICS, RUN_FILE, require_trainable
from ..encoders.catalog.loading import load_keras_encoder
from ..errors import InputError
from ..settings.sections import BudgetSettings, DataSettings, Settings, TeacherSettings
from ..settings.store import load_settings
from ..system.backend import require_export_backend
from ..system.types import File
from .compression.compress import compress, is_run, read_budget
from .run import run

if TYPE_CHECKING:
    from .compression.rows import SearchResult

# The name of a family and of its recipe.
RECIPE = "transformer"


def compress_encoder(source: File, folder: File, settings: Settings) -> SearchResult:
    """Measure an encoder as it is, and search for smaller ones within a budget.

    Args:
        source: An encoder with weights of ours, such as `st:FOLDER`, a saved encoder or a bundle.
        folder: Folder for the run that leaves the encoder as it is, and in `small` for the search. What is already
            there is not made again.
        settings: The data set and its languages, the limits in `budget` and `export.max_drop`, and how students of
            other shapes are trained.

    Returns:
        The search's rows and the name of the chosen one.

    Raises:
        InputError: If the folder holds something else, or another encoder's search.
        ConfigError: If the size cannot be read.
        EncoderError: If `source` names no encoder that can be trained.

    Example:
        >>> import distill
        >>> settings = distill.recipe_settings("transformer")
        >>> settings.data.dataset, settings.budget.max_size = "my-data", "30MB"
        >>> result = distill.compress_encoder("my-encoder", "smaller", settings)
    """
    require_export_backend("distill compress")
    require_trainable(source)
    read_budget(settings.budget, settings.export.max_drop)
    # A run whose base, teacher and student are the encoder as it is.
    student = replace(settings.student, epochs=0)
    teacher = replace(settings.teacher, base=str(source), model=str(source))
    untrained = replace(settings, teacher=teacher, student=student, budget=BudgetSettings())
    if (Path(folder) / METRICS).is_file():
        require_same_run(untrained.teacher, untrained.data, Path(folder))
    else:
        run(untrained, folder, resume=is_run(folder))
    return compress(folder, replace(untrained, student=settings.student, budget=settings.budget))


def require_same_run(teacher: TeacherSettings, data: DataSettings, folder: Path) -> None:
    """Raise `InputError` if a finished run is of another teacher or of other data."""
    before = load_settings(folder / RUN_FILE)
    if (before.teacher.model, before.data) != (teacher.model, data):
        other = before.teacher.model or before.teacher.base
        raise InputError(f"{folder} holds a run of {other} on {before.data.dataset}; choose another --output")


def recipe_of(source: File) -> str:
    """Return the name of the recipe that students of an encoder are trained with; empty for the default settings."""
    return RECIPE if load_keras_encoder(source).model.family == RECIPE else ""
