import json
import threading
from functools import partial

import keras
import numpy as np
import pytest
import tensorflow as tf

from distill.data.dataset import Question, name_line
from distill.encoders.batching import pack, pack_rows
from distill.errors import DataError
from distill.settings.sections import TeacherSettings
from distill.settings.stages import LossSettings
from distill.students.ngram import NGramEncoder
from distill.training.batches import (
    GROWTH,
    BatchMaker,
    Shapes,
    divergence_message,
    make_ahead,
    measure_sizes,
    name_questions,
    next_power,
    shorten_list,
)
from distill.training.losses import SampledSoftmax, squared_l2
from distill.training.stages.objectives import compute_terms, list_objectives
from distill.training.stages.towers import Towers, TowersTrainer
from distill.training.stages.triplet_stage import batch_loss as triplet_loss
from distill.training.trainer import Trainer

NAMES = ("first", "ahead", "waits", "last")


def test_a_maker_makes_when_it_is_called_and_not_before():
    calls = []
    maker = BatchMaker(lambda: calls.append(1) or {"x": 2}, lambda: ["en a"], "loss")
    assert calls == [] and maker.ids() == ["en a"]
    assert maker() == {"x": 2} and calls == [1]


def test_questions_are_named_with_their_language_lines_by_number_and_start_and_of_many_eight():
    assert name_questions([Question("a", "en", "Where?", 0), Question("a", "de", "Wo?", 0)]) == ["en a", "de a"]
    assert name_line("news.tsv", 0, "x" * 50) == f"news.tsv 1 ('{'x' * 30}')"

    assert shorten_list(list("abcdefgh")) == "a, b, c, d, e, f, g, h"
    assert shorten_list(list("abcdefghij")) == "a, b, c, d, e, f, g, h and 2 more"


def test_what_is_said_of_a_loss_has_all_that_one_looks_for():
    maker = BatchMaker(dict, lambda: [f"en {number}" for number in range(64)], "softmax loss")
    message = divergence_message("teacher", maker, float("inf"), "step 17 of epoch 2", 1e-3)
    parts = "teacher: ", "softmax loss", " inf ", "step 17 of epoch 2", " 0.001", "en 0, en 1, ", "en 7 and 56 more"
    assert [part for part in parts if part not in message] == []


def test_the_next_batch_is_made_by_a_thread_while_a_step_computes_where_it_rests_on_no_step():
    events, ready = [], {name: threading.Event() for name in NAMES}

    def make(name):
        events.append(("made", name, threading.current_thread() is threading.main_thread()))
        ready[name].set()
        return {"x": name}

    makers = [BatchMaker(partial(make, name), list, "loss", ahead=name != "waits") for name in NAMES]
    with make_ahead(makers) as next_batch:
        for following in [*NAMES[1:], None]:
            batch = next_batch()
            if following not in ("waits", None):
                # It is there before the step ends.
                assert ready[following].wait(timeout=20)
            events.append(("step", batch["x"], True))
    assert [main for event, _, main in events if event == "made"] == [True, False, True, False]
    order = [(event, name) for event, name, _ in events]
    assert order.index(("step", "ahead")) < order.index(("made", "waits")) < order.index(("step", "waits"))
    assert [name for event, name in order if event == "step"] == list(NAMES)


def test_what_a_thread_cannot_make_is_raised_in_its_turn():
    def broken():
        raise DataError("a text")

    with make_ahead([BatchMaker(dict, list, "loss"), BatchMaker(broken, list, "loss", ahead=True)]) as next_batch:
        next_batch()
        with pytest.raises(DataError):
            next_batch()


# Rounded shapes: few of them, and the same loss and gradients, which are computed of the batch as it was.
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
    rounded = Shapes().fit(batch)
    assert any(rounded[name].shape != batch[name].shape for name in batch)
    loss, gradients = computed(trainer, batch)
    assert max(np.abs(gradient).max() for gradient in gradients) > 1e-3
    other_loss, others = computed(trainer, rounded)
    assert other_loss == pytest.approx(loss, rel=1e-5)
    for gradient, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(other, gradient, rtol=1e-4, atol=1e-5)


def test_what_was_given_stays_and_added_documents_weigh_nothing():
    batch, shapes = samples(), Shapes()
    shapes.plan([{**batch, "document": np.zeros(4, np.int32)}])
    padded = shapes.fit(batch)
    assert all(np.array_equal(batch[name], value) for name, value in samples().items())
    # A power of two that holds six texts, and 4 documents as one of the sample had, of 3 here.
    assert [padded[name].shape for name in ("counts", "teacher_document")] == [(8, 1), (4, 6)]
    np.testing.assert_allclose(padded["document_weights"], [4 / 3] * 3 + [0])


def random_batches(seed, count, longest=1500):
    """Packed texts of any lengths, of one number of questions but for the last batch."""
    random, sizes = np.random.default_rng(seed), [64] * (count - 1) + [17]
    texts = [np.minimum(random.geometric(1 / 60, size=size + random.integers(0, 9)), longest) for size in sizes]
    packed = [pack_rows([[3] * length for length in lengths], longest=longest) for lengths in texts]
    return [{**batch, "label": np.zeros((size, 4))} for batch, size in zip(packed, sizes, strict=True)]


def shapes_of(batches, shapes):
    return {tuple((name, array.shape) for name, array in shapes.fit(batch).items()) for batch in batches}


@pytest.mark.parametrize("seed", range(5))
def test_texts_of_any_lengths_come_in_four_shapes_at_most_after_a_sample_of_them(seed):
    batches, shapes = random_batches(seed, 200, longest=1000), Shapes()
    assert len(shapes_of(batches, Shapes())) <= 5 < len({batch["ids"].shape for batch in batches})
    shapes.plan(batches[::9])
    assert len(shapes_of(batches, shapes)) == len(shapes.used) <= 4
    tokens = [sum(array.size for name, array in batch.items() if name.endswith("ids")) for batch in batches[:-1]]
    padded = [shapes.fit(batch) for batch in batches[:-1]]
    filled = [sum(array.size for name, array in batch.items() if name.endswith("ids")) for batch in padded]
    # The largest batch has most wide rows, another one most narrow ones.
    assert sum(filled) < 1.35 * max(tokens) * len(tokens)


def test_a_batch_that_does_not_fit_gets_a_shape_half_as_large_again_which_later_ones_take():
    shapes = Shapes()
    first, larger = pack([[3] * 2000], 1), pack([[3] * 2400], 1)
    # 2048 ids times 1.125, in multiples of 256; then one and a half of these.
    assert [len(shapes.fit(batch)["ids"]) for batch in (first, larger, first)] == [2304, 3584, 2304]
    assert len(shapes.fit(pack([[3] * 2310], 1))["ids"]) == 3584 == -(-GROWTH * 2304 // 256) * 256
    assert len(shapes.used) == 2


def test_a_batch_with_fewer_questions_takes_a_shape_that_others_have():
    shapes = Shapes()
    count, few = ({**pack([[3] * size], 1), "label": np.zeros(size)} for size in (1000, 30))
    assert shapes.fit(count)["ids"].shape == shapes.fit(few)["ids"].shape == (1280,)
    assert [sizes for _, _, sizes in shapes.used] == [shapes.used[0][2]] * 2


def test_shapes_go_on_from_a_checkpoint():
    batches, shapes, other = random_batches(7, 40), Shapes(), Shapes()
    shapes.plan(batches[:5])
    shapes_of(batches[:20], shapes)
    other.restore(json.loads(json.dumps(shapes.state())))
    for batch in batches[20:]:
        one, same = shapes.fit(batch), other.fit(batch)
        assert {name: array.shape for name, array in one.items()} == {name: a.shape for name, a in same.items()}


def test_devices_divide_the_tokens_and_sizes_are_counted():
    assert [next_power(size) for size in (0, 1, 2, 3, 8, 9, 1000)] == [1, 1, 2, 4, 8, 16, 1024]
    assert [len(Shapes(devices).fit(pack(QUESTIONS, 1))["ids"]) for devices in (1, 2, 3, 4)] == [512, 512, 768, 512]
    batch = pack_rows([[3] * 20] * 209 + [[4] * length for length in (300, 270, 290, 310, 280)])
    assert measure_sizes(batch) == {"texts": 214, "pieces": 2, "rows": 68, "long": 5}
    one, three = Shapes().fit(batch), Shapes(3).fit(batch)
    # 76 of 1.125 times 68 in multiples of 4 and of 12, and 5 of 1.125 times 5 in multiples of 1 and of 3.
    assert [(padded["ids"].shape, padded["long_ids"].shape) for padded in (one, three)] == [
        ((76, 64), (5, 320)),
        ((84, 64), (6, 320)),
    ]
    for name, other in (("long_ids", -1), ("long_segments", 213)):
        np.testing.assert_array_equal(three[name][:5], batch[name])
        assert set(three[name][5:].ravel()) == {other}
