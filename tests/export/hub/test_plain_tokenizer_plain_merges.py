"""Merges of Gemma's kind as a `tokenizer.json`: the package tokenizers gives SentencePiece's ids."""

import json

import pytest
from fixtures.pieces import trained_tokenizer

from distill.errors import ExportError
from distill.export.hub.plain_tokenizer import plain_tokenizer_json

tokenizers = pytest.importorskip("tokenizers")
GEMMA = {"model_type": "bpe", "byte_fallback": True, "add_dummy_prefix": False, "character_coverage": 0.98}
GEMMA |= {"remove_extra_whitespaces": False, "normalization_rule_name": "identity", "vocab_size": 1500}


@pytest.fixture(scope="module")
def languages(sample):
    return [question.text for known in sample.questions.values() for question in list(known.values())[:100]]


def test_ids_are_those_of_sentencepiece_bytes_and_named_pieces_too(languages):
    tokenizer = trained_tokenizer(languages, user_defined_symbols=["\n\n", "<table>"], **GEMMA)
    content = json.dumps(plain_tokenizer_json(tokenizer))
    texts = [*languages[:300], "  two  spaces ", "<table>a</table>\n\n\nb ᚠ", ""]
    encodings = tokenizers.Tokenizer.from_str(content).encode_batch(texts)
    assert [one.ids for one in encodings] == tokenizer.encode(texts, None)


@pytest.mark.parametrize(
    "changed", [{"add_dummy_prefix": True}, {"remove_extra_whitespaces": True}, {"normalization_rule_name": "nfkc"}]
)
def test_merges_of_texts_that_are_changed_before_are_refused(languages, changed):
    tokenizer = trained_tokenizer(languages[:200], **{**GEMMA, "vocab_size": 800, **changed})
    with pytest.raises(ExportError):
        plain_tokenizer_json(tokenizer)
