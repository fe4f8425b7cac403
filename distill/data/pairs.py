"""Questions with the passages that answer them, in many languages: what a retriever learns from."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .dataset import Question

NONE = -1


@dataclass(frozen=True)
class Pairs:
    """`questions` `(n,)`, each with rows of `passages` that answer it and rows that do not.

    `passages` `(p,)` are texts in `languages` `(p,)`; those of one `content`, int `(p,)`, are translations of each
    other. `positives` `(n,)` and `negatives` `(n,)` are int arrays: at least one positive each, negatives perhaps none.
    """

    questions: tuple
    passages: tuple
    languages: np.ndarray
    content: np.ndarray
    positives: tuple
    negatives: tuple

    @cached_property
    def asked_in(self):
        """`(n,)`: the language of each question."""
        return np.array([question.language for question in self.questions])

    @cached_property
    def place(self):
        """`{(content, language): row}` of the passages."""
        keys = zip(self.content.tolist(), self.languages.tolist(), strict=True)
        return {key: row for row, key in enumerate(keys)}

    def in_language(self, row, language):
        """The row of a passage's translation, or itself where there is none."""
        return self.place.get((int(self.content[row]), language), int(row))

    def with_negatives(self, negatives):
        """The same pairs with other hard negatives, `(n,)` arrays of rows."""
        return replace(self, negatives=tuple(negatives))


def gold_pairs(dataset, contexts, languages):
    """`Pairs` of the train questions in `languages` with their own passages, in every language of `contexts`.

    `contexts`: `{language: texts (p,)}` of the data set's passages, as `contexts.read_contexts` gives them.
    """
    size, spoken = len(dataset.passages), tuple(contexts)
    questions = [question for language in languages for question in dataset.select(language, "train")]
    own = np.arange(len(spoken)) * size
    return Pairs(
        questions=tuple(questions),
        passages=tuple(text for texts in contexts.values() for text in texts),
        languages=np.repeat(np.array(spoken), size),
        content=np.tile(np.arange(size), len(spoken)),
        positives=tuple(own + question.passage for question in questions),
        negatives=tuple(np.zeros(0, dtype=np.int64) for _ in questions),
    )


def with_lines(pairs, sources, pivot):
    """The pairs, and after them those of parallel text, `[parallel.Parallel]`: a line asks for its translation.

    Each line is a question whose positive is its pivot, the same in `pivot`, the teacher's language. Lines of one pivot
    have its number as their id, so that they are parallel.
    """
    lines = [line for source in sources for line in zip(source.texts, source.languages, source.pivots, strict=True)]
    row_of = {text: row for row, text in enumerate(dict.fromkeys(text for _, _, text in lines))}
    rows = [row_of[text] for _, _, text in lines]
    asked = [Question(f"line {row}", language, text, row) for (text, language, _), row in zip(lines, rows, strict=True)]
    first, content = len(pairs.passages), int(pairs.content.max(initial=-1)) + 1
    return Pairs(
        questions=(*pairs.questions, *asked),
        passages=(*pairs.passages, *row_of),
        languages=np.concatenate([pairs.languages, np.full(len(row_of), pivot)]),
        content=np.concatenate([pairs.content, content + np.arange(len(row_of))]),
        positives=(*pairs.positives, *(np.array([first + row]) for row in rows)),
        negatives=(*pairs.negatives, *(np.zeros(0, dtype=np.int64) for _ in rows)),
    )
