"""A fixed teacher, any encoder as it is, and a student that starts in its space."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..catalog.cached import CachedEncoder
from ..catalog.identity import fingerprint, origin, place
from ..catalog.loading import load_teacher
from ..data.corpus import sampled
from ..data.dataset import Dataset
from ..data.parallel import Parallel, pivots_of
from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.health import LIMIT, mean_cosine, require_finite
from ..encoders.space import SAME, measure_alignment
from ..errors import ConfigError, EncoderError
from ..settings.sections import TeacherSettings
from ..system.progress import say, task
from ..system.types import Json
from ..teachers.centred import ROLES, CentredEncoder, centred, save_teacher

if TYPE_CHECKING:
    from ..students.shape import Shape

# Train questions that tell whether a space is another.
PROBES = 64
# Pivots of parallel text that a map is fitted on, at most.
PIVOTS = 8192


def fixed_teacher(name: str) -> Encoder:
    """The encoder that `name` loads, looked at; what it has computed is kept on disk.

    A run asks it for the same texts to centre it, to map into its space, for labels and to be measured; another run
    asks again. Raises `EncoderError` for one that cannot teach.
    """
    encoder = load_teacher(name)
    for role in ROLES:
        vectors = np.asarray(encoder.encode(["Where does the Danube end?"], role))
        if vectors.shape != (1, encoder.dimension) or encoder.dimension < 2:
            expected = f"(1, {max(2, encoder.dimension)})"
            raise EncoderError(f"{name}: a text's vector has the shape {vectors.shape}, expected {expected}")
        require_finite(vectors, encoder)
    return encoder if isinstance(encoder, CachedEncoder) else CachedEncoder(encoder, fingerprint(name, encoder))


def require_apart(encoder: Encoder, texts: Sequence[str]) -> float:
    """Return the mean cosine of the texts' vectors. Raises `EncoderError` where it tells the texts hardly apart."""
    vectors = require_finite(np.asarray(encoder.encode(list(texts), "question")), encoder)
    cosine = mean_cosine(vectors, np.arange(len(texts)))
    if cosine is not None and cosine > LIMIT:
        raise EncoderError(
            f"{encoder.name}: its vectors of {len(texts)} different texts have a mean cosine of {cosine:.4f}, so it "
            "cannot teach; look whether its weights are those you mean"
        )
    return cosine or 0.0


def known_texts(dataset: Dataset, language: str, sources: Sequence[Parallel] = (), seed: int = 0) -> list[str]:
    """Return the train questions in `language`, or pivots of parallel text where there are none."""
    questions = [question.text for question in dataset.select(language, "train")]
    return questions or sampled(pivots_of(sources), PIVOTS, seed)


def centre(teacher: Encoder, dataset: Dataset, language: str, sources: Sequence[Parallel] = ()) -> CentredEncoder:
    """The teacher centred by role: on the `known_texts` of `language` and on the passages."""
    questions = known_texts(dataset, language, sources)
    with task("means of the teacher's vectors", len(questions) + len(dataset.passages)) as advance:
        return centred(teacher, questions, dataset.passage_texts, advance)


def settled(
    teacher: Encoder,
    settings: TeacherSettings,
    dataset: Dataset,
    folder: Path,
    sources: Sequence[Parallel] = (),
) -> tuple[Encoder, dict[str, Json]]:
    """The teacher as `settings.stages.TeacherSettings` want it, saved to `folder`, and a note on it of plain values."""
    name, known, dimension = settings.model, fingerprint(settings.model, teacher), teacher.dimension
    encoder = centre(teacher, dataset, settings.language, sources) if settings.centre else teacher
    save_teacher(folder, encoder, place(name), known)
    note = {"source": origin(name)["source"], "dimension": dimension, "centred": settings.centre, "fingerprint": known}
    return encoder, note


def is_foreign(
    teacher: Encoder, start: KerasEncoder, dataset: Dataset, language: str, sources: Sequence[Parallel] = ()
) -> bool:
    """True where the teacher's vectors are in another space than those that `start`, a `KerasEncoder`, learns from.

    They are where dimensions differ, and also where they do not but vectors of `known_texts` have nothing in common.
    """
    from ..students.project import axes_of, on_axes

    if teacher.dimension != start.model.label_dimension:
        return True
    texts = known_texts(dataset, language, sources)[:PROBES]
    labels = on_axes(teacher.encode(texts, "question"), axes_of(start.model))
    return measure_alignment(start.encode(texts), labels) < SAME


def require_no_dimension(shape: Shape, teacher: Encoder) -> None:
    """Raise `ConfigError` for a `Shape` with a `dimension`: axes are of the student's own space."""
    if shape.dimension:
        raise ConfigError(
            f"shape.dimension: the teacher, {teacher.name}, has a space of its own of {teacher.dimension} dimensions, "
            "which the student takes over; leave shape.dimension out"
        )


def into_space(
    start: KerasEncoder,
    teacher: Encoder,
    dataset: Dataset,
    language: str,
    sources: Sequence[Parallel] = (),
    seed: int = 0,
) -> KerasEncoder:
    """`start` with a map into the teacher's space, which is said, fitted where both know the text: `project.mapped`.

    That is on the train questions of `language`, the passages, and the pivots of parallel text, `[parallel.Parallel]`;
    without train questions on the pivots alone, as all passages are held out then.
    """
    from ..students.project import mapped

    say(f"{start.name}: its vectors are in another space than those of {teacher.name}; it gets a map into that")
    questions = [question.text for question in dataset.select(language, "train")]
    passages = dataset.passage_texts if questions else []
    questions += sampled(pivots_of(sources), PIVOTS, seed)
    texts = dict(zip(ROLES, (questions, passages), strict=True))
    with task("map into the teacher's space", 2 * sum(map(len, texts.values()))) as advance:
        vectors, labels = (
            np.concatenate([encoder.encode(texts[role], role, advance) for role in ROLES if texts[role]])
            for encoder in (start, teacher)
        )
    return KerasEncoder(mapped(start.model, vectors, labels), start.tokenizer, start.name)
