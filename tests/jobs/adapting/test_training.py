"""The layers after the sums are trained by the loop of all trainings, to what a plain loop gives."""

import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.jobs.adapting import training
from distill.jobs.adapting.pooled_features import FeaturePooler
from distill.jobs.adapting.training import Head, HeadTrainer, Pairs, head_layers, make_batch, train_head
from distill.students.embeddings import TABLE, replace_table
from distill.training.log import RunLog

ROUNDS, STEPS, RATE, WARMUP = 4, 3, 0.01, 0.25
TEXTS = ["The Nile flows north.", "It ends in the sea.", "A delta is there.", "Where?", "The Danube ends.", "Who?"]


@pytest.fixture(scope="module")
def static(tokenizer):
    import keras

    from distill.students.static import StaticEncoder

    keras.utils.set_random_seed(0)
    return KerasEncoder(StaticEncoder(vocabulary=len(tokenizer), width=16, hidden=8, dimension=12), tokenizer)


@pytest.fixture
def small(monkeypatch):
    for name, value in {"ROUNDS": ROUNDS, "STEPS": STEPS, "RATE": RATE, "WARMUP": WARMUP}.items():
        monkeypatch.setattr(training, name, value)


def drawing(encoder):
    """Pairs of texts whose sums are known, drawn anew for each step."""
    sums = FeaturePooler(encoder).sums(TEXTS)

    def draw(random, count):
        rows = random.integers(len(TEXTS), size=(2, count))
        return Pairs(sums.of(rows[0]), sums.of(rows[1]), np.arange(count))

    return draw


def scores_in_turn(*scores):
    """A score on dev that is one after another of these."""
    coming = iter(scores)
    return lambda head: next(coming)


def plain_loop(start, rounds):
    """The weights after so many rounds, each step by hand: the rate rises over 3 of 12 steps, and falls to 0."""
    model = replace_table(start.model, start.model.get_layer(TABLE).get_weights()[0])
    trainer, first, draw, random = HeadTrainer(model, RATE), Head(start.model), drawing(start), np.random.default_rng(5)
    for step in range(rounds * STEPS):
        rate = RATE * ((step + 1) / 3 if step < 3 else (12 - step) / 9)
        trainer.optimizer.learning_rate = rate
        trainer.train_on_batch(make_batch(draw(random, 4), first))
    return [layer.get_weights() for layer in head_layers(model)]


@pytest.mark.parametrize(
    ("scores", "best", "last"),
    [
        # The third round is no better, and ends the training; the second stays.
        ([(0.1, 0.1), (0.2, 0.1), (0.2, 0.2), (0.2, 0.2)], 2, 3),
        ([(0.5, 0.1), (0.4, 0.9)], 0, 1),
        ([(0.1, 0.1), (0.2, 0.0), (0.3, 0.0), (0.4, 0.0), (0.5, 0.0)], 4, 4),
    ],
)
def test_the_best_round_stays_and_one_that_is_no_better_is_the_last(static, small, scores, best, last):
    log = RunLog()
    trained = train_head(static, drawing(static), 4, scores_in_turn(*scores), log, seed=5)
    rows = log.of("student")
    assert [row["epoch"] for row in rows] == list(range(last + 1))
    assert [row["step"] for row in rows] == [number * STEPS for number in range(last + 1)]
    assert [(row["mrr@10"], row["p@1"]) for row in rows] == scores[: last + 1]
    for layer, expected in zip(trained.after, plain_loop(static, best), strict=True):
        for weight, other in zip(layer, expected, strict=True):
            np.testing.assert_allclose(weight, other, atol=1e-6)
    # The start is what it was, and the table stays.
    for layer, expected in zip(trained.before, head_layers(static.model), strict=True):
        np.testing.assert_array_equal(layer[0], expected.get_weights()[0])
    table, other = (one.model.get_layer(TABLE).get_weights()[0] for one in (trained.encoder, static))
    np.testing.assert_array_equal(table, other)
