"""Stage 2: the student learns the teacher's space in every language. CL-ReLKT, section 3.2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from keras import ops

from ..data.dataset import Dataset, line_name
from ..encoders.encoder import Encoder, KerasEncoder
from ..errors import EncoderError
from ..evaluation.resampling import sign_flip_p
from ..export.rounding import rounds_blocks
from ..export.weights.precision import Precision
from ..settings.rules import numbers_of
from ..settings.sections import ScorerSettings, StudentSettings, TrainingSettings
from ..students.families import family_part
from ..students.project import axes_of, on_axes
from ..students.rows import UsedRows
from ..students.sampling import SEEN, draw_rows
from ..system.draws import drawn as draws
from ..system.draws import shuffled
from ..system.progress import say
from ..system.types import Doubles, Floats, Integers, Model, Progress, Tensor
from ..training.batches import Maker, StepInput, named
from ..training.dev_score import DevScore
from ..training.devices import require_devices, shared_by
from ..training.loop import fit
from ..training.losses import DISTANCES, in_batch_loss, listwise_loss, nested, scorer_loss, transfer_loss
from ..training.rates import TablePace
from ..training.session import Schedule, Scorer, Session, session_of
from ..training.trainer import Trainer
from .lines import Lines, Typist, line_targets, same_label
from .scores import Scored


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
    """Train a copy of `start` towards the fixed `teacher`; returns the student.

    The teacher is asked once for the questions in `teacher_language` and the documents; its vectors are the labels, on
    the student's axes where it has a projection on some (a `foreign` student has a map instead). For more texts, or
    several students of one teacher, make `Targets` and let students `learn` them.
    Raises `EncoderError` when teacher and student have spaces of different dimension.
    """
    session = session or Session()
    require_trainable(teacher, start, session.options)
    targets = Targets.of(teacher, dataset, teacher_language, settings.units)
    return learn(targets, start, dataset, languages, settings, seed, session)


def learn(
    targets: Targets,
    start: KerasEncoder,
    dataset: Dataset,
    languages: Sequence[str],
    settings: StudentSettings,
    seed: int = 0,
    session: Session | None = None,
    precision: Precision | None = None,
) -> KerasEncoder:
    """Train a copy of `start` towards `Targets`, and on their lines; returns the student.

    The last `settings.quantised_epochs` round weights to `precision`. With `settings.significance` the student is the
    start itself where dev does not tell the two apart.
    """
    session = session_of("student", session)
    with shared_by(session.options):
        stage = TransferStage(start, targets, dataset, languages, settings, seed, precision, session)
        before = stage.reciprocal_ranks() if settings.significance and settings.epochs else None
        fit(stage.trainer, stage.batches, stage.dev, schedule_of(settings), session)
        if before is not None and not stage.has_learned(before):
            return KerasEncoder(start.model, start.tokenizer, "student")
    student = between(start.model, stage.used.restore(start.model), settings.start_share)
    return KerasEncoder(student, start.tokenizer, "student")


def between(start: Model, trained: Model, share: float) -> Model:
    """Give the trained model `share` of the start's weights and the rest of its own; returns it.

    Wortsman et al. (2022), Robust fine-tuning of zero-shot models, section 3 (WiSE-FT, with alpha = 1 - share).
    """
    if share:
        pairs = zip(start.get_weights(), trained.get_weights(), strict=True)
        trained.set_weights([share * first + (1 - share) * last for first, last in pairs])
    return trained


def schedule_of(settings: StudentSettings) -> Schedule:
    """The epochs that the settings ask for."""
    return Schedule(
        epochs=settings.epochs,
        patience=settings.patience,
        every=settings.evaluate_every,
        quantised=settings.quantised_epochs,
        averaged=settings.averaged_epochs,
        linear=settings.schedule == "linear",
        warmup=settings.warmup_share,
    )


def require_trainable(teacher: Encoder, start: KerasEncoder, options: TrainingSettings) -> None:
    """Raise `EncoderError` or `ConfigError` for what `learn` would refuse, before the teacher is asked."""
    require_devices(options)
    require_space(teacher.dimension, start)


def require_space(dimension: int, start: KerasEncoder) -> None:
    """Raise `EncoderError` where a teacher's dimension is not that of the student's space."""
    space = start.model.label_dimension
    if dimension != space:
        raise EncoderError(
            f"the teacher's vectors have {dimension} dimensions and the student's {space}; "
            "start the student from an encoder of the teacher's dimension"
        )


@dataclass(frozen=True)
class Targets:
    """The teacher's vectors, computed once: of the train questions, `(q, d)`, and of the documents, `(n, d)`.

    `row` maps a question's id to its row. `texts` `(n,)` are the documents; with both units they come first and then
    the passages. `lines` are more texts for objective 1. `scored` are another encoder's vectors of the same questions,
    texts and lines, whose scores are labels too. `trained`, int `(m,)`, are the student's pieces whose rows alone are
    trained, None for all its weights.
    """

    row: Mapping[str, int]
    questions: Floats
    texts: Sequence[str]
    documents: Floats
    lines: Lines | None = None
    scored: Scored | None = None
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
        """Ask the teacher for the train questions in `language` and the documents of these units."""
        questions = dataset.select(language, "train")
        row = {question.id: number for number, question in enumerate(questions)}
        labels = np.zeros((0, teacher.dimension), dtype=np.float32)
        if questions:
            labels = teacher.encode([question.text for question in questions], "question", progress)
        texts = [text for unit in units for text in dataset.texts(unit)]
        return cls(row, labels, texts, teacher.encode(texts, "document", progress), lines)


def with_scores(
    targets: Targets, scorer: Scorer | None, dataset: Dataset, language: str, units: Sequence[str]
) -> Targets:
    """The `Targets` of a data set in a language with the scorer's vectors too; themselves without a scorer.

    Of several units it is asked for `scored_unit` alone.
    """
    if scorer is None:
        return targets
    questions = [question.text for question in dataset.select(language, "train")]
    lines = targets.lines.pivots if targets.lines else ()
    return replace(targets, scored=Scored.of(scorer, questions, dataset.texts(units[scored_unit(units)]), lines))


def scored_unit(units: Sequence[str]) -> int:
    """The place of the unit that a scorer ranks: passages where they are learned, as it may cut long documents off."""
    return units.index("passage") if "passage" in units else 0


def answers(dataset: Dataset, passages: Integers, units: Sequence[str]) -> Integers:
    """int `(n, units)`: rows of `Targets.documents` that answer questions about `passages`, int `(n,)`."""
    columns, first = [], 0
    for unit in units:
        columns.append(first + (dataset.document_of[passages] if unit == "document" else passages))
        first += len(dataset.texts(unit))
    return np.stack(columns, axis=1)


class TransferStage:
    """One run of stage 2: samples of (question in a language, teacher's question, documents), and the trainer."""

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
        axes = axes_of(start.model)
        self.question_labels, self.document_labels = on_axes(targets.questions, axes), on_axes(targets.documents, axes)
        self.samples = [q for language in languages for q in dataset.select(language, "train") if q.id in targets.row]
        self.texts = lines.texts if lines else []
        self.label = np.array([targets.row[question.id] for question in self.samples], dtype=np.int64)
        passages = np.array([question.passage for question in self.samples], dtype=np.int64)
        self.answers = answers(dataset, passages, settings.units)
        sizes = [len(dataset.texts(unit)) for unit in settings.units]
        ranked = np.split(self.document_labels, np.cumsum(sizes)[:-1])
        dev = DevScore(start.tokenizer, *session.scored_on(dataset, languages), settings.dev_unit)
        self.typist = Typist.of(settings, seed)
        questions = self._encoded(start, [q.text for q in self.samples], [q.language for q in self.samples])
        documents = start.tokenizer.encode(targets.texts, "document")
        of_lines = self._encoded(start, self.texts, lines.languages if lines else ())
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
        loss = partial(batch_loss, settings=settings, documents=ranked, scorer=scorer)
        rate, table = settings.learning_rate, settings.train_table
        rows = None if targets.trained is None else np.isin(self.used.rows, targets.trained)
        if settings.trained_weights == "typed-rows":
            rows = self._oftener_typed()
        pace = TablePace(settings.table_learning_rate, rows)
        precision = precision and precision.taken(self.used.rows)
        self.trainer = Trainer(self.used.small, loss, rate, table, precision, options=session.options, pace=pace)
        if precision and rounds_blocks(start.model, precision):
            self.trainer.settle = self._settle

    def has_learned(self, before: Doubles) -> bool:
        """Return whether dev tells the student from what it was, of which `before` are the reciprocal ranks.

        By sign flips of the questions, all languages together, at `settings.significance`; if not, that is said.
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

    def _settle(self, small):
        """Put the coarse kernels on their grid, judged by texts of both roles."""
        random = np.random.default_rng((self.seed, 11))
        roles = [*self.questions, *self.lines], self.documents
        rows = [ids for several in roles if len(several) for ids in draw_rows(several, SEEN // len(roles), random)]
        family_part(small.family, "rounding").settle_blocks(small, rows)

    def _encoded(self, start, texts, languages):
        """Token ids of texts, and behind them of the same as typed where a share is."""
        return start.tokenizer.encode([*texts, *self.typist.variants(texts, languages)], "question")

    def _oftener_typed(self):
        """bool `(used rows,)`: true of pieces that questions and lines have oftener as typed than as written."""
        counts = np.zeros((2, len(self.used.rows)), dtype=np.int64)
        for tokens, many in ((self.questions, len(self.samples)), (self.lines, len(self.texts))):
            for row, part in enumerate((tokens[:many], tokens[many:])):
                ids = np.concatenate([*part, np.zeros(0, dtype=np.int32)])
                counts[row] += np.bincount(ids, minlength=counts.shape[1])
        return counts[1] > counts[0]

    def batches(self, epoch: int) -> list[Maker]:
        """The batches of an epoch, each with lines beside its samples; of lines alone there are as many as text has."""
        order = shuffled(len(self.label), self.settings.batch_size, self.seed + epoch)
        if not order:
            steps = -(-len(self.texts) // max(1, self.settings.lines_a_step))
            order = [np.zeros(0, dtype=np.int64)] * steps
        drawn = self.drawn(len(order), epoch)
        typed = self.typist.drawn(len(order), len(order[0]) + drawn.shape[1], epoch)
        loss = f"loss of {', '.join(self.settings.objectives)}"
        return [
            Maker(partial(self.batch, *parts), partial(self.ids, *parts[:2]), loss, ahead=True)
            for parts in zip(order, drawn, typed, strict=True)
        ]

    def ids(self, rows: Integers, lines: Integers | Sequence[int] = ()) -> list[str]:
        """The names of the questions and the lines of a batch."""
        return named(self.samples[row] for row in rows) + [line_name("line", line, self.texts[line]) for line in lines]

    def drawn(self, steps: int, epoch: int) -> Integers:
        """Rows of the lines for each step: another part of them each epoch, each line equally often in the end.

        Of a group where they are in groups.
        """
        many = min(self.settings.lines_a_step, len(self.texts))
        if self.groups is not None and self.chances is not None:
            first = (epoch - 1) * steps * many
            return draws(self.groups, self.chances, steps * many, first, self.seed).reshape(steps, many)
        places = (epoch - 1) * steps * many + np.arange(steps * many)
        order = np.random.default_rng(self.seed).permutation(len(self.texts))
        return order[places % max(1, len(order))].reshape(steps, many)

    def batch(self, rows: Integers, lines: Sequence[int] = (), typed: Sequence[bool] = ()) -> StepInput:
        """Return a step's input: the questions, the lines, and each distinct document once.

        Of questions and lines those are as people type them that are true in `typed`.

        The second objective is a mean over the samples whose documents are encoded: an unbiased part of the batch's
        (`documented`), all of it without a budget, as in the paper.
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
        """Rows of the questions and the lines of a step: those that are typed stand behind the others."""
        written = np.concatenate([np.asarray(rows, dtype=np.int64), np.asarray(lines, dtype=np.int64)])
        behind = np.repeat([len(self.samples), len(self.texts)], [len(rows), len(lines)])
        chosen = np.zeros(len(written), dtype=bool)
        chosen[: len(typed)] = np.asarray(typed, dtype=bool)[: len(written)]
        return written + behind * chosen

    def documents_of(self, rows: Integers) -> tuple[Integers, Integers]:
        """The distinct documents of the first samples of a batch, and for each of their answers its place there."""
        gold = self.answers[rows[: self.documented(len(rows))]].ravel()
        _, first = np.unique(gold, return_index=True)
        distinct = gold[np.sort(first)]
        return distinct, (gold[:, None] == distinct[None]).argmax(axis=1)

    def documented(self, batch_size: int) -> int:
        """The number of a batch's samples whose documents are encoded: as many as the budget holds on average.

        It does not depend on how long these are, and batches are drawn at random: so each sample counts equally often,
        and each unit as much as the other.
        """
        if not self.settings.document_tokens:
            return batch_size
        tokens = self.lengths[self.answers].sum(axis=1).mean()
        return min(batch_size, max(1, round(self.settings.document_tokens / tokens)))


def batch_loss(
    vectors: Tensor,
    x: Mapping[str, Tensor],
    settings: StudentSettings,
    documents: Sequence[Floats] = (),
    scorer: ScorerSettings | None = None,
) -> Tensor:
    """Equation 2 over a batch and the objectives beside it; one that was not chosen is not computed.

    `documents` `[(n, d)]`: the teacher's vectors of those that "list" ranks, and "softmax" among all, of each unit.
    """
    distance, losses = nested(DISTANCES[settings.distance], numbers_of(settings.nested, "student.nested")), {}
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
    beside = of.list.weight, of.softmax.weight, of.translation.weight
    loss = transfer_loss(losses, of.qq, of.dd, of.dq, settings.gamma, *beside)
    return loss + settings.gamma * scored_loss(vectors, x, scorer) if scorer else loss


def scored_loss(vectors: Tensor, x: Mapping[str, Tensor], scorer: ScorerSettings) -> Tensor:
    """The mean of `scorer_loss` over a step's questions, beside the step's documents, and its lines, beside its lines.

    The learner's scores are those of its vectors and the teacher's, which are fixed.
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
    """-log softmax of each question's own document, by the teacher's vectors, one value a query: `(b,)`.

    Among the batch's of the first unit, or among all `documents`, `[(n, d)]`, the mean over units.
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
    """The mean over units of `listwise_loss` on their `documents`, `[(n, d)]`, one value a query: `(b,)`."""
    losses = []
    for unit in documents:
        fixed = ops.transpose(ops.convert_to_tensor(unit))
        losses.append(listwise_loss(ops.matmul(questions, fixed), ops.matmul(labels, fixed), temperature))
    return sum(losses) / len(losses)
