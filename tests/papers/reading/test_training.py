import numpy as np
import pytest

from distill.papers.reading.examples import Example, Text
from distill.papers.reading.inputs import EmbeddingScale, Featuriser, TextFeatures
from distill.papers.reading.network import ReaderNetwork
from distill.papers.reading.training import Batches, ReaderExample, ReaderOptions, make_reader_examples, span_loss

PASSAGE = Text("The bridge is old. The castle of Rome is 100 years old.", "en")


@pytest.fixture(scope="module")
def features(tiny_encoder):
    table = tiny_encoder.model.get_layer("embedding").get_weights()[0]
    return TextFeatures(tiny_encoder, tiny_encoder.tokenizer, table, EmbeddingScale.of(table))


@pytest.fixture(scope="module")
def examples(features):
    answered = Example("a", "de", "Wie alt ist die Burg?", PASSAGE, (41, 44), ("100",))
    without = Example("b", "en", "Who paints?", PASSAGE, None, ())
    return make_reader_examples([answered, without], [2.0, 1.0], Featuriser(features))


def test_the_loss_is_the_mean_cross_entropy_of_both_ends():
    logits = np.random.default_rng(0).normal(size=(2, 5, 2)).astype(np.float32)
    rows = np.array([[0, 0], [2, 4]], dtype=np.int32)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = -np.mean([np.log(shares[b, rows[b, end], end]) for b in range(2) for end in range(2)])
    np.testing.assert_allclose(float(span_loss(logits, rows)), expected, rtol=1e-5)


def test_rows_are_standardised(features):
    some = features.embeddings(np.arange(len(features.table)))
    np.testing.assert_allclose(some.mean(axis=0), 0, atol=1e-4)
    assert some.dtype == np.float32


def test_batches_have_each_example_as_often_as_it_weighs_and_its_rows(features, examples):
    batches = Batches(examples, features, ReaderOptions(hidden=0.0))
    (make,) = batches(1)
    batch = make()
    # Three examples, and the first of them again.
    answered = [row for row, ends in enumerate(batch["rows"].tolist()) if ends != [0, 0]]
    assert len(batch["rows"]) == 4 and len(answered) in (2, 3)
    start, end = batch["rows"][answered[0]] - 1
    assert examples[0].seen.passage.character_span(start, end) == (41, 44)
    again = batches(1)[0]()
    assert all(np.array_equal(batch[name], again[name]) for name in batch)


def test_words_in_common_are_hidden_in_a_share(features, examples):
    same = ReaderExample(examples[0].seen, examples[0].rows, 1.0)
    assert same.seen.features[:, :3].any()
    shown, hidden = (
        Batches([same], features, ReaderOptions(hidden=share))(1)[0]()["features"][:, :, :3] for share in (0.0, 1.0)
    )
    assert shown.any() and not hidden.any()


def test_padding_changes_no_logit(features, examples):
    network = ReaderNetwork(features.table.shape[1], features.encoder.dimension, channels=8)
    batch = Batches(examples, features, ReaderOptions())(1)[0]()
    del batch["rows"]
    longer = {
        name: np.pad(array, [(0, 0), (0, 8), (0, 0)]) if array.ndim == 3 else array for name, array in batch.items()
    }
    logits, other = (np.asarray(network(one)) for one in (batch, longer))
    np.testing.assert_allclose(other[:, : logits.shape[1]], logits, atol=1e-3)
