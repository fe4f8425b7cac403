"""The whole work of `distill run` in one call."""

from __future__ import annotations

from ...encoders.catalog.kinds import RUN_FILE
from ...settings.sections import Settings
from ...settings.store import load_settings
from ...system.backend import require_export_backend
from ...system.types import File, Json
from ..pipeline.execute import execute
from ..pipeline.preparing import prepare
from ..pipeline.run import Run
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

    Example:
        >>> import distill
        >>> settings = distill.Settings()
        >>> settings.data.dataset, settings.data.languages = "my-data", ("de",)
        >>> settings.teacher.base = settings.teacher.model = "my-encoder"
        >>> settings.student.epochs, settings.evaluation.lareqa = 1, False
        >>> metrics = distill.run(settings, "my-run")
        >>> metrics["languages"]
        ['en', 'de']
    """
    if is_limited(settings.budget):
        require_export_backend("distill.run with a budget")
    return finish_run(prepare(settings, folder, resume))


def finish_run(prepared: Run) -> Json:
    """Execute a run, and search a smaller bundle if its settings have a limit; return its metrics."""
    metrics, settings = execute(prepared), load_settings(prepared.folder / RUN_FILE)
    if is_limited(settings.budget):
        compress(prepared.folder, settings)
    return metrics
