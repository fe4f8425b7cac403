"""Documents by one encoder, on a server, and questions by another, on the phone: objectives 1 and 3 align these."""

from pathlib import Path

from ..errors import EncoderError
from ..system.files import require_inside, write_aside, write_json
from .encoder import CARD_FILE, KerasEncoder, name_of


class AsymmetricEncoder:
    """An `Encoder` of two: `question` for questions and `document` for documents, both of one space.

    Raises `EncoderError` where they differ in dimension.
    """

    def __init__(self, question, document):
        if question.dimension != document.dimension:
            raise EncoderError(
                f"documents of {document.name} have {document.dimension} dimensions and questions of {question.name} "
                f"{question.dimension}: both have to be of one space, such as a student's and its teacher's"
            )
        self.question, self.document, self.dimension = question, document, question.dimension
        self.name = f"{question.name}, documents by {document.name}"

    @property
    def takes_context(self):
        return getattr(self.document, "takes_context", False)

    def encode(self, texts, role="question", progress=None, **extra):
        encoder = self.document if role == "document" else self.question
        return encoder.encode(texts, role, progress, **extra)


PARTS = ("question", "document")


class DualEncoder(AsymmetricEncoder):
    """Two `KerasEncoder`s by role, under one name. Karpukhin et al. (2020), section 3.1."""

    def __init__(self, question, document, name="encoder"):
        super().__init__(question, document)
        self.name = name

    def save(self, folder):
        """Write the folder that `load_dual` reads; whole or not at all."""
        with write_aside(folder) as aside:
            aside.mkdir()
            for part in PARTS:
                getattr(self, part).save(aside / part)
            write_json(aside / CARD_FILE, {"name": self.name, "dimension": self.dimension})


def is_dual(folder):
    card = Path(folder) / CARD_FILE
    return card.is_file() and all((Path(folder) / part).is_dir() for part in PARTS)


def load_dual(folder, load=KerasEncoder.load):
    """What `DualEncoder.save` wrote, its parts by `load`. Raises `EncoderError` where one is no saved encoder."""
    require_inside(folder, CARD_FILE, *PARTS)
    question, document = (load(Path(folder) / part) for part in PARTS)
    return DualEncoder(question, document, name_of(folder))


def parameters(encoder):
    """`{"parameters", "bytes"}` of a Keras encoder, or of both parts of a dual one; bytes in float32."""
    parts = [getattr(encoder, part) for part in PARTS] if isinstance(encoder, DualEncoder) else [encoder]
    count = sum(part.model.count_params() for part in parts)
    return {"parameters": int(count), "bytes": 4 * int(count)}
