"""Text to ids against SentencePiece itself, and models that cannot be used."""

import pytest
import sentencepiece
from fixtures.pieces import trained_tokenizer

from distill.encoders.tokenizer import Tokenizer
from distill.errors import EncoderError
from distill.export.encode import Reading
from distill.students.vocabulary.pieces import prune_tokenizer

TEXTS = ["Where does the Nile begin?", "Где начинается Нил?", "ไนล์", "尼罗河", "  two  spaces ", "\n"]


@pytest.fixture
def reference(tokenizer):
    return sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)


@pytest.fixture
def prompted(tokenizer):
    return Tokenizer(tokenizer.proto, reading=Reading({"question": "query: ", "document": "passage: "}, 9))


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


def test_a_prompt_stands_before_a_text_by_its_role_and_the_longest_keep_eos(prompted, tokenizer, reference):
    for role, prompt in (("question", "query: "), ("document", "passage: ")):
        rows = [reference.encode(prompt + text, add_bos=True, add_eos=True) for text in TEXTS]
        assert max(map(len, rows)) > 9 > min(map(len, rows))
        expected = [row if len(row) < 10 else row[:8] + row[-1:] for row in rows]
        assert prompted.encode(TEXTS, role) == expected != tokenizer.encode(TEXTS, role)
    assert prompted.encode(TEXTS) == prompted.encode(TEXTS, "question")
    # Pieces of words are asked for without.
    assert prompted.encode(TEXTS, None) == tokenizer.encode(TEXTS)
    assert Tokenizer(tokenizer.proto, reading=Reading({"document": "d: "})).encode(TEXTS) == tokenizer.encode(TEXTS)


def test_prompts_are_saved_beside_the_model_and_stay_with_fewer_pieces(prompted, tokenizer, tmp_path):
    prompted.save(tmp_path / "tokenizer.model")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reading.json", "tokenizer.model"]
    loaded = Tokenizer.load(tmp_path / "tokenizer.model")
    assert loaded.reading == prompted.reading
    assert loaded.stored_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    smaller, old_ids = prune_tokenizer(loaded, range(1000))
    assert [[old_ids[id] for id in ids] for ids in smaller.encode(["a", "b"])] == prompted.encode(["a", "b"])
    tokenizer.save(tmp_path / "plain.model")
    assert not (tmp_path / "plain.json").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        pytest.param(b"[" * 100_000, id="deep"),
        b'{"prompt": {}}',
        b'{"prompts": ["a"]}',
        b'{"prompts": {"query": "a"}}',
        b'{"prompts": {"question": 1}}',
        b'{"longest": 1}',
        b'{"longest": "9"}',
        b'{"longest": true}',
    ],
)
def test_a_file_that_says_nothing_of_how_to_read_is_named(content, tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.model")
    (tmp_path / "reading.json").write_bytes(content)
    with pytest.raises(EncoderError, match=r"reading\.json"):
        Tokenizer.load(tmp_path / "tokenizer.model")
