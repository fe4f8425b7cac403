"""What a training keeps on disk, and that a training that is stopped anywhere ends as if it had not been."""

import io
import resource
import signal
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops

from distill.encoders.batching import pack
from distill.errors import InputError
from distill.export.weights.precision import Precision
from distill.students.ngram import NGramEncoder
from distill.training.checkpoints import Checkpoint
from distill.training.log import RunLog
from distill.training.loop import fit
from distill.training.session import Schedule, Session
from distill.training.trainer import Trainer

STEPS, EPOCHS = 3, 4
FACTS = {"epoch": 3, "losses": [0.1, 1e-30, 12345.6789], "scores": [{"p@1": 1 / 3}]}


def groups(seed=0):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(3, 4)).astype(np.float32), np.array(7, dtype=np.int64)]
    return {"weights": weights, "best": [rng.normal(size=5).astype(np.float32)]}


def alike(one, other):
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(one, other, strict=True))


def test_the_last_state_that_is_saved_comes_back_bit_by_bit_until_it_is_removed(tmp_path):
    saved = groups()
    Checkpoint(tmp_path / "new").save(FACTS, saved)
    facts, arrays = Checkpoint(tmp_path / "new").load()
    assert facts == FACTS == Checkpoint(tmp_path / "new").facts()
    assert all(alike(arrays[name], saved[name]) for name in saved) and set(arrays) == set(saved)
    checkpoint = Checkpoint(tmp_path / "new", seconds=0)
    assert checkpoint.due and not Checkpoint(tmp_path, seconds=1000).due
    checkpoint.save({"epoch": 4}, groups(1))
    facts, arrays = checkpoint.load()
    assert facts == {"epoch": 4} and alike(arrays["best"], groups(1)["best"])
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["state.npz"]
    checkpoint.remove()
    assert checkpoint.load() is None and checkpoint.facts() == {} and list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_state_before(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save(FACTS, groups())
    # As a disk that has no more room, for files beyond a size.
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError):
            checkpoint.save({"epoch": 4}, {"weights": [np.zeros(1_000_000, np.float32)]})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert checkpoint.load()[0] == FACTS and [path.name for path in tmp_path.iterdir()] == ["state.npz"]


def written(save, *array, **arrays):
    file = io.BytesIO()
    save(file, *array, **arrays)
    return file.getvalue()


@pytest.mark.parametrize("read", [Checkpoint.load, Checkpoint.facts])
@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"PK\x03\x04", b"not one"),
        written(np.savez, other=np.zeros(3)),
        written(np.savez, facts=np.array("{")),
        written(np.savez, facts=np.array("1"))[:-30],
        written(np.savez, facts=np.array([{}], dtype=object)),
        written(np.save, np.zeros(3)),
    ],
)
def test_a_file_that_is_none_is_named(tmp_path, content, read):
    (tmp_path / "state.npz").write_bytes(content)
    with pytest.raises(InputError, match="state.npz"):
        read(Checkpoint(tmp_path))


def test_arrays_of_an_epoch_are_made_once_and_keep_their_order(tmp_path):
    calls = []

    def make():
        calls.append(1)
        return [np.arange(12).reshape(3, 4), np.array([], dtype=np.int64)]

    first = Checkpoint(tmp_path).keep("triplets", 2, make)
    again = Checkpoint(tmp_path).keep("triplets", 2, make)
    assert len(calls) == 1 and alike(first, again) and again[0].tolist() == np.arange(12).reshape(3, 4).tolist()
    Checkpoint(tmp_path).keep("triplets", 3, make)
    Checkpoint(tmp_path).keep("triplets", 2, make)
    assert len(calls) == 3
    for _ in range(2):
        arrays = Checkpoint(tmp_path).keep("many", 1, lambda: [np.array(number) for number in range(120)])
        assert [int(array) for array in arrays] == list(range(120))


def to_target(vectors, x):
    return ops.mean(ops.sum(ops.square(vectors - x["target"]), axis=-1))


def batch(number):
    target = np.ones((3, 6), dtype=np.float32) / np.float32(np.sqrt(6))
    return {**pack([[1, 5 + number % 7, 2], [1, 7, 8, 2], [1, 2 + number % 5]], 1), "target": target}


class Once(Trainer):
    """A trainer whose step is compiled once with rounded weights and once with whole ones, which takes seconds."""

    def make_train_function(self, force=False):
        if self.quantised not in self.steps:
            super().make_train_function(force=True)
            self.steps[self.quantised] = self.train_function
        self.train_function = self.steps[self.quantised]


@pytest.fixture(scope="module")
def trainer():
    """Compiled once; with two parts a step, whose gradients add up in the optimizer."""
    keras.utils.set_random_seed(5)
    model = NGramEncoder(vocabulary=20, width=6, channels=4, orders=(2,), hidden=8, dimension=6)
    quantised = Once(model, to_target, 1e-2, parts=2, precision=Precision(table="int4"))
    quantised.steps = {}
    quantised.train_on_batch(batch(0))
    quantised.start = [np.array(variable) for variable in (*model.variables, *quantised.optimizer.variables)]
    return quantised


def renewed(trainer):
    variables = (*trainer.encoder.variables, *trainer.optimizer.variables)
    for variable, value in zip(variables, trainer.start, strict=True):
        variable.assign(value)
    return trainer


def trained(trainer, checkpoint=None, stop=None, rows=None, **options):
    """One `fit`; `stop` is the number of the batch at whose making it is killed; `rows` are those of a log before."""
    seen = SimpleNamespace(batches=0, log=RunLog(), epochs=[], stopped=False)
    seen.log.rows = list(rows or [])

    def make(number):
        if seen.batches == stop:
            raise KeyboardInterrupt
        seen.batches += 1
        return batch(number)

    def batches(epoch):
        seen.epochs.append(epoch)
        return [lambda number=number: make(epoch * 10 + number) for number in range(2 * STEPS)]

    def score():
        # A number that the weights decide, which rises and falls.
        value = np.sin(40 * sum(float(np.sum(weight)) for weight in trainer.encoder.get_weights()))
        return {"p@1": round(float(value), 1), "mrr@10": float(value)}

    try:
        seen.scores = fit(trainer, batches, score, Schedule(EPOCHS, **options), Session(seen.log, None, checkpoint))
    except KeyboardInterrupt:
        seen.stopped = True
    trainer.quantise(False)
    seen.weights = trainer.encoder.get_weights()
    return seen


def without_time(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


WAYS = {
    "plain": {},
    "patient": {"patience": 2, "every": 1},
    "averaged": {"averaged": 2},
    "quantised": {"quantised": 2, "every": 2},
    "paced": {"linear": True, "warmup": 0.5},
}


# The batches at which a way is stopped in turn, the age in seconds at which a state is due, and the batches of what is
# on disk then: a step has two parts, an epoch six.
STOPS = [
    ("plain", [1], 0, 0),
    ("plain", [6], 0, 6),
    ("plain", [9], 0, 8),
    ("plain", [13], 1000, 12),
    ("patient", [9], 0, 8),
    ("patient", [9], 1000, 6),
    ("paced", [9], 0, 8),
    ("averaged", [5, 4], 0, 8),
    ("averaged", [20], 0, 20),
    ("averaged", [20], 1000, 18),
    ("quantised", [14], 0, 14),
    ("quantised", [14], 1000, 12),
]


@pytest.fixture(scope="module")
def whole(trainer):
    """Each way's training that nothing stops."""
    return {way: trained(renewed(trainer), **options) for way, options in WAYS.items()}


@pytest.mark.parametrize(("way", "stops", "seconds", "kept"), STOPS)
def test_a_training_that_is_stopped_ends_as_if_it_had_not_been(trainer, whole, tmp_path, way, stops, seconds, kept):
    rows = []
    for stop in stops:
        first = trained(renewed(trainer), Checkpoint(tmp_path, seconds), stop, rows, **WAYS[way])
        known = Checkpoint(tmp_path).facts()
        rows = first.log.rows[: known.get("rows", 0)]
        assert first.stopped
    assert 2 * known.get("step", 0) == kept
    # Nothing but what is on disk is known when it goes on.
    second = trained(renewed(trainer), Checkpoint(tmp_path, seconds), None, rows, **WAYS[way])
    assert second.scores == whole[way].scores and alike(second.weights, whole[way].weights)
    assert without_time(second.log.rows) == without_time(whole[way].log.rows)
    assert second.batches == whole[way].batches - kept


def test_one_that_is_at_its_end_is_not_trained_again_and_another_encoder_is_refused(trainer, whole, tmp_path):
    for batches in (whole["plain"].batches, 0):
        again = trained(renewed(trainer), Checkpoint(tmp_path))
        assert again.batches == batches and again.scores == whole["plain"].scores
        assert alike(again.weights, whole["plain"].weights)
    model = NGramEncoder(vocabulary=20, width=6, channels=4, orders=(2,), hidden=9, dimension=6)
    with pytest.raises(InputError, match=str(tmp_path)):
        trained(Trainer(model, to_target, 1e-2), Checkpoint(tmp_path))
