"""BPE of Gemma's kind against the package tokenizers."""

import pytest
from fixtures.pieces import trained_tokenizer
from tokenizers import Tokenizer as Reference

from distill.encoders.tokenizer import model_proto
from distill.errors import EncoderError
from distill.students.vocabulary.pieces import find_used_tokens, prune_tokenizer
from distill.teachers.tokenizers import convert_tokenizer


@pytest.fixture(scope="module")
def learned(languages):
    options = {"model_type": "bpe", "byte_fallback": True, "add_dummy_prefix": False, "character_coverage": 0.98}
    options |= {"remove_extra_whitespaces": False, "normalization_rule_name": "identity", "split_by_whitespace": True}
    symbols = ["\n\n", "<table>", "<unused0>"]
    return trained_tokenizer(languages, vocab_size=3000, user_defined_symbols=symbols, pad_id=3, **options)


@pytest.fixture
def content(learned, template, added):
    """The content of a `tokenizer.json` as it is made of such a model: merges by the score of what they make."""
    pieces = model_proto(learned).pieces
    vocabulary = {piece.piece: id for id, piece in enumerate(pieces)}
    merged = sorted((piece for piece in pieces if piece.type == piece.NORMAL), key=lambda piece: -piece.score)
    normal = {piece.piece for piece in merged}
    merges = [
        [piece.piece[:i], piece.piece[i:]]
        for piece in merged
        for i in range(1, len(piece.piece))
        if piece.piece[:i] in normal and piece.piece[i:] in normal
    ]
    special = [(piece.piece, id, piece.type != piece.USER_DEFINED) for id, piece in enumerate(pieces[:7])]
    return {
        "version": "1.0",
        "added_tokens": added(*special),
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"String": " "},
            "behavior": "MergedWithPrevious",
            "invert": False,
        },
        "post_processor": template(("<s>", 1), ("</s>", 2)),
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": vocabulary,
            "merges": merges,
        },
    }


def test_ids_are_those_of_the_package_bytes_and_added_pieces_too(content, folder, languages):
    place = folder(content)
    tokenizer, reference = convert_tokenizer(place), Reference.from_file(str(place / "tokenizer.json"))
    texts = [*languages, "  two  spaces ", "<table>a</table>\n\n\nb ᚠ"]
    expected = [one.ids for one in reference.encode_batch(texts)]
    assert tokenizer.encode(texts, None) == expected
    assert content["model"]["vocab"]["<0xE1>"] in expected[-1] and content["model"]["vocab"]["<table>"] in expected[-1]
    smaller, old_ids = prune_tokenizer(tokenizer, find_used_tokens(tokenizer, texts[:200]))
    assert len(smaller) < len(tokenizer)
    assert [[old_ids[id] for id in ids] for ids in smaller.encode(texts[:200])] == expected[:200]
    # Merges as one text, as older files have them.
    content["model"]["merges"] = [" ".join(merge) for merge in content["model"]["merges"]]
    assert convert_tokenizer(folder(content)).proto == tokenizer.proto


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"merges": []}, "merges"),
        ({"dropout": 0.1}, "dropout"),
        ({"ignore_merges": True}, "ignore_merges"),
        ({"vocab": {"\u0120the": 0}, "byte_fallback": False}, "byte-level"),
        ({"vocab": {"<s>": 0, "</s>": 1, "<unk>": 2, "a": 3}, "merges": []}, "<0x00>"),
        ({"vocab": {"<s>": 0, "far": 10**9}}, "1000000000"),
        ({"vocab": {"<s>": "0"}}, "tokenizer"),
        ({"merges": [["a"]]}, "tokenizer"),
    ],
)
def test_a_bpe_that_is_no_sentencepieces_is_refused_by_what_it_is(content, folder, changes, named):
    content["model"] |= changes
    content["added_tokens"] = [] if "vocab" in changes else content["added_tokens"]
    with pytest.raises(EncoderError, match=named):
        convert_tokenizer(folder(content))
