"""Check an artefact against its student: run it with its own runtime and compare ids, vectors and dev P@1.

Measure too by language what it costs to leave the spellings of an encoder out of an artefact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ..data.dataset import Dataset
from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.tokenizer import Tokenizer
from ..errors import GateError
from ..evaluation.evaluate import count_texts, encode_questions, encode_units, rank_questions
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
    """The questions that an artefact is checked on, and how much it may lose.

    Args:
        dataset: The data set whose dev questions are asked.
        languages: The languages of the questions.
        settings: The thresholds and the number of threads.
        force: True to keep an artefact that fails, and to note the reasons in its card.
        model: The encoder to compare with, as it is loaded for use; None for the student itself. It matters for a
            bundle, whose student has the same weights but does not round its activations.

    Example:
        >>> import distill
        >>> gate = distill.Gate(distill.load_dataset("sample"), ["de", "en"], distill.ExportSettings(max_drop=2.0))
        >>> gate.force
        False
    """

    dataset: Dataset
    languages: Sequence[str]
    settings: ExportSettings
    force: bool = False
    model: Encoder | None = None


@dataclass(frozen=True)
class Reference:
    """The encoder and the tokenizer that an artefact is compared with."""

    encoder: Encoder
    tokenizer: Tokenizer

    @property
    def name(self) -> str:
        return self.encoder.name

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""
        return self.encoder.dimension

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Encode texts with the encoder. Returns vectors of unit length, float32 `(n, d)`."""
        return self.encoder.encode(texts, role, progress)


@dataclass(frozen=True)
class Scores:
    """P@1 of the student and of the artefact in one language, with McNemar's p, Holm-corrected over the languages."""

    student: float
    artefact: float
    p: float
    p_holm: float
    significant: bool


@dataclass(frozen=True)
class Figures:
    """An artefact measured against its student on the dev questions of a data set.

    Args:
        other_ids_example: One of these questions, or None.
        documents_by: Which of "student" and "artefact" encoded the documents.
        p1: P@1 by language.
        drop: The loss of mean P@1, in percentage points.
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
        """Return the figures as the entries of a card."""
        return {"p@1" if name == "p1" else name: value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, figures: Mapping[str, Json]) -> Figures:
        """Return the figures of a card's entries."""
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
    """Measure an artefact: differing ids, cosines, and P@1 by language with McNemar's test.

    An artefact with a maximum length is meant for questions, so the student encodes the documents for both. Questions
    that the artefact truncates are left out of the cosines. `others` is the share of questions whose ids may differ; if
    it is not zero, these are left out too.
    """
    vectors, expected = (
        encode_questions(encoder, dataset, SPLIT, languages, progress) for encoder in (artefact, student)
    )
    units = encode_units(student, dataset, (UNIT,), progress)
    searched = units if artefact.max_length else encode_units(artefact, dataset, (UNIT,), progress)
    p1 = _scores(_ranks(expected, units, dataset), _ranks(vectors, searched, dataset))
    texts = [question.text for language in languages for question in dataset.select(language, SPLIT)]
    different, whole = find_texts_with_other_ids(student, artefact, texts), _is_uncut(student, artefact, texts)
    alike = ~np.isin(texts, different) if others else True
    cosines = compute_cosines(vectors, expected)[whole & alike]
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
        # Rounded, so that floating point does not push a loss of exactly the allowed size over the limit.
        round(100 * float(np.mean([scores.student - scores.artefact for scores in p1.values()])), 6),
    )


def count_gate_texts(dataset: Dataset, languages: Sequence[str], max_length: int | None = None) -> int:
    """Return the number of texts that `measure` encodes for an artefact of this maximum length, for a progress bar."""
    both = 2 * count_texts(dataset, [SPLIT], languages, (UNIT,))
    return both - len(dataset.titles) if max_length else both


def _ranks(questions, units, dataset) -> dict[str, Integers]:
    return rank_questions(questions, units, dataset, SPLIT, (UNIT,))[UNIT]


def _scores(student: dict[str, Integers], artefact: dict[str, Integers]) -> dict[str, Scores]:
    return {
        language: Scores(row.a, row.b, row.p, row.p_holm, row.significant)
        for language, row in compare(student, artefact).items()
    }


def find_texts_with_other_ids(student: KerasEncoder | Reference, artefact: Artefact, texts: Sequence[str]) -> list[str]:
    """Find the texts whose token ids in the artefact differ from the student's, as far as the artefact reads."""
    pairs = zip(texts, student.tokenizer.encode(texts), strict=True)
    return [text for text, ids in pairs if list(artefact.tokenize(text)) != shortened(ids, artefact.max_length)]


def compute_cosines(vectors: Mapping[str, Floats], expected: Mapping[str, Floats]) -> Floats:
    """Compute the cosines between two sets of unit vectors `(q, d)` by language, one language after another, `(n,)`."""
    return np.concatenate([np.sum(vectors[language] * expected[language], axis=1) for language in vectors])


def _is_uncut(student: KerasEncoder | Reference, artefact: Artefact, texts: Sequence[str]) -> Booleans:
    lengths = [len(ids) for ids in student.tokenizer.encode(texts)]
    return np.array(lengths) <= (artefact.max_length or np.inf)


def refusal_reasons(figures: Figures, settings: ExportSettings, table: str, others: float = 0.0) -> tuple[str, ...]:
    """Return the reasons to refuse an artefact as sentences, or none if it passes.

    The format of the table has a default for the least cosine. `others` is the share of questions whose ids may differ.
    """
    return tuple(_reasons(figures, settings, settings.min_cosine or CODECS[table].least_cosine, others))


def require_passed(
    figures: Figures, settings: ExportSettings, table: str, force: bool = False, others: float = 0.0
) -> tuple[str, ...]:
    """Raise `GateError` with the reasons of `refusal_reasons`, if there are any, or with `force` return them."""
    reasons = refusal_reasons(figures, settings, table, others)
    if reasons and not force:
        # Bits do not change tokens.
        can_gain = settings.precision != "float32" and not figures.other_ids
        remedy = ", so keep more bits with --precision float32" if can_gain else ""
        raise GateError(f"the exported encoder differs from the student: {'; '.join(reasons)}{remedy}")
    return reasons


def _reasons(figures: Figures, settings: ExportSettings, least: float, others: float) -> Iterator[str]:
    if figures.other_ids > others * figures.texts:
        yield (
            f"the tokens of {figures.other_ids} of {figures.texts} dev questions are not the student's, "
            f"the first {figures.other_ids_example!r}"
        )
    # Not `<`, so that a NaN fails too.
    if not figures.cosine_min >= least:
        yield (
            f"the least cosine to the student is {figures.cosine_min:.4f} (mean {figures.cosine_mean:.4f}) "
            f"on {figures.texts - figures.cut} dev questions, expected at least {least}"
        )
    if figures.drop > allowed_drop(settings.max_drop, figures.texts):
        yield (
            f"mean dev P@1 drops by {figures.drop:.2f} points on {figures.texts} questions, "
            f"expected at most {settings.max_drop}"
        )
    worse = [
        language for language, scores in figures.p1.items() if scores.significant and scores.artefact < scores.student
    ]
    if worse:
        yield f"dev P@1 is significantly worse in {', '.join(worse)} (McNemar, Holm)"


@dataclass(frozen=True)
class Cost:
    """P@1 on a language's dev questions with the whole encoder and without its spellings."""

    before: float
    after: float
    cosine: float


def spelling_cost(whole: Encoder, artefact: Artefact, gate: Gate, progress: Progress | None = None) -> dict[str, Cost]:
    """Measure what an artefact without spellings loses on the gate's questions, by language.

    If the artefact has a maximum length, the whole encoder encodes the documents for both.
    """
    both, searching = (whole, artefact), whole if artefact.max_length else artefact
    units = [encode_units(encoder, gate.dataset, (UNIT,), progress) for encoder in (whole, searching)]
    questions = [encode_questions(encoder, gate.dataset, SPLIT, gate.languages, progress) for encoder in both]
    pairs = zip(questions, units, strict=True)
    before, after = (rank_questions(*pair, gate.dataset, SPLIT, (UNIT,))[UNIT] for pair in pairs)
    return {
        language: Cost(
            float(np.mean(before[language] == 1)),
            float(np.mean(after[language] == 1)),
            float(np.mean(np.sum(questions[0][language] * questions[1][language], axis=1))),
        )
        for language in gate.languages
    }


def as_dict(costs: Mapping[str, Cost]) -> dict[str, Json]:
    """Return the costs by language as the entries of a card."""
    return {language: asdict(cost) for language, cost in costs.items()}


def format_costs(costs: Mapping[str, Cost]) -> str:
    """Return the costs by language as one line of text."""
    return ", ".join(
        f"{language} {100 * cost.before:.1f} to {100 * cost.after:.1f} ({cost.cosine:.3f})"
        for language, cost in costs.items()
    )
