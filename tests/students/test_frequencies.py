import numpy as np
import pytest
from fixtures.pieces import small_encoder, tokenizer_of

from distill.errors import ConfigError, EncoderError
from distill.students.frequencies import Frequencies, compute_unigram_shares, compute_word_shares
from distill.students.shape import Shape

BOS, EOS = 1, 2
# Ids from 3 on; a longer piece has the higher score.
PIECES = ["▁", "t", "h", "e", "▁the", "о", "д"]
ROWS = [[BOS, 7, 7, 9, EOS], [BOS, 3, EOS]]


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizer_of(*((piece, len(piece) - 10) for piece in PIECES), prefix=True)


def test_in_text_and_as_the_unigram_model_has_it(tokenizer):
    counts = np.bincount(np.concatenate(ROWS), minlength=10)
    np.testing.assert_array_equal(Frequencies.of(tokenizer, ROWS).counts, counts)
    scores = np.exp([len(piece) - 10.0 for piece in PIECES])
    expected = np.concatenate([[0, 0, 0], scores / scores.sum()])
    np.testing.assert_allclose(compute_unigram_shares(tokenizer), expected, rtol=1e-5)
    chosen = Frequencies.of(tokenizer, ROWS, "unigram", 0.1)
    np.testing.assert_allclose(chosen.counts, counts.sum() * expected, rtol=1e-5)
    assert chosen.smoothing == 0.1


def test_words_count_as_often_as_wordfreq_says_and_what_no_list_holds_as_in_text(tokenizer):
    wordfreq = pytest.importorskip("wordfreq")
    counts = np.zeros(10)
    words = wordfreq.get_frequency_dict("en", "small")
    for ids, often in zip(tokenizer.encode(list(words)), words.values(), strict=True):
        for piece in ids[1:-1]:
            counts[piece] += often
    shares = compute_word_shares(tokenizer, ["xx", "en"])
    np.testing.assert_allclose(shares, counts / counts.sum(), rtol=1e-6)
    # "the" is one piece, and no English word has a Cyrillic letter.
    assert shares[7] > 0.02 > shares[9] == shares[8] == 0
    chosen = Frequencies.of(tokenizer, ROWS, "wordfreq", languages=["en"]).counts
    np.testing.assert_allclose(chosen[[7, 8, 9]], [shares[7] * 8, 0, 1])
    with pytest.raises(ConfigError, match="xx, yy"):
        compute_word_shares(tokenizer, ["xx", "yy"])


def test_scores_that_are_no_probabilities_and_a_student_that_is_not_static_are_refused(tokenizer):
    ranked = tokenizer_of(*((piece, -float(rank)) for rank, piece in enumerate(PIECES)), kind="BPE")
    with pytest.raises(EncoderError, match="BPE"):
        compute_unigram_shares(ranked)
    for shape in (Shape(frequencies="unigram"), Shape(smoothing=0.5)):
        with pytest.raises(ConfigError, match="shape.frequencies: "):
            shape.check(small_encoder(tokenizer).model)
    assert str(Shape(static=True, frequencies="unigram")) == "static-frequenciesunigram"
