"""The package tokenizers as an encoder's tokenizer: saved and loaded, cut on both sides, compared with our own."""

import json

import pytest
from tokenizers import BertWordPieceTokenizer
from tokenizers import Tokenizer as Library

from distill.encoders.encoder import KerasEncoder, take_own_pieces
from distill.encoders.library_tokenizer import LibraryTokenizer, load_tokenizer
from distill.encoders.tokenizer import Tokenizer, wordpiece_tokenizer
from distill.errors import EncoderError, InputError
from distill.export.encode import Reading, Rules

PIECES = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "nile", "##s", "ask", ":", "river")
TEXTS = ["The Niles", "river, the nile"]


@pytest.fixture
def content():
    """The content of the library's file, BERT's with these pieces."""
    library = BertWordPieceTokenizer({name: id for id, name in enumerate(PIECES)})
    return json.loads(library.to_str())


@pytest.fixture
def library(content):
    """`library(truncation, reading, names)`: a tokenizer, whose own pieces may have other names."""

    def make(truncation=None, reading=None, names=PIECES):
        reading = reading or Reading(wordpiece=Rules())
        pieces = wordpiece_tokenizer(names, reading._replace(wordpiece=Rules()))
        return LibraryTokenizer({**content, "truncation": truncation}, reading, "here", lambda: pieces.proto)

    return make


def test_ids_places_and_sizes_are_the_librarys(library, content):
    tokenizer, reference = library(), Library.from_str(json.dumps(content))
    assert tokenizer.encode([*TEXTS, ""]) == [reference.encode(text).ids for text in (*TEXTS, "")]
    assert tokenizer.places("The Niles") == ([4, 5, 6], [(0, 3), (4, 8), (8, 9)])
    assert (len(tokenizer), tokenizer.unknown, tokenizer.unexpanded) == (10, 1, tokenizer)
    assert tokenizer.encode(["the \ud800"]) == [[2, 4, 3]]


def test_a_text_that_is_too_long_is_cut_where_the_library_cuts_it(library):
    reading = Reading({"question": "ask: "}, 5, Rules())
    left = {"direction": "Left", "max_length": 9, "strategy": "LongestFirst", "stride": 0}
    for truncation, expected in ((None, [2, 7, 8, 4, 3]), (left, [2, 4, 5, 6, 3])):
        tokenizer = library(truncation, reading)
        assert tokenizer.encode(["the niles"]) == [expected]
        assert tokenizer.encode(["the niles"], "document") == [[2, 4, 5, 6, 3]]
        assert tokenizer.encode(["the niles river"], None) == [[2, 4, 5, 6, 9, 3]]
        assert tokenizer.cuts_left == (truncation is left)


def test_it_is_saved_with_our_pieces_if_there_are_some_and_loaded(library, content, tmp_path):
    reading = Reading({"question": "ask: "}, 7, Rules())
    library(reading=reading).save(tmp_path / "tokenizer.model")
    loaded = load_tokenizer(tmp_path / "tokenizer.model")
    assert isinstance(loaded, LibraryTokenizer) and loaded.reading == reading
    assert loaded.encode(TEXTS) == library(reading=reading).encode(TEXTS) == loaded.to_own().encode(TEXTS)
    assert type(loaded.to_own(TEXTS)) is Tokenizer

    def refuse():
        raise EncoderError("no such pieces")

    (tmp_path / "other").mkdir()
    LibraryTokenizer(content, reading, "here", refuse).save(tmp_path / "other" / "tokenizer.model")
    loaded = load_tokenizer(tmp_path / "other" / "tokenizer.model")
    assert loaded.encode(TEXTS) == library(reading=reading).encode(TEXTS)
    with pytest.raises(EncoderError, match="library_tokenizer"):
        loaded.to_own()


@pytest.mark.parametrize("content", ["", "[]", '{"model": 1}', '{"model": {"type": "WordPiece"}}'])
def test_a_broken_file_is_named_in_one_line(content, tmp_path):
    (tmp_path / "library_tokenizer.json").write_text(content)
    with pytest.raises(EncoderError, match="library_tokenizer") as told:
        load_tokenizer(tmp_path / "tokenizer.model")
    assert "\n" not in str(told.value)


def test_a_text_that_our_pieces_read_otherwise_is_named_with_both_readings(library, tiny):
    names = [name if name != "river" else "lake" for name in PIECES]
    tokenizer = library(names=names)
    assert tokenizer.to_own(["the niles"]).encode(["the niles"]) == [[2, 4, 5, 6, 3]]
    with pytest.raises(EncoderError, match="river"):
        tokenizer.to_own(["the nile", "a river"])
    prompted = library(reading=Reading({"question": "river "}, None, Rules()), names=names)
    with pytest.raises(EncoderError, match="prompt"):
        prompted.to_own(["the nile"])
    encoder = KerasEncoder(tiny.model, tokenizer)
    with pytest.raises(EncoderError, match="river"):
        take_own_pieces(encoder, ["a river"])
    assert type(take_own_pieces(encoder).tokenizer) is Tokenizer and take_own_pieces(tiny) is tiny


def test_without_the_package_the_extra_is_named(library, monkeypatch):
    monkeypatch.setattr("distill.system.extras.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"\[hub\]"):
        library()
