"""The inputs of a run: all that its two stages learn from and how, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..data.parallel import in_languages
from ..errors import ConfigError
from ..export.weights.precision import Precision
from ..settings.sections import PairSettings, StudentSettings, TeacherSettings, VocabularySettings

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..data.more_questions import Triplets
    from ..data.pairs import Pairs
    from ..data.parallel import Parallel
    from ..data.pool import Pool
    from ..encoders.encoder import Encoder
    from ..stages.answering_passages import Answered
    from ..training.session import Scorer


@dataclass(frozen=True)
class Inputs:
    """All that a teacher and a student learn from, and the settings of how they learn it.

    `teacher` and `pairing` are the settings of stage 1, `student` those of stage 2, `vocabulary` of the student's
    pieces, and `precision` is that of its quantised epochs and of its bundle.

    `languages` are the questions', the teacher's first; `fixed` is a teacher that is not trained, None where stage 1
    trains one. `text`, by language, is what new pieces are learned from, `words`, with frequencies, get a piece each,
    `sources` are parallel text, `labelled` text that the teacher labels itself, and `triplets` more questions of the
    teacher's. `pairs` are what stage 1 by pairs learns from, `answered` tells self-training which passages answer, and
    `pool` is what language bias is measured on; None where nothing asks for them. `dev` is another data set whose dev
    questions choose epochs, `scorer` an encoder whose scores are labels, and `described` the data set with the
    descriptions that stage 2 learns too.
    """

    dataset: Dataset
    languages: tuple[str, ...]
    seed: int = 0
    teacher: TeacherSettings = field(default_factory=TeacherSettings)
    pairing: PairSettings = field(default_factory=PairSettings)
    student: StudentSettings = field(default_factory=StudentSettings)
    vocabulary: VocabularySettings = field(default_factory=VocabularySettings)
    precision: Precision = Precision()
    fixed: Encoder | None = None
    text: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sources: Sequence[Parallel] = ()
    labelled: Sequence[Parallel] = ()
    triplets: Sequence[Triplets] = ()
    pairs: Pairs | None = None
    answered: Answered | None = None
    pool: Pool | None = None
    dev: Dataset | None = None
    scorer: Scorer | None = None
    words: Mapping[str, float] = field(default_factory=dict)
    described: Dataset | None = None

    def scorer_of(self, stage: str) -> Scorer | None:
        """The encoder whose scores are labels of a stage, "teacher" or "student"; None without."""
        return self.scorer if self.scorer is not None and stage in self.scorer.settings.stages else None

    @property
    def lines(self) -> list[Parallel]:
        """All texts that the student learns beside the questions."""
        return [*self.sources, *self.labelled]

    @property
    def learned(self) -> tuple[str, ...]:
        """The languages that stage 2 learns: those with new rows alone where these alone are trained."""
        return learned_languages(self.student, self.teacher.language, self.languages, self.vocabulary.add_languages)

    @property
    def taught(self) -> Dataset:
        """The data set with its questions in the run's languages alone."""
        known = self.dataset.questions
        return replace(self.dataset, questions={name: known[name] for name in known if name in self.languages})

    @property
    def without_questions(self) -> bool:
        """True where lines of text are all that is learned."""
        return bool(self.lines) and not self.dataset.splits["train"]

    @property
    def learned_lines(self) -> list[Parallel]:
        """Of the `lines` those in languages that stage 2 learns."""
        if self.student.trained_weights != "new-rows":
            return self.lines
        lines = [in_languages(source, self.learned) for source in self.lines]
        return [source for source in lines if source.texts]

    @property
    def splits(self) -> list[str]:
        """The splits that are measured."""
        return measured_splits(self.dataset)

    @property
    def other_languages(self) -> tuple[str, ...]:
        """The question languages that are not the teacher's, over which a mean is taken."""
        others = tuple(language for language in self.languages if language != self.teacher.language)
        return others or self.languages


def learned_languages(
    student: StudentSettings, language: str, languages: Sequence[str], new: Sequence[str] = ()
) -> tuple[str, ...]:
    """Of the `languages` those that stage 2 learns: the `new` ones alone where only their rows are trained.

    The teacher's `language` is not among them where the student does not learn that. Raises `ConfigError` for none.
    """
    if student.trained_weights == "new-rows":
        return tuple(new)
    learned = tuple(one for one in languages if student.teacher_samples or one != language)
    if not learned:
        raise ConfigError(f"student.teacher_samples: questions are in {language} alone, so false leaves none to learn")
    return learned


def measured_splits(dataset: Dataset) -> list[str]:
    """The splits that are measured: dev, which steers training, and test where the data has it."""
    return [split for split in ("dev", "test") if split in dataset.splits]
