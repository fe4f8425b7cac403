"""One job of stage 1. Every command that trains a teacher builds it here, so that settings mean the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...data.dataset import Dataset
from ...data.more_questions import Triplets, draw_epoch, find_answer_sentences, make_collection
from ...data.pairs import Pairs, add_collection, add_sentences
from ...data.parallel import Parallel
from ...encoders.dual_encoder import DualEncoder
from ...encoders.encoder import KerasEncoder
from ..session import Session
from .pair_stage import PairOptions, make_miner, teach_pairs
from .triplet_stage import teach


@dataclass(frozen=True)
class TeacherJob:
    """A training of stage 1: by pairs if there are some, otherwise by triplets of one language.

    Attributes:
        dataset: The train questions.
        options: The options.
        languages: The languages of dev.
        triplets: Questions of other collections, with their passages.
        sources: Parallel text that asks too.
        pairs: The pairs, or None.
        mined: Whether the pairs were mined and have their negatives. Otherwise each epoch mines hard ones if the
            options ask for them.
    """

    dataset: Dataset
    options: PairOptions
    languages: Sequence[str]
    triplets: Sequence[Triplets] = ()
    sources: Sequence[Parallel] = ()
    pairs: Pairs | None = None
    mined: bool = False

    def of_mined(self, pairs: Pairs) -> TeacherJob:
        """Return the job on pairs that were mined for it."""
        return replace(self, pairs=pairs, mined=True)

    def train(self, base: KerasEncoder, session: Session) -> KerasEncoder | DualEncoder:
        """Train a copy of an encoder.

        Returns:
            The teacher: one encoder, or one per role.
        """
        data, options, teacher = self.dataset, self.options, self.options.teacher
        if self.pairs is None:
            return teach(base, data, teacher.language, teacher, options.seed, session, self.triplets)
        pairs = self.all_pairs(self.pairs)
        mines = options.pairs.hard_negatives and not self.mined
        mine = make_miner(data, options, pairs, self.triplets) if mines else None
        return teach_pairs(base, data, pairs, options, self.languages, mine, self.sources, session)

    def all_pairs(self, pairs: Pairs) -> Pairs:
        """Add the sentences that hold answers, and the pairs of other collections, as the options ask for."""
        teacher = self.options.teacher
        if teacher.answer_sentences:
            pairs = add_sentences(pairs, find_answer_sentences(self.dataset, pairs.questions))
        if not self.triplets:
            return pairs
        collection = make_collection(self.triplets, teacher.language, teacher.answer_sentences)
        count, seed = len(pairs.questions), self.options.seed
        rows_of = partial(draw_epoch, self.triplets, teacher.triplets_an_epoch, count, seed)
        return add_collection(pairs, collection, teacher.language, rows_of)
