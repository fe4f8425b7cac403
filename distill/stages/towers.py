"""What stage 1 by pairs trains: one encoder of questions and passages, or one of each."""

from collections.abc import Callable
from functools import partial

import keras
import numpy as np
from keras import ops

from ..encoders.batching import pack
from ..encoders.by_role import DualEncoder
from ..encoders.encoder import KerasEncoder, encode_ids
from ..students.rows import UsedRows
from ..training.trainer import Trainer


class Shared:
    """One encoder of both, `E_q = E_p`. Sentri, section 3.1.

    Questions and passages `(n,)` and what `dev`, a `DevScore`, asks are token ids; rows count questions first.
    """

    def __init__(self, base, questions, passages, dev):
        self.base, self.first = base, len(questions)
        self.used = UsedRows(base.model, questions + passages + dev.tokens)
        self.tokens = self.used.ids(questions + passages)
        self.score = partial(dev.score, self.used)
        self.trainer = partial(Trainer, self.used.small)

    def pack(self, rows):
        """What the trainer takes of texts, by their rows, ascending."""
        return pack([self.tokens[row] for row in rows], self.used.small.gap)

    def vectors(self, rows):
        """`(n, d)`, without gradients."""
        return encode_ids(self.used.small, [self.tokens[row] for row in rows])

    def split(self, rows, parts):
        """`parted` places of `rows`."""
        return parted(np.arange(len(rows), dtype=np.int32), parts)

    def encoder(self, name):
        return KerasEncoder(self.used.restore(self.base.model), self.base.tokenizer, name)


class Separate:
    """An encoder of questions and one of passages, which start alike, `E_q != E_p`. Sentri's Bi-Encoder."""

    def __init__(self, base, questions, passages, dev):
        self.base, self.first, self.dev = base, len(questions), dev
        asked = [ids for rows in dev.questions.values() for ids in rows]
        self.used = UsedRows(base.model, questions + asked), UsedRows(base.model, passages + dev.documents)
        self.tokens = self.used[0].ids(questions) + self.used[1].ids(passages)
        self.trainer = partial(TowersTrainer, Towers(*(used.small for used in self.used)))

    def pack(self, rows):
        gap, asked = self.used[0].small.gap, rows < self.first
        of_question = pack([self.tokens[row] for row in rows[asked]], gap)
        of_passage = pack([self.tokens[row] for row in rows[~asked]], gap)
        return {**of_question, **{f"passage_{name}": value for name, value in of_passage.items()}}

    def vectors(self, rows):
        found = np.zeros((len(rows), int(self.base.model.output_shape[-1])), dtype=np.float32)
        for used, chosen in zip(self.used, (rows < self.first, rows >= self.first), strict=True):
            found[chosen] = encode_ids(used.small, [self.tokens[row] for row in rows[chosen]])
        return found

    def split(self, rows, parts):
        """As `Shared.split`; each part has questions and passages."""
        places = np.arange(len(rows), dtype=np.int32)
        both = [parted(places[chosen], parts) for chosen in (rows < self.first, rows >= self.first)]
        return [tuple(map(np.concatenate, zip(*pair, strict=True))) for pair in zip(*both, strict=True)]

    def score(self):
        return self.dev.score(*self.used)

    def encoder(self, name):
        question, document = (
            KerasEncoder(used.restore(self.base.model), self.base.tokenizer, name) for used in self.used
        )
        return DualEncoder(question, document, name)


TOWERS: dict[str, Callable] = {"single": Shared, "dual": Separate}


def parted(places, parts):
    """`[(places (l,), counted (l, 1))]`, as many as asked for; one that would be empty has one that does not count."""
    found = [(part, np.ones((len(part), 1), dtype=np.float32)) for part in np.array_split(places, parts)]
    return [part if len(part[0]) else (places[:1], np.zeros((1, 1), dtype=np.float32)) for part in found]


class Towers(keras.Model):
    """Two students as one model to train: `towers`, of questions and of passages."""

    def __init__(self, question, passage):
        super().__init__()
        self.towers = [question, passage]
        self.built = True


class TowersTrainer(Trainer):
    """A `Trainer` of `Towers`: vectors of the questions, then of the passages, whose ids are apart."""

    def call(self, x):
        question, passage = self.encoder.towers
        vectors = self.encoded(question, x["ids"], x["segments"], x["counts"])
        return ops.concatenate(
            [vectors, self.encoded(passage, x["passage_ids"], x["passage_segments"], x["passage_counts"])]
        )
