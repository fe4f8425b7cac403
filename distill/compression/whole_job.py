"""The whole work of `distill run` in one call."""

from __future__ import annotations

from ..pipeline.execute import execute
from ..pipeline.preparing import prepare
from ..settings.sections import Settings
from ..system.backend import require_export_backend
from ..system.types import File, Json
from .compress import compress, is_limited


def run(settings: Settings, folder: File, resume: bool = False) -> Json:
    """Train a teacher and a student, measure both, and export and time the bundle.

    With a limit in `settings.budget` a smaller bundle is searched too.

    Args:
        settings: The settings.
        folder: Folder for teacher, student, bundle, log, metrics and report.
        resume: True to continue a stopped run of the same settings in the folder.

    Returns:
        The content of `metrics.json`.

    Raises:
        InputError: If the settings or inputs are wrong, before anything is written.
        TrainingError: If the teacher does not beat its base.
        ExportError: If the bundle differs from the student.
    """
    searched = is_limited(settings.budget)
    if searched:
        require_export_backend("distill.run with a budget")
    prepared = prepare(settings, folder, resume)
    metrics = execute(prepared)
    if searched:
        compress(prepared.folder, settings)
    return metrics
