"""New pieces in an old SentencePiece model, against SentencePiece itself."""

import math

import numpy as np
import pytest
from fixtures.encoders import make_tiny
from fixtures.pieces import NORMAL, USER, cut, tokenizer_of, trained_tokenizer

from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import model_proto
from distill.errors import EncoderError, InputError
from distill.students.vocabulary.new_pieces import (
    append_embeddings,
    compute_mean_embeddings,
    extend_tokenizer,
    make_tokens,
    train_tokens,
)

OLD, NEW = ("de", "en", "es", "ru"), ("el", "hi", "vi")


def learn(texts, **options):
    return trained_tokenizer(texts, **{"vocab_size": 1500, "hard_vocab_limit": False, **options})


def added(before, after):
    return {piece.piece: piece.score for piece in model_proto(after).pieces[len(before) :]}


@pytest.fixture(scope="module")
def base(sample, texts_by_language):
    """A model that never saw Greek, Hindi or Vietnamese."""
    return learn([*sample.passage_texts, *(text for language in OLD for text in texts_by_language[language])])


@pytest.fixture(scope="module")
def unseen(texts_by_language):
    return [text for language in NEW for text in texts_by_language[language]]


@pytest.fixture(scope="module")
def learned(base, unseen):
    return train_tokens(unseen, 900, base)


@pytest.fixture(scope="module")
def kept_texts(texts_by_language):
    return [text for language in OLD for text in texts_by_language[language][::2]]


@pytest.fixture(scope="module")
def larger(base, learned, kept_texts):
    return extend_tokenizer(base, learned, kept_texts)


def test_as_many_pieces_are_learned_as_requested_the_same_each_time_and_no_text_is_refused(learned, base, unseen):
    assert len(learned) == len(dict(learned)) == 900
    assert train_tokens(unseen, 900, base) == learned
    # SentencePiece drops lines of more than 4,192 bytes.
    assert "▁νερό" in dict(train_tokens(["νερό " * 1000], 40, base))
    with pytest.raises(InputError, match="20 pieces"):
        train_tokens(unseen, 20, base)
    for texts in ([], ["", " \n"]):
        with pytest.raises(InputError, match="no text"):
            train_tokens(texts, 50, base)


def test_kept_and_learned_text_are_read_as_the_base_normalises_them():
    base = learn(["the river begins in the hills"] * 5, vocab_size=25, normalization_rule_name="nmt_nfkc_cf")
    pieces = train_tokens(["ΝΕΡΟ\tＮΕΡΟ", "ΕΡΟΣ"] * 3, 30, base)
    assert {character for piece, _ in pieces for character in piece} == set("▁νεροσn")
    assert 0 not in extend_tokenizer(base, pieces).encode(["ΝΕΡΟ ΕΡΟΣ"])[0]
    assert list(added(base, extend_tokenizer(base, [("νερ", -2), ("ξη", -3)], ["ΝΕΡΟ"]))) == ["ξη"]


def test_words_and_phrases_have_a_piece_each_unless_kept_text_holds_it():
    base = learn(["the river banks and the hills"] * 5, vocab_size=25, normalization_rule_name="nmt_nfkc_cf")
    pieces = make_tokens({"ΝΕΡΟ πηγη": 0.01, "νερο": 0.02, "ν": 0.5, "river bank": 0.25, "bank river": 0.125}, base)
    scores = {"▁νερο▁πηγη": 0.01, "▁νερο": 0.02, "▁river▁bank": 0.25, "▁bank▁river": 0.125}
    assert dict(pieces) == pytest.approx({piece: math.log(share) for piece, share in scores.items()})
    after = extend_tokenizer(base, pieces, ["the river bankers", "bank river side"])
    assert list(added(base, after)) == ["▁νερο▁πηγη", "▁νερο"]
    assert after.encode(["Νερο πηγη νερο"])[0][1:-1] == [len(base), len(base) + 1]


MIXED = ["νερόwater 1800", "το νερόwater", "1800"] * 5


@pytest.mark.parametrize(
    "options, holds",
    [
        ({"max_sentencepiece_length": 4}, lambda pieces: max(map(len, pieces)) <= 4),
        ({"treat_whitespace_as_suffix": True}, lambda pieces: "1800▁" in pieces),
        ({"split_by_unicode_script": False}, lambda pieces: "▁νερόwater" in pieces),
        ({"split_digits": True}, lambda pieces: "▁1800" not in pieces),
    ],
)
def test_pieces_end_where_the_base_lets_them_end(options, holds):
    texts = ["the river begins in the hills"] * 5
    bases = learn(texts, **options), learn(texts)
    assert [holds(dict(train_tokens(MIXED, 60, base))) for base in bases] == [True, False]


@pytest.mark.parametrize("kind", ["bpe", "char", "word"])
def test_another_model_than_a_unigram_one_is_refused(kind):
    base = learn(["the river begins in the hills"] * 5, model_type=kind, vocab_size=30)
    for call in (lambda: train_tokens(["νερό"], 20, base), lambda: extend_tokenizer(base, [("νερό", -1)])):
        with pytest.raises(EncoderError, match=kind.upper()):
            call()


def test_old_pieces_and_all_else_stay_and_new_ones_are_normal_learned_and_not_twice(base, larger, learned):
    assert list(model_proto(larger).pieces[: len(base)]) == list(model_proto(base).pieces)
    assert len(larger) - len(base) > 500
    pieces = model_proto(larger).pieces
    assert {piece.type for piece in pieces[len(base) :]} == {NORMAL}
    assert set(added(base, larger)) <= set(dict(learned))
    assert len({piece.piece for piece in pieces}) == len(pieces)
    before, after = model_proto(base), model_proto(larger)
    assert after.trainer_spec.vocab_size == len(after.pieces)
    for proto in (before, after):
        del proto.pieces[:]
        proto.trainer_spec.ClearField("vocab_size")
    assert after == before


def test_new_languages_are_cut_as_by_their_model_and_kept_texts_as_before(base, unseen, learned, larger, kept_texts):
    before, after, separate = (one.encode(unseen) for one in (base, larger, tokenizer_of(*learned, prefix=True)))
    unknown = [sum(row.count(0) for row in rows) for rows in (before, after)]
    assert unknown[0] > 1000 and unknown[1] < 0.02 * unknown[0]
    assert sum(map(len, after)) < 1.05 * sum(map(len, separate))
    assert cut(larger, kept_texts) == cut(base, kept_texts)


def test_without_a_text_to_keep_the_piece_wins_in_it():
    base, pieces = tokenizer_of(*((sign, -9) for sign in "abcd▁")), [("▁ab", -2), ("dd", -3)]
    assert cut(extend_tokenizer(base, pieces), ["c ab"]) == [["c", "▁ab"]]
    after = extend_tokenizer(base, pieces, ["c abcd"])
    assert cut(after, ["c abcd", "cdd"]) == [["c", "▁", "a", "b", "c", "d"], ["c", "dd"]]
    assert list(added(base, after)) == ["dd"]
    base = tokenizer_of(*((sign, -9) for sign in "abcd▁"))
    after = extend_tokenizer(base, [("a▁b", -2), ("b▁a", -2), ("▁c▁", -2)], ["d ca bd", "d c d"])
    assert list(added(base, after)) == ["b▁a"]


def test_old_pieces_parts_and_repeats_are_left_out_and_new_scores_are_of_a_model_with_their_share():
    base = tokenizer_of(("▁river", -5), ("bank", -6), ("<ask>", 0, USER))
    after = extend_tokenizer(base, [("rive", -2), ("rivers", -2), ("bank", -2), ("ask", -2), ("<s>", -1), ("kb", -2)])
    assert list(added(base, after)) == ["rivers", "kb"]
    base = tokenizer_of(("a", -1), ("b", -20))
    assert list(added(base, extend_tokenizer(base, [("ζ", -2), ("ζ", -3)]))) == ["ζ"]
    base = tokenizer_of(("a", -1), ("b", -4), ("c", -9), ("<ask>", 0, USER))
    after = extend_tokenizer(base, [("dd", -3), ("ee", -0.25)])
    share = math.log(2 / 5)
    assert added(base, after) == pytest.approx({"dd": -3 + share, "ee": -0.25 + share})
    # Unknown characters keep their cost. "b" alone is one: "xa" + <unk> costs 1 + 10 + the lowest score, 12, against 30
    # for "x" + "ab"; -40 would do.
    base = tokenizer_of(("x", -15), ("a", -12), ("xa", -1), ("ab", -15))
    assert cut(base, ["xab"]) == [["xa", "b"]]
    after = extend_tokenizer(base, [("ζζ", -40)])
    assert cut(after, ["xab"]) == [["xa", "b"]]
    assert added(base, after) == {"ζζ": -15}


@pytest.mark.parametrize("pieces, keep", [([], []), ([("a", -1)], []), ([("ζ", -1)], ["bζb"])])
def test_an_extension_by_nothing_is_refused(pieces, keep):
    with pytest.raises(InputError, match=f" {len(pieces)} pieces"):
        extend_tokenizer(tokenizer_of(("a", -1), ("b", -2)), pieces, keep)


def test_extending_twice_keeps_the_first_ones(base, texts_by_language):
    one = extend_tokenizer(base, train_tokens(texts_by_language["el"], 300, base))
    two = extend_tokenizer(one, train_tokens(texts_by_language["hi"], 300, one))
    assert list(model_proto(two).pieces[: len(one)]) == list(model_proto(one).pieces)
    assert cut(one, texts_by_language["el"]) == cut(two, texts_by_language["el"])


def encoder_of(tokenizer):
    encoder = make_tiny(tokenizer)
    return encoder, encoder.model.get_layer("embedding").get_weights()[0]


def test_a_new_row_is_the_mean_of_those_it_replaces():
    encoder, table = encoder_of(tokenizer_of(("▁", -2), ("a", -3), ("b", -4), ("ab", -5), ("c", -9), prefix=True))
    after = extend_tokenizer(encoder.tokenizer, [("▁abc", -1), ("abζ", -1), ("cζζb", -1), ("ζ", -1), ("a▁b", -1)])
    expected = [
        (table[3] + table[6] + table[7]) / 3,  # ▁ ab c
        table[6],  # ab <unk>, and no space before it
        (table[7] + table[5]) / 2,  # c <unk> b
        table.sum(axis=0) / 8,
        (table[4] + table[3] + table[5]) / 3,  # a ▁ b
    ]
    rows = compute_mean_embeddings(encoder, after)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-7)


def test_rows_stand_behind_the_old_ones_and_all_else_stays(base, larger):
    encoder, table = encoder_of(base)
    rows = np.arange((len(larger) - len(base)) * 16, dtype=np.float32).reshape(-1, 16)
    big = append_embeddings(encoder, larger, rows)
    larger_table = big.model.get_layer("embedding").get_weights()[0]
    np.testing.assert_array_equal(larger_table, np.concatenate([table, rows]))
    assert (big.model.vocabulary, big.name, big.tokenizer) == (len(larger_table), encoder.name, larger)
    for one, other in zip(big.model.weights[1:], encoder.model.weights[1:], strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=one.path)


def test_kept_texts_keep_their_vectors_and_new_ones_get_others(base, larger, texts_by_language, tmp_path):
    encoder, _ = encoder_of(base)
    big = append_embeddings(encoder, larger, compute_mean_embeddings(encoder, larger) + 0.5)
    kept, new = texts_by_language["ru"][:16:2], texts_by_language["hi"][:8]
    np.testing.assert_array_equal(big.encode(kept), encoder.encode(kept))
    assert np.abs(big.encode(new) - encoder.encode(new)).max(axis=1).min() > 1e-3
    big.save(tmp_path / "big")
    np.testing.assert_array_equal(KerasEncoder.load(tmp_path / "big").encode(new), big.encode(new))
