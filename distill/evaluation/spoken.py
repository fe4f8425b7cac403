"""The languages of the passages nearest to a question, where the passages are in several languages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..data.dataset import Dataset
from ..retrieval.exact import top_k
from ..system.types import Floats

# Number of nearest passages per question that are looked at.
HEAD = 10


def languages_of_head(
    questions: Mapping[str, Floats], passages: Floats, dataset: Dataset, k: int = HEAD
) -> dict[str, dict[str, float]]:
    """Return the mean share of each passage language among the passages nearest to a question.

    Args:
        questions: `{language: vectors}`, unit rows `(q, d)`.
        passages: Unit rows `(p, d)`.
        dataset: The data set of the passages.
        k: Number of nearest passages per question.

    Returns:
        `{question language: {passage language: share}}`; empty if all passages are in one language.
    """
    spoken = np.array(dataset.passage_languages)
    languages = list(dict.fromkeys(dataset.passage_languages))
    if len(languages) < 2:
        return {}
    heads = {name: spoken[top_k(rows, passages, min(k, len(passages)))[0]] for name, rows in questions.items()}
    return {name: {one: float(np.mean(head == one)) for one in languages} for name, head in heads.items()}
