"""One job of stage 2. Every command that trains a student builds it here, so that settings mean the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...data.dataset import Dataset
from ...data.more_questions import Triplets, draw_epoch, find_answer_sentences, make_collection
from ...data.pairs import Pairs, add_collection, add_sentences
from ...data.parallel import Parallel, compute_shares, count_pivots
from ...encoders.catalog.loading import load_stored_table
from ...encoders.dual_encoder import DualEncoder
from ...encoders.encoder import Encoder, KerasEncoder
from ...export.rounding import promote_rows, round_dense
from ...export.weights.precision import Precision
from ...settings.sections import StudentSettings
from ...students.embeddings import replace_table
from ...students.vocabulary.pieces import find_added_tokens
from ...system.progress import task
from ...system.types import Integers
from ..session import Scorer, Session
from .lines import Lines, label_translations
from .pair_stage import PairOptions, make_miner, teach_pairs
from .targets import Targets, add_scores
from .transfer_stage import require_codewords, train_towards
from .triplet_stage import teach


@dataclass(frozen=True)
class StudentJob:
    """A training of stage 2: the data that a student learns, and how its weights are rounded.

    Attributes:
        dataset: The train questions, with descriptions if these are learned too.
        settings: The settings of stage 2.
        scorer: An encoder whose scores are labels, or None.
        table_of: The name of the encoder that the student's table comes from. Its codewords are kept if it has some.
    """

    dataset: Dataset
    language: str
    languages: Sequence[str]
    settings: StudentSettings
    precision: Precision
    seed: int = 0
    sources: Sequence[Parallel] = ()
    scorer: Scorer | None = None
    table_of: str = ""

    def lines(self, teacher: Encoder) -> Lines | None:
        """Return the parallel text with the teacher's vectors of its pivots, or None without any."""
        if not self.sources:
            return None
        with task("teacher's vectors of lines of text", count_pivots(self.sources)) as advance:
            return label_translations(self.sources, teacher, self.settings.parallel_temperature, advance)

    def targets(self, teacher: Encoder, lines: Lines | None = None) -> Targets:
        """Encode everything that is learned by the teacher and the scorer."""
        lines = lines or self.lines(teacher)
        data, language, units = self.dataset, self.language, self.settings.units
        texts = len(data.select(language, "train")) + sum(len(data.texts(unit)) for unit in units)
        with task("teacher's vectors of questions and documents", texts) as advance:
            targets = Targets.of(teacher, data, language, units, lines, advance)
        return add_scores(targets, self.scorer, data, language, units)

    def reweight(self, targets: Targets) -> Targets:
        """Return the targets of another job on the same sources, with lines drawn as this job's settings ask for."""
        if targets.lines is None or not self.sources:
            return targets
        chances = compute_shares(self.sources, self.settings.parallel_temperature)
        return replace(targets, lines=replace(targets.lines, chances=chances))

    def train(
        self, targets: Targets, start: KerasEncoder, first: KerasEncoder, session: Session | None = None
    ) -> KerasEncoder:
        """Train a student towards targets. `first` is the encoder that `start` was made of."""
        targets = replace(targets, trained=self.trained_rows(start, first))
        settings, precision = self.settings, self.precision_of(start)
        return train_towards(targets, start, self.dataset, self.languages, settings, self.seed, session, precision)

    def trained_rows(self, start: KerasEncoder, first: KerasEncoder) -> Integers | None:
        """Return the embeddings that are trained if only a part of the table is.

        `first` is the encoder that it was made of. New embeddings are those of tokens that it lacks. Returns the rows,
        int64 `(m,)`, or None for all weights, or for embeddings chosen by their use.
        """
        if self.settings.trained_weights == "new-rows":
            return find_added_tokens(first.tokenizer, start.tokenizer)
        return np.arange(len(start.tokenizer)) if self.settings.trained_weights == "table" else None

    def precision_of(self, student: KerasEncoder) -> Precision:
        """Return the precision of a student's weights, with the codewords that its table is kept in, if it has any."""
        stored = load_stored_table(self.table_of, self.precision.table, student) if self.table_of else None
        return replace(self.precision, stored=stored)

    def require_codewords(self, start: KerasEncoder) -> None:
        """Raise `ConfigError` if codewords are trained and the start has none, before the teacher encodes anything."""
        if self.settings.train_codewords:
            require_codewords(self.precision_of(start))

    def promote(self, student: KerasEncoder) -> tuple[KerasEncoder, Precision]:
        """Return the student and its precision, with the embeddings in 8 bits that codewords would change most."""
        return promote_rows(student, self.precision_of(student))

    def prepare_export(
        self, student: KerasEncoder, precision: Precision, texts: Mapping[str, Sequence[str]]
    ) -> tuple[KerasEncoder, Precision]:
        """Return a student and its precision as they are exported.

        After quantised epochs it has the codewords of these. Dense layers of 4 bits that are not rounded yet, also of a
        start that was kept, are rounded to suit the tokens of `texts` (`rounding.round_dense`). `student` is the
        student that `promote` returned.
        """
        if self.settings.epochs and self.settings.quantised_epochs and precision.stored:
            model = replace_table(student.model, precision.stored.values)
            student = KerasEncoder(model, student.tokenizer, student.name)
        return round_dense(student, precision, texts), precision


@dataclass(frozen=True)
class TeacherJob:
    """A training of stage 1: by pairs if there are some, otherwise by triplets of one language.

    Attributes:
        triplets: Questions of other collections, with their passages.
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
        return replace(self, pairs=pairs, mined=True)

    def train(self, base: KerasEncoder, session: Session) -> KerasEncoder | DualEncoder:
        """Train a copy of an encoder. Returns the teacher: one encoder, or one per role."""
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
