"""Stage 2: the student learns the teacher's space in every language. CL-ReLKT, section 3.2."""

from functools import partial

import numpy as np
from keras import ops

from ..data.draws import drawn as draws
from ..data.draws import shuffled
from ..encoders.batching import pack
from ..encoders.encoder import KerasEncoder
from ..errors import EncoderError
from ..settings.rules import numbers_of
from ..students.project import axes_of, on_axes
from ..students.rows import UsedRows
from ..training.batches import Maker, line_name, named
from ..training.dev_score import DevScore
from ..training.devices import require_devices, shared_by
from ..training.loop import fit
from ..training.losses import DISTANCES, in_batch_loss, listwise_loss, nested, transfer_loss
from ..training.trainer import Trainer
from .lines import line_targets


def transfer(
    teacher,
    start,
    dataset,
    teacher_language,
    languages,
    settings,
    seed=0,
    log=None,
    progress=None,
    precision=None,
    lines=None,
    training=None,
    checkpoint=None,
):
    """Train a copy of `start` (a `KerasEncoder`) towards the fixed `teacher` (any `Encoder`); returns the student.

    The teacher is asked once for the questions in `teacher_language` and the documents; its vectors are the labels, on
    the student's axes where it has a projection on some (a `foreign` student has a map instead). `lines`, a `Lines`,
    are more texts for objective 1.
    The last `settings.quantised_epochs` round weights to `precision`, an `export.form.Precision`. `training`, a
    `TrainingSettings`, says how steps are computed; `checkpoint` is `training.fit`'s.
    Raises `EncoderError` when teacher and student have spaces of different dimension.
    """
    require_devices(training)
    require_space(teacher.dimension, start)
    targets = Targets(teacher, dataset, teacher_language, settings.units, progress)
    more = {"training": training, "checkpoint": checkpoint}
    return learn(targets, start, dataset, languages, settings, seed, log, precision, lines, **more)


def learn(
    targets,
    start,
    dataset,
    languages,
    settings,
    seed=0,
    log=None,
    precision=None,
    lines=None,
    watch=None,
    training=None,
    checkpoint=None,
):
    """`transfer` towards `Targets` that are there already, for several students of one teacher.

    `watch` and `checkpoint` are `training.fit`'s.
    """
    with shared_by(training):
        stage = TransferStage(start, targets, dataset, languages, settings, seed, precision, lines, training)
        fit(
            stage.trainer,
            stage.batches,
            stage.dev,
            settings.epochs,
            settings.patience,
            "student",
            log,
            settings.evaluate_every,
            settings.quantised_epochs,
            watch,
            settings.averaged_epochs,
            checkpoint,
        )
    return KerasEncoder(stage.used.restore(start.model), start.tokenizer, "student")


def require_space(dimension, start):
    """Raise `EncoderError` where a teacher's dimension is not that of the student's space."""
    space = start.model.label_dimension
    if dimension != space:
        raise EncoderError(
            f"the teacher's vectors have {dimension} dimensions and the student's {space}; "
            "start the student from an encoder of the teacher's dimension"
        )


class Targets:
    """The teacher's vectors, computed once: of the train questions, `(q, d)`, and of the documents, `(n, d)`.

    `row` maps a question's id to its row. With both units the documents come first and then the passages.
    """

    def __init__(self, teacher, dataset, language, units, progress=None):
        questions = dataset.select(language, "train")
        self.row = {question.id: row for row, question in enumerate(questions)}
        self.questions = teacher.encode([question.text for question in questions], "question", progress)
        self.texts = [text for unit in units for text in dataset.texts(unit)]
        self.documents = teacher.encode(self.texts, "document", progress)


def answers(dataset, passages, units):
    """int `(n, units)`: rows of `Targets.documents` that answer questions about `passages`, int `(n,)`."""
    columns, first = [], 0
    for unit in units:
        columns.append(first + (dataset.document_of[passages] if unit == "document" else passages))
        first += len(dataset.texts(unit))
    return np.stack(columns, axis=1)


class TransferStage:
    """What one run of stage 2 holds: samples of (question in a language, teacher's question, documents)."""

    def __init__(self, start, targets, dataset, languages, settings, seed, precision=None, lines=None, training=None):
        self.settings, self.seed = settings, seed
        axes = axes_of(start.model)
        self.question_labels, self.document_labels = on_axes(targets.questions, axes), on_axes(targets.documents, axes)
        asked = [q for language in languages for q in dataset.select(language, "train") if q.id in targets.row]
        self.asked, self.texts = asked, lines.texts if lines else []
        self.label = np.array([targets.row[question.id] for question in asked])
        self.answers = answers(dataset, np.array([question.passage for question in asked]), settings.units)
        sizes = [len(dataset.texts(unit)) for unit in settings.units]
        ranked = np.split(self.document_labels, np.cumsum(sizes)[:-1])
        dev = DevScore(start.tokenizer, dataset, languages, settings.dev_unit)
        questions = start.tokenizer.encode([question.text for question in asked])
        documents = start.tokenizer.encode(targets.texts)
        more = start.tokenizer.encode(lines.texts) if lines else []
        self.used = UsedRows(start.model, questions + documents + more + dev.tokens)
        self.questions, self.documents = self.used.ids(questions), self.used.ids(documents)
        self.lines = self.used.ids(more)
        self.line_targets = line_targets(lines, start) if lines else None
        self.line_rows = lines.rows if lines and lines.rows is not None else np.arange(len(more))
        self.groups, self.chances = (lines.groups, lines.chances) if lines else (None, None)
        self.lengths = np.array([len(ids) for ids in documents])
        self.dev = partial(dev.score, self.used)
        self.trainer = Trainer(
            self.used.small,
            partial(batch_loss, settings=settings, documents=ranked),
            settings.learning_rate,
            settings.train_table,
            precision,
            options=training,
        )

    def batches(self, epoch):
        order = shuffled(len(self.label), self.settings.batch_size, self.seed + epoch)
        drawn = self.drawn(len(order), epoch)
        loss = f"loss of {', '.join(self.settings.objectives)}"
        return [
            Maker(partial(self.batch, *pair), partial(self.ids, *pair), loss) for pair in zip(order, drawn, strict=True)
        ]

    def ids(self, rows, lines=()):
        """What names the questions and the lines of a batch."""
        return named(self.asked[row] for row in rows) + [line_name("line", line, self.texts[line]) for line in lines]

    def drawn(self, steps, epoch):
        """Rows of the lines for each step: another part of them each epoch, each line equally often in the end.

        Of a group where they are in groups.
        """
        many = min(self.settings.lines_a_step, len(self.lines))
        if self.groups is not None:
            first = (epoch - 1) * steps * many
            return draws(self.groups, self.chances, steps * many, first, self.seed).reshape(steps, many)
        places = (epoch - 1) * steps * many + np.arange(steps * many)
        order = np.random.default_rng(self.seed).permutation(len(self.lines))
        return order[places % max(1, len(order))].reshape(steps, many)

    def batch(self, rows, lines=()):
        """Each distinct document once, and of these as many as `document_tokens` allow, in the seeded order.

        The second objective is a mean over the samples whose document is encoded, the first that fit: not an unbiased
        part of all. On XQuAD in 12 languages, with 2048 tokens and 32 questions, 8 % of the samples count, documents
        have 62 : 38 of its weight against passages in place of 50 : 50, and longer texts count more. Without a limit
        (0) it is the paper's.
        """
        texts = [self.questions[row] for row in rows] + [self.lines[line] for line in lines]
        labels = self.question_labels[self.label[rows]]
        if len(lines):
            labels = np.concatenate([labels, self.line_targets[self.line_rows[lines]]])  # type: ignore[index]
        x = {
            "teacher_question": labels,
            "teacher_answers": self.document_labels[self.answers[rows]],  # (b, units, d)
        }
        if "softmax" in self.settings.objectives:
            own = self.answers[rows, 0]
            x["same"] = own[:, None] == own[None]
        if "dd" in self.settings.objectives:
            documents, encoded = self.within_budget(self.answers[rows].ravel())
            texts += [self.documents[document] for document in documents]
            x["document"] = (len(rows) + len(lines) + encoded).astype(np.int32)
            x["teacher_document"] = self.document_labels[documents[encoded]]
        return {**pack(texts, self.used.small.gap), **x}

    def within_budget(self, own):
        """The distinct documents to encode, at least one, and for each of `own` that is among them its place there."""
        _, first = np.unique(own, return_index=True)
        distinct = own[np.sort(first)]
        if self.settings.document_tokens:
            spent = np.cumsum(self.lengths[distinct])
            distinct = distinct[: max(1, int(np.sum(spent <= self.settings.document_tokens)))]
        matches = own[:, None] == distinct[None]
        return distinct, matches.argmax(axis=1)[matches.any(axis=1)]


def batch_loss(vectors, x, settings, documents=None):
    """Equation 2 over a batch and what is asked for beside it; an objective that was not chosen is not computed.

    `documents` `[(n, d)]`: the teacher's vectors of what "list" ranks, the documents of each unit.
    """
    distance, found = nested(DISTANCES[settings.distance], numbers_of(settings.nested, "student.nested")), {}
    questions = vectors[: ops.shape(x["teacher_answers"])[0]]
    if "qq" in settings.objectives:
        found["qq"] = distance(x["teacher_question"], vectors[: ops.shape(x["teacher_question"])[0]])
    if "dd" in settings.objectives:
        found["dd"] = distance(x["teacher_document"], ops.take(vectors, x["document"], axis=0))
        found["dd"] = found["dd"] * x["document_weights"] if "document_weights" in x else found["dd"]
    if "dq" in settings.objectives:
        found["dq"] = distance(x["teacher_answers"], questions[:, None])  # (b, units)
    if "list" in settings.objectives:
        asked = vectors[: ops.shape(x["teacher_question"])[0]]
        found["list"] = ranking_loss(asked, x["teacher_question"], documents, settings.list_temperature)
    if "softmax" in settings.objectives:
        scores = ops.matmul(questions, ops.transpose(x["teacher_answers"][:, 0]))
        found["softmax"] = in_batch_loss(scores, x["same"], settings.softmax_temperature)
    weights = settings.beta, settings.lambda_, settings.omega, settings.gamma
    return transfer_loss(found, *weights, settings.list_weight, settings.softmax_weight)


def ranking_loss(questions, labels, documents, temperature):
    """The mean over units of `listwise_loss` on their `documents`, `[(n, d)]`, one value a query: `(b,)`."""
    found = []
    for unit in documents:
        fixed = ops.transpose(ops.convert_to_tensor(unit))
        found.append(listwise_loss(ops.matmul(questions, fixed), ops.matmul(labels, fixed), temperature))
    return sum(found) / len(found)
