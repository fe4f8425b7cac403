"""Pieces that stand for others: ids, files, and tokenizers of fewer, more and other pieces."""

import io

import numpy as np
import pytest

from distill.encoders.spellings import FILE, Spelling
from distill.encoders.tokenizer import SPACE, Tokenizer, list_spellings, model_proto, with_spellings, without_spellings
from distill.errors import EncoderError
from distill.students.vocabulary.new_pieces import append_tokens
from distill.students.vocabulary.pieces import prune_tokenizer, reorder_tokenizer

TEXTS = ["Where does the Nile begin?", "Где начинается Нил?", "尼罗河", "", "the Nile  "]


@pytest.fixture(scope="module")
def spelled(tokenizer):
    (nile,), (city,) = tokenizer.encode(["the Nile"]), tokenizer.encode(["Kairo"])
    rows = [(f"{SPACE}teh{SPACE}nyl", nile), ("qairo", city)]
    return with_spellings(tokenizer, [Spelling(piece, -1.0, tuple(ids[1:-1])) for piece, ids in rows])


def test_a_spelling_is_read_as_what_it_stands_for_and_all_else_as_before(tokenizer, spelled):
    assert spelled.encode(["teh nyl", "in teh nyl there"]) == tokenizer.encode(["the Nile", "in the Nile there"])
    assert spelled.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert len(spelled) == len(tokenizer) == 2000
    assert [one.piece for one in list_spellings(spelled)] == [f"{SPACE}teh{SPACE}nyl", "qairo"]
    assert model_proto(spelled) == model_proto(tokenizer) == model_proto(without_spellings(spelled))
    assert spelled.unexpanded.encode(["teh nyl"])[0][1:-1] == [2000]


def test_what_a_spelling_stands_for_has_its_place(spelled):
    ids, places = spelled.places("in teh nyl there")
    assert ids == spelled.encode(["in teh nyl there"])[0][1:-1]
    assert {place for id, place in zip(ids, places, strict=True) if place[0] == 2} == {(2, 10)}


def test_what_is_a_piece_is_no_spelling_and_none_scores_below_the_pieces(tokenizer):
    pieces = [piece for piece in model_proto(tokenizer).pieces if piece.type == piece.NORMAL]
    rows = [Spelling(pieces[0].piece, -1.0, (7,)), Spelling("qqqq", -1000.0, (7,))]
    (kept,) = list_spellings(with_spellings(tokenizer, rows))
    assert (kept.piece, kept.score) == ("qqqq", min(piece.score for piece in pieces))
    assert with_spellings(tokenizer, rows[:1]).spellings is None


def test_a_file_beside_the_model_has_them(spelled, tmp_path):
    spelled.save(tmp_path / "tokenizer.model")
    with np.load(tmp_path / FILE) as stored:
        ids = [id for one in list_spellings(spelled) for id in (*one.ids, -1)]
        assert stored["ids"].tolist() == ids and stored["ids"].dtype == np.int32
    loaded = Tokenizer.load(tmp_path / "tokenizer.model")
    assert loaded.stored_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    assert loaded.encode(["teh nyl"]) == spelled.encode(["teh nyl"]) and loaded.spellings == spelled.spellings


def content(ids):
    file = io.BytesIO()
    np.savez(file, ids=ids)
    return file.getvalue()


@pytest.mark.parametrize(
    "broken",
    [
        b"no file",
        content(np.array([5, 6], np.int32)),
        content(np.array([1999, -1, 2000, -1], np.int32)),
        content(np.array([-3, -1], np.int32)),
        content(np.array([5.0, -1.0])),
    ],
)
def test_what_is_no_file_of_spellings_is_refused(spelled, broken):
    with pytest.raises(EncoderError, match="spellings"):
        Tokenizer(spelled.proto, "here", broken)


def test_fewer_more_and_other_pieces_keep_them(tokenizer, spelled):
    nile = set(tokenizer.encode(["the Nile"])[0])
    smaller, old = prune_tokenizer(spelled, nile)
    assert [one.piece for one in list_spellings(smaller)] == [f"{SPACE}teh{SPACE}nyl"]
    assert [old[id] for id in smaller.encode(["teh nyl"])[0]] == tokenizer.encode(["the Nile"])[0]
    larger = append_tokens(spelled, [("qairo", -3.0), (f"{SPACE}zzz", -3.0)])
    assert len(larger) == 2002 and [one.piece for one in list_spellings(larger)] == [f"{SPACE}teh{SPACE}nyl"]
    assert larger.encode(["teh nyl", "zzz"])[0] == tokenizer.encode(["the Nile"])[0]
    assert larger.encode(["zzz"])[0][1:-1] == [2001]
    order = np.concatenate([np.arange(3), np.arange(len(tokenizer) - 1, 2, -1)])
    turned = reorder_tokenizer(spelled, order)
    assert [order[id] for id in turned.encode(["teh nyl"])[0]] == tokenizer.encode(["the Nile"])[0]
