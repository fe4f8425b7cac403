import json

import pytest
from fixtures.pieces import CONTROL, spelled_tokenizer, tokenizer_of

from distill.encoders.tokenizer import wordpiece_tokenizer
from distill.errors import ExportError
from distill.export.encode import Reading, Rules
from distill.export.hub.plain_tokenizer import plain_tokenizer_json, tokenizer_config

tokenizers = pytest.importorskip("tokenizers")


def ids(tokenizer, texts):
    package = tokenizers.Tokenizer.from_str(json.dumps(plain_tokenizer_json(tokenizer)))
    return [encoding.ids for encoding in package.encode_batch(texts)]


def test_the_sample_is_cut_as_sentencepiece_cuts_it(tokenizer, sample):
    texts = sample.passage_texts + [one.text for questions in sample.questions.values() for one in questions.values()]
    texts += ["", "  two  blanks  ", "a"]
    assert ids(tokenizer, texts) == tokenizer.encode(texts)


def test_berts_pieces_are_cut_as_ours(sample):
    letters = sorted({letter for text in sample.passage_texts for letter in text if letter.isalpha()})
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters[::2]), ",", ".", "?"]
    for rules in (Rules(), Rules(False, False, False)):
        words = wordpiece_tokenizer(pieces, Reading(wordpiece=rules))
        assert ids(words, sample.passage_texts[:80]) == words.encode(sample.passage_texts[:80])


def test_a_tokenizer_names_its_special_pieces_and_what_fills_a_batch():
    config = tokenizer_config(tokenizer_of(("▁", -1), ("a", -2), ("<pad>", 0, CONTROL)), 30)
    assert [config[f"{name}_token"] for name in ("cls", "sep", "pad", "unk")] == ["<s>", "</s>", "<pad>", "<unk>"]
    assert tokenizer_config(tokenizer_of(("a", -2)), 30)["pad_token"] == "<unk>" and config["model_max_length"] == 30


def test_spellings_have_no_place(tokenizer):
    with pytest.raises(ExportError, match="without-spellings"):
        plain_tokenizer_json(spelled_tokenizer(tokenizer, _teh_nyl="the Nile"))
