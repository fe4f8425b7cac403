"""One job of stage 2. Every command that trains a student builds its training here, so that settings mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..catalog.loading import load_stored_table
from ..data.dataset import Dataset
from ..data.parallel import Parallel, pivots, shares
from ..encoders.encoder import Encoder, KerasEncoder
from ..export.rounding import promote_rows, round_dense
from ..export.weights.precision import Precision
from ..settings.sections import StudentSettings
from ..students.rows import with_table
from ..students.vocabulary.pieces import added_pieces
from ..system.progress import task
from ..system.types import Integers
from ..training.session import Scorer, Session
from .lines import Lines, translations
from .transfer_stage import Targets, learn, with_scores


@dataclass(frozen=True)
class StudentJob:
    """All that makes a training of stage 2: the data that a student learns, and how its weights are rounded.

    `settings` are those of stage 2. `dataset` holds the train questions, with its descriptions where these are learned
    too; `language` is the teacher's, `languages` are those that the student learns, `sources` the parallel text beside
    the questions. `scorer` is an encoder whose scores are labels. `precision` is that of the last, quantised, epochs;
    `table_of` names the encoder that the student's table comes from, whose codewords are kept where it has some.
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

    def run(self, teacher: Encoder, start: KerasEncoder, first: KerasEncoder, session: Session) -> KerasEncoder:
        """Ask the teacher, and train a copy of `start`, which was made of `first`, towards it; return the student."""
        return self.train(self.targets(teacher), start, first, session)

    def lines(self, teacher: Encoder) -> Lines | None:
        """The lines of the parallel text with the teacher's vectors of what they translate; None without any."""
        if not self.sources:
            return None
        with task("teacher's vectors of lines of text", pivots(self.sources)) as advance:
            return translations(self.sources, teacher, self.settings.parallel_temperature, advance)

    def targets(self, teacher: Encoder, lines: Lines | None = None) -> Targets:
        """The teacher's vectors of all that is learned, and the scorer's; `lines` stand in place of the sources'."""
        lines = lines or self.lines(teacher)
        data, language, units = self.dataset, self.language, self.settings.units
        texts = len(data.select(language, "train")) + sum(len(data.texts(unit)) for unit in units)
        with task("teacher's vectors of questions and documents", texts) as advance:
            targets = Targets.of(teacher, data, language, units, lines, advance)
        return with_scores(targets, self.scorer, data, language, units)

    def reweighted(self, targets: Targets) -> Targets:
        """The targets of another job on the same sources, whose lines are drawn as this job's settings say."""
        if targets.lines is None or not self.sources:
            return targets
        chances = shares(self.sources, self.settings.parallel_temperature)
        return replace(targets, lines=replace(targets.lines, chances=chances))

    def train(
        self, targets: Targets, start: KerasEncoder, first: KerasEncoder, session: Session | None = None
    ) -> KerasEncoder:
        """Train a copy of `start`, which was made of `first`, towards the targets; return the student."""
        targets = replace(targets, trained=self.trained_rows(start, first))
        settings, precision = self.settings, self.precision_of(start)
        return learn(targets, start, self.dataset, self.languages, settings, self.seed, session, precision)

    def trained_rows(self, start: KerasEncoder, first: KerasEncoder) -> Integers | None:
        """The rows of the table that alone are trained, int64 `(m,)`; None for all weights, or for rows by their use.

        New rows are those of pieces that `first` lacks.
        """
        if self.settings.trained_weights == "new-rows":
            return added_pieces(first.tokenizer, start.tokenizer)
        return np.arange(len(start.tokenizer)) if self.settings.trained_weights == "table" else None

    def precision_of(self, student: KerasEncoder) -> Precision:
        """The precision of a student's weights, with the codewords that its table is kept in, if it has any."""
        stored = load_stored_table(self.table_of, self.precision.table, student) if self.table_of else None
        return replace(self.precision, stored=stored)

    def promote(self, student: KerasEncoder) -> tuple[KerasEncoder, Precision]:
        """Return the student and its precision, with the rows that codewords would change most in 4 bits."""
        return promote_rows(student, self.precision_of(student))

    def exported(
        self, student: KerasEncoder, precision: Precision, texts: Mapping[str, Sequence[str]]
    ) -> tuple[KerasEncoder, Precision]:
        """Return what `promote` gave as it is exported: after quantised epochs with the codewords that these saw.

        Without such epochs dense layers of 4 bits are rounded to what the tokens of `texts`, by language, need of them,
        see `rounding.round_dense`; else the student itself is exported.
        """
        if not (self.settings.epochs and self.settings.quantised_epochs):
            return round_dense(student, precision, texts), precision
        if not precision.stored:
            return student, precision
        model = with_table(student.model, precision.stored.values)
        return KerasEncoder(model, student.tokenizer, student.name), precision
