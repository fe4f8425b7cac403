"""The inputs of a run: everything that its two stages learn from, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...data.dataset import Dataset
from ...data.parallel import select_languages
from ...errors import ConfigError, DataError, InputError
from ...evaluation.translation import SourceText, TranslationSource, translation_of
from ...export.weights.precision import Precision
from ...settings.sections import PairSettings, StudentSettings, TeacherSettings, TranslationSettings, VocabularySettings
from ...system.progress import say, task

if TYPE_CHECKING:
    from ...data.more_questions import Triplets
    from ...data.pairs import Pairs
    from ...data.parallel import Parallel
    from ...data.pool import Pool
    from ...encoders.encoder import Encoder
    from ...training.session import Scorer
    from ...training.stages.answering_passages import AnsweringPassages


# Objectives that need no question and no document.
OF_LINES = ("qq", "list", "translation")
SAMPLE = "sample"
SAMPLE_NOTE = (
    "the sample's questions are learned besides the text, and choose the epoch; name a --dataset of yours, or learn "
    "text alone by distill run --teacher-model without one"
)


@dataclass(frozen=True)
class Inputs:
    """Everything that a teacher and a student learn from, and how they learn it.

    Attributes:
        teacher: The settings of stage 1.
        pairing: The settings of stage 1's pairs.
        student: The settings of stage 2.
        precision: The precision of the student's quantised epochs and of its bundle.
        fixed: A teacher that is not trained, or None if stage 1 trains one.
        pairs: The pairs that stage 1 learns from with `--loss softmax`, else None.
        answered: The passages that answer questions, for self-training, else None.
        pool: The pool that language bias is measured on, else None.
        dev: Another data set whose dev questions choose epochs, else None.
        scorer: An encoder whose scores are labels, else None.
        words: Words with frequencies that get a token each.
        described: The data set with the descriptions that stage 2 learns, else None.
        titled: The data set with the descriptions and titles that stage 1 learns, else None.
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
    answered: AnsweringPassages | None = None
    pool: Pool | None = None
    dev: Dataset | None = None
    scorer: Scorer | None = None
    words: Mapping[str, float] = field(default_factory=dict)
    described: Dataset | None = None
    titled: Dataset | None = None

    def scorer_of(self, stage: str) -> Scorer | None:
        """Return the encoder whose scores are labels of a stage, "teacher" or "student", or None."""
        return self.scorer if self.scorer is not None and stage in self.scorer.settings.stages else None

    @property
    def lines(self) -> list[Parallel]:
        """All texts that the student learns besides the questions."""
        return [*self.sources, *self.labelled]

    @property
    def learned(self) -> tuple[str, ...]:
        """The languages that stage 2 learns: the new ones if only their embeddings are trained."""
        return choose_student_languages(
            self.student, self.teacher.language, self.languages, self.vocabulary.add_languages
        )

    @property
    def teacher_questions(self) -> Dataset:
        """The data set that stage 1 learns, with the questions of the run's languages only."""
        dataset = self.titled or self.dataset
        known = dataset.questions
        return replace(dataset, questions={name: known[name] for name in known if name in self.languages})

    @property
    def without_questions(self) -> bool:
        """True where lines of text are all that is learned."""
        return bool(self.lines) and not self.dataset.splits["train"]

    @property
    def student_lines(self) -> list[Parallel]:
        """The `lines` in languages that stage 2 learns."""
        if self.student.trained_weights != "new-rows":
            return self.lines
        lines = [select_languages(source, self.learned) for source in self.lines]
        return [source for source in lines if source.texts]

    @property
    def splits(self) -> list[str]:
        return splits_to_measure(self.dataset)

    @property
    def other_languages(self) -> tuple[str, ...]:
        """The languages of the questions except the teacher's. Means are taken over them."""
        others = tuple(language for language in self.languages if language != self.teacher.language)
        return others or self.languages


def learns_sample(inputs: Inputs, corpus: Mapping[str, Sequence[str]] | None = None) -> bool:
    """Return whether text is named and the data set is still the sample, whose questions a user may not expect."""
    texts = (*inputs.student.parallel, *inputs.student.labelled_text, *inputs.vocabulary.text, *(corpus or ()))
    return bool(texts) and inputs.dataset.name == SAMPLE


def choose_student_languages(
    student: StudentSettings, language: str, languages: Sequence[str], new: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the languages that stage 2 learns: the teacher's only if `student.teacher_samples` is true."""
    if student.trained_weights == "new-rows":
        return tuple(new)
    learned = tuple(one for one in languages if student.teacher_samples or one != language)
    if not learned:
        raise ConfigError(f"student.teacher_samples: questions are in {language} alone, so false leaves none to learn")
    return learned


def require_learnable(inputs: Inputs, with_corpus: bool = False) -> Inputs:
    """Return the inputs if stage 2 has something to learn: questions with a version in the teacher's language, or lines
    by objectives that need no question. With a corpus there are lines that are not among the inputs.

    Say in which languages there is nothing.
    """
    data, student, language = inputs.described or inputs.dataset, inputs.student, inputs.teacher.language
    known = {question.id for question in data.select(language, "train")}
    apart = [one for one in inputs.learned if known.isdisjoint(q.id for q in data.select(one, "train"))]
    if not student.epochs:
        return inputs
    if len(apart) < len(inputs.learned):
        written = {one for source in inputs.student_lines for one in source.languages}
        if silent := [one for one in apart if one not in written and not with_corpus]:
            say(
                f"{data.name}: no train question in {', '.join(silent)} has a version in {language}, the teacher's "
                "language, under its id, so the student learns nothing in it; add some, translations or parallel text"
            )
        return inputs
    spoken = ", ".join(inputs.learned)
    if not (inputs.student_lines or with_corpus):
        raise DataError(
            f"{data.name}: no train question in {spoken} has a version in {language}, the teacher's language, under "
            "its id; add some, or translations"
        )
    if not student.lines_a_step:
        raise ConfigError(
            f"student.lines_a_step: 0 leaves nothing to learn, as no train question of {data.name} in {spoken} has a "
            f"version in {language}; expected 1 or more"
        )
    if other := [name for name in student.objectives if name not in OF_LINES]:
        raise ConfigError(
            f"student.objectives: {', '.join(other)} learns from questions, and {data.name} has no train questions in "
            f"{spoken} with a version in {language}; expected some of {', '.join(OF_LINES)}"
        )
    return inputs


def splits_to_measure(dataset: Dataset) -> list[str]:
    """Return the splits that are measured: dev, which steers training, and test if the data has it."""
    return [split for split in ("dev", "test") if split in dataset.splits]


def add_translated_questions(
    options: TranslationSettings, dataset: Dataset, language: str, languages: Sequence[str]
) -> Dataset:
    """Add translations of questions into the teacher's language.

    A question gets a translation if the teacher's language has no question of its id; one without a translation stays
    as it is, and is counted. Dev and test stay as they are, unless nobody asks in the teacher's language: all splits
    get translations then.
    """
    translation = translation_of(options.file or None, options.translators, options.beam or None, language)
    if translation is None:
        return dataset
    known, others = dataset.questions.get(language, {}), [one for one in languages if one in dataset.questions]
    splits = ("train",) if known else tuple(dataset.splits)
    alone = [q for one in others for split in splits for q in dataset.select(one, split) if q.id not in known]
    twins = _translate_questions(translation, dataset, alone, language)
    missing = {question.id for question in alone}
    if not missing:
        raise InputError(f"{translation.name}: each train question has one in {language}; leave the translations out")
    if not twins:
        raise DataError(f"{translation.name}: no translation of a train question without one in {language}")
    if bare := [split for split in splits if not set(dataset.splits[split]) & {*known, *twins}]:
        raise DataError(f"{translation.name}: no translation of a question of {', '.join(bare)} into {language}")
    summary = f"{len(twins)} of {len(missing)} {', '.join(splits)} questions"
    say(f"{translation.name}: {summary} without one in {language} translated")
    questions = {q.id: replace(q, language=language, text=twins[q.id]) for q in reversed(alone) if q.id in twins}
    return replace(dataset, questions={**dataset.questions, language: {**known, **questions}})


def needed_question_languages(translation: TranslationSettings, language: str) -> tuple[str, ...]:
    return () if translation.file or translation.translators else (language,)


def _translate_questions(translation: TranslationSource, dataset: Dataset, alone, language):
    """Return the translation of each question by its id, from the first of its languages that has one."""
    pivots: dict[str, str | None] = dict.fromkeys(id for of in dataset.questions.values() for id in of)
    pivots.update({id: question.text for id, question in dataset.questions.get(language, {}).items()})
    # Ids that the data lacks are refused, whether any translation is needed or not.
    translation.texts((), pivots)
    twins = {}
    with task(f"train questions translated by {translation.name}", len(alone)) as advance:
        for one in dict.fromkeys(question.language for question in alone):
            rest = [q for q in alone if q.language == one and q.id not in twins]
            texts = translation.texts([SourceText(q.id, q.language, q.text) for q in rest], pivots, advance)
            twins.update({q.id: text for q, text in zip(rest, texts, strict=True) if text})
    return twins
