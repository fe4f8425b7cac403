"""Text to ids against SentencePiece itself, and models that cannot be used."""

import pytest
import sentencepiece
from fixtures.pieces import trained_tokenizer

from distill.encoders.tokenizer import Tokenizer
from distill.errors import EncoderError

TEXTS = ["Where does the Nile begin?", "Где начинается Нил?", "ไนล์", "尼罗河", "  two  spaces ", "\n"]


@pytest.fixture
def reference(tokenizer):
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)


RIVER = ["the river begins in the hills", "the sea is where it ends"] * 5


def test_a_text_is_bos_its_pieces_and_eos_in_order_as_plain_integers(tokenizer, reference):
    texts = [*TEXTS, "", *(f"{number} rivers" for number in range(300))]
    expected = [[reference.bos_id(), *reference.encode(text), reference.eos_id()] for text in texts]
    assert tokenizer.encode(texts) == expected
    assert tokenizer.encode([]) == []
    assert all(type(id) is int for id in tokenizer.encode(["the Nile"])[0])
    assert reference.unk_id() in tokenizer.encode(["ᚠ"])[0]
    assert len(tokenizer) == reference.get_piece_size() == 2000


def test_the_models_own_ids_of_bos_and_eos_are_used():
    ids = trained_tokenizer(RIVER, vocab_size=20, pad_id=0, unk_id=3, bos_id=2, eos_id=1).encode(["the river"])[0]
    assert (ids[0], ids[-1]) == (2, 1)


def test_a_lone_surrogate_is_read_as_the_replacement_character(tokenizer):
    # Such a text comes out of JSON with a broken escape, "\ud800".
    texts = ["the \ud800 Nile", "\udfff", "the Nile"]
    assert tokenizer.encode(texts) == tokenizer.encode(["the \ufffd Nile", "\ufffd", "the Nile"])


def test_a_saved_model_is_the_same_tokenizer(tokenizer, tmp_path):
    (tmp_path / "sp.model").write_bytes(tokenizer.proto)
    loaded = Tokenizer.load(tmp_path / "sp.model")
    assert loaded.proto == tokenizer.proto
    assert loaded.encode(TEXTS) == tokenizer.encode(TEXTS)


@pytest.mark.parametrize("content", [None, b"no model at all", b""])
def test_a_file_or_bytes_that_are_absent_or_no_model_are_named(tmp_path, content):
    if content is not None:
        (tmp_path / "sp.model").write_bytes(content)
    with pytest.raises(EncoderError, match=r"sp\.model"):
        Tokenizer.load(tmp_path / "sp.model")
    with pytest.raises(EncoderError, match="the tokenizer: "):
        Tokenizer(b"no model at all")


@pytest.mark.parametrize("absent", ["bos_id", "eos_id"])
def test_a_model_without_bos_or_eos_is_refused(absent):
    with pytest.raises(EncoderError, match="the tokenizer: .*bos"):
        trained_tokenizer(RIVER, vocab_size=20, **{absent: -1})
