"""`distill run --teacher-model` without a data set, as a function: a student learns a teacher from lines of text."""

from __future__ import annotations

from collections.abc import Collection

from ..settings.choices import CHECKPOINT_SECONDS
from ..settings.sections import Settings
from ..system.backend import require_export_backend
from ..system.types import File, Json
from .adapting.without_questions import prepare_lines
from .compression.compress import is_limited
from .compression.whole_job import finish_run


def learn_text(settings: Settings, folder: File, named: Collection[str] = ()) -> Json:
    """Train a student on the vectors that a fixed teacher gives to lines of text, without questions.

    Some lines are held out to choose the epoch and to measure. `distill.run(settings, folder, resume=True)`, with the
    settings in the folder, goes on with a run that was stopped.

    Args:
        settings: The settings, such as `recipe_settings("own-teacher")` with `teacher.model` and `student.parallel`,
            `student.labelled_text` or `vocabulary.text`.
        folder: The folder of the run, which is made.
        named: Names of settings that are not to be adapted to text: `student.objectives` and `teacher.centre`.

    Returns:
        The content of `metrics.json`.

    Raises:
        InputError: If the text or the settings cannot be learned. No folder is left then.
        EncoderError: If the teacher cannot be loaded, or gives all texts nearly the same vector.
        TrainingError: If the teacher is clearly worse than the base.

    Example:
        >>> import distill
        >>> settings = distill.recipe_settings("own-teacher")
        >>> settings.teacher.model, settings.student.parallel = "my-encoder", ("en-de.tsv",)
        >>> metrics = distill.learn_text(settings, "my-run")
    """
    if is_limited(settings.budget):
        require_export_backend("distill.learn_text with a budget")
    return finish_run(prepare_lines(settings, folder, named, CHECKPOINT_SECONDS))
