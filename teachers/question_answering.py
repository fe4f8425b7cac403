"""A Hugging Face question-answering model as a reader: `hf:NAME` or a folder.

Devlin et al. (2019), BERT, section 4.2: the score of a span is the sum of the logits of its begin and its end, minus
those of the first token, which represents no answer. Long passages are cut into windows that share `STRIDE` tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..errors import EncoderError
from ..system.types import Floats, Integers, Progress
from .huggingface import count_positions
from .pretrained import load_pretrained, make_short_name

# The number of tokens that two windows share, and the maximum of an answer: both are those of the authors' script.
STRIDE, LONGEST = 128, 30
# The maximum number of tokens of question and passage together.
LENGTH = 384


class QuestionWithPassage(Protocol):
    """A question and the text in which its answer is searched."""

    @property
    def question(self) -> str: ...

    @property
    def passage_text(self) -> str: ...


class QuestionAnswerer:
    """A reader that finds the best span of a passage by a model. Code of the model's own is never run."""

    def __init__(self, source: str) -> None:
        self.name = make_short_name(source)
        self.tokenizer, self.model = load_pretrained(source, "AutoModelForQuestionAnswering", "question-answering")
        if not self.tokenizer.is_fast:
            raise EncoderError(f"{source}: its tokenizer tells no places; expected one with a tokenizer.json")
        self.length = min(LENGTH, self.tokenizer.model_max_length, count_positions(self.model.base_model))

    def spans(
        self, pairs: Sequence[QuestionWithPassage], progress: Progress | None = None
    ) -> list[tuple[int, int, float]]:
        """Find the best span of each pair: its begin and end in characters, and its score minus that of no answer."""
        spans = []
        for pair in pairs:
            spans.append(self._span(pair.question, pair.passage_text))
            if progress:
                progress()
        return spans

    def _span(self, question, passage):
        import torch

        batch = self.tokenizer(
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
        places = batch.pop("offset_mapping").numpy()
        batch.pop("overflow_to_sample_mapping", None)
        with torch.inference_mode():
            logits = self.model(**batch.to(self.model.device))
        rows = zip(logits.start_logits.cpu().numpy(), logits.end_logits.cpu().numpy(), places, strict=True)
        spans = [find_best_span(*row, _find_passage_tokens(batch, window)) for window, row in enumerate(rows)]
        return max(spans, key=lambda span: span[2])


def _find_passage_tokens(batch, window):
    return np.array([row for row, part in enumerate(batch.sequence_ids(window)) if part == 1], dtype=np.int64)


def find_best_span(starts: Floats, ends: Floats, places: Integers, inside: Integers) -> tuple[int, int, float]:
    """Find the best span of a window: begin and end in characters, and the score.

    `starts` and `ends` are logits `(t,)`, `places` the characters of each token `(t, 2)`, and `inside` the tokens of
    the passage.
    """
    if not len(inside):
        return 0, 0, -np.inf
    far = inside[None] - inside[:, None]
    sums = np.where((far >= 0) & (far < LONGEST), starts[inside][:, None] + ends[inside][None], -np.inf)
    first, last = divmod(int(sums.argmax()), len(inside))
    score = float(sums[first, last] - starts[0] - ends[0])
    return int(places[inside[first], 0]), int(places[inside[last], 1]), score
