"""Pruned SentencePiece models, unigram and BPE, against SentencePiece itself."""

import numpy as np
import pytest
from fixtures.pieces import CONTROL, USER, cut, small_encoder, tokenizer_of, trained_tokenizer
from sentencepiece import sentencepiece_model_pb2 as pb2

from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer, model_proto
from distill.errors import EncoderError
from distill.export.encode import Reading
from distill.students.vocabulary.pieces import (
    count_tokens,
    find_prompt_tokens,
    find_required_tokens,
    find_used_tokens,
    merge_characters,
    prune_encoder,
    prune_tokenizer,
    replace_tokenizer,
    require_kept_vectors,
    sort_by_use,
)
from distill.students.vocabulary.pruning import Line, PieceRule, prune

WORD = pb2.TrainerSpec.WORD


@pytest.fixture(scope="module")
def questions(sample):
    return [question.text for known in sample.questions.values() for question in known.values()]


@pytest.fixture(scope="module", params=["unigram", "bpe", "char", "word"])
def learned(request, sample, questions):
    options = {"character_coverage": 0.9995, "hard_vocab_limit": request.param != "char"}
    options |= {"vocab_size": {"char": 300, "word": 500}.get(request.param, 2000), "model_type": request.param}
    return trained_tokenizer([*sample.passage_texts, *questions], user_defined_symbols=["<ask>"], **options)


def pieces(tokenizer):
    return [piece.piece for piece in model_proto(tokenizer).pieces]


def test_used_pieces_are_counted_over_all_texts_and_bytes_and_the_lowest_score_of_a_normal_one_stay():
    tokenizer, texts = tokenizer_of(("a", -1), ("b", -1), ("c", -1), ("d", -1)), ["abb", "cb", "a"]
    assert [find_used_tokens(tokenizer, texts, least) for least in (1, 2, 3)] == [{3, 4, 5}, {3, 4}, {4}]
    assert find_used_tokens(tokenizer, []) == set()
    tokenizer = trained_tokenizer(["the river", "the sea"] * 5, vocab_size=285, byte_fallback=True, model_type="bpe")
    smaller, _ = prune_tokenizer(tokenizer, [])
    assert sum(piece.startswith("<0x") for piece in pieces(smaller)) == 256
    assert cut(smaller, ["ᚠ"]) == cut(tokenizer, ["ᚠ"])
    proto = model_proto(tokenizer_of(("aa", -3), ("bb", -2), ("cc", -7), ("dd", -5), ("ee", -9, USER)))
    assert find_required_tokens(proto) == {0, 1, 2, 5, 7}
    # Where there is none all are kept.
    assert find_required_tokens(model_proto(tokenizer_of(("ee", 0, USER)))) == {0, 1, 2, 3}


def test_texts_of_kept_pieces_are_cut_as_before_and_pruning_twice_is_pruning_once(learned, questions):
    # Pieces that a user defined too.
    texts = [*questions, *(f"{question[:20]}<ask>{question[20:]}" for question in questions[::5])]
    smaller, old_ids = prune_tokenizer(learned, find_used_tokens(learned, texts))
    assert cut(smaller, texts) == cut(learned, texts)
    assert [[int(old_ids[id]) for id in ids] for ids in smaller.encode(texts)] == learned.encode(texts)
    smaller, _ = prune_tokenizer(learned, find_used_tokens(learned, questions))
    again, old_ids = prune_tokenizer(smaller, find_used_tokens(smaller, questions))
    assert (again.proto, old_ids.tolist()) == (smaller.proto, list(range(len(smaller))))


@pytest.mark.parametrize("learned", ["unigram", "bpe"], indirect=True)
def test_pieces_keep_order_score_and_type_and_something_went(learned, questions):
    smaller, old_ids = prune_tokenizer(learned, find_used_tokens(learned, questions[:20]))
    assert len(smaller) < 0.85 * len(learned)
    assert cut(smaller, questions[20:]) != cut(learned, questions[20:])
    assert old_ids.dtype == np.int64 and (np.diff(old_ids) > 0).all()
    before = model_proto(learned).pieces
    assert list(model_proto(smaller).pieces) == [before[id] for id in old_ids]


def test_single_characters_special_pieces_and_the_models_settings_stay_without_any_use(learned, sample):
    smaller, _ = prune_tokenizer(learned, [])
    single = {piece for piece in pieces(learned) if len(piece.replace("\u2581", "")) <= 1}
    assert len(single) > 50 or model_proto(learned).trainer_spec.model_type == WORD
    assert single | {"<unk>", "<s>", "</s>", "<ask>"} <= set(pieces(smaller))
    unknown = [sum(ids.count(0) for ids in one.encode(sample.passage_texts)) for one in (learned, smaller)]
    assert unknown[0] == unknown[1] or model_proto(learned).trainer_spec.model_type == WORD
    before, after = model_proto(learned), model_proto(smaller)
    assert after.normalizer_spec == before.normalizer_spec
    for proto in (before, after):
        del proto.pieces[:]
        for name in ("vocab_size", "unk_id", "bos_id", "eos_id", "pad_id"):
            proto.trainer_spec.ClearField(name)
    assert after == before


def test_unknown_characters_keep_their_cost():
    # "b" alone is unknown: "xa" + <unk> costs 1 + 10 + the worst score, 30 with "zz"; without, 26 against "x" + "ab".
    tokenizer = tokenizer_of(("x", -15), ("a", -15), ("xa", -1), ("ab", -15), ("zz", -30), ("yy", -2))
    assert cut(tokenizer, ["xab"]) == [["x", "ab"]]
    smaller, _ = prune_tokenizer(tokenizer, find_used_tokens(tokenizer, ["xab", "xa"]))
    assert cut(smaller, ["xab"]) == [["x", "ab"]]
    assert "yy" not in pieces(smaller)
    # The first of equal ways still wins.
    tokenizer = tokenizer_of(("a", -1), ("b", -1), ("c", -1), ("ab", -1), ("bc", -1), ("zz", -5), ("yy", -3))
    smaller, _ = prune_tokenizer(tokenizer, find_used_tokens(tokenizer, ["abc"]))
    assert cut(smaller, ["abc"]) == cut(tokenizer, ["abc"])


def test_bpe_keeps_what_its_pieces_are_merged_from_the_best_pair_and_of_equals_the_leftmost():
    tokenizer = tokenizer_of(
        *(("a", -10), ("b", -11), ("c", -12), ("d", -13)),
        *(("ab", 0), ("abc", -1), ("abcd", -2), ("cd", -3), ("bc", -4)),
        kind="BPE",
    )
    assert cut(tokenizer, ["abcd"]) == [["abcd"]]
    smaller, _ = prune_tokenizer(tokenizer, find_used_tokens(tokenizer, ["abcd"]))
    assert pieces(smaller)[7:] == ["ab", "abc", "abcd"]  # neither "cd" nor "bc"
    assert cut(smaller, ["abcd"]) == [["abcd"]]
    scores = {"ab": -2, "bc": -1, "abc": -3, "aa": -5, "aaa": -6}
    assert merge_characters("abc", scores) == ["bc", "abc"]
    assert merge_characters("aaa", scores) == ["aa", "aaa"]
    assert merge_characters("aab", scores) == ["ab"]
    assert merge_characters("xyz", scores) == []


def test_the_models_own_ids_move_with_the_pieces():
    proto = model_proto(tokenizer_of(("aa", -2), ("bb", -3), ("cc", -1), ("a", -5), ("<go>", 0, CONTROL)))
    proto.trainer_spec.bos_piece, proto.trainer_spec.bos_id = "<go>", 7
    smaller, old_ids = prune_tokenizer(Tokenizer(proto.SerializeToString()), [])
    spec = model_proto(smaller).trainer_spec
    assert old_ids.tolist() == [0, 1, 2, 6, 7]
    assert (spec.vocab_size, spec.unk_id, spec.bos_id, spec.eos_id, spec.pad_id) == (5, 0, 4, 2, -1)
    assert smaller.encode(["a"]) == [[4, 3, 2]]


@pytest.mark.parametrize("id", [-1, 2000])
def test_an_id_that_there_is_not_is_refused(tokenizer, id):
    with pytest.raises(EncoderError, match=f"2000 .* {id}"):
        prune_tokenizer(tokenizer, [5, id])


def test_vectors_of_kept_texts_and_class_and_config_stay_but_for_the_rows(tiny, questions):
    smaller = prune_encoder(tiny, find_used_tokens(tiny.tokenizer, questions))
    np.testing.assert_array_equal(smaller.encode(questions), tiny.encode(questions))
    smaller = prune_encoder(tiny, [])
    assert type(smaller.model) is type(tiny.model)
    expected = {**tiny.model.get_config(), "vocabulary": len(smaller.tokenizer)}
    assert smaller.model.get_config() == expected
    assert (smaller.name, smaller.dimension) == (tiny.name, tiny.dimension)


@pytest.mark.parametrize("learned", ["unigram"], indirect=True)
def test_pieces_by_use_keep_special_ones_in_their_places_equal_ones_in_order_and_vectors(learned, questions):
    pairs = ("a", -3), ("b", -1), ("<ask>", 0, USER), ("c", -2), ("ab", -1), ("d", -3)
    small, unordered = (small_encoder(tokenizer_of(*pairs, kind=kind)) for kind in ("UNIGRAM", "BPE"))
    counts = np.array([9, 9, 9, 0.1, 0.4, 9, 0.3, 0.4, 0.1])
    ordered = sort_by_use(small, counts)
    assert pieces(ordered.tokenizer)[3:] == ["b", "ab", "<ask>", "c", "a", "d"]
    rows = [one.model.get_layer("embedding").get_weights()[0] for one in (small, ordered)]
    np.testing.assert_array_equal(rows[1], rows[0][[0, 1, 2, 4, 7, 5, 6, 3, 8]])
    assert sort_by_use(unordered, counts) is unordered
    # One that SentencePiece learned.
    encoder = small_encoder(learned)
    ordered = sort_by_use(encoder, np.random.default_rng(0).permutation(len(learned)))
    assert pieces(ordered.tokenizer) != pieces(learned)
    np.testing.assert_array_equal(ordered.encode(questions), encoder.encode(questions))


def test_rows_are_the_kept_ones_and_all_other_weights_stay_when_saved_too(tiny, questions, tmp_path):
    kept = find_used_tokens(tiny.tokenizer, questions[:30])
    smaller, (_, old_ids) = prune_encoder(tiny, kept), prune_tokenizer(tiny.tokenizer, kept)
    table, small = (one.model.get_layer("embedding").get_weights()[0] for one in (tiny, smaller))
    np.testing.assert_array_equal(small, table[old_ids])
    for one, other in zip(smaller.model.weights[1:], tiny.model.weights[1:], strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=one.path)
    smaller.save(tmp_path / "small")
    loaded = KerasEncoder.load(tmp_path / "small")
    assert loaded.tokenizer.proto == smaller.tokenizer.proto
    assert loaded.model.vocabulary == len(smaller.tokenizer)
    np.testing.assert_array_equal(loaded.encode(questions[:30]), smaller.encode(questions[:30]))


# An encoder of fewer tokens against the one that it was cut from, prompts and all.
PROMPTS = {"question": "represent this: ", "document": "ask text: "}
TEXTS = [f"the ferry number {n} leaves the harbour" for n in range(12)]
LINES = [Line("en", text, "corpus", place) for place, text in enumerate(TEXTS)]


@pytest.fixture
def prompted(tokenizer):
    return small_encoder(Tokenizer(tokenizer.proto, reading=Reading(PROMPTS)))


@pytest.mark.parametrize("rule", [PieceRule(), PieceRule(least=12), PieceRule(most=600, written=True)])
def test_the_prompts_tokens_stay_under_any_rule(prompted, tokenizer, rule):
    smaller, report = prune(prompted, LINES, [], rule)
    kept = {piece for text in TEXTS for piece in cut(smaller.tokenizer, [text])[0]}
    for role, prompt in PROMPTS.items():
        # SentencePiece itself cuts the prompts as before.
        assert cut(smaller.tokenizer, [prompt]) == cut(tokenizer, [prompt])
        if rule == PieceRule():
            np.testing.assert_array_equal(smaller.encode(TEXTS, role), prompted.encode(TEXTS, role))
            assert report["cosine"]["en"][role] == pytest.approx(1, abs=1e-6)
    assert kept and (not rule.most or len(smaller.tokenizer) <= rule.most)


def test_the_prompts_alone_do_not_count_as_use(prompted, tokenizer):
    plain = count_tokens(tokenizer, TEXTS)
    np.testing.assert_array_equal(count_tokens(prompted.tokenizer, TEXTS), plain)
    assert find_prompt_tokens(tokenizer) == set()
    wanted = {id for prompt in PROMPTS.values() for id in tokenizer.encode([prompt])[0][1:-1]}
    assert find_prompt_tokens(prompted.tokenizer) == wanted


def test_what_a_prompt_without_a_blank_joins_is_used():
    pieces = [("a", -3), ("b", -3), (":", -3), ("\u2581", -3), ("\u2581ab", -1), ("ab", -1), ("q", -3)]
    joined = tokenizer_of(*pieces, prefix=True)
    joined = Tokenizer(joined.proto, reading=Reading({"question": "q:"}))
    assert cut(joined, ["ab", "q:ab"]) == [["\u2581ab"], ["\u2581", "q", ":", "ab"]]
    counts = dict(zip(range(3, 10), count_tokens(joined, ["ab", "ab"])[3:].tolist(), strict=True))
    assert counts == {3: 0, 4: 0, 5: 0, 6: 0, 7: 2, 8: 2, 9: 0}


def test_a_cut_that_changes_a_prompt_is_refused(prompted, tokenizer):
    used = {id for row in tokenizer.encode(TEXTS) for id in row}
    told = require_kept_vectors(prompted, prune_encoder(prompted, used), TEXTS)
    assert told == {role: pytest.approx(1, abs=1e-6) for role in PROMPTS}
    # Cut by a tokenizer that knows of no prompts, and read with them.
    cut_blindly, old_ids = prune_tokenizer(tokenizer, used)
    blind = replace_tokenizer(prompted, Tokenizer(cut_blindly.proto, reading=Reading(PROMPTS)), old_ids)
    with pytest.raises(EncoderError, match="cosine"):
        require_kept_vectors(prompted, blind, TEXTS)


def test_a_text_that_loses_tokens_is_no_error_and_its_cosine_is_told(tokenizer):
    whole = small_encoder(tokenizer)
    lost = prune_encoder(whole, [])
    told = require_kept_vectors(whole, lost, TEXTS)
    by_hand = np.sum(whole.encode(TEXTS) * lost.encode(TEXTS), axis=1).min()
    assert told == {role: pytest.approx(by_hand, abs=1e-6) for role in PROMPTS}
    assert isinstance(lost, KerasEncoder) and by_hand < 0.999
