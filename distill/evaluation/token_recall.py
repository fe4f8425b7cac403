"""Recall by tokens: the share of questions with an answer in the first so many tokens of passages (R@2kt, R@5kt).

Asai et al. (2021), XOR QA, section 3; Sorokin et al. (2022), Ask Me Anything in Your Native Language (Sentri), section
4.1.
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
from ..vocabulary.words.answer_finder import drop_closed_answers

# {language: (ids of the questions that have an answer, 1 or 0 for each as a float array (q,))}.
Recalls: TypeAlias = dict[str, tuple[list[str], Doubles]]

# From a language, rows of its questions and a number n to their first n passages, int (rows, n), best first.
Nearest: TypeAlias = Callable[[str, Sequence[int], int], Integers]


class TokenRecall:
    """Passages cut into words once, in the first of which answers are looked for.

    Words are counted as XOR-TyDi's evaluation counts them, by NLTK's tokenizer. An answer is looked for in the original
    text up to the last of these words, so that no answer is lost because the tokenizer splits it.
    """

    def __init__(self, passages: Sequence[str]) -> None:
        tokenizer = NLTKWordTokenizer()
        self.passages = passages
        self.ends = [[end for _, end in tokenizer.span_tokenize(text)] for text in passages]
        self.lengths = np.array([len(ends) for ends in self.ends])

    def text_within(self, order: Iterable[int], tokens: int) -> str:
        """Return the text of the first so many words of some passages, joined by a blank."""
        parts, left = [], tokens
        for row in order:
            parts.append(self.passages[row] if left >= self.lengths[row] else self._cut(row, left))
            left -= self.lengths[row]
            if left <= 0:
                break
        return " ".join(parts)

    def _cut(self, row, words):
        return self.passages[row][: self.ends[row][words - 1]]

    def passages_needed(self, tokens: int) -> int:
        """Return how many passages always hold at least `tokens` words; one more than there are if all hold fewer."""
        return int(np.searchsorted(np.cumsum(np.sort(self.lengths)), tokens) + 1)

    def hits(self, order: Integers, answers: Sequence[Sequence[str]], tokens: int) -> Doubles:
        """Return 1 for each question with an answer in so many tokens of its passages, best first, else 0."""
        texts = (self.text_within(row, tokens) for row in order)
        right = [any(answer in text for answer in golds) for text, golds in zip(texts, answers, strict=True)]
        return np.array(right, dtype=float)


def token_recall(
    questions: Mapping[str, Floats], passages: Floats, dataset: Dataset, split: str, metrics: Sequence[str]
) -> dict[str, Recalls]:
    """Measure recall by tokens of vectors, such as "r@2kt" of 2,000 words, as `measure_recall` does."""

    def nearest(language: str, rows: Sequence[int], deep: int) -> Integers:
        return top_k(questions[language][rows], passages, deep)[0]

    return measure_recall(nearest, dataset, split, tuple(questions), metrics)


def measure_recall(
    nearest: Nearest, dataset: Dataset, split: str, languages: Sequence[str], metrics: Sequence[str]
) -> dict[str, Recalls]:
    """Measure recall by tokens of any ranking.

    Questions whose only answers are yes or no do not count, as in XOR-TyDi. Returns `{metric: {language: (ids, hits)}}`
    over the q questions that have an answer; hits are float arrays `(q,)`. Raises `DataError` if no question of a
    language has an answer that can be looked for.
    """
    budgets, recall = {metric: 1000 * int(metric[2:-2]) for metric in metrics}, TokenRecall(dataset.passage_texts)
    deep = min(recall.passages_needed(max(budgets.values())), len(dataset.passages))
    recalls: dict[str, Recalls] = {metric: {} for metric in metrics}
    for language, golds in list_golds(dataset, split, languages, metrics).items():
        order = nearest(language, list(golds), deep)
        ids = [dataset.select(language, split)[row].id for row in golds]
        for metric, tokens in budgets.items():
            recalls[metric][language] = (ids, recall.hits(order, list(golds.values()), tokens))
    return recalls


def list_golds(
    dataset: Dataset, split: str, languages: Sequence[str], metrics: Sequence[str]
) -> dict[str, dict[int, tuple[str, ...]]]:
    """Return the answers to look for by language and row of a question; `DataError` for a language without any."""
    golds: dict[str, dict[int, tuple[str, ...]]] = {}
    for language in languages:
        rows = enumerate(drop_closed_answers(question.answers) for question in dataset.select(language, split))
        golds[language] = {row: answers for row, answers in rows if answers}
        if not golds[language]:
            raise DataError(
                f"{dataset.name}: no question in {language} (split {split}) has an answer to look for; "
                f"{', '.join(metrics)} needs answers, as SQuAD files have them or under 'answers' in questions.jsonl"
            )
    return golds
