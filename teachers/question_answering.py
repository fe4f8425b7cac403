"""A Hugging Face question-answering model as a reader: `hf:NAME`, or of a folder.

Devlin et al. (2019), BERT, section 4.2: a span's score is the logits of its begin and its end, against those of the
first token, which stands for no answer. Long passages are cut into windows that share `STRIDE` tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..errors import EncoderError, first_line
from ..system.types import Floats, Integers, Progress
from .huggingface import _positions, _require, at_revision, require_no_code

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
        require_no_code(source)
        _require("hf", source)
        self.name = at_revision(source)[0].rstrip("/").split("/")[-1]
        try:
            self.tokenizer, self.model = _loaded(*at_revision(source))
        except EncoderError:
            raise
        except Exception as error:  # the hub, the network, the tokenizer and the weights' reader each raise their own
            raise EncoderError(f"{source}: transformers cannot use it: {first_line(error)}") from error
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


def _loaded(name, revision):
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    safe = {"trust_remote_code": False, "revision": revision or "main"}
    tokenizer = AutoTokenizer.from_pretrained(name, **safe)
    if not tokenizer.is_fast:
        raise EncoderError(f"{name}: its tokenizer tells no places; expected one with a tokenizer.json")
    model, told = AutoModelForQuestionAnswering.from_pretrained(name, output_loading_info=True, **safe)
    if missing := sorted(told["missing_keys"]):
        raise EncoderError(f"{name}: no question-answering model, {missing[0]} is missing in its weights")
    return tokenizer, model.float().eval().to("cuda" if torch.cuda.is_available() else "cpu")
