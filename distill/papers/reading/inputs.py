"""The inputs of a reader's network, from questions and passages whose tokens and vectors are computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...encoders.encoder import Encoder
from ...system.types import Floats, Integers, Progress
from .examples import Example, Span, Text
from .pieces import PlacingTokenizer, TokenisedText, passage_features, tokenise_text

# Number of tokens of a question that are read.
QUESTION_TOKENS = 40
# Lengths are rounded up to these, so that only a few shapes occur.
LENGTHS = (32, 64, 128, 192, 256, 320)
QUESTION_LENGTHS = (16, 24, QUESTION_TOKENS)
# The numbers of unit vectors are small, so they are scaled up for the network.
VECTOR_SCALE = 10.0
# The first rows, of the most frequent tokens, whose mean and spread stand for all.
SAMPLE = 30_000


@dataclass(frozen=True)
class EmbeddingScale:
    """The mean and the spread by which the embeddings of a table are standardised.

    Attributes:
        mean: Float array `(width,)`.
        spread: Standard deviation of all numbers.
    """

    mean: Floats
    spread: float

    @classmethod
    def of(cls, table: Floats) -> EmbeddingScale:
        """Return mean and spread of the frequent rows of a table `(rows, width)`."""
        some = table[:SAMPLE].astype(np.float32)
        return cls(some.mean(axis=0), float(some.std()))

    def standardise(self, rows: Floats) -> Floats:
        """Return rows `(t, width)` standardised, as float32."""
        return ((rows.astype(np.float32) - self.mean) / self.spread).astype(np.float32)


@dataclass(frozen=True)
class TextFeatures:
    """The source of a reader's features: an encoder, its tokenizer and its embeddings `(rows, width)`."""

    encoder: Encoder
    cutter: PlacingTokenizer
    table: Floats
    standard: EmbeddingScale

    def embeddings(self, ids: Integers) -> Floats:
        """Return the standardised embeddings of token ids `(t,)`, float32 `(t, width)`."""
        return self.standard.standardise(self.table[ids])


@dataclass(frozen=True)
class ExampleFeatures:
    """The features of a question and its passage, of t tokens.

    Attributes:
        features: Float32 array `(t, FEATURES)` of the passage's tokens.
        vector: Float array `(d,)`, the question's vector.
    """

    passage: TokenisedText
    question: TokenisedText
    features: Floats
    vector: Floats

    @property
    def question_length(self) -> int:
        """Return the number of tokens of the question that are read."""
        return min(len(self.question), QUESTION_TOKENS)


class Featuriser:
    """Turns examples into features, and remembers the tokens and vectors of texts."""

    def __init__(self, features: TextFeatures) -> None:
        self.features = features
        self.vectors: dict[tuple[str, str], Floats] = {}
        self.pieces: dict[tuple[str, str], TokenisedText] = {}

    def featurise(self, examples: Sequence[Example], progress: Progress | None = None) -> list[ExampleFeatures]:
        self._encode(examples)
        seen = []
        for example in examples:
            seen.append(self._featurise_one(example))
            if progress:
                progress()
        return seen

    def _featurise_one(self, example):
        question = Text(example.question, example.language)
        passage, pieces = self._pieces(example.passage), self._pieces(question)
        vector = self.vectors["question", example.question]
        sentences = np.stack([self.vectors["document", text] for text in _sentences(example.passage)])
        return ExampleFeatures(
            passage, pieces, passage_features(passage, pieces, sentences @ vector, example.passage), vector
        )

    def _pieces(self, text):
        key = text.language, text.text
        if key not in self.pieces:
            self.pieces[key] = tokenise_text(text, self.features.cutter)
        return self.pieces[key]

    def _encode(self, examples):
        passages = {example.passage.text: example.passage for example in examples}
        sentences = [sentence for passage in passages.values() for sentence in _sentences(passage)]
        self._vectors("question", [example.question for example in examples])
        self._vectors("document", sentences)

    def _vectors(self, role, texts):
        new = [text for text in dict.fromkeys(texts) if (role, text) not in self.vectors]
        if new:
            vectors = self.features.encoder.encode(new, role)
            self.vectors |= {(role, text): vector for text, vector in zip(new, vectors, strict=True)}


def _sentences(passage):
    return [passage.text[start:end] for start, end in passage.sentences]


def make_batch(
    parts: Sequence[tuple[ExampleFeatures, Span]], rows: Callable[[Integers], Floats]
) -> dict[str, NDArray[np.float32]]:
    """Return the inputs of `network.ReaderNetwork` for windows of passages: `{input: array}`, float32.

    Args:
        parts: The features and the window `(start, end)`, in tokens, of each row of the batch.
        rows: Function from token ids to standardised embeddings.
    """
    length = round_up(max(end - start for _, (start, end) in parts), LENGTHS)
    width = round_up(max(seen.question_length for seen, _ in parts), QUESTION_LENGTHS)
    passages = [rows(seen.passage.ids[start:end]) for seen, (start, end) in parts]
    questions = [rows(seen.question.ids[:width]) for seen, _ in parts]
    return {
        "passage": _pad_arrays(passages, length),
        "question": _pad_arrays(questions, width),
        "features": _pad_arrays([seen.features[start:end] for seen, (start, end) in parts], length),
        "vector": np.stack([seen.vector * VECTOR_SCALE for seen, _ in parts]).astype(np.float32),
        "passage_keep": _pad_arrays([np.ones((len(one), 1)) for one in passages], length),
        "question_keep": _pad_arrays([np.ones((len(one), 1)) for one in questions], width),
    }


def round_up(size: int, lengths: Sequence[int]) -> int:
    """Return the least of some lengths that is not below a size, or the size itself if all are."""
    return next((length for length in lengths if size <= length), size)


def _pad_arrays(arrays, length):
    padded = np.zeros((len(arrays), length, arrays[0].shape[1]), dtype=np.float32)
    for row, array in zip(padded, arrays, strict=True):
        row[: len(array)] = array
    return padded
