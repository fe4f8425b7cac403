"""A Hugging Face question-answering model as a reader: `hf:NAME`, or of a folder.

Devlin et al. (2019), BERT, section 4.2: a span's score is the logits of its begin and its end, against those of the
first token, which stands for no answer. Long passages are cut into windows that share `STRIDE` tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..errors import EncoderError
from ..system.types import Floats, Integers, Progress
from .huggingface import _positions
from .pretrained import pretrained, short_name

# Tokens that two windows share, and of an answer at most: those of the authors' script.
STRIDE, LONGEST = 128, 30
# Tokens of question and passage together.
LENGTH = 384


class Asking(Protocol):
    """A question and the text that it is read in."""

    @property
    def question(self) -> str: ...

    @property
    def passage_text(self) -> str: ...


class QuestionAnswerer:
    """The best span of a passage by the model that `source` names; no code of its own is run.

    Raises `EncoderError` when the packages are not installed, or the model is none that answers questions.
    """

    def __init__(self, source: str) -> None:
        self.name = short_name(source)
        self.tokenizer, self.model = pretrained(source, "AutoModelForQuestionAnswering", "question-answering")
        if not self.tokenizer.is_fast:
            raise EncoderError(f"{source}: its tokenizer tells no places; expected one with a tokenizer.json")
        self.length = min(LENGTH, self.tokenizer.model_max_length, _positions(self.model.base_model))

    def spans(self, pairs: Sequence[Asking], progress: Progress | None = None) -> list[tuple[int, int, float]]:
        """Return begin and end, in characters of the passage, and the score above no answer, of each pair."""
        spans = []
        for pair in pairs:
            spans.append(self._span(pair.question, pair.passage_text))
            if progress:
                progress()
        return spans

    def _span(self, question, passage):
        import torch

        told = self.tokenizer(
            question,
            passage,
            truncation="only_second",
            max_length=self.length,
            stride=min(STRIDE, self.length // 4),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        places = told.pop("offset_mapping").numpy()
        told.pop("overflow_to_sample_mapping", None)
        with torch.inference_mode():
            logits = self.model(**told.to(self.model.device))
        rows = zip(logits.start_logits.cpu().numpy(), logits.end_logits.cpu().numpy(), places, strict=True)
        spans = [best_place(*row, _of_passage(told, window)) for window, row in enumerate(rows)]
        return max(spans, key=lambda span: span[2])


def _of_passage(told, window):
    return np.array([row for row, part in enumerate(told.sequence_ids(window)) if part == 1], dtype=np.int64)


def best_place(starts: Floats, ends: Floats, places: Integers, inside: Integers) -> tuple[int, int, float]:
    """Return the place and the score of the best span of a window: logits `(t,)`, places `(t, 2)` in characters.

    `inside` are the tokens of the passage, `(n,)`, ascending.
    """
    if not len(inside):
        return 0, 0, -np.inf
    far = inside[None] - inside[:, None]
    sums = np.where((far >= 0) & (far < LONGEST), starts[inside][:, None] + ends[inside][None], -np.inf)
    first, last = divmod(int(sums.argmax()), len(inside))
    score = float(sums[first, last] - starts[0] - ends[0])
    return int(places[inside[first], 0]), int(places[inside[last], 1]), score
