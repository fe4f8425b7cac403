import pytest

from distill.encoders.tokenizer import model_proto
from distill.errors import ConfigError
from distill.students.vocabulary.scripts import script_codes, script_pieces, scripts_of


@pytest.mark.parametrize("name", ["Latin", "latin", "Latn", " LATN "])
def test_names_and_codes_in_any_case(name):
    assert script_codes([name, "Thai"]) == {"Latn", "Thai"}


def test_names_of_several_words_take_spaces_or_underscores():
    assert script_codes(["Old Italic", "old_persian"]) == {"Ital", "Xpeo"}


def test_an_unknown_script_is_named_with_near_ones():
    with pytest.raises(ConfigError, match="no such Unicode script: Cyrilic; did you mean Cyrillic"):
        script_codes(["Latin", "Cyrilic"])


def test_an_unknown_script_without_near_ones():
    with pytest.raises(ConfigError, match="no such Unicode script: qqqqq; give names such as Latin"):
        script_codes(["qqqqq"])


@pytest.mark.parametrize(
    "text, codes",
    [
        ("▁Nil", {"Zyyy", "Latn"}),
        ("น้ำ", {"Thai"}),
        ("e\u0301", {"Latn", "Zinh"}),
        ("Нил1", {"Cyrl", "Zyyy"}),
        ("ナイル河", {"Kana", "Hani"}),
        ("12,5", {"Zyyy"}),
    ],
)
def test_scripts_of_a_text(text, codes):
    assert scripts_of(text) == codes


def chosen(tokenizer, *scripts):
    proto = model_proto(tokenizer)
    return {proto.pieces[id].piece for id in script_pieces(tokenizer, scripts)}


def test_pieces_of_a_script_and_those_without_letters(tokenizer):
    found = chosen(tokenizer, "Thai")
    assert {"า", "1", "?", "▁"} <= found
    assert not {"a", "и", "的"} & found


def test_pieces_of_two_scripts_are_those_of_each(tokenizer):
    assert chosen(tokenizer, "Latin", "Cyrl") == chosen(tokenizer, "Latin") | chosen(tokenizer, "Cyrillic")


def test_a_piece_that_mixes_scripts_needs_both():
    from distill.encoders.tokenizer import Tokenizer

    proto = model_of("aи", "a", "и", "7")
    tokenizer = Tokenizer(proto.SerializeToString())
    assert chosen(tokenizer, "Latin") & {"aи", "a", "и", "7"} == {"a", "7"}
    assert chosen(tokenizer, "Latin", "Cyrillic") >= {"aи", "a", "и", "7"}


def model_of(*texts):
    from sentencepiece import sentencepiece_model_pb2 as pb2

    proto = pb2.ModelProto()
    for text, kind in (("<unk>", 2), ("<s>", 3), ("</s>", 3), *((text, 1) for text in texts)):
        proto.pieces.add(piece=text, score=-1, type=kind)
    return proto
