"""The encoders that stage 1 by pairs trains: one for questions and passages, or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from ...encoders.dual_encoder import DualEncoder
from ...encoders.encoder import KerasEncoder, encode_ids
from ...students.embeddings import UsedRows
from ...system.types import Floats, Integers, Model, Tensor
from ..batches import StepInput
from ..dev_score import DevScore
from ..session import Scores
from ..trainer import Trainer, select_packed

# Places `(l,)` of a batch's texts, and `(l, 1)`, 0 for one that does not count.
Places: TypeAlias = NDArray[np.int32]
Part: TypeAlias = tuple[Places, Floats]


class SharedTower:
    """One encoder of questions and passages, `E_q = E_p`, whose rows count questions first. Sentri, section 3.1."""

    def __init__(self, base: KerasEncoder, questions: list[list[int]], passages: list[list[int]], dev: DevScore):
        self.base, self.first = base, len(questions)
        self.used = UsedRows(base.model, [*questions, *passages, *dev.tokens])
        self.tokens = self.used.ids([*questions, *passages])
        self.score = partial(dev.score, self.used)
        self.trainer = partial(Trainer, self.used.small)

    def pack(self, rows: Integers) -> StepInput:
        """Return the trainer's input for texts, given their rows, ascending."""
        return self.used.small.pack([self.tokens[row] for row in rows])

    def vectors(self, rows: Integers) -> Floats:
        """Return the vectors `(n, d)` of texts, without gradients."""
        return encode_ids(self.used.small, [self.tokens[row] for row in rows])

    def split(self, rows: Integers, parts: int) -> list[Part]:
        """Split rows into parts. Returns the parts, as `split_places` returns them."""
        return split_places(np.arange(len(rows), dtype=np.int32), parts)

    def encoder(self, name: str) -> KerasEncoder:
        """Return the encoder as it is trained so far, under a name."""
        return KerasEncoder(self.used.restore(self.base.model), self.base.tokenizer, name)


class TwoTowers:
    """An encoder of questions and one of passages, which start alike, `E_q != E_p`. Sentri's Bi-Encoder."""

    def __init__(self, base: KerasEncoder, questions: list[list[int]], passages: list[list[int]], dev: DevScore):
        self.base, self.first, self.dev = base, len(questions), dev
        of_dev = [ids for rows in dev.questions.values() for ids in rows]
        self.used = UsedRows(base.model, [*questions, *of_dev]), UsedRows(base.model, [*passages, *dev.documents])
        self.tokens = self.used[0].ids(questions) + self.used[1].ids(passages)
        self.trainer = partial(TowersTrainer, Towers(*(used.small for used in self.used)))

    def pack(self, rows: Integers) -> StepInput:
        """Return the trainer's input as `SharedTower.pack` does; the passages' arrays have names of their own."""
        small, are_questions = self.used[0].small, rows < self.first
        of_question = small.pack([self.tokens[row] for row in rows[are_questions]])
        of_passage = small.pack([self.tokens[row] for row in rows[~are_questions]])
        return {**of_question, **{f"passage_{name}": value for name, value in of_passage.items()}}

    def vectors(self, rows: Integers) -> Floats:
        """Return the vectors `(n, d)` of texts, without gradients."""
        vectors = np.zeros((len(rows), int(self.base.model.output_shape[-1])), dtype=np.float32)
        for used, chosen in zip(self.used, (rows < self.first, rows >= self.first), strict=True):
            vectors[chosen] = encode_ids(used.small, [self.tokens[row] for row in rows[chosen]])
        return vectors

    def split(self, rows: Integers, parts: int) -> list[Part]:
        """Split rows as `SharedTower.split` does; each part has questions and passages."""
        places = np.arange(len(rows), dtype=np.int32)
        both = [split_places(places[chosen], parts) for chosen in (rows < self.first, rows >= self.first)]
        return [
            (np.concatenate([question[0], passage[0]]), np.concatenate([question[1], passage[1]]))
            for question, passage in zip(*both, strict=True)
        ]

    def score(self) -> Scores:
        return self.dev.score(*self.used)

    def encoder(self, name: str) -> DualEncoder:
        """Return the two encoders as they are trained so far, as one."""
        question, document = (
            KerasEncoder(used.restore(self.base.model), self.base.tokenizer, name) for used in self.used
        )
        return DualEncoder(question, document, name)


TOWERS: dict[str, type[SharedTower] | type[TwoTowers]] = {"single": SharedTower, "dual": TwoTowers}


def split_places(places: Places, parts: int) -> list[Part]:
    """Split places into parts.

    Returns the places `(l,)` and weights `(l, 1)` of each part. An empty part has one place of weight 0.
    """
    pieces = [(part, np.ones((len(part), 1), dtype=np.float32)) for part in np.array_split(places, parts)]
    return [part if len(part[0]) else (places[:1], np.zeros((1, 1), dtype=np.float32)) for part in pieces]


class Towers(keras.Model):
    """Two students, of questions and of passages, as one model to train."""

    def __init__(self, question: Model, passage: Model):
        super().__init__()
        self.towers = [question, passage]
        self.built = True


class TowersTrainer(Trainer):
    """A trainer of `Towers`: the vectors of the questions come first, then those of the passages."""

    def call(self, x: Mapping[str, Tensor]) -> Tensor:
        """Return the vectors `(n, d)`."""
        question, passage = self.encoder.towers
        packed = select_packed(x), select_packed(x, "passage_")
        return ops.concatenate([self.encode_packed(question, packed[0]), self.encode_packed(passage, packed[1])])
