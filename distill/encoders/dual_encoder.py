"""Encode documents by one encoder, for example on a server, and questions by another, for example on a phone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EncoderError
from ..system.files import require_inside, write_aside, write_json
from ..system.types import File, Floats, Progress, Role
from .encoder import (
    CARD_FILE,
    Encoder,
    KerasEncoder,
    calibrations_of,
    encode_texts,
    passage_weight_of,
    read_name,
    takes_context,
)

if TYPE_CHECKING:
    from ..export.encode import Calibration


class AsymmetricEncoder:
    """Two encoders in one space, `question` and `document`; raises `EncoderError` if their dimensions differ."""

    def __init__(self, question: Encoder, document: Encoder) -> None:
        if question.dimension != document.dimension:
            raise EncoderError(
                f"documents of {document.name} have {document.dimension} dimensions and questions of {question.name} "
                f"{question.dimension}: both have to be of one space, such as a student's and its teacher's"
            )
        self.question, self.document, self.dimension = question, document, question.dimension
        self.name: str = f"{question.name}, documents by {document.name}"

    @property
    def takes_context(self) -> bool:
        """True if the documents' encoder takes a context."""
        return takes_context(self.document)

    @property
    def passage_weight(self) -> float:
        """That of the documents' encoder, which an index of theirs keeps, whoever asks it."""
        return passage_weight_of(self.document)

    @property
    def calibrations(self) -> Mapping[str, Calibration]:
        """Those of the encoder that asks."""
        return calibrations_of(self.question)

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats:
        """Encode texts by the encoder of their role. Returns the vectors `(n, dimension)`."""
        return encode_texts(self.document if role == "document" else self.question, texts, role, progress, contexts)


PARTS = ("question", "document")


class DualEncoder(AsymmetricEncoder):
    """Two Keras encoders by role, under one name. Karpukhin et al. (2020), section 3.1."""

    question: KerasEncoder
    document: KerasEncoder

    def __init__(self, question: KerasEncoder, document: KerasEncoder, name: str = "encoder") -> None:
        super().__init__(question, document)
        self.name = name

    def save(self, folder: File) -> None:
        """Write the folder that `load_dual` reads, whole or not at all."""
        with write_aside(folder) as aside:
            aside.mkdir()
            for part in PARTS:
                getattr(self, part).save(aside / part)
            write_json(aside / CARD_FILE, {"name": self.name, "dimension": self.dimension})


def is_dual(folder: File) -> bool:
    """Return True for a folder that `DualEncoder.save` wrote."""
    card = Path(folder) / CARD_FILE
    return card.is_file() and all((Path(folder) / part).is_dir() for part in PARTS)


def load_dual(folder: File, load: Callable[[Path], KerasEncoder] = KerasEncoder.load) -> DualEncoder:
    """Load what `DualEncoder.save` wrote. Raises `EncoderError` if a part is broken."""
    require_inside(folder, CARD_FILE, *PARTS)
    question, document = (load(Path(folder) / part) for part in PARTS)
    return DualEncoder(question, document, read_name(folder))


def count_parameters(encoder: KerasEncoder | DualEncoder) -> dict[str, int]:
    """Count the parameters of an encoder, and their bytes in float32; those of both parts for a dual one."""
    parts = [getattr(encoder, part) for part in PARTS] if isinstance(encoder, DualEncoder) else [encoder]
    count = sum(part.model.count_params() for part in parts)
    return {"parameters": int(count), "bytes": 4 * int(count)}
