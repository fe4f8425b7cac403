"""Sums of what an encoder makes of pieces: what lies behind them gives the encoder's own vectors."""

import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.errors import EncoderError
from distill.jobs.adapting.pooled_features import FeaturePooler, PooledPassages, require_sums
from distill.jobs.adapting.training import Head
from distill.students.transformer import TransformerEncoder

TEXTS = ["The Nile flows north.", "It ends in the sea. A delta is there.", "", "Where?"]


@pytest.fixture(scope="module")
def static(tokenizer):
    from distill.students.static import StaticEncoder

    return KerasEncoder(StaticEncoder(vocabulary=len(tokenizer), width=16, hidden=8, dimension=12), tokenizer)


@pytest.mark.parametrize("kind", ["base", "static"])
def test_the_layers_behind_the_sums_give_the_vectors_of_the_encoder(kind, request):
    encoder = request.getfixturevalue(kind)
    vectors = Head(encoder.model).vectors(FeaturePooler(encoder).sums(TEXTS))
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), atol=2e-6)


def test_a_passage_is_the_sum_of_its_sentences_and_can_do_without_one(static, sample):
    summing = FeaturePooler(static)
    summed = PooledPassages.of(summing, sample)
    # Pieces do not reach over the end of a sentence here, and a static encoder sees no neighbours.
    whole = summing.sums([" ".join(sample.passage_texts[0].split())])
    np.testing.assert_allclose(summed.passages.features[:1], whole.features, atol=1e-4)
    places = sample.sentence_places(0)
    rest = " ".join(sample.passages[0].text[start:end] for start, end in places[1:])
    without = summed.without(np.array([0]))
    np.testing.assert_allclose(without.features, summing.sums([rest]).features, atol=1e-4)
    assert without.counts[0, 0] == len(static.tokenizer.encode([rest])[0])


def test_a_transformer_has_no_sums(static, tokenizer):
    require_sums(static)
    model = TransformerEncoder(len(tokenizer), width=8, depth=1, heads=2, head_size=4, inner=8, dimension=8)
    with pytest.raises(EncoderError, match="mine: .*--base"):
        require_sums(KerasEncoder(model, tokenizer, "mine"))
