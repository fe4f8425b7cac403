"""The languages of what a question finds, where the passages are in several."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..data.dataset import Dataset
from ..retrieval.exact import top_k
from ..system.types import Floats

# Passages a question that are looked at.
HEAD = 10


def languages_of_head(
    questions: Mapping[str, Floats], passages: Floats, dataset: Dataset, k: int = HEAD
) -> dict[str, dict[str, float]]:
    """`{question language: {passage language: share}}` of the `k` passages nearest to each question, in mean.

    `questions` `{language: (q, d)}` and `passages` `(p, d)` are unit rows. Empty for passages in one language.
    """
    spoken = np.array(dataset.passage_languages)
    languages = list(dict.fromkeys(dataset.passage_languages))
    if len(languages) < 2:
        return {}
    heads = {name: spoken[top_k(rows, passages, min(k, len(passages)))[0]] for name, rows in questions.items()}
    return {name: {one: float(np.mean(head == one)) for one in languages} for name, head in heads.items()}
