"""Recall by tokens: whether an answer is within the first passages of so many tokens (R@2kt, R@5kt).

Asai et al. (2021), XOR QA, section 3; Sorokin et al. (2022), Ask Me Anything in Your Native Language (Sentri), 4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from nltk.tokenize import NLTKWordTokenizer

from ..data.dataset import Dataset
from ..errors import DataError
from ..retrieval.exact import top_k
from ..system.types import Doubles, Floats, Integers
from ..words.answer_finder import findable

# By language: the ids of the questions that have an answer, and 1 or 0 for each, float `(q,)`.
Recalls: TypeAlias = dict[str, tuple[list[str], Doubles]]

# Of a language, rows of its questions and a number n: their n first passages, int `(rows, n)`, best first.
Nearest: TypeAlias = Callable[[str, Sequence[int], int], Integers]


class TokenRecall:
    """Passages cut into words once; `hits` looks for answers in the first of them.

    Words are counted as XOR-TyDi's evaluation counts them, by NLTK's tokenizer; the answer is looked for in the text
    up to the last of these words as it is written, so that no answer is lost because the tokenizer splits it.
    """

    def __init__(self, passages: Sequence[str]) -> None:
        tokenizer = NLTKWordTokenizer()
        self.passages = passages
        self.ends = [[end for _, end in tokenizer.span_tokenize(text)] for text in passages]
        self.lengths = np.array([len(ends) for ends in self.ends])

    def within(self, order: Iterable[int], tokens: int) -> str:
        """The text of the first `tokens` words of the passages in `order`, joined by a blank."""
        parts, left = [], tokens
        for row in order:
            parts.append(self.passages[row] if left >= self.lengths[row] else self._cut(row, left))
            left -= self.lengths[row]
            if left <= 0:
                break
        return " ".join(parts)

    def _cut(self, row, words):
        return self.passages[row][: self.ends[row][words - 1]]

    def enough(self, tokens: int) -> int:
        """The number of passages that are never fewer than `tokens` words, or of all."""
        return int(np.searchsorted(np.cumsum(np.sort(self.lengths)), tokens) + 1)

    def hits(self, order: Integers, answers: Sequence[Sequence[str]], tokens: int) -> Doubles:
        """Return 1 where an answer of a question is in the text, float `(q,)`. `order`, int `(q, n)`: best first."""
        texts = (self.within(row, tokens) for row in order)
        right = [any(answer in text for answer in golds) for text, golds in zip(texts, answers, strict=True)]
        return np.array(right, dtype=float)


def token_recall(
    questions: Mapping[str, Floats], passages: Floats, dataset: Dataset, split: str, metrics: Sequence[str]
) -> dict[str, Recalls]:
    """Return `recall_of` by vectors: `questions`, `{language: (q, d)}` of the split's, and `passages`, `(n, d)`."""

    def nearest(language: str, rows: Sequence[int], deep: int) -> Integers:
        return top_k(questions[language][rows], passages, deep)[0]

    return recall_of(nearest, dataset, split, tuple(questions), metrics)


def recall_of(
    nearest: Nearest, dataset: Dataset, split: str, languages: Sequence[str], metrics: Sequence[str]
) -> dict[str, Recalls]:
    """`{metric: {language: (ids, float (q,))}}` of metrics r@<n>kt, n thousand words; q questions with an answer.

    Questions whose answers are yes or no alone do not count, as in XOR-TyDi. Raises `DataError` where no question has
    an answer that can be looked for.
    """
    budgets, recall = {metric: 1000 * int(metric[2:-2]) for metric in metrics}, TokenRecall(dataset.passage_texts)
    deep = min(recall.enough(max(budgets.values())), len(dataset.passages))
    recalls: dict[str, Recalls] = {metric: {} for metric in metrics}
    for language in languages:
        golds = [findable(question.answers) for question in dataset.select(language, split)]
        rows = [row for row, answers in enumerate(golds) if answers]
        if not rows:
            raise DataError(
                f"{dataset.name}: no question in {language} (split {split}) has an answer to look for; "
                f"{', '.join(metrics)} needs answers, as SQuAD files have them or under 'answers' in questions.jsonl"
            )
        order, ids = nearest(language, rows, deep), [dataset.select(language, split)[row].id for row in rows]
        for metric, tokens in budgets.items():
            recalls[metric][language] = (ids, recall.hits(order, [golds[row] for row in rows], tokens))
    return recalls
