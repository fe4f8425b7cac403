"""A Hugging Face text-to-text model, such as a trained mT5, as a reader that writes answers: `hf:NAME` or a folder.

Izacard and Grave (2021), Fusion-in-Decoder, section 3: each passage is encoded separately together with the question,
and the decoder reads all of them at once. Sorokin et al. (2022), Sentri, section 3.4, use a multilingual model: MFiD.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError, TrainingError
from ..system.files import write_aside
from ..system.types import File, Progress
from .pretrained import load_pretrained, make_short_name

# The text of a passage for the encoder, as in the authors' section 3, and its maximum length, as in their section 4.
TEMPLATE, LENGTH = "question: {question} title: {title} context: {passage}", 250
# The maximum number of tokens of an answer, and the number of passages that are encoded at once.
LONGEST, BATCH = 50, 8
# The questions of a training step, as in the authors' section 4, and the norm that its gradient has at most.
QUESTIONS, NORM = 64, 1.0


@dataclass(frozen=True)
class WrittenExample:
    """A question, its passages, each with a title, and the answer to write."""

    question: str
    passages: Sequence[tuple[str, str]]
    answer: str


class FusionWriter:
    """A reader that writes answers from several passages by a text-to-text model. Code of the model's own is never run.

    `template` is the text that the model was trained to read, with {question}, {passage} and possibly {title}.
    """

    def __init__(self, source: str, template: str = TEMPLATE) -> None:
        self.template = _check_template(template)
        self.name = make_short_name(source)
        self.tokenizer, self.model = load_pretrained(source, "AutoModelForSeq2SeqLM", "text-to-text")

    def write(self, question: str, passages: Sequence[tuple[str, str]]) -> str:
        """Write the answer to a question from passages. Returns the answer; "" without passages."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        if not passages:
            return ""
        with torch.inference_mode():
            states = torch.cat(list(self._states(self._format(question, passages))))[None]
            [tokens] = self.model.generate(
                encoder_outputs=BaseModelOutput(last_hidden_state=states),
                attention_mask=states.new_ones(states.shape[:2], dtype=torch.long),
                max_new_tokens=LONGEST,
                do_sample=False,
                num_beams=1,
            )
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True)).strip()

    def train(
        self,
        examples: Sequence[WrittenExample],
        epochs: int = 1,
        learning_rate: float = 1e-4,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> list[float]:
        """Train all weights by Adam at a constant rate. Returns the mean loss of each epoch.

        Raises `TrainingError` if a loss is not a number.
        """
        import torch

        torch.manual_seed(seed)
        weights, random, means = list(self.model.parameters()), np.random.default_rng(seed), []
        optimizer = torch.optim.Adam(weights, lr=learning_rate)
        self.model.train()
        for epoch in range(1, epochs + 1):
            losses: list[float] = []
            for row in random.permutation(len(examples)):
                loss = self._loss(examples[row])
                loss.backward()
                losses.append(loss.item())
                if len(losses) % QUESTIONS == 0 or len(losses) == len(examples):
                    torch.nn.utils.clip_grad_norm_(weights, NORM)
                    optimizer.step()
                    optimizer.zero_grad()
                if progress:
                    progress(1)
            means.append(float(np.mean(losses)))
            if not np.isfinite(means[-1]):
                raise TrainingError(f"{self.name}: the loss of epoch {epoch} is no number; give a lower learning rate")
        self.model.eval()
        return means

    def save(self, folder: File) -> None:
        with write_aside(folder) as aside:
            self.model.save_pretrained(aside)
            self.tokenizer.save_pretrained(aside)

    def _loss(self, example):
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        states = torch.cat(list(self._states(self._format(example.question, example.passages))))[None]
        answer = self.tokenizer(example.answer, truncation=True, max_length=LONGEST, return_tensors="pt").input_ids
        return self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=states.new_ones(states.shape[:2], dtype=torch.long),
            labels=answer.to(states.device),
        ).loss

    def _format(self, question, passages):
        return [self.template.format(question=question, title=title, passage=text) for title, text in passages]

    def _states(self, texts: Sequence[str]) -> Iterable:
        """Yield the hidden states `(tokens, width)` of a few texts at a time, without padding."""
        encoder = self.model.get_encoder()
        for first in range(0, len(texts), BATCH):
            tokens = self.tokenizer(
                list(texts[first : first + BATCH]),
                truncation=True,
                max_length=LENGTH,
                padding=True,
                return_tensors="pt",
                return_token_type_ids=False,
            ).to(self.model.device)
            yield encoder(**tokens).last_hidden_state[tokens["attention_mask"].bool()]


def _check_template(template):
    try:
        whole = template.format(question="\0", title="", passage="\1")
    except (LookupError, ValueError, AttributeError, TypeError) as error:
        raise InputError(f"--template: expected {{question}}, {{title}} and {{passage}}, got {template!r}") from error
    if "\0" not in whole or "\1" not in whole:
        raise InputError(f"--template: expected {{question}} and {{passage}} in it, got {template!r}")
    return template
