"""The interface of all encoders - text in, unit vectors out - and the Keras encoder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from .. import __version__
from ..errors import EncoderError, first_line
from ..system.files import write_aside, write_json
from ..system.input_files import read_json
from ..system.types import File, Floats, IdLists, Json, Model, Progress, Role
from .batching import group_by_length, group_in_shapes, pad
from .compilation import compiles_each_shape, note_longest
from .keras_file import require_own
from .library_tokenizer import LibraryTokenizer, load_tokenizer
from .tokenizer import Tokenizer, without_spellings

if TYPE_CHECKING:
    from ..export.encode import Calibration

MODEL_FILE, TOKENIZER_FILE, CARD_FILE = "encoder.keras", "tokenizer.model", "encoder.json"


class Encoder(Protocol):
    """An encoder: `encode` maps n texts to float32 `(n, dimension)`, rows of unit length.

    `role` is "question" or "document", which makes no difference to an encoder with one tower and no prompts.

    Example:
        >>> import distill
        >>> encoder = distill.load_encoder("multi12-static")
        >>> encoder.encode(["The Danube ends in the Black Sea."], "document").shape
        (1, 512)
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats: ...


def passage_weight_of(encoder: Encoder) -> float:
    """Return the weight of a passage's own vector beside its best sentence in "sum": a bundle's card's, or 1."""
    weight: float = getattr(encoder, "passage_weight", 1.0)
    return weight


def calibrations_of(encoder: Encoder) -> Mapping[str, Calibration]:
    """Return how likely the first passage answers, by score: what a card says, or nothing."""
    known: Mapping[str, Calibration] = getattr(encoder, "calibrations", {})
    return known


class ContextEncoder(Encoder, Protocol):
    """An encoder that takes a context: a document is its text and the text around it."""

    @property
    def takes_context(self) -> bool: ...

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats: ...


class KerasEncoder:
    """A Keras model `(b, t) int32 -> (b, d)` with its tokenizer."""

    def __init__(self, model: Model, tokenizer: Tokenizer, name: str = "encoder") -> None:
        self.model, self.tokenizer, self.name = model, tokenizer, name

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""
        return int(self.model.output_shape[-1])

    @property
    def origin(self) -> dict[str, Json] | None:
        """The encoder whose weights it began with, `students.origin.Origin` as plain values; None for mUSE."""
        return getattr(self.model, "origin", None)

    @property
    def takes_context(self) -> bool:
        """True if its network embeds segments."""
        return bool(getattr(self.model, "segmented", False))

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats:
        """Encode texts to unit vectors, float32 `(n, dimension)`; only the tokenizer's prompts differ by role."""
        return encode_ids(self.model, self.tokenize(texts, role, contexts), progress)

    def tokenize(
        self, texts: Sequence[str], role: Role = "question", contexts: Sequence[str] | None = None
    ) -> list[list[int]]:
        """Tokenize texts, each with its context as a second segment, whose ids begin behind the vocabulary.

        Devlin et al. (2019), BERT, Figure 2: [CLS] text [SEP] context [SEP]. An empty context is none.
        Raises `EncoderError` if there are contexts and the network embeds no segments.
        """
        rows = self.tokenizer.encode(texts if isinstance(texts, str) else list(texts), role)
        if contexts is None:
            return rows
        if not self.takes_context:
            raise EncoderError(f"{self.name}: it embeds no segments; train one by pairs.context, or give texts")
        from ..export.encode import shortened  # of every bundle, which imports SentencePiece

        once, longest = [text for text in dict.fromkeys(contexts) if text], self.tokenizer.reading.longest
        read = zip(once, self.tokenizer.encode(once, None), strict=True)
        behind = {text: [self.model.vocabulary + id for id in ids[1:]] for text, ids in read}
        both = ([*ids, *behind.get(text, ())] for ids, text in zip(rows, contexts, strict=True))
        return [shortened(ids, longest) for ids in both]

    def without_spellings(self) -> KerasEncoder:
        return KerasEncoder(self.model, without_spellings(self.tokenizer), self.name)

    def save(self, folder: File) -> None:
        """Write the folder that `load` reads, whole or not at all."""
        with write_aside(folder) as aside:
            aside.mkdir()
            self.model.save(aside / MODEL_FILE)
            self.tokenizer.save(aside / TOKENIZER_FILE)
            write_json(aside / CARD_FILE, {"name": self.name, "dimension": self.dimension, "distill": __version__})

    @classmethod
    def load(cls, folder: File) -> KerasEncoder:
        """Load the encoder that `save` wrote. The classes of its model have to be imported before."""
        import keras

        folder = Path(folder)
        require_own(folder / MODEL_FILE)
        try:
            model = keras.saving.load_model(folder / MODEL_FILE, compile=False, safe_mode=True)
        except Exception as error:  # the zip, the JSON and the weights in it each raise their own
            raise EncoderError(f"{folder / MODEL_FILE}: not a saved encoder: {first_line(error)}") from error
        name = read_name(folder) if (folder / CARD_FILE).is_file() else folder.name
        return cls(model, load_tokenizer(folder / TOKENIZER_FILE), name)


def take_own_pieces(encoder: KerasEncoder, texts: Iterable[str] = ()) -> KerasEncoder:
    """Return the encoder with distill's own tokenizer, if another library's reads its texts.

    Raises `EncoderError` if there is none, or one of the job's texts has other ids.
    """
    if not isinstance(encoder.tokenizer, LibraryTokenizer):
        return encoder
    return KerasEncoder(encoder.model, encoder.tokenizer.to_own(texts), encoder.name)


def read_name(folder: File) -> str:
    """Return the name in a saved encoder's card. Raises `EncoderError` if the card is malformed."""
    card = read_json(Path(folder) / CARD_FILE)
    if not isinstance(card, dict) or not isinstance(card.get("name"), str):
        raise EncoderError(f"{Path(folder) / CARD_FILE}: expected an object with the encoder's 'name'; save it again")
    return card["name"]


def takes_context(encoder: Encoder) -> bool:
    """Return True for an encoder whose documents may come with a context."""
    return getattr(encoder, "takes_context", False)


def encode_texts(
    encoder: Encoder,
    texts: Sequence[str],
    role: Role,
    progress: Progress | None = None,
    contexts: Sequence[str] | None = None,
) -> Floats:
    """Encode texts by any encoder, with contexts if there are any. Returns the vectors `(n, d)`."""
    if contexts is None:
        return encoder.encode(texts, role, progress)
    return cast(ContextEncoder, encoder).encode(texts, role, progress, contexts=contexts)


def normalise_rows(vectors: Floats) -> Floats:
    """Scale vectors `(n, d)` to unit length with NumPy. A row of zeros stays."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def encode_ids(model: Model, rows: IdLists, progress: Progress | None = None) -> Floats:
    """Encode lists of token ids, in groups of similar length, to vectors `(n, d)` in the order of the lists."""
    vectors = np.zeros((len(rows), int(model.output_shape[-1])), dtype=np.float32)
    for group, shape in _group(model, [len(row) for row in rows]):
        of_group = np.asarray(model.predict_on_batch(pad([rows[i] for i in group], shape)))
        vectors[group] = of_group[: len(group)]
        if progress:
            progress(len(group))
    return vectors


def _group(model, lengths):
    """Return groups of texts, each with the shape of its ids, or with None where any shape will do."""
    if compiles_each_shape() and lengths:
        return group_in_shapes(lengths, note_longest(model, max(lengths)))
    return [(group, None) for group in group_by_length(lengths)]
