from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops

from distill.encoders.batching import pack, pad
from distill.students.embeddings import UsedRows, add_segments, replace_table
from distill.students.ngram import NGramEncoder
from distill.students.static import StaticEncoder
from distill.students.transformer import TransformerEncoder
from distill.training.trainer import Trainer

VOCABULARY = 40
# Pieces 0, 3, 5, 8, 20, 39; out of order, repeated, the last one in one text only.
TEXTS = [[20, 3, 8], [3], [5, 5, 0, 20, 8], [39, 3]]
USED = [0, 3, 5, 8, 20, 39]
UNUSED = [i for i in range(VOCABULARY) if i not in USED]


@pytest.fixture
def model():
    return make_model()


def make_model():
    # One branch only, which compiles faster.
    keras.utils.set_random_seed(3)
    return NGramEncoder(vocabulary=VOCABULARY, width=6, channels=4, orders=(3,), hidden=5, dimension=7)


def table_of(model):
    return model.get_layer("embedding").get_weights()[0]


def towards_one(vectors, x):
    return ops.mean(ops.square(vectors - 1.0))


def train(model, steps):
    """Adam on `steps` of id lists."""
    trainer = Trainer(model, towards_one, 1e-2)
    # Compiling costs more than these few steps.
    trainer.run_eagerly = True
    for texts in steps:
        trainer.train_on_batch(pack(texts, model.gap))


def test_the_small_table_holds_the_used_rows_only_and_gives_the_full_vectors(model):
    used = UsedRows(model, TEXTS)
    assert used.rows.tolist() == USED
    np.testing.assert_array_equal(table_of(used.small), table_of(model)[USED])
    assert [ids.tolist() for ids in used.ids(TEXTS)] == [[4, 1, 3], [1], [2, 2, 0, 4, 3], [5, 1]]
    np.testing.assert_allclose(
        used.small.predict_on_batch(pad(used.ids(TEXTS))), model.predict_on_batch(pad(TEXTS)), atol=1e-6
    )
    with pytest.raises(KeyError, match="piece"):
        UsedRows(model, TEXTS).ids([[3, 4]])


@pytest.fixture(scope="module")
def trained():
    """The model as it was, the small model trained and restored, and the full model trained on the same steps."""
    model = make_model()
    # Piece 39 is in the first batch only: Adam's momentum still moves its row in the later ones.
    steps = [TEXTS, TEXTS[:2], TEXTS[1:3], TEXTS[:3], TEXTS[2:3]]
    before = [w.copy() for w in model.get_weights()]
    used, full = UsedRows(model, TEXTS), replace_table(model, table_of(model))
    train(used.small, [used.ids(step) for step in steps])
    train(full, steps)
    return SimpleNamespace(model=model, before=before, restored=used.restore(model), full=full)


def test_training_the_used_rows_is_training_the_full_model_and_leaves_all_others(trained):
    for one, other in zip(trained.restored.weights, trained.full.weights, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=1e-6, err_msg=one.path)
    np.testing.assert_array_equal(table_of(trained.restored)[UNUSED], table_of(trained.model)[UNUSED])
    moved = np.abs(table_of(trained.restored) - table_of(trained.model))[USED].max(axis=1)
    assert moved.min() > 1e-3
    for now, then in zip(trained.model.get_weights(), trained.before, strict=True):
        np.testing.assert_array_equal(now, then)


# Texts with contexts: pieces of the second segment are those of the first plus the vocabulary's size.
PAIRED = [[20, 3, 8, VOCABULARY + 5, VOCABULARY + 3], [39, 3], [3, VOCABULARY + 3]]
TINY = {
    "static": lambda: StaticEncoder(vocabulary=VOCABULARY, width=6, hidden=5, dimension=7),
    "ngram": make_model,
    "transformer": lambda: TransformerEncoder(VOCABULARY, 6, 1, 2, 3, 8, 20, dimension=6),
}


@pytest.fixture(scope="module", params=TINY)
def segmented(request, randomised):
    """A network with segments, whose weights are random."""
    return randomised(add_segments(TINY[request.param]()), 0.3)


def segments_of(model):
    return model.get_layer("segments").get_weights()[0]


def test_each_token_has_the_embedding_of_its_segment_padded_and_packed(segmented):
    table, segments = table_of(segmented), segments_of(segmented)
    # The same tokens out of a table that has a row for each token in each segment.
    alike = type(segmented).from_config({**segmented.get_config(), "segmented": False, "vocabulary": 2 * VOCABULARY})
    alike.set_weights([np.concatenate([table + segments[0], table + segments[1]]), *segmented.get_weights()[2:]])
    assert [weight.shape for weight in segmented.get_weights()[:2]] == [table.shape, segments.shape]
    expected = alike.predict_on_batch(pad(PAIRED))
    assert np.abs(expected[1] - segmented.predict_on_batch(pad([[39, VOCABULARY + 3]]))[0]).max() > 1e-3
    np.testing.assert_allclose(segmented.predict_on_batch(pad(PAIRED)), expected, atol=1e-6)
    np.testing.assert_allclose(np.asarray(segmented.encode_packed(**segmented.pack(PAIRED))), expected, atol=1e-6)
    used = UsedRows(segmented, PAIRED)
    assert [ids.tolist() for ids in used.ids(PAIRED)] == [[3, 0, 2, 5 + 1, 5 + 0], [4, 0], [0, 5 + 0]]
    np.testing.assert_allclose(used.small.predict_on_batch(pad(used.ids(PAIRED))), expected, atol=1e-6)


def test_the_static_encoder_sums_tokens_with_their_segments():
    model = add_segments(TINY["static"]())
    model.get_layer("segments").set_weights([np.arange(12.0).reshape(2, 6)])
    residual = model.get_layer("residual")
    table, first, bias, lift, second = (np.asarray(w) for w in (model.weights[0], *model.weights[2:]))
    assert residual.lift.kernel.shape == lift.shape == (6, 7) and second.shape == (5, 6)
    # Two tokens of the text and one of its context.
    summed = table[3] + table[8] + table[5] + 2 * np.arange(6) + np.arange(6, 12)
    x = summed / np.linalg.norm(summed)
    y = (x + np.maximum(x @ first + bias, 0) @ second) @ lift
    vectors = model.predict_on_batch(pad([[3, 8, VOCABULARY + 5]]))
    np.testing.assert_allclose(vectors[0], y / np.linalg.norm(y), atol=1e-6)


def test_segments_begin_as_none_or_as_those_of_berts_weights():
    plain = TINY["transformer"]()
    np.testing.assert_array_equal(segments_of(add_segments(plain)), np.zeros((2, 6)))
    plain.second_segment = np.arange(6.0)
    both = add_segments(plain)
    np.testing.assert_array_equal(segments_of(both), [np.zeros(6), np.arange(6.0)])
    assert add_segments(both) is both
    np.testing.assert_allclose(both.predict_on_batch(pad(TEXTS)), plain.predict_on_batch(pad(TEXTS)), atol=1e-6)
