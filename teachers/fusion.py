"""A Hugging Face text-to-text model as a reader that writes: `hf:NAME`, or of a folder, such as a trained mT5.

Izacard and Grave (2021), Fusion-in-Decoder, section 3: each passage is encoded with the question and by itself, and
the decoder reads all of them at once. Sorokin et al. (2022), Sentri, section 3.4, with a multilingual model: MFiD.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import InputError
from .pretrained import pretrained, short_name

# What the encoder reads of a passage, as in the authors' section 3, and how many tokens of it, as in their section 4.
TEMPLATE, LENGTH = "question: {question} title: {title} context: {passage}", 250
# Tokens of an answer at most, and passages that are encoded at once.
LONGEST, BATCH = 50, 8


class FusionWriter:
    """The answers that a text-to-text model writes out of several passages; no code of its own is run.

    `template` is what it was trained to read, with {question} and {passage} in it and {title} where it has one.
    Raises `InputError` for another template, `EncoderError` when the packages are not installed, or the model is none
    that writes.
    """

    def __init__(self, source: str, template: str = TEMPLATE) -> None:
        self.template = _template(template)
        self.name = short_name(source)
        self.tokenizer, self.model = pretrained(source, "AutoModelForSeq2SeqLM", "text-to-text")

    def write(self, question: str, passages: Sequence[tuple[str, str]]) -> str:
        """Return the answer to a question by the titles and the texts of passages, best first; "" without any."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        if not passages:
            return ""
        texts = [self.template.format(question=question, title=title, passage=text) for title, text in passages]
        with torch.inference_mode():
            states = torch.cat(list(self._states(texts)))[None]
            [tokens] = self.model.generate(
                encoder_outputs=BaseModelOutput(last_hidden_state=states),
                attention_mask=states.new_ones(states.shape[:2], dtype=torch.long),
                max_new_tokens=LONGEST,
                do_sample=False,
                num_beams=1,
            )
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True)).strip()

    def _states(self, texts: Sequence[str]) -> Iterable:
        """States `(tokens, width)` of a few texts at a time, padding left out."""
        encoder = self.model.get_encoder()
        for first in range(0, len(texts), BATCH):
            told = self.tokenizer(
                list(texts[first : first + BATCH]),
                truncation=True,
                max_length=LENGTH,
                padding=True,
                return_tensors="pt",
                return_token_type_ids=False,
            ).to(self.model.device)
            yield encoder(**told).last_hidden_state[told["attention_mask"].bool()]


def _template(template):
    try:
        whole = template.format(question="\0", title="", passage="\1")
    except (LookupError, ValueError, AttributeError, TypeError) as error:
        raise InputError(f"--template: expected {{question}}, {{title}} and {{passage}}, got {template!r}") from error
    if "\0" not in whole or "\1" not in whole:
        raise InputError(f"--template: expected {{question}} and {{passage}} in it, got {template!r}")
    return template
