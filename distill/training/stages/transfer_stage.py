"""Stage 2: the student learns the teacher's space in every language. CL-ReLKT, section 3.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from keras import ops

from ...data.dataset import Dataset, name_line
from ...encoders.batching import SAMPLE_TOKENS, draw_texts
from ...encoders.encoder import Encoder, KerasEncoder
from ...errors import EncoderError
from ...evaluation.resampling import sign_flip_p
from ...export.rounding import has_rounded_blocks
from ...export.weights.precision import Precision
from ...settings.rules import parse_numbers
from ...settings.sections import ScorerSettings, StudentSettings, TrainingSettings
from ...students.embeddings import UsedRows
from ...students.families import import_part
from ...students.project import find_axes, on_axes
from ...system.draws import draw_rows as draws
from ...system.draws import shuffle_batches
from ...system.progress import say
from ...system.types import Doubles, Floats, Integers, Model, Progress, Tensor
from ..batches import BatchMaker, StepInput, name_questions
from ..dev_score import DevScore
from ..loop import fit
from ..losses import DISTANCES, in_batch_loss, listwise_loss, nest_distance, scorer_loss, transfer_terms
from ..rates import TableSchedule
from ..session import Schedule, Scorer, Session, name_session, require_devices, share_devices
from ..trainer import NamedTerms, Trainer
from .lines import Lines, Typist, line_targets, same_label
from .scores import ScorerVectors


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

    The teacher encodes the questions in its language and the documents once. Its vectors are the labels, put on the
    student's axes if it has a projection; a `foreign` student has a map instead. For more texts, or for several
    students of one teacher, make `Targets` and call `train_towards`.

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

    Args:
        settings: The settings of stage 2.
    """
    session = name_session("student", session)
    with share_devices(session.options):
        stage = TransferStage(start, targets, dataset, languages, settings, seed, precision, session)
        before = stage.reciprocal_ranks() if settings.significance and settings.epochs else None
        scores = fit(stage.trainer, stage.batches, stage.dev, student_schedule(settings), session)
        if before is not None and not stage.has_learned(before):
            session.log.write(
                session.stage, step=session.log.of(session.stage)[-1]["step"], **scores[0], start_kept=True
            )
            return KerasEncoder(start.model, start.tokenizer, "student")
    student = interpolate_weights(start.model, stage.used.restore(start.model), settings.start_share)
    return KerasEncoder(student, start.tokenizer, "student")


def interpolate_weights(start: Model, trained: Model, share: float) -> Model:
    """Interpolate the weights of two models. Wortsman et al. (2022), section 3 (WiSE-FT, with alpha = 1 - share).

    Returns:
        `trained`.
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
        # Without epochs there is none to round in.
        quantised=min(settings.quantised_epochs, settings.epochs),
        averaged=settings.averaged_epochs,
        linear=settings.schedule == "linear",
        warmup=settings.warmup_share,
    )


def require_trainable(teacher: Encoder, start: KerasEncoder, options: TrainingSettings) -> None:
    """Check, before the teacher encodes anything, what `train_towards` would refuse.

    Raises:
        EncoderError: If the student cannot learn from the teacher.
        ConfigError: If the steps cannot be computed so.
    """
    require_devices(options)
    require_space(teacher.dimension, start)


def require_space(dimension: int, start: KerasEncoder) -> None:
    """Require that a teacher's dimension is that of the student's space.

    Raises:
        EncoderError: If it is not.
    """
    space = start.model.label_dimension
    if dimension != space:
        raise EncoderError(
            f"the teacher's vectors have {dimension} dimensions and the student's {space}; "
            "start the student from an encoder of the teacher's dimension"
        )


@dataclass(frozen=True)
class Targets:
    """The teacher's vectors, computed once.

    Attributes:
        row: The row of each question's vector by the question's id.
        questions: The vectors of the train questions `(q, d)`.
        texts: The documents `(n,)`. With both units whole documents come first, then passages.
        documents: The vectors of the documents `(n, d)`.
        lines: More texts for objective 1.
        scored: Another encoder's vectors of the same texts, whose scores are labels too.
        trained: The tokens whose embeddings alone are trained, int `(m,)`, or None for all weights.
    """

    row: Mapping[str, int]
    questions: Floats
    texts: Sequence[str]
    documents: Floats
    lines: Lines | None = None
    scored: ScorerVectors | None = None
    trained: Integers | None = None

    @classmethod
    def of(
        cls,
        teacher: Encoder,
        dataset: Dataset,
        language: str,
        units: Sequence[str],
        lines: Lines | None = None,
        progress: Progress | None = None,
    ) -> Targets:
        """Encode the train questions and the documents by the teacher."""
        questions = dataset.select(language, "train")
        row = {question.id: number for number, question in enumerate(questions)}
        labels = np.zeros((0, teacher.dimension), dtype=np.float32)
        if questions:
            labels = teacher.encode([question.text for question in questions], "question", progress)
        texts = [text for unit in units for text in dataset.texts(unit)]
        return cls(row, labels, texts, teacher.encode(texts, "document", progress), lines)


def add_scores(
    targets: Targets, scorer: Scorer | None, dataset: Dataset, language: str, units: Sequence[str]
) -> Targets:
    """Add a scorer's vectors to targets.

    Args:
        scorer: The scorer, or None.
        units: The units. The scorer encodes that of `scored_unit` only.
    """
    if scorer is None:
        return targets
    questions = [question.text for question in dataset.select(language, "train")]
    lines = targets.lines.pivots if targets.lines else ()
    return replace(targets, scored=ScorerVectors.of(scorer, questions, dataset.texts(units[scored_unit(units)]), lines))


def scored_unit(units: Sequence[str]) -> int:
    """Return the place of the unit that a scorer ranks: passages if they are learned, because it may cut long
    documents.
    """
    return units.index("passage") if "passage" in units else 0


def answering_documents(dataset: Dataset, passages: Integers, units: Sequence[str]) -> Integers:
    """Return the documents that answer questions.

    Args:
        passages: The gold passages of the questions, int `(n,)`.

    Returns:
        The rows of `Targets.documents`, int `(n, units)`.
    """
    columns, first = [], 0
    for unit in units:
        columns.append(first + (dataset.document_of[passages] if unit == "document" else passages))
        first += len(dataset.texts(unit))
    return np.stack(columns, axis=1)


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
        self.settings, self.seed, lines, session = settings, seed, targets.lines, session or Session()
        axes = find_axes(start.model)
        self.question_labels, self.document_labels = on_axes(targets.questions, axes), on_axes(targets.documents, axes)
        self.samples = [q for language in languages for q in dataset.select(language, "train") if q.id in targets.row]
        self.texts = lines.texts if lines else []
        self.label = np.array([targets.row[question.id] for question in self.samples], dtype=np.int64)
        passages = np.array([question.passage for question in self.samples], dtype=np.int64)
        self.answers = answering_documents(dataset, passages, settings.units)
        sizes = [len(dataset.texts(unit)) for unit in settings.units]
        ranked = np.split(self.document_labels, np.cumsum(sizes)[:-1])
        dev = DevScore(start.tokenizer, *session.choose_dev(dataset, languages), settings.dev_unit)
        self.typist = Typist.of(settings, seed)
        questions = self._tokenize(start, [q.text for q in self.samples], [q.language for q in self.samples])
        documents = start.tokenizer.encode(targets.texts, "document")
        of_lines = self._tokenize(start, self.texts, lines.languages if lines else ())
        self.used = UsedRows(start.model, questions + documents + of_lines + dev.tokens)
        self.questions, self.documents = self.used.ids(questions), self.used.ids(documents)
        self.lines = self.used.ids(of_lines)
        self.line_targets = line_targets(lines, start) if lines else None
        self.line_rows = lines.rows if lines and lines.rows is not None else np.arange(len(self.texts))
        self.groups, self.chances = (lines.groups, lines.chances) if lines else (None, None)
        self.lengths = np.array([len(ids) for ids in documents])
        self.dev, self.dev_ids = partial(dev.score, self.used), dev.ids
        self.reciprocal_ranks = partial(dev.reciprocal_ranks, self.used)
        self.scored, self.unit = targets.scored, scored_unit(settings.units)
        self.firsts = np.cumsum([0, *sizes[:-1]])
        scorer = self.scored.settings if self.scored else None
        terms = choose_terms(settings, bool(self.texts), scorer)
        loss = NamedTerms(partial(batch_terms, settings=settings, documents=ranked, scorer=scorer), terms)
        rate, table = settings.learning_rate, settings.train_table
        rows = None if targets.trained is None else np.isin(self.used.rows, targets.trained)
        if settings.trained_weights == "typed-rows":
            rows = self._find_noise_tokens()
        pace = TableSchedule(settings.table_learning_rate, rows)
        precision = precision and precision.take_rows(self.used.rows)
        self.trainer = Trainer(self.used.small, loss, rate, table, precision, options=session.options, pace=pace)
        if precision and has_rounded_blocks(start.model, precision):
            self.trainer.settle = self._round_kernels

    def has_learned(self, before: Doubles) -> bool:
        """Tell whether dev distinguishes the student from its start.

        The test flips signs by question, all languages together, at `settings.significance`. If it finds no difference,
        a line says so.
        """
        with self.trainer.as_shipped():
            now = self.reciprocal_ranks()
        p = sign_flip_p(now - before, self.dev_ids)
        if now.mean() > before.mean() and p < self.settings.significance:
            return True
        questions = len(set(self.dev_ids))
        change = f"MRR@10 {before.mean():.3f} before, {now.mean():.3f} after, p {p:.2f}"
        say(f"the student stays as it began: {questions} questions of dev show no significant gain ({change})")
        return False

    def _round_kernels(self, small):
        """Round the coarse kernels to their grid, judged by texts of both roles."""
        random = np.random.default_rng((self.seed, 11))
        roles = [*self.questions, *self.lines], self.documents
        rows = [
            ids for several in roles if len(several) for ids in draw_texts(several, SAMPLE_TOKENS // len(roles), random)
        ]
        import_part(small.family, "rounding").settle_blocks(small, rows)

    def _tokenize(self, start, texts, languages):
        """Tokenize texts; if a share is noisy, the ids of the noisy variants follow."""
        return start.tokenizer.encode([*texts, *self.typist.variants(texts, languages)], "question")

    def _find_noise_tokens(self):
        """Return bool `(used rows,)`, true for tokens that are more frequent in noisy text than in clean text."""
        counts = np.zeros((2, len(self.used.rows)), dtype=np.int64)
        for tokens, many in ((self.questions, len(self.samples)), (self.lines, len(self.texts))):
            for row, part in enumerate((tokens[:many], tokens[many:])):
                ids = np.concatenate([*part, np.zeros(0, dtype=np.int32)])
                counts[row] += np.bincount(ids, minlength=counts.shape[1])
        return counts[1] > counts[0]

    def batches(self, epoch: int) -> list[BatchMaker]:
        """Return the batches of an epoch, each with lines besides its samples.

        With lines only, there are as many batches as the lines fill.
        """
        order = shuffle_batches(len(self.label), self.settings.batch_size, self.seed + epoch)
        if not order:
            steps = -(-len(self.texts) // max(1, self.settings.lines_a_step))
            order = [np.zeros(0, dtype=np.int64)] * steps
        drawn = self.draw_lines(len(order), epoch)
        typed = self.typist.draw(len(order), len(order[0]) + drawn.shape[1], epoch)
        loss = f"loss of {', '.join(self.settings.objectives)}"
        return [
            BatchMaker(partial(self.batch, *parts), partial(self.ids, *parts[:2]), loss, ahead=True)
            for parts in zip(order, drawn, typed, strict=True)
        ]

    def ids(self, rows: Integers, lines: Integers | Sequence[int] = ()) -> list[str]:
        """Return the names of the questions and the lines of a batch."""
        return name_questions(self.samples[row] for row in rows) + [
            name_line("line", line, self.texts[line]) for line in lines
        ]

    def draw_lines(self, steps: int, epoch: int) -> Integers:
        """Draw the lines of each step, from a group if lines are in groups. In the long run each comes equally often.

        Returns:
            The rows of the lines, int `(steps, lines per step)`.
        """
        many = min(self.settings.lines_a_step, len(self.texts))
        if self.groups is not None and self.chances is not None:
            first = (epoch - 1) * steps * many
            return draws(self.groups, self.chances, steps * many, first, self.seed).reshape(steps, many)
        places = (epoch - 1) * steps * many + np.arange(steps * many)
        order = np.random.default_rng(self.seed).permutation(len(self.texts))
        return order[places % max(1, len(order))].reshape(steps, many)

    def batch(self, rows: Integers, lines: Sequence[int] = (), typed: Sequence[bool] = ()) -> StepInput:
        """Make the input of a step: the questions, the lines, and each distinct document once.

        Objective 2 is a mean over the samples whose documents are encoded: an unbiased part of the batch
        (`count_documented`), or without a budget the whole batch, as in the paper.

        Args:
            typed: Whether each question and line is replaced by its noisy variant.
        """
        places = self._places(rows, lines, typed)
        texts = [self.questions[row] for row in places[: len(rows)]] + [self.lines[row] for row in places[len(rows) :]]
        labels = self.question_labels[self.label[rows]]
        if len(lines):
            labels = np.concatenate([labels, self.line_targets[self.line_rows[lines]]])  # type: ignore[index]
        x: StepInput = {
            "teacher_question": labels,
            "teacher_answers": self.document_labels[self.answers[rows]],  # (b, units, d)
        }
        if "translation" in self.settings.objectives and len(lines):
            x["same_line"] = same_label(labels[len(rows) :])
        if self.scored:
            gold = self.answers[rows, self.unit]
            x["scorer"] = self.scored.scores(self.label[rows], gold - self.firsts[self.unit])
            x["scored"] = self.document_labels[gold]
        if self.scored and len(lines):
            x["scorer_lines"] = self.scored.of_lines(self.line_rows[lines])
        if "softmax" in self.settings.objectives:
            gold = self.answers[rows, 0]
            x["same"] = gold[:, None] == gold[None]
            x["gold"] = (self.answers[rows] - self.firsts).astype(np.int32)  # (b, units), rows of each unit
        if "dd" in self.settings.objectives:
            documents, encoded = self.documents_of(rows)
            texts += [self.documents[document] for document in documents]
            x["document"] = (len(rows) + len(lines) + encoded).astype(np.int32)
            x["teacher_document"] = self.document_labels[documents[encoded]]
        return {**self.used.small.pack(texts), **x}

    def _places(self, rows, lines, typed):
        """Return the places of a step's questions and lines; noisy variants come after the clean texts."""
        written = np.concatenate([np.asarray(rows, dtype=np.int64), np.asarray(lines, dtype=np.int64)])
        behind = np.repeat([len(self.samples), len(self.texts)], [len(rows), len(lines)])
        chosen = np.zeros(len(written), dtype=bool)
        chosen[: len(typed)] = np.asarray(typed, dtype=bool)[: len(written)]
        return written + behind * chosen

    def documents_of(self, rows: Integers) -> tuple[Integers, Integers]:
        """Return the distinct documents of the first samples of a batch, and the place of each answer among them."""
        gold = self.answers[rows[: self.count_documented(len(rows))]].ravel()
        _, first = np.unique(gold, return_index=True)
        distinct = gold[np.sort(first)]
        return distinct, (gold[:, None] == distinct[None]).argmax(axis=1)

    def count_documented(self, batch_size: int) -> int:
        """Return the number of a batch's samples whose documents are encoded: as many as the budget holds on average.

        The number does not depend on the documents' lengths, and batches are random, so each sample and each unit
        counts equally often.
        """
        if not self.settings.document_tokens:
            return batch_size
        tokens = self.lengths[self.answers].sum(axis=1).mean()
        return min(batch_size, max(1, round(self.settings.document_tokens / tokens)))


def choose_terms(settings: StudentSettings, has_lines: bool, scorer: ScorerSettings | None) -> tuple[str, ...]:
    """Return the names of the terms of a batch's loss, as `batch_terms` computes them."""
    names = [name for name in settings.objectives if name != "translation" or has_lines]
    return (*names, *(["scorer"] if scorer else []))


def batch_terms(
    vectors: Tensor,
    x: Mapping[str, Tensor],
    settings: StudentSettings,
    documents: Sequence[Floats] = (),
    scorer: ScorerSettings | None = None,
) -> dict[str, Tensor]:
    """Compute the terms of a batch's loss: CL-ReLKT's Equation 2 and the other objectives that the settings choose.

    Args:
        vectors: The vectors of the batch's texts `(n, d)`.
        settings: The settings of stage 2.
        documents: The teacher's vectors of all documents, `(n, d)` per unit, for "list" and "softmax".
        scorer: The settings of the scorer, or None.

    Returns:
        Scalars by objective, "scorer" among them, whose sum is the loss.
    """
    distance, losses = nest_distance(DISTANCES[settings.distance], parse_numbers(settings.nested, "student.nested")), {}
    of = settings.losses
    many = ops.shape(x["teacher_answers"])[0]
    questions = vectors[:many]
    if "qq" in settings.objectives:
        losses["qq"] = distance(x["teacher_question"], vectors[: ops.shape(x["teacher_question"])[0]])
    if "dd" in settings.objectives:
        losses["dd"] = distance(x["teacher_document"], ops.take(vectors, x["document"], axis=0))
        losses["dd"] = losses["dd"] * x["document_weights"] if "document_weights" in x else losses["dd"]
    if "dq" in settings.objectives:
        losses["dq"] = distance(x["teacher_answers"], questions[:, None])  # (b, units)
    if "list" in settings.objectives:
        labelled = vectors[: ops.shape(x["teacher_question"])[0]]
        losses["list"] = ranking_loss(labelled, x["teacher_question"], documents, of.list.temperature)
    if "softmax" in settings.objectives:
        losses["softmax"] = own_document_loss(questions, x, settings, documents)
    if "same_line" in x:
        lines, labels = (each[many : ops.shape(x["teacher_question"])[0]] for each in (vectors, x["teacher_question"]))
        scores = ops.matmul(lines, ops.transpose(labels))
        losses["translation"] = in_batch_loss(scores, x["same_line"], of.translation.temperature)
    weights = {"qq": of.qq, "dd": of.dd, "dq": of.dq}
    weights |= {name: getattr(of, name).weight for name in ("list", "softmax", "translation")}
    terms = transfer_terms(losses, weights, settings.gamma)
    return terms | {"scorer": settings.gamma * scored_loss(vectors, x, scorer)} if scorer else terms


def scored_loss(vectors: Tensor, x: Mapping[str, Tensor], scorer: ScorerSettings) -> Tensor:
    """Compute the mean of `scorer_loss` over a step's questions, with its documents, and over its lines.

    The student's scores are products of its vectors and the teacher's, which are fixed.

    Args:
        vectors: The vectors of the batch's texts `(n, d)`.
    """
    many, labels = ops.shape(x["teacher_answers"])[0], x["teacher_question"]
    parts = [(vectors[:many], x["scored"], x["scorer"])]
    if "scorer_lines" in x:
        parts.append((vectors[many : ops.shape(labels)[0]], labels[many:], x["scorer_lines"]))
    losses = []
    for rows, columns, scores in parts:
        diagonal = ops.eye(ops.shape(scores)[0], dtype="bool")
        losses.append(scorer_loss(ops.matmul(rows, ops.transpose(columns)), scores, scorer, diagonal))
    return ops.mean(ops.concatenate(losses))


def own_document_loss(
    questions: Tensor, x: Mapping[str, Tensor], settings: StudentSettings, documents: Sequence[Floats]
) -> Tensor:
    """Compute -log softmax of each question's own document by the teacher's vectors.

    Args:
        questions: The vectors of the questions `(b, d)`.
        settings: The settings of stage 2.
        documents: The vectors of all documents, `(n, d)` per unit, over which the mean is taken. If the settings ask
            for it, only the batch's documents of the first unit compete.

    Returns:
        One value per question, `(b,)`.
    """
    options = settings.losses.softmax
    if options.among == "batch":
        scores = ops.matmul(questions, ops.transpose(x["teacher_answers"][:, 0]))
        return in_batch_loss(scores, x["same"], options.temperature)
    losses = []
    for place, unit in enumerate(documents):
        scores = ops.matmul(questions, ops.transpose(ops.convert_to_tensor(unit))) / options.temperature
        gold = ops.take_along_axis(scores, x["gold"][:, place : place + 1], axis=-1)[:, 0]
        losses.append(ops.logsumexp(scores, axis=-1) - gold)
    return sum(losses) / len(losses)


def ranking_loss(questions: Tensor, labels: Tensor, documents: Sequence[Floats], temperature: float) -> Tensor:
    """Compute the mean over units of `listwise_loss`.

    Args:
        questions: The vectors of the questions `(b, d)`.
        labels: The teacher's vectors of the questions `(b, d)`.
        documents: The vectors of all documents, `(n, d)` per unit.

    Returns:
        One value per question, `(b,)`.
    """
    losses = []
    for unit in documents:
        fixed = ops.transpose(ops.convert_to_tensor(unit))
        losses.append(listwise_loss(ops.matmul(questions, fixed), ops.matmul(labels, fixed), temperature))
    return sum(losses) / len(losses)
