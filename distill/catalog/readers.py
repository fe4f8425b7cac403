"""From what a user names to a `Reader`, and what a reader sees texts with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..encoders.tokenizer import Tokenizer
from ..errors import EncoderError
from ..export.encode import TOKENIZER
from ..reading.inputs import Eyes
from ..system.extras import training_stack
from .bundle import find_artefact
from .identity import weights_fingerprint
from .kinds import require_trainable
from .loading import load_encoder, load_keras_encoder

if TYPE_CHECKING:
    from ..reading.inputs import Standard
    from ..reading.reader import Reader
    from ..system.types import File, Floats
    from ..teachers.fusion import FusionWriter

PREFIX = "hf:"


@training_stack()
def load_reader(source: File) -> Reader:
    """Return the reader that `source` names, with the encoder that it was trained on.

    Raises `EncoderError` where it names none, or the encoder is another one now.
    """
    from ..reading.reader import SpanReader
    from ..reading.stored import network_of, read_card, read_standard

    if str(source).startswith(PREFIX):
        from ..reading.reader import WholeReader
        from ..teachers.question_answering import QuestionAnswerer

        return WholeReader(QuestionAnswerer(str(source).removeprefix(PREFIX)))
    card = read_card(source)
    if weights_fingerprint(card.encoder) != card.fingerprint:
        raise EncoderError(
            f"{source}: {card.encoder} is another encoder than it was trained on; train the reader again"
        )
    eyes = eyes_of(card.encoder, read_standard(source))
    return SpanReader(network_of(source), eyes, Path(source).resolve().name)


def load_writer(source: str, template: str) -> FusionWriter:
    """Return what writes answers, `hf:NAME` or a folder. Raises `EncoderError`, or `InputError` for a template."""
    from ..teachers.fusion import FusionWriter

    return FusionWriter(source.removeprefix(PREFIX), template)


def eyes_of(source: File, standard: Standard | None = None) -> Eyes:
    """Return what a reader sees texts with by the encoder of that name; rows standardised as told, else by themselves.

    Raises `EncoderError` for an encoder without weights of ours.
    """
    from ..reading.inputs import Standard

    require_trainable(source)
    table, tokenizer = _table(source)
    return Eyes(load_encoder(source), tokenizer, table, standard or Standard.of(table))


def _table(source: File) -> tuple[Floats, Tokenizer]:
    """The table of an exported encoder is read without Keras, in half the bytes."""
    from ..export.student import table_of

    try:
        folder = find_artefact(source)
    except EncoderError:
        encoder = load_keras_encoder(source)
        return np.asarray(encoder.model.get_layer("embedding").get_weights()[0]), encoder.tokenizer
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    return table_of(folder, len(tokenizer)).astype(np.float16), tokenizer
