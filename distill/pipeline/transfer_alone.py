"""Stage 2 alone: a student of any encoder, outside a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..catalog.loading import load_keras_encoder, load_teacher
from ..data.loading import chosen_data, load_dev
from ..encoders.encoder import Encoder, KerasEncoder
from ..settings.sections import Settings
from ..settings.units import steered
from ..training.session import Session
from .fixed_teacher import centre, fixed_teacher, into_space, is_foreign
from .preparing import say_shared, student_inputs
from .second_stage import student_job
from .twins import needed_questions, with_twins

if TYPE_CHECKING:
    from ..stages.lines import Lines


@dataclass(frozen=True)
class Teaching:
    """Who teaches a student outside a run: the encoder that `source` names, asked in `language`.

    The student starts from the encoder `start`, by default the teacher itself. With `centred` the teacher's vectors
    lose their mean. The texts of `corpus`, `{language: [text]}`, are learned as the encoder `labels` gives them.
    """

    source: str
    language: str = "en"
    start: str = ""
    centred: bool = False
    corpus: Mapping[str, Sequence[str]] = field(default_factory=dict)
    labels: str = ""


def transfer_alone(settings: Settings, teaching: Teaching) -> KerasEncoder:
    """The student that learns what `teaching` says, as the settings of stage 2 ask for it.

    One that starts in another space than the teacher's gets a map into that. Raises `InputError` for what cannot be
    read, `EncoderError` for what cannot be trained.
    """
    from ..stages.transfer_stage import require_trainable

    source, language, start = teaching.source, teaching.language, teaching.start or teaching.source
    settings = steered(settings)
    settings = replace(
        settings,
        teacher=replace(settings.teacher, language=language, model=source),
        student=replace(settings.student, start=start),
    )
    dataset, languages = chosen_data(settings, needed_questions(settings.translation, language))
    dataset = with_twins(settings.translation, dataset, language, languages)
    inputs = student_inputs(settings, dataset, languages)
    dev, job = say_shared(load_dev(settings, inputs.learned), dataset), student_job(inputs)
    first, teacher = load_keras_encoder(start), fixed_teacher(source)
    foreign = is_foreign(teacher, first, dataset, language)
    teacher = centre(teacher, dataset, language) if teaching.centred else teacher
    if foreign:
        first = into_space(first, teacher, dataset, language, inputs.lines, settings.seed)
    require_trainable(teacher, first, settings.training)
    targets = job.targets(teacher, _labelled(teaching, teacher))
    return job.train(targets, first, first, Session(options=settings.training, dev=dev))


def _labelled(teaching: Teaching, teacher: Encoder) -> Lines | None:
    """The corpus as the encoder that labels it gives it; None without one."""
    from ..stages.lines import labelled

    if not teaching.labels:
        return None
    return labelled(teaching.corpus, teacher if teaching.labels == teaching.source else load_teacher(teaching.labels))
