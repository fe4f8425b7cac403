"""Stage 2 alone: a student of any encoder, outside a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..catalog.loading import load_keras_encoder, load_teacher
from ..data.loading import chosen_data
from ..data.parallel import Parallel, read_parallel
from ..encoders.encoder import Encoder, KerasEncoder
from ..export.weights.precision import Precision
from ..settings.sections import Settings
from ..settings.units import steered
from ..training.session import Scorer, Session
from .fixed_teacher import centre, fixed_teacher, into_space, is_foreign
from .inputs import without_teachers
from .preparing import dev_of, read_labelled
from .twins import needed_questions, with_twins

if TYPE_CHECKING:
    from ..stages.lines import Lines


def transfer_alone(
    settings: Settings,
    source: str,
    language: str,
    start: str | None = None,
    centred: bool = False,
    corpus: Mapping[str, Sequence[str]] | None = None,
    labels: str | None = None,
) -> KerasEncoder:
    """The student of the encoder that `source` names, which labels questions in `language` and documents.

    It starts from `start`, by default the teacher itself; one of another space gets a map into the teacher's. With
    `centred` the teacher's vectors lose their mean. The texts of `corpus`, by language, are learned as the encoder
    `labels` gives them.
    """
    settings = steered(settings)
    dataset, languages = chosen_data(settings, needed_questions(settings, language))
    dataset = with_twins(settings, dataset, language, languages)
    learned = without_teachers(settings, language, languages)
    dev = dev_of(settings, dataset, learned)
    sources = read_parallel(settings.student.parallel, language, languages) + read_labelled(settings, source)
    first, teacher = load_keras_encoder(start or source), fixed_teacher(source)
    foreign = is_foreign(teacher, first, dataset, language)
    teacher = centre(teacher, dataset, language) if centred else teacher
    if foreign:
        first = into_space(first, teacher, dataset, language, sources, settings.seed)
    from ..stages.transfer_stage import Targets, learn, require_trainable, with_scores

    labeller = teacher if labels == source else load_teacher(labels) if labels else None
    lines = _lines(settings, teacher, sources, corpus or {}, labeller)
    require_trainable(teacher, first, settings.training)
    targets = Targets.of(teacher, dataset, language, settings.student.units, lines)
    scoring = fixed_teacher(settings.scorer.encoder) if settings.scorer.encoder else None
    scorer = Scorer(scoring, settings.scorer) if scoring else None
    targets = with_scores(targets, scorer, dataset, language, settings.student.units)
    session = Session(options=settings.training, dev=dev)
    precision = Precision(settings.export.precision, settings.export.table)
    return learn(targets, first, dataset, learned, settings.student, settings.seed, session, precision)


def _lines(
    settings: Settings,
    teacher: Encoder,
    sources: Sequence[Parallel],
    texts: Mapping[str, Sequence[str]],
    labeller: Encoder | None,
) -> Lines | None:
    """The texts beside the questions: those that the teacher labels, or a corpus labelled by the encoder `labeller`."""
    from ..stages.lines import labelled, translations

    if sources:
        return translations(sources, teacher, settings.student.parallel_temperature)
    return labelled(texts, labeller) if labeller else None
