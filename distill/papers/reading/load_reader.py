"""Load a reader by the name that a user gives, and the features that it reads texts with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...encoders.catalog.bundle import find_artefact
from ...encoders.catalog.identity import weights_fingerprint
from ...encoders.catalog.kinds import require_trainable
from ...encoders.catalog.loading import load_encoder, load_keras_encoder
from ...encoders.tokenizer import Tokenizer
from ...errors import EncoderError
from ...export.encode import TOKENIZER
from ...system.extras import training_stack
from .inputs import TextFeatures

if TYPE_CHECKING:
    from ...system.types import File, Floats
    from ...teachers.fusion import FusionWriter
    from .inputs import EmbeddingScale
    from .reader import Reader

PREFIX = "hf:"


@training_stack()
def load_reader(source: File) -> Reader:
    """Load a reader, with the encoder that it was trained on.

    Args:
        source: The folder of `train_reader`, or `hf:NAME` for a question-answering model.

    Returns:
        The reader.

    Raises:
        EncoderError: If `source` names no reader, or if its encoder has changed.

    Example:
        >>> import distill
        >>> reader = distill.load_reader("my-reader")
        >>> reader.name
        'my-reader'
    """
    from .reader import SpanReader
    from .reader_folder import load_runnable, read_card, read_standard

    if str(source).startswith(PREFIX):
        from ...teachers.question_answering import QuestionAnswerer
        from .reader import TransformerReader

        return TransformerReader(QuestionAnswerer(str(source).removeprefix(PREFIX)))
    card = read_card(source)
    if weights_fingerprint(card.encoder) != card.fingerprint:
        raise EncoderError(
            f"{source}: {card.encoder} is another encoder than it was trained on; train the reader again"
        )
    features = load_features(card.encoder, read_standard(source))
    return SpanReader(load_runnable(source), features, Path(source).resolve().name)


def load_writer(source: str, template: str) -> FusionWriter:
    """Load a model that writes answers.

    `source` is `hf:NAME` or a folder. Raises `EncoderError` if it cannot be loaded and `InputError` if the template is
    wrong.
    """
    from ...teachers.fusion import FusionWriter

    return FusionWriter(source.removeprefix(PREFIX), template)


def load_features(source: File, standard: EmbeddingScale | None = None) -> TextFeatures:
    """Return the token features with which a reader reads texts, by an encoder.

    `standard` is the standardisation of the features; by default that of the encoder's own table. Raises `EncoderError`
    if the encoder's weights cannot be read.
    """
    from .inputs import EmbeddingScale

    require_trainable(source)
    table, tokenizer = _table(source)
    return TextFeatures(load_encoder(source), tokenizer, table, standard or EmbeddingScale.of(table))


def _table(source: File) -> tuple[Floats, Tokenizer]:
    """Read the table and the tokenizer of an exported encoder without Keras, in half the memory."""
    from ...export.student import load_table

    try:
        folder = find_artefact(source)
    except EncoderError:
        encoder = load_keras_encoder(source)
        return np.asarray(encoder.model.get_layer("embedding").get_weights()[0]), encoder.tokenizer
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    return load_table(folder, len(tokenizer)).astype(np.float16), tokenizer
