"""Measure by language what it costs to leave the spellings of an encoder out of an artefact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from ..encoders.encoder import Encoder
from ..evaluation.evaluate import encode_questions, encode_units, rank_questions
from ..system.types import Json, Progress
from .formats.format import Artefact
from .gate import SPLIT, UNIT, Gate


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
