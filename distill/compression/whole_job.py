"""The whole job in one call, as `distill run` does it."""

from __future__ import annotations

from ..pipeline.execute import execute
from ..pipeline.preparing import prepare
from ..settings.sections import Settings
from ..system.backend import require_export_backend
from ..system.types import File, Json
from .compress import compress, is_limited


def run(settings: Settings, folder: File, resume: bool = False) -> Json:
    """Train a teacher and a student, measure both, export and time the bundle; return what `metrics.json` holds.

    `folder` gets all of it: teacher, student, bundle, log, metrics and report; with a limit in `settings.budget` a
    smaller bundle too. With `resume` it is the folder of a run of the same settings that was stopped. Raises
    `InputError` before anything is written, `TrainingError` where the teacher does not beat its base, `ExportError`
    where the bundle is not what the student is.
    """
    searched = is_limited(settings.budget)
    if searched:
        require_export_backend("distill.run with a budget")
    prepared = prepare(settings, folder, resume)
    metrics = execute(prepared)
    if searched:
        compress(prepared.folder, settings)
    return metrics
