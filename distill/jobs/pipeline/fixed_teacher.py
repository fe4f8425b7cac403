"""A fixed teacher, which may be any encoder, and a student that starts in its space."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...data.corpus import sample_texts
from ...data.dataset import Dataset
from ...data.parallel import Parallel, list_pivots
from ...encoders.catalog.identity import describe_origin, fingerprint, locate_encoder
from ...encoders.catalog.loading import load_teacher
from ...encoders.catalog.vector_cache import CachedEncoder
from ...encoders.encoder import Encoder, KerasEncoder
from ...encoders.health import LIMIT, SAME, mean_cosine, measure_alignment, require_finite
from ...errors import ConfigError, EncoderError
from ...settings.sections import TeacherSettings
from ...system.progress import say, task
from ...system.types import Json
from ...teachers.centring import ROLES, CentredEncoder, centre_encoder, save_teacher

if TYPE_CHECKING:
    from ...students.shape import Shape

# Train questions that tell whether a space is another.
PROBES = 64
# Pivots of parallel text that a map is fitted on, at most.
PIVOTS = 8192


def load_fixed_teacher(name: str) -> Encoder:
    """Load the encoder that `name` names, check it, and cache its vectors on disk.

    A run asks the teacher for the same texts several times: to centre it, to map into its space, for labels and for
    measuring. Another run asks again.
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
    """Return the mean cosine of different texts' vectors."""
    vectors = require_finite(np.asarray(encoder.encode(list(texts), "question")), encoder)
    cosine = mean_cosine(vectors, np.arange(len(texts)))
    if cosine is not None and cosine > LIMIT:
        raise EncoderError(
            f"{encoder.name}: its vectors of {len(texts)} different texts have a mean cosine of {cosine:.4f}, so it "
            "cannot teach; look whether its weights are those you mean"
        )
    return cosine or 0.0


def known_texts(dataset: Dataset, language: str, sources: Sequence[Parallel] = (), seed: int = 0) -> list[str]:
    """Return the train questions in a language, or, if there are none, pivots of parallel text."""
    questions = [question.text for question in dataset.select(language, "train")]
    return questions or sample_texts(list_pivots(sources), PIVOTS, seed)


def centre(teacher: Encoder, dataset: Dataset, language: str, sources: Sequence[Parallel] = ()) -> CentredEncoder:
    """Centre a teacher by role, on the known texts of a language and on the passages."""
    questions = known_texts(dataset, language, sources)
    with task("means of the teacher's vectors", len(questions) + len(dataset.passages)) as advance:
        return centre_encoder(teacher, questions, dataset.passage_texts, advance)


def freeze_teacher(
    teacher: Encoder,
    settings: TeacherSettings,
    dataset: Dataset,
    folder: Path,
    sources: Sequence[Parallel] = (),
) -> tuple[Encoder, dict[str, Json]]:
    """Prepare a fixed teacher as its settings ask for, and save it; return it with what `metrics.json` records of it.

    Pivots of parallel text centre it if there are no questions.
    """
    name, known, dimension = settings.model, fingerprint(settings.model, teacher), teacher.dimension
    encoder = centre(teacher, dataset, settings.language, sources) if settings.centre else teacher
    save_teacher(folder, encoder, locate_encoder(name), known)
    note = {
        "source": describe_origin(name)["source"],
        "dimension": dimension,
        "centred": settings.centre,
        "fingerprint": known,
    }
    return encoder, note


def is_foreign(
    teacher: Encoder, start: KerasEncoder, dataset: Dataset, language: str, sources: Sequence[Parallel] = ()
) -> bool:
    """Tell whether the teacher's vectors are in another space than the labels that a student's start learns from.

    They are if the dimensions differ, or if the vectors of the same texts (`known_texts`) have nothing in common.
    """
    from ...students.project import find_axes, on_axes

    if teacher.dimension != start.model.label_dimension:
        return True
    texts = known_texts(dataset, language, sources)[:PROBES]
    labels = on_axes(teacher.encode(texts, "question"), find_axes(start.model))
    return measure_alignment(start.encode(texts), labels) < SAME


def require_no_dimension(shape: Shape, teacher: Encoder) -> None:
    """Refuse a shape with a `dimension`, because the axes of a smaller dimension belong to the student's own space."""
    if shape.dimension:
        raise ConfigError(
            f"shape.dimension: the teacher, {teacher.name}, has a space of its own of {teacher.dimension} dimensions, "
            "which the student takes over; leave shape.dimension out"
        )


def map_into_space(
    start: KerasEncoder,
    teacher: Encoder,
    dataset: Dataset,
    language: str,
    sources: Sequence[Parallel] = (),
    seed: int = 0,
) -> KerasEncoder:
    """Add to a student's start a map into the teacher's space, and say so.

    The map is fitted (`project.map_space`) on the vectors that both encoders give to the same texts. Without train
    questions these are pivots of parallel text only, because all passages are held out then.

    Args:
        dataset: The data set. Its passages and train questions are texts of the fit.
        sources: Parallel text, whose lines in the teacher's language are texts of the fit too.
    """
    from ...students.project import map_space

    say(f"{start.name}: its vectors are in another space than those of {teacher.name}; it gets a map into that")
    questions = [question.text for question in dataset.select(language, "train")]
    passages = dataset.passage_texts if questions else []
    questions += sample_texts(list_pivots(sources), PIVOTS, seed)
    texts = dict(zip(ROLES, (questions, passages), strict=True))
    with task("map into the teacher's space", 2 * sum(map(len, texts.values()))) as advance:
        vectors, labels = (
            np.concatenate([encoder.encode(texts[role], role, advance) for role in ROLES if texts[role]])
            for encoder in (start, teacher)
        )
    return KerasEncoder(map_space(start.model, vectors, labels), start.tokenizer, start.name)
