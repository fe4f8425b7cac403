"""The gate: an artefact, loaded with its own runtime, against the student, by ids, vectors and P@1 on dev."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.tokenizer import Tokenizer
from ..errors import GateError
from ..evaluation.evaluate import encode_questions, encode_units, evaluation_size, rank
from ..evaluation.mcnemar import compare
from ..retrieval.metrics import allowed_drop
from ..settings.sections import ExportSettings
from ..system.types import Booleans, Floats, Integers, Json, Progress, Role
from .encode import shortened
from .formats.format import Artefact
from .weights.codecs import CODECS

UNIT, SPLIT = "document", "dev"


@dataclass(frozen=True)
class Gate:
    """Dev questions of some languages, and how much an artefact may lose on them; with `force` one that fails stays.

    `model` is the encoder that a student is of, as it is loaded to be used: a bundle, whose weights the student has,
    rounds its activations. None is the student itself.
    """

    dataset: Dataset
    languages: Sequence[str]
    settings: ExportSettings
    force: bool = False
    model: Encoder | None = None


@dataclass(frozen=True)
class Reference:
    """The measure of an artefact: the vectors of an encoder, and the ids of a tokenizer."""

    encoder: Encoder
    tokenizer: Tokenizer

    @property
    def name(self) -> str:
        """The encoder's name."""
        return self.encoder.name

    @property
    def dimension(self) -> int:
        """The vectors' number of components."""
        return self.encoder.dimension

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Return the encoder's vectors of texts."""
        return self.encoder.encode(texts, role, progress)


@dataclass(frozen=True)
class Scores:
    """P@1 of the student and of the artefact in one language, and McNemar's p, Holm-corrected over the languages."""

    student: float
    artefact: float
    p: float
    p_holm: float
    significant: bool


@dataclass(frozen=True)
class Figures:
    """An artefact measured against its student on a data set's dev questions.

    `texts` questions, `other_ids` of them with ids that are not the student's, `cut` of them cut by the artefact;
    cosines to the student of those that were not; `drop` is in points of mean P@1.
    """

    dataset: str
    texts: int
    other_ids: int
    other_ids_example: str | None
    cut: int
    cosine_mean: float
    cosine_min: float
    documents_by: str
    p1: Mapping[str, Scores]
    drop: float

    def as_dict(self) -> dict[str, Json]:
        """The figures as they stand in a card."""
        return {"p@1" if name == "p1" else name: value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, figures: Mapping[str, Json]) -> Figures:
        """The figures that stand in a card."""
        values = {name: value for name, value in figures.items() if name != "p@1"}
        return cls(**values, p1={language: Scores(**scores) for language, scores in figures["p@1"].items()})


def measure(
    student: KerasEncoder | Reference,
    artefact: Artefact,
    dataset: Dataset,
    languages: Sequence[str],
    progress: Progress | None = None,
    others: float = 0.0,
) -> Figures:
    """Return the figures that the gate judges: ids that differ, cosines, and P@1 by language with McNemar's test.

    An artefact that takes texts of some length only is one for questions: the student encodes the documents then, and
    cosines leave the questions out that were cut; with `others` those that have other ids too.
    """
    vectors, expected = (
        encode_questions(encoder, dataset, SPLIT, languages, progress) for encoder in (artefact, student)
    )
    units = encode_units(student, dataset, (UNIT,), progress)
    searched = units if artefact.max_length else encode_units(artefact, dataset, (UNIT,), progress)
    p1 = _scores(_ranks(expected, units, dataset), _ranks(vectors, searched, dataset))
    texts = [question.text for language in languages for question in dataset.select(language, SPLIT)]
    different, whole = other_ids(student, artefact, texts), _whole(student, artefact, texts)
    alike = ~np.isin(texts, different) if others else True
    cosines = cosines_of(vectors, expected)[whole & alike]
    return Figures(
        dataset.name,
        len(texts),
        len(different),
        different[0] if different else None,
        int(np.sum(~whole)),
        float(cosines.mean()) if len(cosines) else 0.0,
        float(cosines.min()) if len(cosines) else 0.0,
        "student" if artefact.max_length else "artefact",
        p1,
        # Rounded, so that a loss of just what is allowed is not more than that.
        round(100 * float(np.mean([scores.student - scores.artefact for scores in p1.values()])), 6),
    )


def size(dataset: Dataset, languages: Sequence[str], max_length: int | None = None) -> int:
    """The number of texts that `measure` encodes, for a progress bar."""
    both = 2 * evaluation_size(dataset, [SPLIT], languages, (UNIT,))
    return both - len(dataset.titles) if max_length else both


def _ranks(questions, units, dataset) -> dict[str, Integers]:
    return rank(questions, units, dataset, SPLIT, (UNIT,))[UNIT]


def _scores(student: dict[str, Integers], artefact: dict[str, Integers]) -> dict[str, Scores]:
    return {
        language: Scores(row.a, row.b, row.p, row.p_holm, row.significant)
        for language, row in compare(student, artefact).items()
    }


def other_ids(student: KerasEncoder | Reference, artefact: Artefact, texts: Sequence[str]) -> list[str]:
    """The texts whose ids in the artefact are not the student's, shortened to those that the artefact takes."""
    pairs = zip(texts, student.tokenizer.encode(texts), strict=True)
    return [text for text, ids in pairs if list(artefact.tokenize(text)) != shortened(ids, artefact.max_length)]


def cosines_of(vectors: Mapping[str, Floats], expected: Mapping[str, Floats]) -> Floats:
    """Cosines of `{language: (q, d)}` and `{language: (q, d)}`, rows of unit length, language after language."""
    return np.concatenate([np.sum(vectors[language] * expected[language], axis=1) for language in vectors])


def _whole(student: KerasEncoder | Reference, artefact: Artefact, texts: Sequence[str]) -> Booleans:
    lengths = [len(ids) for ids in student.tokenizer.encode(texts)]
    return np.array(lengths) <= (artefact.max_length or np.inf)


def verdict(figures: Figures, settings: ExportSettings, table: str, others: float = 0.0) -> tuple[str, ...]:
    """The reasons to refuse an artefact with a table in the format `table`, sentences: none when it passes.

    A share of `others` of the questions may have other ids.
    """
    return tuple(_reasons(figures, settings, settings.min_cosine or CODECS[table].least_cosine, others))


def require_passed(
    figures: Figures, settings: ExportSettings, table: str, force: bool = False, others: float = 0.0
) -> tuple[str, ...]:
    """Raise `GateError` where the artefact that was measured is refused; with `force` return its `verdict`."""
    reasons = verdict(figures, settings, table, others)
    if reasons and not force:
        raise GateError(f"the exported encoder is not the student: {'; '.join(reasons)}")
    return reasons


def _reasons(figures: Figures, settings: ExportSettings, least: float, others: float) -> Iterator[str]:
    if figures.other_ids > others * figures.texts:
        yield (
            f"the tokens of {figures.other_ids} of {figures.texts} dev questions are not the student's, "
            f"the first {figures.other_ids_example!r}"
        )
    # Not `<`: a vector that is no number fails too.
    if not figures.cosine_min >= least:
        yield (
            f"least cosine to the student {figures.cosine_min:.4f} (mean {figures.cosine_mean:.4f}) "
            f"on {figures.texts - figures.cut} dev questions, expected at least {least}"
        )
    if figures.drop > allowed_drop(settings.max_drop, figures.texts):
        yield (
            f"{figures.drop:.2f} points of mean dev P@1 are lost on {figures.texts} questions, "
            f"allowed are {settings.max_drop}"
        )
    worse = [
        language for language, scores in figures.p1.items() if scores.significant and scores.artefact < scores.student
    ]
    if worse:
        yield f"dev P@1 is significantly worse in {', '.join(worse)} (McNemar, Holm)"
