"""The work of `distill read export`: a flatbuffer that answers as the reader does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import DataError, ExportError
from ...export.tflite.convert import convert_reader
from ...system.files import write_aside, write_json
from ...system.types import File
from .examples import Example
from .inputs import QUESTION_TOKENS, TextFeatures
from .pieces import WINDOW
from .reader import SpanReader
from .reader_folder import (
    CARD_FILE,
    LITE_FILE,
    LiteNetwork,
    card_dict,
    load_network,
    read_card,
    read_standard,
    write_standard,
)
from .training import prediction_function

# The share of the answers that must be the same spans.
LEAST = 0.99
LENGTHS = {
    "passage": WINDOW,
    "question": QUESTION_TOKENS,
    "features": WINDOW,
    "vector": None,
    "passage_keep": WINDOW,
    "question_keep": QUESTION_TOKENS,
}


@dataclass(frozen=True)
class ExportedReader:
    """The result of an export. `same` is the number of questions that it answers as the reader does."""

    size: int
    same: int
    questions: int


def write_flatbuffer(source: File, folder: File, features: TextFeatures, examples: Sequence[Example]) -> ExportedReader:
    """Export a reader to a flatbuffer, and compare its answers with those of the Keras reader.

    Raises:
        DataError: If there are no examples.
        ExportError: If fewer than `LEAST` of the answers are the same; nothing is written then.
    """
    if not examples:
        raise DataError("no question of dev has an answer to compare; give a --dataset with answers")
    card, network = read_card(source), load_network(source)
    with write_aside(folder) as aside:
        aside.mkdir()
        (aside / LITE_FILE).write_bytes(convert_reader(network, LENGTHS))
        write_standard(aside, read_standard(source))
        write_json(aside / CARD_FILE, card_dict(card))
        before, after = (
            [answer.place for answer in SpanReader(one, features).read(examples)]
            for one in (prediction_function(network), LiteNetwork(aside / LITE_FILE))
        )
        same = sum(one == other for one, other in zip(before, after, strict=True))
        if same < LEAST * len(examples):
            raise ExportError(f"the exported reader gives the same answer to only {same} of {len(examples)} questions")
        size = (aside / LITE_FILE).stat().st_size
    return ExportedReader(size, same, len(examples))
