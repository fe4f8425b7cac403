"""Rounded shapes: few of them, and the same loss and gradients, which are computed of the batch as it was."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from distill.encoders.batching import pack, pack_rows
from distill.settings.sections import TeacherSettings
from distill.settings.stages import LossSettings
from distill.students.ngram import NGramEncoder
from distill.training.batches import next_power, round_shapes, round_up
from distill.training.losses import SampledSoftmax, squared_l2
from distill.training.stages.objectives import compute_terms, list_objectives
from distill.training.stages.towers import Towers, TowersTrainer
from distill.training.stages.triplet_stage import batch_loss as triplet_loss
from distill.training.trainer import Trainer

QUESTIONS = [[1, 5, 2], [1, 7, 8, 2], [1, 9, 2]]
PASSAGES = [[1, 4, 5, 6, 2], [1, 7, 11, 2], [1, 12, 9, 13, 2]]
SAME = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
PAIRS = {"question": np.array([0, 1, 2], np.int32), "passage": np.array([3, 5, 4], np.int32), "same": SAME}


def unit(*shape):
    rows = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def encoder(seed):
    keras.utils.set_random_seed(seed)
    model = NGramEncoder(vocabulary=20, width=6, channels=4, orders=(3,), convolutions=1, hidden=8, dimension=6)
    # Biases too, which a text without tokens would show.
    model.set_weights([weight + 0.1 for weight in model.get_weights()])
    return model


def apart(questions, answered):
    passages = {f"passage_{name}": value for name, value in pack(answered, 1).items()}
    return {**pack(questions, 1), **passages}


def triplets():
    index = {"anchor": np.array([0, 1], np.int32), "positive": np.array([3, 4], np.int32)}
    negatives, weights = np.array([[4, 5], [5, 4]], np.int32), np.array([[1, 1], [1, 0]], np.float32)
    return {**pack(QUESTIONS + PASSAGES, 1), **index, "negatives": negatives, "weights": weights}


def samples():
    """Two questions and a line of parallel text, then the documents of which one is the answer of both."""
    labels = {"teacher_question": unit(3, 6), "teacher_answers": unit(2, 1, 6), "teacher_document": unit(3, 6)[::-1]}
    index = {"document": np.array([3, 4, 3], np.int32), "same": np.eye(2, dtype=bool)}
    return {**pack(QUESTIONS + PASSAGES, 1), **labels, **index}


def part(packed, live, counted):
    more = {"live": np.array(live, np.int32), "counted": np.array(counted, np.float32)[:, None]}
    return {**packed, **PAIRS, **more, "cached": unit(6, 6), "first": np.float32(1)}


def single(loss, parts=1):
    return Trainer(encoder(0), loss, 0.1, parts=parts)


def double(parts=1):
    return TowersTrainer(Towers(encoder(0), encoder(1)), SampledSoftmax(5.0, parts), 0.1, parts=parts)


def of_triplets(name):
    settings = TeacherSettings(loss=name)
    return single(lambda vectors, x: triplet_loss(vectors, x, settings)), triplets()


def of_samples():
    objectives = list_objectives(("qq", "dd", "dq", "softmax"), LossSettings(), squared_l2)
    return single(lambda vectors, x: compute_terms(vectors, x, objectives, 100.0)), samples()


CASES = {
    "triplets": lambda: of_triplets("triplet"),
    "contrastive": lambda: of_triplets("contrastive"),
    "transfer": of_samples,
    "pairs": lambda: (single(SampledSoftmax(5.0)), {**pack(QUESTIONS + PASSAGES, 1), **PAIRS}),
    "two encoders": lambda: (double(), {**apart(QUESTIONS, PASSAGES), **PAIRS}),
    "a part": lambda: (
        single(SampledSoftmax(5.0, 2), 2),
        part(pack([QUESTIONS[0], PASSAGES[0], PASSAGES[2]], 1), [0, 3, 5], [1, 1, 0]),
    ),
    "a part of two encoders": lambda: (
        double(2),
        part(apart(QUESTIONS, [PASSAGES[0], PASSAGES[1], PASSAGES[2]]), [0, 1, 2, 3, 4, 5], [1, 1, 1, 1, 1, 0]),
    ),
}


def computed(trainer, batch):
    """The loss, and the gradients of all that trains."""
    with tf.GradientTape() as tape:
        loss = trainer.compute_loss(batch, y_pred=trainer.call(batch))
    return float(loss), [np.array(tf.convert_to_tensor(g)) for g in tape.gradient(loss, trainer.trainable_weights)]


@pytest.mark.parametrize("case", CASES)
def test_loss_and_gradients_are_those_of_the_batch_as_it_was(case):
    trainer, batch = CASES[case]()
    rounded = round_shapes(batch)
    assert any(rounded[name].shape != batch[name].shape for name in batch)
    loss, gradients = computed(trainer, batch)
    assert max(np.abs(gradient).max() for gradient in gradients) > 1e-3
    other_loss, others = computed(trainer, rounded)
    assert other_loss == pytest.approx(loss, rel=1e-5)
    for gradient, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(other, gradient, rtol=1e-4, atol=1e-5)


def test_texts_and_documents_come_in_powers_of_two_and_what_was_given_stays():
    batch = samples()
    shapes = round_shapes(batch)
    assert all(np.array_equal(batch[name], value) for name, value in samples().items())
    assert [shapes[name].shape for name in ("counts", "document", "teacher_document")] == [(8, 1), (4,), (4, 6)]
    np.testing.assert_allclose(shapes["document_weights"], [4 / 3, 4 / 3, 4 / 3, 0])


def test_sizes_are_powers_of_two_of_tokens_four_an_octave_which_devices_divide():
    assert [next_power(size) for size in (1, 2, 3, 8, 9, 1000)] == [1, 2, 4, 8, 16, 1024]
    # Steps are an eighth of the next power of two: 256 up to 2048, 512 up to 4096, 2048 up to 16384.
    sizes = {256: 256, 1280: 1280, 2304: 2560, 4352: 5120, 7424: 8192, 8192: 8192, 8448: 10240}
    assert {size: round_up(size, 256) for size in sizes} == sizes
    assert [round_up(size, 768) for size in (1280, 256, 7424)] == [1536, 768, 7680]
    assert [len(round_shapes(pack(QUESTIONS, 1), devices)["ids"]) for devices in (1, 2, 3, 4)] == [256, 256, 768, 256]


def test_pieces_are_as_many_as_half_of_the_tokens_or_a_power_of_two_that_holds_them():
    random = np.random.default_rng(2)
    repeated, apart = random.integers(0, 900, size=(60, 43)).tolist(), [np.arange(2500).tolist()]
    assert [round_shapes(pack(texts, 1))["pieces"].shape for texts in (repeated, apart)] == [(2048,), (4096,)]
    assert len(round_shapes(pack(repeated, 1))["ids"]) == len(round_shapes(pack(apart, 1))["ids"]) + 512 == 3072


def test_long_texts_come_in_fewer_sizes_two_an_octave_of_rows_and_of_their_width_which_devices_divide():
    batch = pack_rows([[3] * 20] * 209 + [[4] * length for length in (300, 270, 290, 310, 280)])
    assert (batch["ids"].shape, batch["long_ids"].shape) == ((68, 64), (5, 320))
    one, three = round_shapes(batch), round_shapes(batch, 3)
    assert [(shapes["ids"].shape, shapes["long_ids"].shape) for shapes in (one, three)] == [
        ((80, 64), (6, 384)),
        ((72, 64), (6, 384)),
    ]
    # Both kinds are tokens: 80 * 64 + 6 * 384 = 7424.
    assert one["pieces"].shape == (4096,)
    for name, other in (("long_ids", -1), ("long_segments", 213)):
        np.testing.assert_array_equal(one[name][:5, :320], batch[name])
        assert set(one[name][5:].ravel()) == set(one[name][:, 320:].ravel()) == {other}
