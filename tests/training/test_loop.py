from types import SimpleNamespace

import keras
import numpy as np
import pytest
from fixtures.vectors import same
from keras import ops

from distill.encoders.batching import pack, shuffle_batches
from distill.errors import TrainingError
from distill.export.weights.codecs import decode_rows, encode_table
from distill.export.weights.precision import Precision
from distill.students.ngram import NGramEncoder
from distill.training.batches import BatchMaker
from distill.training.log import RunLog, read_outcome
from distill.training.loop import fit
from distill.training.rates import TableSchedule
from distill.training.session import Schedule, Session
from distill.training.trainer import Trainer

TABLE = "embedding/embeddings"
TEXTS = [[1, 5, 2], [1, 7, 8, 2], [1, 2]]


def encoder():
    # One branch only, which compiles faster.
    keras.utils.set_random_seed(5)
    return NGramEncoder(vocabulary=20, width=6, channels=4, orders=(2,), hidden=8, dimension=6)


def to_target(vectors, x):
    """Mean squared distance to a fixed direction, times the batch's own scale."""
    return ops.mean(ops.sum(ops.square(vectors - x["target"]), axis=-1)) * x["scale"][0]


def batch(scale=1.0, texts=TEXTS):
    target = np.ones((len(texts), 6), dtype=np.float32) / np.float32(np.sqrt(6))
    return {**pack(texts, 1), "target": target, "scale": np.array([scale], dtype=np.float32)}


@pytest.fixture(scope="module")
def shared():
    """One compiled trainer and its first weights: compiling is what costs."""
    trainer = Trainer(encoder(), to_target, 1e-2)
    trainer.train_on_batch(batch(scale=0.0))
    return trainer, trainer.get_weights()


@pytest.fixture
def trainer(shared):
    return reset(*shared)


def reset(trainer, weights):
    """As new: weights, Adam's state and learning rate."""
    trainer.set_weights(weights)
    for variable in trainer.optimizer.variables:
        variable.assign(np.zeros(variable.shape))
    trainer.optimizer.learning_rate = 1e-2
    return trainer


def scores(*values):
    """An `evaluate` that returns these P@1 in turn; a pair is P@1 and MRR@10."""
    left = [value if isinstance(value, tuple) else (value, 0.0) for value in values]

    def evaluate():
        p, mrr = left.pop(0)
        return {"p@1": p, "mrr@10": mrr}

    return evaluate


def run(trainer, values, epochs, steps=1, watch=None, **options):
    """`fit` on a schedule of dev scores; what it returned, logged, and did: weights and step at each evaluation."""
    seen = SimpleNamespace(weights=[], steps=0, log=RunLog(), epochs=[])
    evaluate = scores(*values)

    def counted():
        seen.steps += 1
        return batch()

    def batches(epoch):
        seen.epochs.append(epoch)
        return [counted] * steps

    def watched():
        seen.weights.append(trainer.encoder.get_weights())
        return evaluate()

    seen.scores = fit(trainer, batches, watched, Schedule(epochs, **options), Session(seen.log, watch, stage="stage"))
    return seen


def rate(trainer):
    return float(trainer.optimizer.learning_rate)


def first_step(trainer):
    """How far each weight moves in a step from Adam's start, by path."""
    for variable in trainer.optimizer.variables[2:]:
        variable.assign(np.zeros(variable.shape))
    trainer.optimizer.iterations.assign(0)
    before = trainer.encoder.get_weights()
    trainer.train_on_batch(batch())
    return {w.path: np.abs(np.array(w) - old) for w, old in zip(trainer.encoder.weights, before, strict=True)}


def test_adams_first_step_moves_dense_weights_by_the_learning_rate_and_more_lower_the_loss(trainer):
    # m / sqrt(v) is the gradient's sign in the first step, whatever its size.
    for path, moved in first_step(trainer).items():
        if path != TABLE:
            np.testing.assert_allclose(moved.max(), 1e-2, rtol=1e-3, err_msg=path)
    seen = run(trainer, range(11), epochs=10)
    losses = [row["loss"] for row in seen.log.of("stage")[1:]]
    assert losses[-1] < 0.8 * losses[0]


def test_the_loss_of_a_step_is_that_batchs_own_and_the_logged_one_their_mean(trainer):
    trainer.optimizer.learning_rate = 0.0
    vectors = np.asarray(trainer(batch()))
    expected = np.mean(np.sum((vectors - batch()["target"]) ** 2, axis=1))
    for scale in (1.0, 100.0, 1.0):
        np.testing.assert_allclose(float(trainer.train_on_batch(batch(scale))), scale * expected, rtol=1e-5)
    log = RunLog()
    once = float(trainer.train_on_batch(batch()))
    makers = {1: [lambda: batch(1.0), lambda: batch(3.0)], 2: [lambda: batch(10.0)]}
    fit(trainer, makers.get, scores(0, 1, 2), Schedule(2), Session(log, stage="stage"))
    np.testing.assert_allclose([row["loss"] for row in log.of("stage")[1:]], [2 * once, 10 * once], rtol=1e-5)


def test_the_log_the_watch_and_the_scores_have_the_start_and_each_evaluation(trainer):
    watched = []
    watch = lambda step, scores: watched.append((step, scores["epoch"], scores["p@1"]))  # noqa: E731
    seen = run(trainer, [0.5, (0.4, 0.2), 0.6], epochs=2, steps=3, watch=watch)
    rows = seen.log.of("stage")
    logged = [(row["step"], row["epoch"], row["p@1"]) for row in rows]
    assert logged == watched == [(0, 0, 0.5), (3, 1, 0.4), (6, 2, 0.6)]
    assert [(row["p@1"], row["mrr@10"]) for row in seen.scores] == [(0.5, 0), (0.4, 0.2), (0.6, 0)]
    # The rate that the epoch was trained with: it halves after.
    np.testing.assert_allclose([row["learning_rate"] for row in rows[1:]], [1e-2, 5e-3])
    seen = run(trainer, range(9), epochs=2, steps=5, every=2)
    # Steps 2, 4 and the end at 5; then 6, 8 and 10, which is both.
    assert [row["step"] for row in seen.log.of("stage")] == [0, 2, 4, 5, 6, 8, 10]


def test_what_a_watch_raises_ends_the_training(trainer):
    batches, log = [], RunLog()

    def watch(step, scores):
        if scores["p@1"] == 0.3:
            raise LookupError

    def counted():
        batches.append(1)
        return batch()

    with pytest.raises(LookupError):
        evaluate, session = scores(0.1, 0.5, 0.3, 0.9), Session(log, watch, stage="stage")
        fit(trainer, lambda epoch: [counted] * 4, evaluate, Schedule(3, every=2), session)
    # Two steps before each evaluation; what ended it is in the log.
    assert len(batches) == 4 and [row["p@1"] for row in log.of("stage")] == [0.1, 0.5, 0.3]


@pytest.mark.parametrize(
    ("options", "expected"),
    # Steps 4 and 8 of three epochs of three, and the end.
    [({"every": 4}, [0, 3, 4, 6, 8, 9]), ({"every": 4, "ends": False}, [0, 4, 8, 9]), ({"ends": False}, [0, 9])],
)
def test_the_steps_of_evaluations_between_the_ends_of_epochs_and_without_these(trainer, options, expected):
    seen = run(trainer, range(6), epochs=3, steps=3, **options)
    assert [row["step"] for row in seen.log.of("stage")] == expected and seen.steps == 9


@pytest.mark.parametrize(("epochs", "steps"), [(0, 1), (2, 0)], ids=["no epoch", "no batch"])
def test_without_a_step_nothing_changes(trainer, epochs, steps):
    before = trainer.encoder.get_weights()
    seen = run(trainer, [0.5, 0.6, 0.7], epochs=epochs, steps=steps)
    assert same(trainer.encoder.get_weights(), before) and len(seen.scores) == 1


@pytest.mark.parametrize(("values", "halved"), [([0.1, 0.2, 0.3], 0), ([0.5, 0.4, 0.6, 0.6], 2)])
def test_the_learning_rate_halves_each_time_the_score_does_not_rise(trainer, values, halved):
    run(trainer, values, epochs=len(values) - 1)
    assert rate(trainer) == pytest.approx(1e-2 / 2**halved)
    # The next step moves by it.
    np.testing.assert_allclose(first_step(trainer)["head/first/kernel"].max(), 1e-2 / 2**halved, rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"linear": True}, [1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]),
        ({"linear": True, "warmup": 0.5}, [1 / 4, 2 / 4, 3 / 4, 1, 1, 3 / 4, 2 / 4, 1 / 4]),
        # Dev stalls twice, once while the rate rises.
        ({"warmup": 0.5}, [1 / 4, 2 / 4, 3 / 4, 1, 1, 1, 1 / 2, 1 / 2]),
    ],
)
def test_the_learning_rate_of_each_of_eight_steps(trainer, options, expected):
    rates, evaluate = [], scores(0.5, 0.4, 0.6, 0.5, 0.7)

    def make():
        rates.append(rate(trainer))
        return batch()

    fit(trainer, lambda epoch: [make, make], evaluate, Schedule(4, **options))
    assert rates == pytest.approx([1e-2 * share for share in expected])


def test_the_parts_of_a_step_are_one_step_of_the_log_and_of_the_schedule():
    """Two epochs of two steps of three parts, scored after each step: a quarter of the rate less at each."""
    trainer, rates = Trainer(encoder(), to_target, 1e-2, parts=3), []

    def make():
        rates.append(rate(trainer))
        return batch()

    log, schedule = RunLog(), Schedule(2, every=1, linear=True)
    fit(trainer, lambda epoch: [make] * 6, scores(*range(5)), schedule, Session(log, stage="s"))
    assert [row["step"] for row in log.of("s")] == [0, 1, 2, 3, 4]
    assert rates == pytest.approx(np.repeat([1e-2, 7.5e-3, 5e-3, 2.5e-3], 3))
    assert read_outcome(log.of("s")).steps == int(trainer.optimizer.iterations) == 4


@pytest.mark.parametrize("parts", [1, 2])
def test_a_table_with_a_rate_of_its_own_moves_by_that_and_the_rest_as_ever(parts):
    moved = []
    for table_rate in (0.0, 1e-3):
        one = Trainer(encoder(), to_target, 1e-2, parts=parts, table_schedule=TableSchedule(table_rate))
        before = one.encoder.get_weights()
        one.run_eagerly = True
        # Halved for both; the first step alone, after which the gradients are others.
        one.optimizer.learning_rate = 5e-3
        for _ in range(parts):
            one.train_on_batch(batch())
        moved.append({w.path: np.array(w) - old for w, old in zip(one.encoder.weights, before, strict=True)})
    assert len(moved[0]) > 5 and np.abs(moved[0][TABLE]).max() > 1e-3
    for path, step in moved[0].items():
        expected = 0.1 * step if path == TABLE else step
        np.testing.assert_allclose(moved[1][path], expected, rtol=1e-3, atol=1e-6, err_msg=path)
    # JAX refuses a step that is given a variable twice.
    assert not {id(variable) for variable in one.optimizer.variables} & {id(weight) for weight in one.encoder.weights}


def test_rows_that_are_trained_alone_move_and_no_other_weight():
    one = Trainer(encoder(), to_target, 1e-2, table_schedule=TableSchedule(rows=np.isin(np.arange(20), [5, 9])))
    before = one.encoder.get_weights()
    for _ in range(2):
        one.train_on_batch(batch())
    for weight, old in zip(one.encoder.weights, before, strict=True):
        moved = np.flatnonzero((np.array(weight) != old).reshape(len(old), -1).any(axis=1))
        # No text has piece 9.
        assert moved.tolist() == ([5] if weight.path == TABLE else [])


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ([0.1, 0.3, 0.9, 0.2, 0.4], 2),
        ([0.9, 0.3, 0.2], 0),  # the start is never beaten
        ([(0.5, 0.6), (0.5, 0.7), (0.5, 0.65)], 1),  # ties of P@1 are broken by MRR
        ([(0.5, 0.6), (0.5, 0.6)], 0),  # an equal score is not better
    ],
)
def test_the_weights_of_the_best_evaluation_are_left_in_the_encoder(trainer, values, best):
    seen = run(trainer, values, epochs=len(values) - 1)
    assert same(trainer.encoder.get_weights(), seen.weights[best])
    assert not any(same(weights, seen.weights[best]) for number, weights in enumerate(seen.weights) if number != best)


@pytest.mark.parametrize(
    ("values", "epochs", "options", "steps"),
    [
        # Worse, better, worse, worse: the better one starts the count anew.
        ([0.5, 0.4, 0.6, 0.5, 0.5, 0.9], 9, {"patience": 2}, [1, 2, 3, 4]),
        ([0.5] * 6, 5, {}, [1, 2, 3, 4, 5]),
        # Within an epoch too.
        ([0.5] * 7, 1, {"steps": 6, "every": 1, "patience": 2}, [1, 2]),
    ],
)
def test_patience_counts_evaluations_in_a_row(trainer, values, epochs, options, steps):
    seen = run(trainer, values, epochs=epochs, **options)
    assert [row["step"] for row in seen.log.of("stage")[1:]] == steps and seen.steps == steps[-1]
    assert seen.epochs == list(range(1, 1 + (1 if options.get("steps") else steps[-1])))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_a_number_stops_training_and_questions_that_are_known_are_named(shared, value):
    make = BatchMaker(lambda: batch(value), lambda: ["en a", "de b"], "triplet loss")
    for last, named in ((make.make, ";"), (make, "; .*: en a, de b;")):
        trainer, makers, session = reset(*shared), {1: [batch, last]}, Session(stage="teacher")
        with pytest.raises(TrainingError, match=rf"teacher: .* {value} .* 2 .* 1, .* 0\.01{named}"):
            fit(trainer, makers.get, scores(0), Schedule(1), session)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="other backends compile each shape")
def test_batches_of_any_length_are_one_compilation(trainer):
    traces = []
    inner = trainer.batch_loss
    trainer.batch_loss = lambda vectors, x: traces.append(1) or inner(vectors, x)
    trainer.train_function = None
    try:
        for texts in (TEXTS, TEXTS * 2, TEXTS * 40, TEXTS * 3, TEXTS * 90, TEXTS * 5):
            trainer.train_on_batch(batch(texts=texts))
    finally:
        trainer.batch_loss = inner
    # One for the first shape, one for any other.
    assert len(traces) <= 3


def test_a_fixed_table_stays_bit_identical_and_the_rest_is_trained():
    model = encoder()
    before = {w.path: np.array(w) for w in model.weights}
    trainer = Trainer(model, to_target, 1e-2, train_table=False)
    trainer.run_eagerly = True
    trainer.train_on_batch(batch())
    unchanged = [w.path for w in model.weights if np.array_equal(w, before[w.path])]
    assert unchanged == [model.get_layer("embedding").weights[0].path]


# Quantised epochs


def run_quantised(values, **options):
    """Three epochs of a step each, the last two with a table of four bits."""
    trainer = Trainer(encoder(), to_target, 1e-2, precision=Precision("float32", "int4"))
    trainer.run_eagerly = True
    return trainer, run(trainer, values, epochs=3, quantised=2, **options)


def rounded(weights):
    """The weights with their table, which comes first, as an artefact has it."""
    return [decode_rows("int4", encode_table("int4", weights[0]), 6), *weights[1:]]


@pytest.mark.parametrize(
    ("values", "options", "kept"),
    [
        # The first of three epochs is the best, and no rounded one is better than it is, rounded.
        ([0.5, 0.9, 0.6, 0.8, 0.3], {}, 1),
        # Patience ends the others after the second of four.
        ([0.5, 0.9, 0.6, 0.8, 0.3], {"patience": 1, "epochs": 4}, 1),
        ([0.5, 0.4, 0.3, 0.5, 0.3], {}, 0),
        # Their mean is that of the last.
        ([0.5, 0.9, 0.6, 0.7, 0.8, 0.3, 0.3], {"averaged": 1}, 2),
    ],
)
def test_rounded_epochs_begin_with_the_number_of_the_epoch_whose_weights_are_rounded(trainer, values, options, kept):
    seen = run(trainer, values, **{"epochs": 3, "quantised": 1, **options})
    first = next(row for row in seen.log.of("stage") if row.get("quantised"))
    assert first["epoch"] == kept
    if "averaged" not in options:
        assert read_outcome(seen.log.of("stage")).kept_start is (kept == 0)
        assert kept == 0 or read_outcome(seen.log.of("stage")).epoch == kept


def test_quantised_epochs_are_scored_rounded_and_leave_the_floats_whose_rounding_was_best():
    # Start, a float epoch that is best, scored anew, a quantised epoch that is better, and one that is not.
    trainer, seen = run_quantised([0.5, 0.9, 0.1, 0.3, 0.2])
    start, floats, again, *others = seen.weights
    assert not same(start, rounded(start)) and not same(floats, rounded(floats))
    assert same(again, rounded(floats))
    for weights in others:
        # What is rounded stays where it is when it is rounded again.
        assert weights[0] == pytest.approx(rounded(weights)[0], rel=1e-3)
    left = trainer.encoder.get_weights()
    assert same(rounded(left), seen.weights[3]) and not same(rounded(left), left)
    rows = seen.log.of("stage")
    expected = [(0, 0, 0.5), (1, 1, 0.9), (1, 1, 0.1), (2, 2, 0.3), (3, 3, 0.2)]
    assert [(row["epoch"], row["step"], row["p@1"]) for row in rows] == expected
    assert [row.get("quantised") for row in rows] == [None, None, True, True, True]
    assert ["loss" in row for row in rows] == [False, True, False, True, True]
    assert [row["p@1"] for row in seen.scores] == [0.5, 0.9, 0.1, 0.3, 0.2]


def test_quantised_epochs_that_are_never_better_leave_the_best_float_weights_and_later_float_ones_are_float():
    trainer, seen = run_quantised([0.5, 0.2, 0.4, 0.3, 0.3])
    assert same(trainer.encoder.get_weights(), seen.weights[0])
    seen = run(trainer, [0.5, 0.6], epochs=1)
    assert not any(same(weights, rounded(weights)) for weights in seen.weights)
    assert not any("quantised" in row for row in seen.scores)


def test_without_scores_at_the_ends_of_epochs_the_last_float_epoch_has_one_and_is_what_rounded_ones_begin_with():
    trainer, seen = run_quantised([0.1, 0.2, 0.1, 0.3], ends=False)
    assert [(row["epoch"], row.get("quantised")) for row in seen.log.of("stage")][1:] == [
        (1, None),
        (1, True),
        (3, True),
    ]
    start, floats, again, _ = seen.weights
    assert same(again, rounded(floats)) and not same(floats, start)


def test_patience_that_runs_out_before_ends_the_float_epochs_alone():
    trainer = Trainer(encoder(), to_target, 1e-2)
    trainer.run_eagerly = True
    seen = run(trainer, [0.5, 0.4, 0.3, 0.5, 0.6, 0.5], epochs=9, patience=2, quantised=2)
    assert seen.epochs == [1, 2, 8, 9]
    assert rate(trainer) == pytest.approx(1e-2 / 8)


def test_shuffled_holds_each_index_once_in_an_order_decided_by_its_seed():
    assert [len(rows) for rows in shuffle_batches(10, 4, seed=3)] == [4, 4, 2] and shuffle_batches(0, 4, seed=0) == []
    once, again, other = (np.concatenate(shuffle_batches(50, 8, seed)).tolist() for seed in (1, 1, 2))
    assert once == again != other and sorted(once) == list(range(50)) != once


def test_the_mean_of_the_last_epochs_is_left_whatever_dev_says(trainer):
    # Of more epochs than there are: of all.
    for epochs, averaged in ((2, 9), (3, 2)):
        seen = run(trainer, (0.9, 0.5, 0.4, 0.3, 0.7)[-2 - epochs :], epochs=epochs, averaged=averaged, patience=1)
        for weight, *last in zip(trainer.encoder.get_weights(), *seen.weights[-3:-1], strict=True):
            np.testing.assert_allclose(weight, sum(last) / 2, rtol=1e-6, atol=1e-7)
    assert seen.epochs == [1, 2, 3]
    assert same(seen.weights[4], trainer.encoder.get_weights())
    assert seen.scores[-1] == {"epoch": 3, "p@1": 0.7, "mrr@10": 0.0, "averaged": 2}
    assert seen.log.of("stage")[-1]["averaged"] == 2
