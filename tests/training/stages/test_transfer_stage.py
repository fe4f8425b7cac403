from dataclasses import replace
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from fixtures.encoders import Words
from fixtures.vectors import same
from scipy.linalg import fractional_matrix_power
from scipy.special import log_softmax

from distill.data.parallel import Parallel, make_labelled_text
from distill.encoders.batching import shuffle_batches
from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer
from distill.errors import ConfigError, EncoderError
from distill.export.encode import Reading
from distill.export.weights.codecs import decode_rows, encode_table
from distill.export.weights.kernels import LEVELS, is_rounded
from distill.export.weights.precision import Precision
from distill.export.weights.stored_table import StoredTable
from distill.settings.sections import StudentSettings
from distill.settings.stages import LineSettings, LossSettings, RankingSettings, SoftmaxSettings
from distill.students.embeddings import UsedRows, replace_table
from distill.students.project import find_axes, map_space, on_axes, project_student
from distill.students.static import StaticEncoder
from distill.students.transformer import TransformerEncoder
from distill.training.checkpoints import Checkpoint
from distill.training.dev_score import DevScore
from distill.training.fake_quantisation import quantise_weights
from distill.training.log import RunLog, read_outcome
from distill.training.losses import squared_l2
from distill.training.session import Session
from distill.training.stages.lines import Lines, label_corpus, label_translations, mix_lines, same_label
from distill.training.stages.objectives import compute_terms, list_objectives
from distill.training.stages.targets import Targets
from distill.training.stages.transfer_stage import (
    TransferStage,
    make_objectives,
    student_schedule,
    train_towards,
    transfer,
)
from distill.training.trainer import select_packed

DIMENSION = Words.DIMENSION
SETTINGS = StudentSettings(learning_rate=1e-3, epochs=3, batch_size=16, document_tokens=1200)
LANGUAGES = ["en", "de"]


@pytest.fixture(scope="module")
def start(tokenizer):
    """Without convolutions, which compiles fastest; untrained."""
    keras.utils.set_random_seed(0)
    model = StaticEncoder(vocabulary=len(tokenizer), width=48, hidden=96, dimension=DIMENSION)
    return KerasEncoder(model, tokenizer, "start")


@pytest.fixture(scope="module")
def few(sample, start):
    """Train questions, in dev too, whose documents `start` finds in neither language: its dev scores are 0."""
    documents = start.encode(sample.document_texts)
    missed = set(sample.splits["train"])
    for language in LANGUAGES:
        questions = sample.select(language, "train")
        scores = start.encode([question.text for question in questions]) @ documents.T
        for question, row in zip(questions, scores, strict=True):
            if np.sum(row >= row[sample.document_of[question.passage]]) <= 10:
                missed.discard(question.id)
    ids = [id for id in sample.splits["train"] if id in missed]
    assert len(ids) >= 48
    return replace(sample, splits={split: ids[:48] for split in ("train", "dev", "test")})


@pytest.fixture(scope="module")
def stage(start, sample):
    return make_stage(start, sample, SETTINGS)


def make_stage(start, data, settings, seed=0):
    targets = Targets.of(Words(), data, "en", settings.units)
    return TransferStage(start, targets, data, LANGUAGES, settings, seed)


@pytest.fixture(scope="module")
def transferred(start, few):
    before = [w.copy() for w in start.model.get_weights()]
    teacher, log = Words(), RunLog()
    student = transfer(teacher, start, few, "en", LANGUAGES, SETTINGS, session=Session(log))
    return SimpleNamespace(teacher=teacher, student=student, rows=log.of("student"), before=before)


def distance_to_teacher(encoder, texts, labelled):
    """Mean squared distance of S(texts) to T(labelled)."""
    return np.mean(np.sum((encoder.encode(texts) - Words().encode(labelled)) ** 2, axis=1))


# Training


def test_without_epochs_none_is_quantised():
    assert [student_schedule(StudentSettings(epochs=count, quantised_epochs=1)).quantised for count in (0, 3)] == [0, 1]


def test_the_teacher_is_asked_once_a_role_and_the_student_is_that_of_the_best_epoch(transferred, few, start):
    questions = [q.text for q in few.select("en", "train")]
    assert transferred.teacher.calls == [("document", few.document_texts + few.passage_texts), ("question", questions)]
    assert same(start.model.get_weights(), transferred.before)
    assert transferred.student.tokenizer is start.tokenizer
    assert (transferred.student.name, transferred.student.dimension) == ("student", DIMENSION)
    assert [w.shape for w in transferred.student.model.weights] == [w.shape for w in start.model.weights]
    # Measured with the full table, by the vectors that a user gets.
    dev = DevScore(transferred.student.tokenizer, few, LANGUAGES, SETTINGS.dev_unit)
    score = dev.score(UsedRows(transferred.student.model, dev.tokens))
    scores = [(row["p@1"], row["mrr@10"]) for row in transferred.rows]
    assert (score["p@1"], score["mrr@10"]) == pytest.approx(max(scores))
    assert max(scores) > scores[0] == (0.0, 0.0)


def test_learning_brings_questions_and_passages_nearer_to_the_teachers(transferred, start, few):
    english, german = ([q.text for q in few.select(language, "train")] for language in LANGUAGES)
    for texts, labels in ((english, english), (german, english), (few.passage_texts, few.passage_texts)):
        before, after = (distance_to_teacher(one, texts, labels) for one in (start, transferred.student))
        assert after < 0.95 * before
    assert transferred.rows[-1]["loss"] < 0.95 * transferred.rows[1]["loss"]


def test_the_same_seed_gives_the_same_weights_and_no_lines_change_none(transferred, start, few):
    targets = Targets.of(Words(), few, "en", SETTINGS.units, Lines([], np.zeros((0, DIMENSION))))
    again = train_towards(targets, start, few, LANGUAGES, SETTINGS)
    assert same(again.model.get_weights(), transferred.student.model.get_weights())
    untrained = transfer(Words(), start, few, "en", LANGUAGES, replace(SETTINGS, epochs=0))
    assert same(untrained.model.get_weights(), start.model.get_weights())


def test_a_teacher_of_another_dimension_is_refused_before_it_is_asked(start, sample):
    teacher = Words(dimension=8)
    with pytest.raises(EncoderError, match=" 8 .* 32; "):
        transfer(teacher, start, sample, "en", LANGUAGES, SETTINGS)
    assert teacher.calls == []


# Quantised epochs


def test_the_best_quantised_epoch_is_left_and_float_ones_before_are_as_without(start, few, transferred):
    """A float epoch and two with a table of four bits."""
    log, settings, precision = RunLog(), replace(SETTINGS, quantised_epochs=2), Precision("float32", "int4")
    targets = Targets.of(Words(), few, "en", settings.units)
    student = train_towards(targets, start, few, LANGUAGES, settings, session=Session(log), precision=precision)
    table = student.model.get_layer("embedding").get_weights()[0]
    rounded = decode_rows("int4", encode_table("int4", table), table.shape[1])
    dev = DevScore(student.tokenizer, few, LANGUAGES, SETTINGS.dev_unit)
    score = dev.score(UsedRows(replace_table(student.model, rounded), dev.tokens))
    rows = log.of("student")
    scores = [(row["p@1"], row["mrr@10"]) for row in rows if "quantised" in row]
    assert len(scores) == 3 and max(scores) > scores[0]
    # The student itself is not rounded.
    assert np.abs(rounded - table).max() > 1e-3
    assert (score["p@1"], score["mrr@10"]) == pytest.approx(max(scores))
    for row, other in zip(rows[:2], transferred.rows[:2], strict=True):
        assert {**row, "seconds": 0} == {**other, "seconds": 0}


def small_transformer(vocabulary):
    keras.utils.set_random_seed(0)
    sizes = {"width": 16, "depth": 1, "heads": 2, "head_size": 8, "inner": 32, "positions": 64, "dimension": DIMENSION}
    return TransformerEncoder(vocabulary=vocabulary, dense="linear", **sizes)


def test_a_checkpoint_and_jax_count_the_kernels_that_are_put_on_their_grid_among_the_optimizers(tokenizer, few):
    start, settings = KerasEncoder(small_transformer(len(tokenizer)), tokenizer, "start"), replace(SETTINGS, epochs=2)
    targets, precision = Targets.of(Words(), few, "en", settings.units), Precision("int4", "int4")
    trainer = TransferStage(start, targets, few, LANGUAGES, settings, 0, precision).trainer
    # As after an epoch that rounds nothing.
    trainer.optimizer.build(trainer.trainable_variables)
    trained = [variable.path for variable in trainer.trainable_variables]
    trainer.quantise()
    assert [variable.path for variable in trainer.trainable_variables] == trained
    held = [path for path in trained if path in trainer.encoder.narrow_kernels]
    of_optimizer = [one for one in trainer.trainable_variables if trainer.optimizer.is_still(one)]
    assert [one.path for one in of_optimizer] == held and len(held) == 4


def test_adam_goes_on_with_a_transformers_units_in_the_order_that_their_grid_gives_them(tokenizer, few):
    start, settings = KerasEncoder(small_transformer(len(tokenizer)), tokenizer, "start"), replace(SETTINGS, epochs=2)
    targets, precision = Targets.of(Words(), few, "en", settings.units), Precision("int4", "int4")
    stage = TransferStage(start, targets, few, LANGUAGES, settings, 0, precision)
    trainer, units = stage.trainer, stage.trainer.encoder.blocks[0].first
    trainer.train_on_batch(stage.batches(1)[0]())

    def columns():
        """Of each unit its weights, then what Adam knows of them."""
        known = [v for v in trainer.optimizer.variables for w in units.weights if w.path.replace("/", "_") in v.path]
        assert len(known) == 4
        return [np.concatenate([np.atleast_2d(np.asarray(one)) for one in some]) for some in (units.weights, known)]

    weights, known = columns()
    trainer.quantise()
    after, known_after = columns()
    order = (weights[:, :, None] == after[:, None]).all(axis=0).argmax(axis=0)
    assert sorted(order) == list(range(32)) and not same(order, range(32))
    np.testing.assert_array_equal(after, weights[:, order])
    np.testing.assert_array_equal(known_after, known[:, order])
    # Where the table alone learns Adam knows nothing of units.
    rows = np.arange(len(tokenizer))
    alone = TransferStage(start, replace(targets, trained=rows), few, LANGUAGES, settings, 0, precision).trainer
    alone.optimizer.build(alone.trainable_variables)
    alone.quantise()


def test_kernels_of_four_bits_are_put_on_their_grid_first_and_the_rest_learns_on(tokenizer, few):
    """Of a transformer; two epochs on the grid, of which the last is left."""
    model = small_transformer(len(tokenizer))
    settings = replace(SETTINGS, epochs=2, quantised_epochs=2, averaged_epochs=1, units=("passage",))
    targets, log = Targets.of(Words(), few, "en", settings.units), RunLog()
    start, precision = KerasEncoder(model, tokenizer, "start"), Precision("int4", "int4")
    student = train_towards(targets, start, few, LANGUAGES, settings, session=Session(log), precision=precision).model
    narrow, before = student.narrow_kernels, {weight.path: np.asarray(weight) for weight in model.weights}
    assert len(narrow) == 4
    for weight in student.weights:
        values, first = np.asarray(weight), before[weight.path]
        if weight.path in narrow:
            # Behind those in 8 bits whole numbers from -7 to 7 times a scale a column, in an order of their own,
            # rounded to what inputs need: most to the nearest.
            coarse = values[narrow[weight.path] :]
            codes = coarse / np.abs(coarse).max(axis=0) * 7
            assert np.allclose(codes, np.round(codes), atol=1e-4)
            assert np.corrcoef(values, first)[: len(first), len(first) :].max(axis=1).min() > 0.8
        elif not weight.path.endswith("key/bias"):
            assert np.abs(values - first).max() > 1e-4, weight.path
            # The encoder has the kernels that it was trained with, as a bundle will.
            assert not weight.path.endswith("/kernel") or is_rounded(values, LEVELS), weight.path
    losses = [row["loss"] for row in log.of("student") if "loss" in row]
    assert losses[-1] < losses[0]


def test_codewords_learn_and_the_table_is_of_them(tokenizer, few):
    model = small_transformer(len(tokenizer))
    table = model.get_layer("embedding").get_weights()[0]
    stored = StoredTable(encode_table("int4-pq5", table), *table.shape)
    start = KerasEncoder(replace_table(model, stored.values), tokenizer, "start")
    settings = replace(SETTINGS, epochs=2, quantised_epochs=2, averaged_epochs=1, train_table=False)
    settings, log = replace(settings, units=("passage",), train_codewords=True), RunLog()
    targets = Targets.of(Words(), few, "en", settings.units)
    with pytest.raises(ConfigError) as refused:
        train_towards(targets, start, few, LANGUAGES, settings, precision=Precision("int8", "int4-pq5"))
    assert str(refused.value).startswith("student.train_codewords: ")
    precision = Precision("int8", "int4-pq5", stored)
    student = train_towards(targets, start, few, LANGUAGES, settings, session=Session(log), precision=precision).model
    learned, often = student.get_layer("embedding").get_weights()[0], stored.frequent_count
    assert same([learned[:often]], [stored.values[:often]])
    assert (np.abs(learned - stored.values)[often:].max(axis=1) > 0).mean() > 0.9
    # Rows that no text used have the new codewords too.
    followed = stored.follow(learned)
    np.testing.assert_allclose(followed.values, learned, rtol=1e-5, atol=1e-7)
    # The last epoch's mean is measured with the table that the student has.
    dev = DevScore(tokenizer, few, LANGUAGES, settings.dev_unit)
    with quantise_weights(student, replace(precision, stored=followed)):
        score = dev.score(UsedRows(student, dev.tokens))
    last = log.of("student")[-1]
    assert (score["p@1"], score["mrr@10"]) == pytest.approx((last["p@1"], last["mrr@10"]))
    losses = [row["loss"] for row in log.of("student") if "loss" in row]
    assert losses[-1] < losses[0]


# Batches


def asked_of(data):
    """The samples in the order of the stage's rows."""
    return [question for language in LANGUAGES for question in data.select(language, "train")]


def unpacked(stage, x):
    """The texts of a batch as tuples of the full model's ids."""
    rows = [x["ids"][(x["segments"] == number) & (x["ids"] >= 0)] for number in range(len(x["counts"]))]
    assert [len(row) for row in rows] == x["counts"][:, 0].tolist()
    return [tuple(stage.used.rows[row].tolist()) for row in rows]


# The second and the fourth are the same question in English and German.
ROWS = np.array([200, 3, 7, 3 + 134, 60, 150])


def answer_texts(data, question, units):
    passage = question.passage
    texts = {"document": data.document_texts[data.passages[passage].document], "passage": data.passage_texts[passage]}
    return [texts[unit] for unit in units]


def within(data, tokenizer, settings):
    """The distinct answers of as many of `ROWS` as the budget holds of the mean sample's tokens."""
    rows, samples = ROWS[: documented(data, tokenizer, settings)], asked_of(data)
    return list(dict.fromkeys(text for row in rows for text in answer_texts(data, samples[row], settings.units)))


def documented(data, tokenizer, settings):
    """How many samples a step has documents of."""
    if not settings.document_tokens:
        return len(ROWS)
    texts = [answer_texts(data, question, settings.units) for question in asked_of(data)]
    tokens = np.mean([sum(len(ids) for ids in tokenizer.encode(answer)) for answer in texts])
    return min(len(ROWS), max(1, round(settings.document_tokens / tokens)))


# Without a budget all are.
@pytest.mark.parametrize("budget", [0, 1, 1000, SETTINGS.document_tokens, 2500, 4000])
def test_a_batch_has_its_questions_then_distinct_documents_of_as_many_as_the_budget_holds(start, stage, sample, budget):
    texts = [asked_of(sample)[row].text for row in ROWS]
    texts += within(sample, start.tokenizer, replace(SETTINGS, document_tokens=budget))
    expected = [tuple(ids) for ids in start.tokenizer.encode(texts)]
    assert unpacked(stage, with_settings(stage, document_tokens=budget).batch(ROWS)) == expected
    assert len(with_settings(stage, objectives=("qq", "dq")).batch(ROWS)["counts"]) == len(ROWS)


def test_long_documents_count_as_often_as_short_ones(stage):
    stage = with_settings(stage, document_tokens=1500)
    samples = len(stage.labels.question)
    counted = np.zeros(samples)
    for epoch in range(1, 201):
        for rows in shuffle_batches(samples, SETTINGS.batch_size, epoch):
            counted[rows[: stage.count_documented(len(rows))]] += 1
    lengths = np.array([len(ids) for ids in stage.tokens.documents])[stage.labels.answers].sum(axis=1)
    weighted = (counted * lengths).sum() / counted.sum()
    # The documents' mean length is that of all samples; by a prefix that fits it was a tenth off.
    assert weighted == pytest.approx(lengths.mean(), rel=0.02)


def with_settings(stage, **changes):
    stage.settings = replace(SETTINGS, **changes)
    stage.objectives = make_objectives(stage.settings, stage.labels, 0, Session())
    return stage


@pytest.fixture(autouse=True)
def settings_again(request):
    yield
    if "stage" in request.fixturenames:
        with_settings(request.getfixturevalue("stage"))


def test_an_epoch_has_each_sample_once_in_an_order_of_its_own(stage, start, sample):
    samples = []
    for make in stage.batches(1):
        x = make()
        samples += unpacked(stage, x)[: len(x["teacher_question"])]
    expected = start.tokenizer.encode([question.text for question in asked_of(sample)])
    assert sorted(samples) == sorted(tuple(ids) for ids in expected)
    one, other, again = (stage.batches(epoch)[0]()["ids"].tolist() for epoch in (1, 2, 1))
    assert one == again != other
    assert make_stage(start, sample, SETTINGS, seed=50).batches(1)[0]()["ids"].tolist() != one


def test_a_question_that_the_teacher_was_not_asked_is_left_out(start, sample):
    gone = sample.splits["train"][0]
    english = {id: question for id, question in sample.questions["en"].items() if id != gone}
    data = replace(sample, questions={**sample.questions, "en": english})
    stage = make_stage(start, data, SETTINGS)
    # 133 in English and the same 133 in German
    assert len(stage.labels.question) == 266
    np.testing.assert_array_equal(stage.labels.question[:133], stage.labels.question[133:])


# The loss of a batch


def by_hand(start, data, settings):
    """Equation 2 on `ROWS` in plain loops, every vector from its own text."""
    matrix = (
        whiten_by_hand(Words().encode(label_texts(data)), settings.whitening)
        if settings.distance == "whitened"
        else None
    )
    measure = {
        "squared_l2": lambda a, b: np.sum((a - b) ** 2),
        "cosine": lambda a, b: 1 - a @ b,
        "whitened": lambda a, b: np.sum(((a - b) @ matrix) ** 2),
    }[settings.distance]
    samples, count, english = asked_of(data), documented(data, start.tokenizer, settings), data.questions["en"]
    losses = {"qq": [], "dd": [], "dq": []}
    for place, row in enumerate(ROWS):
        question = samples[row]
        student, teacher = vector(start, question.text), vector(Words(), english[question.id].text)
        losses["qq"].append(measure(teacher, student))
        for text in answer_texts(data, question, settings.units):
            losses["dq"].append(measure(vector(Words(), text), student))
            if place < count:
                losses["dd"].append(measure(vector(Words(), text), vector(start, text)))
    weights = {name: getattr(settings.losses, name) for name in ("qq", "dd", "dq")}
    return settings.gamma * sum(weights[name] * np.mean(losses[name]) for name in settings.objectives)


def label_texts(data):
    """The texts whose vectors are the labels of questions and of documents."""
    return [*(question.text for question in data.select("en", "train")), *data.document_texts, *data.passage_texts]


def whiten_by_hand(vectors, power):
    """(C / c + .0004 I)^-power of the mean products C of vectors, by SciPy's power of a matrix."""
    rows, size = vectors.astype(np.float64), vectors.shape[1]
    products = rows.T @ rows / len(rows)
    return fractional_matrix_power(products / (np.trace(products) / size) + 4e-4 * np.eye(size), -power)


def vector(encoder, text):
    return encoder.encode([text])[0].astype(np.float64)


WEIGHTS = {"losses": LossSettings(qq=2.0, dd=0.5, dq=0.1), "gamma": 10.0}


# Enough tokens that the fourth row's documents, the second's again, count and the later ones' do not.
BY_HAND = [
    {"objectives": objectives, "distance": distance, "document_tokens": 4000}
    for distance in ("squared_l2", "cosine", "whitened")
    for objectives in (("qq",), ("dd",), ("dq",), ("qq", "dd", "dq"))
] + [{"units": units, "document_tokens": 500} for units in (("passage",), ("document",), ("passage", "document"))]


@pytest.mark.parametrize("changes", BY_HAND, ids=str)
def test_the_loss_of_a_batch_is_equation_2_by_hand(stage, start, sample, changes):
    settings = replace(SETTINGS, **changes, **WEIGHTS)
    stage = make_stage(start, sample, settings) if "units" in changes else with_settings(stage, **changes, **WEIGHTS)
    got = value_of(stage)
    assert got == pytest.approx(by_hand(start, sample, settings), rel=1e-4)
    assert got > 0.01


def total(terms):
    return float(sum(terms.values()))


def value_of(stage):
    """The loss of the vectors of the small model, which is not trained."""
    x = stage.batch(ROWS)
    vectors = stage.used.small.encode_packed(**select_packed(x))
    return total(compute_terms(vectors, x, stage.objectives, stage.settings.gamma))


def test_a_whitening_counts_each_kind_of_label_up_to_a_number_and_a_prefix_has_its_own(stage, monkeypatch):
    labels = stage.labels
    texts = Words().encode(["one", "two", "three"])
    labels = replace(labels, lines=np.concatenate([texts, labels.questions]), line=np.arange(3))
    # All of them, then at most ten of each kind.
    every = np.concatenate([labels.questions, labels.lines, labels.documents])
    prefix, whole = labels.compute_whitenings(0.3, [4], 0)
    rows = every[:, :4] / np.linalg.norm(every[:, :4], axis=1, keepdims=True)
    for matrix, vectors in ((prefix, rows), (whole, every)):
        assert matrix.dtype == np.float32
        np.testing.assert_allclose(matrix, whiten_by_hand(vectors, 0.3), rtol=1e-3, atol=1e-4)
    monkeypatch.setattr("distill.training.stages.objectives.SAMPLED", 10)
    one, same, other = (labels.compute_whitenings(0.3, (), seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 1e-3 and np.abs(one - whole).max() > 1e-3


def test_a_whitened_distance_is_the_same_after_a_stop_and_all_that_take_a_distance_learn_by_it(start, few, tmp_path):
    settings = replace(SETTINGS, distance="whitened", nested=("8",), epochs=2, averaged_epochs=1)
    sessions, log = [Session(checkpoint=Checkpoint(tmp_path / place)) for place in "ab"], RunLog()
    student = transfer(Words(), start, few, "en", LANGUAGES, settings, session=replace(sessions[0], log=log))
    losses = [row["terms"] for row in log.of("student") if "terms" in row]
    assert all(losses[1][name] < losses[0][name] for name in ("qq", "dd", "dq"))
    german = [q.text for q in few.select("de", "train")]
    english = [q.text for q in few.select("en", "train")]
    assert distance_to_teacher(student, german, english) < distance_to_teacher(start, german, english)
    prefix, whole = sessions[0].checkpoint.read_kept("whitening")
    np.testing.assert_allclose(whole, whiten_by_hand(Words().encode(label_texts(few)), 0.15), rtol=1e-3, atol=1e-4)
    assert prefix.shape == (8, 8)
    # What is kept counts, whatever the labels are by now.
    targets = Targets.of(Words(), few, "en", settings.units)
    stages = [
        TransferStage(start, targets, few, LANGUAGES, replace(settings, whitening=0.5), 0, None, session)
        for session in sessions
    ]
    x = stages[0].batch(np.arange(4))
    vectors = stages[0].used.small.encode_packed(**select_packed(x))
    kept, other = (total(compute_terms(vectors, x, stage.objectives, 1.0)) for stage in stages)
    fresh = make_objectives(settings, stages[0].labels, 0, Session())
    assert kept == pytest.approx(total(compute_terms(vectors, x, fresh, 1.0)), rel=1e-5) and kept < 0.99 * other


# Lines

CORPUS = [f"line {number} of a corpus" for number in range(10)]


@pytest.fixture(scope="module")
def lines():
    return label_corpus({"en": CORPUS[:4], "de": CORPUS[4:]}, Words())


@pytest.fixture(scope="module")
def with_lines(start, few, lines):
    settings = replace(SETTINGS, lines_a_step=3)
    targets = Targets.of(Words(), few, "en", settings.units, lines)
    return TransferStage(start, targets, few, LANGUAGES, settings, 0)


def test_lines_are_labelled_and_all_drawn_before_one_is_drawn_again(lines, with_lines, start, few):
    assert lines.texts == CORPUS
    np.testing.assert_array_equal(lines.vectors, Words().encode(lines.texts))
    # Two epochs of three steps with three lines: ten different ones, then the first eight again.
    drawn = np.concatenate([with_lines.draw_lines(3, epoch).ravel() for epoch in (1, 2)])
    assert sorted(drawn[:10]) == list(range(10))
    assert drawn[10:].tolist() == drawn[:8].tolist()
    targets = Targets.of(Words(), few, "en", SETTINGS.units, lines)
    stage = TransferStage(start, targets, few, LANGUAGES, replace(SETTINGS, lines_a_step=99), 0)
    assert stage.draw_lines(2, 1).shape == (2, 10)


def test_lines_come_between_questions_and_documents_and_are_named(with_lines, start, lines, few):
    batch = with_lines.batch(np.arange(4), np.array([7, 2]))
    np.testing.assert_array_equal(batch["teacher_question"][4:], lines.vectors[[7, 2]])
    ids = [batch["ids"][(batch["segments"] == place) & (batch["ids"] >= 0)] for place in (4, 5)]
    expected = with_lines.used.ids(start.tokenizer.encode([lines.texts[7], lines.texts[2]]))
    assert [part.tolist() for part in ids] == [part.tolist() for part in expected]
    assert batch["document"].min() == 6
    assert len(batch["teacher_answers"]) == 4
    texts = {f"{q.language} {q.id}": q.text for language in LANGUAGES for q in few.select(language, "train")}
    texts |= {f"line {row} ({text!r})": text for row, text in enumerate(lines.texts, start=1)}
    for make in with_lines.batches(1):
        named = [tuple(ids) for ids in start.tokenizer.encode([texts[name] for name in make.ids()])]
        assert unpacked(with_lines, make())[: len(named)] == named
        assert sum(name.startswith("line ") for name in make.ids()) == 3
        assert make.loss == "loss of " + ", ".join(SETTINGS.objectives)


def test_the_loss_counts_lines_as_questions_without_documents():
    random = np.random.default_rng(0)
    vectors, labels, answered = (random.normal(size=size).astype(np.float32) for size in ((5, 4), (3, 4), (2, 1, 4)))
    x = {"teacher_question": labels, "teacher_answers": answered}
    qq = np.mean(((labels - vectors[:3]) ** 2).sum(axis=1))
    dq = np.mean(((answered[:, 0] - vectors[:2]) ** 2).sum(axis=1))
    objectives = list_objectives(("qq", "dq"), LossSettings(), squared_l2)
    assert total(compute_terms(vectors, x, objectives, 1.0)) == pytest.approx(qq + dq, rel=1e-5)


# Axes


def test_a_projected_student_learns_towards_its_teacher_on_its_own_axes(start, few):
    smaller = KerasEncoder(project_student(start.model, Words().encode(few.passage_texts), 5), start.tokenizer)
    targets = Targets.of(Words(), few, "en", SETTINGS.units)
    stage = TransferStage(smaller, targets, few, LANGUAGES, SETTINGS, 0)
    axes = np.asarray(smaller.model.get_layer("projection").kernel)
    expected = Words().encode(few.passage_texts) @ axes
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(stage.labels.documents[len(few.document_texts) :], expected, atol=1e-6)
    questions = Words().encode([q.text for q in few.select("en", "train")])
    np.testing.assert_allclose(stage.labels.questions, on_axes(questions, find_axes(smaller.model)), atol=1e-6)
    # Its last epochs, whatever dev says of them, which may be that none is better than the start.
    student = transfer(Words(), smaller, few, "en", LANGUAGES, replace(SETTINGS, nested=("2",), averaged_epochs=2))
    np.testing.assert_array_equal(np.asarray(student.model.get_layer("projection").kernel), axes)
    labels = on_axes(Words().encode(few.passage_texts), axes)
    before, after = (np.sum(one.encode(few.passage_texts) * labels, axis=1).mean() for one in (smaller, student))
    assert after > before


def test_a_share_of_the_start_stays_in_the_student_or_all_of_it_where_dev_tells_no_difference(start, few, capfd):
    once = replace(SETTINGS, epochs=1, averaged_epochs=1)
    # Of so few questions all can be as sure as the first, and none as the second.
    options, logs = (
        ({}, {"start_share": 0.75, "significance": 0.9}, {"significance": 1e-9}),
        [RunLog(), RunLog(), RunLog()],
    )
    students = [
        transfer(Words(), start, few, "en", LANGUAGES, replace(once, **changes), session=Session(log))
        for changes, log in zip(options, logs, strict=True)
    ]
    weights = [[np.asarray(weight) for weight in one.model.weights] for one in (start, *students)]
    assert any((first != last).any() for first, last, *_ in zip(*weights, strict=True))
    for first, last, between, kept in zip(*weights, strict=True):
        np.testing.assert_allclose(between, 0.75 * first + 0.25 * last, atol=1e-6)
        np.testing.assert_array_equal(kept, first)
    assert students[-1].name == "student"
    # The log knows it, whatever the scores of the epochs.
    assert [read_outcome(log.of("student")).kept_start for log in logs] == [False, False, True]
    (said,) = (line for line in capfd.readouterr().err.splitlines() if "stays as it began" in line)
    assert " 48 questions " in said and " 0.000 before, " in said


# Another encoder's space


@pytest.fixture(scope="module", params=[DIMENSION - 8, DIMENSION], ids=["shorter", "as long"])
def abroad(request, start, few):
    """A student with a map into the space of a teacher that its head does not share, and that teacher."""
    teacher = Words(request.param)
    model = map_space(start.model, start.encode(few.passage_texts), teacher.encode(few.passage_texts))
    return SimpleNamespace(student=KerasEncoder(model, start.tokenizer), teacher=teacher)


def test_labels_in_another_encoders_space_are_as_they_are_and_lines_of_no_space_refused(abroad, few):
    lines = label_corpus({"de": ["eins", "zwei"]}, abroad.teacher)
    targets = Targets.of(abroad.teacher, few, "en", SETTINGS.units, lines)
    stage = TransferStage(abroad.student, targets, few, LANGUAGES, SETTINGS, 0)
    questions = [q.text for q in few.select("en", "train")]
    np.testing.assert_array_equal(stage.labels.questions, abroad.teacher.encode(questions))
    np.testing.assert_array_equal(stage.labels.documents, abroad.teacher.encode(targets.texts))
    np.testing.assert_array_equal(stage.labels.lines, abroad.teacher.encode(["eins", "zwei"]))
    lines = label_corpus({"de": ["eins"]}, Words(DIMENSION + 1))
    targets = Targets.of(abroad.teacher, few, "en", SETTINGS.units, lines)
    with pytest.raises(EncoderError, match=f" 33 .* {abroad.teacher.dimension}"):
        TransferStage(abroad.student, targets, few, LANGUAGES, SETTINGS, 0)


# Of as many dimensions it is that of a run in test_fixed_teacher.
@pytest.mark.parametrize("abroad", [DIMENSION - 8], indirect=True, ids=["shorter"])
def test_a_student_learns_in_another_encoders_space_and_its_map_does_too(abroad, few):
    student = transfer(abroad.teacher, abroad.student, few, "en", LANGUAGES, SETTINGS)
    kernels = [np.asarray(one.model.get_layer("projection").kernel) for one in (abroad.student, student)]
    assert np.abs(kernels[0] - kernels[1]).max() > 1e-3
    questions = [[q.text for q in few.select(code, "train")] for code in LANGUAGES]
    labels = abroad.teacher.encode(questions[0])
    for texts in questions:
        before, after = (np.sum(one.encode(texts) * labels, axis=1).mean() for one in (abroad.student, student))
        assert after > before + 0.005


# Translations, and what stands beside Equation 2


SOURCES = [
    Parallel("a", 3.0, ("eins", "zwei", "one"), ("de", "de", "en"), ("one", "two", "one")),
    Parallel("b", 1.0, ("drei",), ("de",), ("three",)),
]


def test_translations_have_the_vectors_of_their_pivots_and_mix_with_lines_in_a_step(start, few):
    teacher = Words()
    lines = label_translations(SOURCES, teacher, 1.0)
    assert sum((texts for _, texts in teacher.calls), []) == ["one", "two", "three"]
    assert (lines.texts, lines.rows.tolist()) == (["eins", "zwei", "one", "drei"], [0, 1, 0, 2])
    np.testing.assert_allclose(lines.chances, [0.75 * 2 / 3, 0.75 / 3, 0.25])
    assert lines.groups.tolist() == [0, 0, 1, 2]
    targets, settings = Targets.of(Words(), few, "en", SETTINGS.units, lines), replace(SETTINGS, lines_a_step=2)
    stage = TransferStage(start, targets, few, LANGUAGES, settings, 0)
    batch = stage.batch(np.arange(2), np.array([2, 1]))
    np.testing.assert_array_equal(batch["teacher_question"][2:], Words().encode(["one", "two"]))
    rows = np.concatenate([stage.draw_lines(500, epoch).ravel() for epoch in (1, 2)])
    assert np.mean(rows == 3) == pytest.approx(0.25, abs=0.03)
    plain = label_corpus({"en": ["a", "b", "c"]}, Words())
    lines = mix_lines(plain, label_translations(SOURCES, Words(), 1.0))
    assert lines.texts == ["a", "b", "c", "eins", "zwei", "one", "drei"]
    expected = Words().encode(["a", "b", "c", "one", "two", "one", "three"])
    np.testing.assert_array_equal(lines.vectors[lines.rows], expected)
    assert lines.groups.tolist() == [0, 0, 0, 1, 1, 2, 3]
    np.testing.assert_allclose(lines.chances, [0.5, 0.25, 0.125, 0.125])


@pytest.mark.parametrize("units", [("passage",), ("document", "passage")], ids="+".join)
def test_list_and_softmax_by_hand(start, sample, units):
    """The ranking over each unit's documents, softmax over the first's; what answers two questions is no negative."""
    settings = replace(
        SETTINGS, objectives=("list", "softmax"), units=units, gamma=2.0,
        losses=LossSettings(list=RankingSettings(0.7, 0.2), softmax=SoftmaxSettings(0.3, 0.5)),
    )  # fmt: skip
    stage = make_stage(start, sample, settings)
    x = stage.batch(ROWS)
    vectors = np.asarray(stage.used.small.encode_packed(**select_packed(x)))
    labels, divergences = stage.labels.questions[stage.labels.question[ROWS]], []
    for unit in units:
        ranked = Words().encode(sample.texts(unit), "document")
        p, q = (np.exp(log_softmax(rows @ ranked.T / 0.2, axis=1)) for rows in (labels, vectors))
        divergences.append((p * np.log(p / q)).sum(axis=1).mean())
    listwise, documents = np.mean(divergences), Words().encode(sample.texts(units[0]), "document")
    gold, losses = stage.labels.answers[ROWS, 0], []
    for row, answer in enumerate(gold):
        others = [place for place in range(len(gold)) if place == row or gold[place] != answer]
        scores = vectors[row] @ documents[gold[others]].T / 0.5
        losses.append(np.log(np.exp(scores).sum()) - vectors[row] @ documents[answer] / 0.5)
    expected = 2 * (0.7 * listwise + 0.3 * np.mean(losses))
    assert total(stage.trainer.batch_loss(vectors, x)) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("units", [("passage",), ("passage", "document")], ids="+".join)
def test_softmax_among_all_documents_by_hand(start, sample, units):
    settings = replace(
        SETTINGS, objectives=("softmax",), units=units, gamma=2.0,
        losses=LossSettings(softmax=SoftmaxSettings(0.3, 0.2, "all")),
    )  # fmt: skip
    stage = make_stage(start, sample, settings)
    x = stage.batch(ROWS)
    vectors = np.asarray(stage.used.small.encode_packed(**select_packed(x)))
    passages, losses = [stage.samples[row].passage for row in ROWS], []
    for unit in units:
        gold = [sample.document_of[passage] for passage in passages] if unit == "document" else passages
        q = log_softmax(vectors[: len(ROWS)] @ Words().encode(sample.texts(unit), "document").T / 0.2, axis=1)
        losses.append(-q[np.arange(len(gold)), gold].mean())
    assert total(stage.trainer.batch_loss(vectors, x)) == pytest.approx(2 * 0.3 * np.mean(losses), rel=1e-3)


def test_each_line_finds_the_label_of_its_own_row_among_those_of_the_step(start, few):
    """Lines 0 and 2 of the step are translations of one text, so neither is the other's negative."""
    lines = label_translations([*SOURCES, *make_labelled_text({"de": ["vier", "eins"]})], Words(), 1.0)
    settings = replace(
        SETTINGS, objectives=("translation",), gamma=2.0, losses=LossSettings(translation=LineSettings(0.7, 0.2))
    )
    stage = TransferStage(start, Targets.of(Words(), few, "en", settings.units, lines), few, LANGUAGES, settings, 0)
    chosen = np.array([0, 1, 2, 4])
    x = stage.batch(np.arange(3), chosen)
    assert (~np.eye(4, dtype=bool) & x["same_line"]).nonzero()[0].tolist() == [0, 2]
    vectors = np.asarray(stage.used.small.encode_packed(**select_packed(x)))[3:7]
    labels = Words().encode(["one", "two", "one", "vier"])
    losses = []
    for row, others in enumerate(([0, 1, 3], [0, 1, 2, 3], [1, 2, 3], [0, 1, 2, 3])):
        scores = vectors[row] @ labels[others].T / 0.2
        losses.append(np.log(np.exp(scores).sum()) - vectors[row] @ labels[row] / 0.2)
    assert total(stage.trainer.batch_loss(np.pad(vectors, ((3, 5), (0, 0))), x)) == pytest.approx(
        2 * 0.7 * np.mean(losses), rel=1e-4
    )
    assert "same_line" not in stage.batch(np.arange(3))
    # Lines that no step has are left out, and not missed.
    names = [one.name for one in with_settings(stage, objectives=("qq", "translation"), lines_a_step=0).objectives]
    assert names == ["qq"]


def test_labels_that_differ_in_their_last_bits_are_one():
    labels = Words().encode(["one", "two", "one"])
    labels[2] *= 1 + 1e-6
    assert same_label(labels).tolist() == [[True, False, True], [False, True, False], [True, False, True]]


# As people type


def test_a_share_of_questions_and_lines_is_typed_and_learns_the_same_labels(start, few, lines):
    settings = replace(SETTINGS, lines_a_step=3, typed_share=0.5, typed_kinds=("lower-case",))
    targets = Targets.of(Words(), few, "en", settings.units, lines)
    stage = TransferStage(start, targets, few, LANGUAGES, settings, 0)
    rows, beside = np.arange(4), [0, 9]
    typed = [True, False, True, False, False, True]
    step, written = stage.batch(rows, beside, typed), stage.batch(rows, beside)
    np.testing.assert_array_equal(step["teacher_question"], written["teacher_question"])
    texts = [*(stage.samples[row].text for row in rows), *(CORPUS[line] for line in beside)]
    # What the trainer packs are the lower-cased texts where the step's draw says so.
    drawn = [text.lower() if noisy else text for text, noisy in zip(texts, typed, strict=True)]
    assert unpacked(stage, step)[:6] == [tuple(ids) for ids in start.tokenizer.encode(drawn)]
    # Another epoch types others, and the same one the same.
    draws = [stage.noise.draw(20, 6, epoch) for epoch in (1, 1, 2)]
    assert 0.3 < draws[0].mean() < 0.7
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()


def test_typed_rows_alone_are_trained(start, few):
    settings = replace(SETTINGS, epochs=1, typed_share=1.0, typed_kinds=("lower-case",), trained_weights="typed-rows")
    student = transfer(Words(), start, few, "en", LANGUAGES, settings)
    counts = np.zeros((2, len(start.tokenizer)))
    for language in LANGUAGES:
        for question in few.select(language, "train"):
            for row, text in enumerate((question.text, question.text.lower())):
                np.add.at(counts[row], start.tokenizer.encode([text])[0], 1)
    before, after = ([layer.get_weights() for layer in model.layers] for model in (start.model, student.model))
    tables = [encoder.model.get_layer("embedding").get_weights()[0] for encoder in (start, student)]
    moved = np.flatnonzero((tables[0] != tables[1]).any(axis=1))
    assert len(moved) and set(moved) <= set(np.flatnonzero(counts[1] > counts[0]))
    others = [(a, b) for a, b in zip(before, after, strict=True) if a and a[0].shape != tables[0].shape]
    assert all(np.array_equal(x, y) for a, b in others for x, y in zip(a, b, strict=True))


def test_questions_lines_and_documents_have_the_prompts_of_their_roles(start, few, lines):
    reading = Reading({"question": "query: ", "document": "passage: "})
    prompted = KerasEncoder(start.model, Tokenizer(start.tokenizer.proto, reading=reading))
    targets = Targets.of(Words(), few, "en", SETTINGS.units, lines)
    stage = TransferStage(prompted, targets, few, LANGUAGES, replace(SETTINGS, lines_a_step=3), 0)
    rows = [
        stage.used.rows[ids].tolist() for ids in (*stage.tokens.questions, *stage.tokens.lines, *stage.tokens.documents)
    ]
    asking = [*(f"query: {one.text}" for one in stage.samples), *(f"query: {text}" for text in stage.lines.texts)]
    answering = [f"passage: {text}" for unit in SETTINGS.units for text in few.texts(unit)]
    assert rows == start.tokenizer.encode([*asking, *answering])
