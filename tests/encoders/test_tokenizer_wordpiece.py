"""BERT's pieces, against the package tokenizers."""

import pytest

pytest.importorskip("tokenizers")

from tokenizers import BertWordPieceTokenizer

from distill.data.loading import load_dataset
from distill.data.readers import SAMPLE
from distill.encoders.tokenizer import Special, Tokenizer, model_proto, wordpiece_tokenizer
from distill.errors import EncoderError
from distill.export.encode import Reading, Rules
from distill.students.vocabulary.pieces import find_used_tokens, prune_tokenizer
from distill.students.vocabulary.vocabularies import find_shared_tokens

ODD = [
    "",
    " \t\r\n",
    "ΟΔΟΣ Σας, ΐ; İstanbul'da ne var?",
    "ﷺ ﬁ Ⅷ Å e\u0301 o\u0308",
    "尼罗河ab\U00020000c 한국어 ひらがなガ",
    "zero\u200bwidth\u00adsoft \x85 \x1c nbsp\u00a0x\u2028y \ufffd\x00",
    "a" * 100 + " " + "b" * 101,
    "CLS] [unused1] ##a # ## #a",
    "price: $3.50+€4~`^|<x>=∑ 🙂👩‍🚀 ½",
    "lone \ud800 one",
]
RULES = [Rules(), Rules(False, False, True), Rules(True, False, False), Rules(False, True, True)]


@pytest.fixture(scope="module")
def texts():
    """Questions in twelve languages and passages."""
    sample = load_dataset(SAMPLE)
    assert len(sample.questions) == 12
    return [q.text for known in sample.questions.values() for q in known.values()] + sample.passage_texts[:60]


@pytest.fixture(scope="module", params=RULES, ids=lambda rules: "".join(map(str, map(int, rules))))
def both(request, texts):
    """(the tokenizer, the same of the package)."""
    lowercase, strip_accents, chinese = request.param
    rules = {"lowercase": lowercase, "strip_accents": strip_accents, "handle_chinese_chars": chinese}
    learner = BertWordPieceTokenizer(**rules)
    learner.train_from_iterator(texts, vocab_size=4000, limit_alphabet=1500, show_progress=False)
    known = learner.get_vocab()
    pieces = sorted(known, key=known.get)
    return wordpiece_tokenizer(pieces, Reading(wordpiece=request.param)), BertWordPieceTokenizer(known, **rules)


def test_ids_and_places_are_those_of_the_package(both, texts):
    tokenizer, reference = both
    lines = [*texts, *ODD]
    expected = reference.encode_batch([line.replace("\ud800", "\ufffd") for line in lines])
    assert tokenizer.encode(lines) == [one.ids for one in expected]
    assert any(tokenizer.unknown in one.ids for one in expected)
    for line, one in zip(lines, expected, strict=True):
        # It cuts the word behind a character that is none off by that one.
        if "\ud800" not in line:
            assert tokenizer.places(line) == (one.ids[1:-1], one.offsets[1:-1])


def test_it_is_one_of_sentencepiece_to_what_reads_pieces_and_is_saved_as_it_is(both, texts, tmp_path):
    tokenizer, reference = both
    assert [piece.piece for piece in model_proto(tokenizer).pieces] == [
        reference.id_to_token(id) for id in range(reference.get_vocab_size())
    ]
    tokenizer.save(tmp_path / "tokenizer.model")
    assert Tokenizer.load(tmp_path / "tokenizer.model").encode(texts[:40]) == tokenizer.encode(texts[:40])
    assert tokenizer.normalize(["Nile, Ab"])[0].lower() == "\u2581nile\u2581,\u2581ab"


def test_texts_of_kept_pieces_are_cut_as_before_and_single_characters_stay(both, texts):
    tokenizer, _ = both
    some = texts[:300]
    smaller, old_ids = prune_tokenizer(tokenizer, find_used_tokens(tokenizer, some))
    assert len(smaller) < 0.9 * len(tokenizer)
    assert [[old_ids[id] for id in ids] for ids in smaller.encode(some)] == tokenizer.encode(some)
    names = {piece.piece for piece in model_proto(smaller).pieces}
    single = {piece.piece for piece in model_proto(tokenizer).pieces if len(piece.piece.removeprefix("##")) == 1}
    assert {"a", "##a", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"} < single | names and single <= names
    assert smaller.unknown == old_ids.tolist().index(tokenizer.unknown)
    # Of a language's letters those within words too, and of other scripts none.
    shared = {model_proto(tokenizer).pieces[id].piece for id in find_shared_tokens(model_proto(tokenizer), {"Grek"})}
    assert {"α", "##α", "##7", "##a"} <= shared and not {"б", "##б", "the"} & shared


def test_of_equal_pieces_the_last_counts_and_other_names_stand_for_what_is_no_text():
    pieces = ["<pad>", "<s>", "", "the", "<unk>", "</s>", "the", "##re", "##re"]
    special = Special("<unk>", "<s>", "</s>", "<pad>", "<mask>")
    tokenizer = wordpiece_tokenizer(pieces, Reading(wordpiece=Rules()), special)
    assert tokenizer.encode(["There x", ""]) == [[1, 6, 8, 4, 5], [1, 5]]
    assert len(tokenizer) == 9
    # Those that no text gives stay in no smaller one.
    assert prune_tokenizer(tokenizer, [6])[1].tolist() == [0, 1, 4, 5, 6]
    assert find_shared_tokens(model_proto(tokenizer), set()) == {0, 1, 4, 5, 6}
    # What a user writes is text, and no other piece.
    assert tokenizer.encode(["<s>"]) == [[1, 4, 4, 4, 5]]
    with pytest.raises(EncoderError, match=r"folder: .*\[SEP\]"):
        wordpiece_tokenizer(["[UNK]", "[CLS]", "a"], Reading(wordpiece=Rules()), source="folder")
