"""Text to ids against SentencePiece itself, and models that cannot be used."""

import io

import pytest
import sentencepiece

from distill.encoders.tokenizer import Tokenizer
from distill.errors import EncoderError

TEXTS = ["Where does the Nile begin?", "Где начинается Нил?", "ไนล์", "尼罗河", "  two  spaces ", "\n"]


@pytest.fixture
def reference(tokenizer):
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)


def train(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the river begins in the hills", "the sea is where it ends"] * 5),
        model_writer=model,
        vocab_size=20,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def test_a_text_is_bos_its_pieces_and_eos(tokenizer, reference):
    expected = [[reference.bos_id(), *reference.encode(text), reference.eos_id()] for text in TEXTS]
    assert tokenizer.encode(TEXTS) == expected


def test_many_texts_keep_their_order(tokenizer, reference):
    texts = [f"{number} rivers" for number in range(300)]
    assert [ids[1:-1] for ids in tokenizer.encode(texts)] == [reference.encode(text) for text in texts]


def test_no_texts_are_no_ids(tokenizer):
    assert tokenizer.encode([]) == []


def test_an_empty_text_is_bos_and_eos(tokenizer, reference):
    assert tokenizer.encode([""]) == [[reference.bos_id(), reference.eos_id()]]


def test_ids_are_plain_integers(tokenizer):
    assert all(type(id) is int for id in tokenizer.encode(["the Nile"])[0])


def test_signs_that_the_model_never_saw_are_unknown(tokenizer, reference):
    assert reference.unk_id() in tokenizer.encode(["ᚠ"])[0]


def test_the_models_own_ids_of_bos_and_eos_are_used():
    proto = train(pad_id=0, unk_id=3, bos_id=2, eos_id=1)
    ids = Tokenizer(proto).encode(["the river"])[0]
    assert (ids[0], ids[-1]) == (2, 1)


def test_a_lone_surrogate_is_read_as_the_replacement_character(tokenizer):
    # Such a text comes out of JSON with a broken escape, "\ud800".
    assert tokenizer.encode(["the \ud800 Nile"]) == tokenizer.encode(["the \ufffd Nile"])


def test_a_lone_surrogate_leaves_the_other_texts_alone(tokenizer):
    assert tokenizer.encode(["\udfff", "the Nile"])[1] == tokenizer.encode(["the Nile"])[0]


def test_the_length_is_the_number_of_pieces(tokenizer, reference):
    assert len(tokenizer) == reference.get_piece_size() == 2000


def test_a_saved_model_is_the_same_tokenizer(tokenizer, tmp_path):
    (tmp_path / "sp.model").write_bytes(tokenizer.proto)
    loaded = Tokenizer.load(tmp_path / "sp.model")
    assert loaded.proto == tokenizer.proto
    assert loaded.encode(TEXTS) == tokenizer.encode(TEXTS)


@pytest.mark.parametrize("content", [None, b"no model at all", b""])
def test_a_file_that_is_absent_or_no_model_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "sp.model").write_bytes(content)
    with pytest.raises(EncoderError, match=r"sp\.model"):
        Tokenizer.load(tmp_path / "sp.model")


def test_bytes_that_are_no_model_are_refused():
    with pytest.raises(EncoderError, match="the tokenizer: "):
        Tokenizer(b"no model at all")


@pytest.mark.parametrize("absent", ["bos_id", "eos_id"])
def test_a_model_without_bos_or_eos_is_refused(absent):
    with pytest.raises(EncoderError, match="mine: .*bos"):
        Tokenizer(train(**{absent: -1}), "mine")
