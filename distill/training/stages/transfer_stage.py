"""Stage 2: the student learns the teacher's space in every language. CL-ReLKT, section 3.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ...data.dataset import Dataset, name_line
from ...encoders.batching import SAMPLE_TOKENS, draw_texts, shuffle_batches
from ...encoders.batching import draw_rows as draws
from ...encoders.encoder import Encoder, KerasEncoder
from ...errors import ConfigError
from ...evaluation.resampling import sign_flip_p
from ...export.rounding import has_rounded_blocks
from ...export.weights.precision import Precision
from ...export.weights.stored_table import StoredTable
from ...settings.sections import StudentSettings, TrainingSettings
from ...students.embeddings import UsedRows, replace_table
from ...students.families import import_part
from ...system.progress import say
from ...system.types import Doubles, IdLists, Integers, Model
from ..batches import BatchMaker, StepInput, name_questions
from ..checkpoints import WHITENING
from ..dev_score import DevScore
from ..devices import require_devices, share_devices
from ..fake_quantisation import fake_kernels
from ..loop import fit
from ..losses import DISTANCES, make_whitened_l2, nest_distance
from ..rates import TableSchedule
from ..session import Schedule, Scores, Session, name_session
from ..trainer import NamedTerms, Trainer
from .lines import Lines, TypingNoise
from .objectives import Labels, Objective, Step, compute_terms, list_objectives
from .targets import Targets, make_labels, require_dimension, require_prefixes

# The value of `student.distance` that needs matrices.
WHITENED = "whitened"


def transfer(
    teacher: Encoder,
    start: KerasEncoder,
    dataset: Dataset,
    teacher_language: str,
    languages: Sequence[str],
    settings: StudentSettings,
    seed: int = 0,
    session: Session | None = None,
) -> KerasEncoder:
    """Train a copy of an encoder towards a fixed teacher.

    The teacher encodes the questions in its language and the documents once. Its vectors are the labels. A
    student of fewer dimensions learns their projection onto its axes. The start has to be in the teacher's space, as no
    map is added here; `distill.run` and the command add one. For more texts, or for several students of one teacher,
    make `Targets` and call `train_towards`.

    Args:
        teacher: The teacher.
        start: The encoder that the student starts from.
        dataset: The data set.
        teacher_language: The teacher's language.
        languages: The languages that the student learns.
        settings: The settings of stage 2.
        seed: The random seed.
        session: The session.

    Returns:
        The student.

    Raises:
        EncoderError: If teacher and student have spaces of different dimension.
        ConfigError: If the settings train codewords, which `distill.run` does of a bundle.

    Example:
        >>> import distill
        >>> teacher = start = distill.load_encoder("my-encoder")
        >>> data, settings = distill.load_dataset("my-data"), distill.StudentSettings(epochs=1)
        >>> student = distill.transfer(teacher, start, data, "en", ["de"], settings)
        >>> student.encode(["Wie alt ist es?"]).shape
        (1, 16)
    """
    session = session or Session()
    require_trainable(teacher, start, session.options)
    if settings.train_codewords:
        require_codewords(None)
    targets = Targets.of(teacher, dataset, teacher_language, settings.units)
    return train_towards(targets, start, dataset, languages, settings, seed, session)


def train_towards(
    targets: Targets,
    start: KerasEncoder,
    dataset: Dataset,
    languages: Sequence[str],
    settings: StudentSettings,
    seed: int = 0,
    session: Session | None = None,
    precision: Precision | None = None,
) -> KerasEncoder:
    """Train a copy of an encoder towards targets and their lines.

    The last `settings.quantised_epochs` round the weights to `precision`. With `settings.significance`, the start
    itself is returned if dev cannot tell the student from it.
    """
    session = name_session("student", session)
    with share_devices(session.options):
        stage = TransferStage(start, targets, dataset, languages, settings, seed, precision, session)
        before = stage.reciprocal_ranks() if settings.significance and settings.epochs else None
        scores = fit(stage.trainer, stage.batches, stage.score, student_schedule(settings), session)
        if before is not None and not stage.has_learned(before):
            session.log.write(
                session.stage, step=session.log.of(session.stage)[-1]["step"], **scores[0], start_kept=True
            )
            return KerasEncoder(start.model, start.tokenizer, "student")
        stage.keep_rounded()
    student = interpolate_weights(start.model, stage.restore(start.model, precision), settings.start_share)
    return KerasEncoder(student, start.tokenizer, "student")


def interpolate_weights(start: Model, trained: Model, share: float) -> Model:
    """Interpolate the weights of two models. Wortsman et al. (2022), section 3 (WiSE-FT, with alpha = 1 - share).

    Returns `trained`.
    """
    if share:
        pairs = zip(start.get_weights(), trained.get_weights(), strict=True)
        trained.set_weights([share * first + (1 - share) * last for first, last in pairs])
    return trained


def student_schedule(settings: StudentSettings) -> Schedule:
    """Return the epochs that the settings ask for."""
    return Schedule(
        epochs=settings.epochs,
        patience=settings.patience,
        every=settings.evaluate_every,
        ends=settings.evaluate_epochs,
        # Without epochs there is none to round in.
        quantised=min(settings.quantised_epochs, settings.epochs),
        averaged=settings.averaged_epochs,
        linear=settings.schedule == "linear",
        warmup=settings.warmup_share,
    )


def require_trainable(teacher: Encoder, start: KerasEncoder, options: TrainingSettings) -> None:
    """Check, before the teacher encodes anything, what `train_towards` would refuse.

    Raises `EncoderError` if the student cannot learn from the teacher and `ConfigError` if the steps cannot be computed
    so.
    """
    require_devices(options)
    require_dimension(teacher.dimension, start)


def require_codewords(precision: Precision | None) -> StoredTable:
    """Return the stored table whose codewords are trained. Raises `ConfigError` if the student starts without one."""
    if precision and precision.stored:
        return precision.stored
    raise ConfigError(
        "student.train_codewords: the start has no codewords; name a bundle with --start whose table is in "
        "export.table, or leave this out"
    )


def make_objectives(settings: StudentSettings, labels: Labels, seed: int, session: Session) -> list[Objective]:
    """Make the objectives that the settings ask for.

    The matrices of a whitened distance are kept beside the checkpoint, so that a training that goes on has the same.
    """
    prefixes, power = require_prefixes(settings.nested, labels.documents.shape[1]), settings.whitening
    if settings.distance == WHITENED:
        make = partial(labels.compute_whitenings, power, prefixes, seed)
        distance = make_whitened_l2(session.keep(WHITENING, 0, make))
    else:
        distance = DISTANCES[settings.distance]
    # Of lines that no step draws there is nothing to tell apart.
    names = [name for name in settings.objectives if name != "translation" or settings.lines_a_step]
    return list_objectives(names, settings.losses, nest_distance(distance, prefixes), labels)


@dataclass(frozen=True)
class TokenIds:
    """The ids of the texts that steps draw; of questions and lines the noisy variants follow, if a share is noisy."""

    questions: IdLists
    lines: IdLists
    documents: IdLists


class TransferStage:
    """One run of stage 2: its samples (question in a language, teacher's question, documents) and the trainer."""

    def __init__(
        self,
        start: KerasEncoder,
        targets: Targets,
        dataset: Dataset,
        languages: Sequence[str],
        settings: StudentSettings,
        seed: int,
        precision: Precision | None = None,
        session: Session | None = None,
    ):
        session = session or Session()
        self.settings, self.seed, self.noise = settings, seed, TypingNoise.of(settings, seed)
        self.samples = [q for language in languages for q in dataset.select(language, "train") if q.id in targets.row]
        self.lines = targets.lines or Lines([], np.zeros((0, start.model.label_dimension), dtype=np.float32))
        self.labels = make_labels(replace(targets, lines=self.lines), start, dataset, self.samples, settings.units)
        self.dev = DevScore(start.tokenizer, *session.choose_dev(dataset, languages), settings.dev_unit)
        ids = self._tokenize(start, targets.texts)
        self.used = UsedRows(start.model, [*ids.questions, *ids.documents, *ids.lines, *self.dev.tokens])
        self.tokens = TokenIds(*(self.used.ids(each) for each in (ids.questions, ids.lines, ids.documents)))
        self.objectives = make_objectives(settings, self.labels, seed, session)
        settles = precision is not None and has_rounded_blocks(start.model, precision)
        self.trainer = self._make_trainer(targets, session, precision and precision.take_rows(self.used.rows), settles)
        if settles:
            self.trainer.before_rounding = self._round_kernels

    def keep_rounded(self) -> None:
        """Leave kernels that learned around their rounding rounded, in a family whose export finds the same grid.

        The numbers behind them drift together, up to half a step, and an input that is large in every token makes
        another encoder of these.
        """
        if self.trainer.quantised and self.trainer.before_rounding:
            for kernel, rounded in fake_kernels(self.trainer.encoder, self.trainer.precision.dense):
                kernel.assign(rounded)

    def restore(self, model: Model, precision: Precision | None) -> Model:
        """Return a copy of the start with the trained weights, and a table of the trained codewords if there are any.

        `precision` is that of the whole table.
        """
        trained = self.used.restore(model)
        words, stored = self.trainer.codewords, precision and precision.stored
        if not (words and stored):
            return trained
        return replace_table(trained, words.store(stored, trained.get_layer("embedding").get_weights()[0])[1])

    def _make_trainer(self, targets, session, precision, settles):
        settings, rows = self.settings, None
        if targets.trained is not None:
            rows = np.isin(self.used.rows, targets.trained)
        if settings.trained_weights == "typed-rows":
            rows = self._find_noise_tokens()
        # The log has them in the order of the settings.
        names = sorted((one.name for one in self.objectives), key=[*settings.objectives, "scorer"].index)
        loss = NamedTerms(partial(compute_terms, objectives=self.objectives, gamma=settings.gamma), tuple(names))
        rate, table = settings.learning_rate, settings.train_table
        schedule = TableSchedule(settings.table_learning_rate, rows, settles=settles)
        options = session.options
        trainer = Trainer(self.used.small, loss, rate, table, precision, options=options, table_schedule=schedule)
        if settings.train_codewords:
            trainer.train_codewords(require_codewords(precision))
        return trainer

    def score(self) -> Scores:
        return self.dev.score(self.used)

    def reciprocal_ranks(self) -> Doubles:
        """Return the reciprocal ranks of dev's questions."""
        return self.dev.reciprocal_ranks(self.used)

    def has_learned(self, before: Doubles) -> bool:
        """Tell whether dev distinguishes the student from its start.

        The test flips signs by question, all languages together, at `settings.significance`. If it finds no difference,
        a line says so.
        """
        with self.trainer.as_shipped():
            now = self.reciprocal_ranks()
        p = sign_flip_p(now - before, self.dev.ids)
        if now.mean() > before.mean() and p < self.settings.significance:
            return True
        questions = len(set(self.dev.ids))
        change = f"MRR@10 {before.mean():.3f} before, {now.mean():.3f} after, p {p:.2f}"
        say(f"the student stays as it began: {questions} questions of dev show no significant gain ({change})")
        return False

    def _round_kernels(self, small):
        """Round the coarse kernels to their grid, judged by texts of both roles."""
        random = np.random.default_rng((self.seed, 11))
        roles = [*self.tokens.questions, *self.tokens.lines], self.tokens.documents
        rows = [
            ids for several in roles if len(several) for ids in draw_texts(several, SAMPLE_TOKENS // len(roles), random)
        ]
        kernels, reordered = import_part(small.family, "rounding").settle_blocks(small, rows)
        optimizer = getattr(self.trainer.optimizer, "inner_optimizer", self.trainer.optimizer)
        optimizer.hold_still(kernels)
        optimizer.reorder(reordered)

    def _tokenize(self, start, documents):
        def tokenize(texts, languages):
            return start.tokenizer.encode([*texts, *self.noise.variants(texts, languages)], "question")

        questions = tokenize([q.text for q in self.samples], [q.language for q in self.samples])
        encoded = start.tokenizer.encode(documents, "document")
        return TokenIds(questions, tokenize(self.lines.texts, self.lines.languages), encoded)

    def _find_noise_tokens(self):
        """Return bool `(used rows,)`, true for tokens that are more frequent in noisy text than in clean text."""
        counts = np.zeros((2, len(self.used.rows)), dtype=np.int64)
        written = (self.tokens.questions, len(self.samples)), (self.tokens.lines, len(self.lines.texts))
        for tokens, count in written:
            for row, part in enumerate((tokens[:count], tokens[count:])):
                ids = np.concatenate([*part, np.zeros(0, dtype=np.int32)])
                counts[row] += np.bincount(ids, minlength=counts.shape[1])
        return counts[1] > counts[0]

    def batches(self, epoch: int) -> list[BatchMaker]:
        """Return the batches of an epoch, each with lines besides its samples.

        With lines only, there are as many batches as the lines fill.
        """
        order = shuffle_batches(len(self.samples), self.settings.batch_size, self.seed + epoch)
        if not order:
            steps = -(-len(self.lines.texts) // max(1, self.settings.lines_a_step))
            order = [np.zeros(0, dtype=np.int64)] * steps
        drawn = self.draw_lines(len(order), epoch)
        typed = self.noise.draw(len(order), len(order[0]) + drawn.shape[1], epoch)
        loss = f"loss of {', '.join(self.settings.objectives)}"
        return [
            BatchMaker(partial(self.batch, *parts), partial(self.ids, *parts[:2]), loss, ahead=True)
            for parts in zip(order, drawn, typed, strict=True)
        ]

    def ids(self, rows: Integers, lines: Integers | Sequence[int] = ()) -> list[str]:
        """Return the names of the questions and the lines of a batch."""
        return name_questions(self.samples[row] for row in rows) + [
            name_line("line", line, self.lines.texts[line]) for line in lines
        ]

    def draw_lines(self, steps: int, epoch: int) -> Integers:
        """Draw the lines of each step, from a group if lines are in groups. In the long run each comes equally often.

        Returns the rows of the lines, int `(steps, lines per step)`.
        """
        lines = self.lines
        count = min(self.settings.lines_a_step, len(lines.texts))
        if lines.groups is not None and lines.chances is not None:
            first = (epoch - 1) * steps * count
            return draws(lines.groups, lines.chances, steps * count, first, self.seed).reshape(steps, count)
        places = (epoch - 1) * steps * count + np.arange(steps * count)
        order = np.random.default_rng(self.seed).permutation(len(lines.texts))
        return order[places % max(1, len(order))].reshape(steps, count)

    def batch(self, rows: Integers, lines: Sequence[int] = (), typed: Sequence[bool] = ()) -> StepInput:
        """Make the input of a step: the questions, the lines, and each distinct document once.

        Objective 2 is a mean over the samples whose documents are encoded: an unbiased part of the batch
        (`count_documented`), or without a budget the whole batch, as in the paper. `typed` says whether each question
        and line is replaced by its noisy variant.
        """
        none = np.zeros(0, dtype=np.int64)
        encodes = any(objective.encodes for objective in self.objectives)
        documents = self.documents_of(rows) if encodes else (none, none)
        filled, real = self._fill(rows)
        step = Step(self.labels, filled, np.asarray(lines, dtype=np.int64), *documents, real)
        x = step.inputs()
        for objective in self.objectives:
            x |= objective.inputs(step)
        return {**self.used.small.pack(self._list_texts(step, len(rows), typed)), **x}

    def _fill(self, rows):
        """Return samples that fill a batch where each shape is a program, as an epoch's last batch is smaller.

        The first sample is repeated, and counts once: beside the samples stands 0 for each that only fills. Elsewhere
        the samples stay, beside None.
        """
        if not self.trainer.shapes:
            return rows, None
        real = np.arange(max(len(rows), min(self.settings.batch_size, len(self.samples)))) < len(rows)
        return np.where(real, np.resize(rows, len(real)), rows[:1]), real.astype(np.float32)

    def _list_texts(self, step, count, typed):
        """List the ids of a step's texts, of which `count` samples are real; noisy variants stand behind the others."""
        (questions, lines), ids = self._places(step.samples[:count], step.lines, typed), self.tokens
        questions = [*questions, *step.samples[count:]]
        texts = [ids.questions[row] for row in questions] + [ids.lines[row] for row in lines]
        return texts + [ids.documents[row] for row in step.documents]

    def _places(self, rows, lines, typed):
        """Return the places of a step's questions and of its lines among their ids."""
        chosen = np.zeros(len(rows) + len(lines), dtype=bool)
        chosen[: len(typed)] = np.asarray(typed, dtype=bool)[: len(chosen)]
        noisy = chosen[: len(rows)], chosen[len(rows) :]
        return rows + len(self.samples) * noisy[0], lines + len(self.lines.texts) * noisy[1]

    def documents_of(self, rows: Integers) -> tuple[Integers, Integers]:
        """Return the distinct documents of the first samples of a batch, and the place of each answer among them."""
        gold = self.labels.answers[rows[: self.count_documented(len(rows))]].ravel()
        _, first = np.unique(gold, return_index=True)
        distinct = gold[np.sort(first)]
        return distinct, (gold[:, None] == distinct[None]).argmax(axis=1)

    @cached_property
    def answer_tokens(self) -> float:
        """The number of tokens of a sample's documents, in the mean."""
        lengths = np.array([len(ids) for ids in self.tokens.documents])
        return float(lengths[self.labels.answers].sum(axis=1).mean())

    def count_documented(self, batch_size: int) -> int:
        """Return the number of a batch's samples whose documents are encoded: as many as the budget holds on average.

        The number does not depend on the documents' lengths, and batches are random, so each sample and each unit
        counts equally often.
        """
        if not self.settings.document_tokens:
            return batch_size
        return min(batch_size, max(1, round(self.settings.document_tokens / self.answer_tokens)))
