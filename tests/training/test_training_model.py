"""Losses stay on the device for some steps: they are those of the steps, and the one that is no number is named."""

import keras
import numpy as np
import pytest
from keras import ops

from distill.errors import TrainingError
from distill.training import training_model
from distill.training.batches import BatchMaker
from distill.training.training_model import UNREAD, TrainedModel, UnreadLosses


class Line(TrainedModel):
    """Moves one number towards a batch's by descent at rate .25: the loss is the squared distance."""

    def __init__(self):
        super().__init__(("far",))
        self.place = self.add_weight(shape=(), initializer="zeros", name="place")
        self.times_read = 0
        self.built = True
        self.compile(optimizer=keras.optimizers.SGD(0.25), run_eagerly=True)

    def call(self, x):
        return self.place

    def compute_terms(self, vectors, batch):
        loss = ops.sum((vectors - batch["to"]) ** 2)
        return {"near": 0.25 * loss, "far": 0.75 * loss}

    def last_losses(self, count):
        self.times_read += 1
        return super().last_losses(count)


def losses_by_hand(targets):
    place, losses = 0.0, []
    for target in targets:
        losses.append((place - target) ** 2)
        place += 0.5 * (target - place)
    return losses


def taken(trainer, targets, rate=None):
    """The losses as the loop reads them."""
    steps, losses = UnreadLosses(trainer, "stage"), []
    for number, target in enumerate(targets, start=1):
        make = BatchMaker(dict, lambda number=number: [f"en {number}"], "loss")
        trainer.take_step({"to": np.array([target], np.float32)})
        steps.add(make, f"step {number}", rate)
        if steps.due:
            losses += steps.read()
    return losses + steps.read()


def test_losses_are_those_of_the_steps_and_are_read_once_in_sixteen(monkeypatch):
    monkeypatch.setattr(training_model, "SECONDS", 1000)
    trainer, targets = Line(), [float(number % 5) for number in range(2 * UNREAD + 3)]
    losses = np.array(losses_by_hand(targets))
    # The loss, and the term that has a name.
    np.testing.assert_allclose(taken(trainer, targets), np.stack([losses, 0.75 * losses], axis=1), rtol=1e-5)
    assert trainer.times_read == 3
    # Half of the way is left.
    loss = trainer.train_on_batch({"to": np.array([7.0], np.float32)})
    assert loss == pytest.approx(4 * (float(trainer.place) - 7) ** 2)


def test_where_steps_are_slow_each_loss_is_read_as_it_comes(monkeypatch):
    monkeypatch.setattr(training_model, "SECONDS", 0)
    trainer = Line()
    assert len(taken(trainer, [1.0, 2.0, 3.0])) == trainer.times_read == 3


@pytest.mark.parametrize(("rate", "said"), [(None, "0.25"), (0.125, "0.125")])
def test_the_first_step_whose_loss_is_no_number_is_named_with_its_texts_and_rate(monkeypatch, rate, said):
    monkeypatch.setattr(training_model, "SECONDS", 1000)
    with pytest.raises(TrainingError, match=rf"stage: the loss is inf at step 3, learning rate {said}; .*: en 3;"):
        taken(Line(), [1.0, 2.0, np.inf, 1.0, 1.0], rate)
