"""Load a reader by the name that a user gives, and the features that it reads texts with."""

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
    """Load the reader that `source` names, with the encoder that it was trained on.

    Raises `EncoderError` if `source` names no reader, or if the encoder has changed.
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
    """Load a model that writes answers.

    Args:
        source: `hf:NAME` or a folder.
        template: The template of its input.

    Returns:
        The model.

    Raises:
        EncoderError: If it cannot be loaded.
        InputError: If the template is wrong.
    """
    from ..teachers.fusion import FusionWriter

    return FusionWriter(source.removeprefix(PREFIX), template)


def eyes_of(source: File, standard: Standard | None = None) -> Eyes:
    """Return the token features with which a reader reads texts, by an encoder.

    Args:
        source: The name of the encoder.
        standard: The standardisation of the features; by default that of the encoder's own table.

    Returns:
        The features.

    Raises:
        EncoderError: If the encoder's weights cannot be read.
    """
    from ..reading.inputs import Standard

    require_trainable(source)
    table, tokenizer = _table(source)
    return Eyes(load_encoder(source), tokenizer, table, standard or Standard.of(table))


def _table(source: File) -> tuple[Floats, Tokenizer]:
    """Read the table and the tokenizer of an exported encoder without Keras, in half the memory."""
    from ..export.student import table_of

    try:
        folder = find_artefact(source)
    except EncoderError:
        encoder = load_keras_encoder(source)
        return np.asarray(encoder.model.get_layer("embedding").get_weights()[0]), encoder.tokenizer
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    return table_of(folder, len(tokenizer)).astype(np.float16), tokenizer
