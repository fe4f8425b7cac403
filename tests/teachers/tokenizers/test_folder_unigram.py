"""Unigram models against the package tokenizers and SentencePiece."""

import base64

import pytest
from fixtures.pieces import trained_tokenizer
from tokenizers import Tokenizer as Reference

from distill.encoders.tokenizer import model_proto
from distill.errors import EncoderError
from distill.students.vocabulary.pieces import find_used_tokens, prune_tokenizer
from distill.teachers.tokenizers import convert_tokenizer
from distill.teachers.tokenizers.steps import compile_builtin_charsmap

SPECIAL = (("<s>", 0, True), ("<pad>", 1, True), ("</s>", 2, True), ("<unk>", 3, True))
META = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
OLD_META = {"type": "Metaspace", "replacement": "\u2581", "add_prefix_space": True}
BLANKS = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}


@pytest.fixture(scope="module")
def learned(languages):
    """A model of SentencePiece, its first three pieces <unk>, <s> and </s>."""
    return trained_tokenizer(languages, vocab_size=4000, character_coverage=0.99)


@pytest.fixture
def content(learned, template, added):
    """The content of a `tokenizer.json` of these pieces, in XLM-R's order; those of characters alone are last."""
    pieces = [[piece.piece, piece.score] for piece in model_proto(learned).pieces[3:]]
    vocabulary = [*([name, 0.0] for name, _, _ in SPECIAL), *pieces, ["<mask>", 0.0]]
    charsmap = base64.b64encode(model_proto(learned).normalizer_spec.precompiled_charsmap).decode()
    return {
        "version": "1.0",
        "added_tokens": added(*SPECIAL, ("<mask>", len(vocabulary) - 1, True)),
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, OLD_META]},
        "post_processor": template(("<s>", 0), ("</s>", 2)),
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": False},
    }


def newer(content):
    """The same by the steps that newer files have."""
    steps = {"type": "Sequence", "normalizers": [content["normalizer"], BLANKS]}
    return {**content, "normalizer": steps, "pre_tokenizer": META}


@pytest.mark.parametrize("version", [dict, newer])
def test_ids_are_those_of_the_package_and_of_sentencepiece_where_they_are_fairseqs(
    content, folder, languages, learned, version, tmp_path
):
    place = folder(version(content), tokenizer_config={"model_max_length": 100})
    tokenizer, reference = convert_tokenizer(place), Reference.from_file(str(place / "tokenizer.json"))
    expected = [one.ids for one in reference.encode_batch(languages)]
    assert tokenizer.encode(languages, None) == expected and any(3 in ids for ids in expected)
    assert tokenizer.reading.longest == 100 and len(tokenizer) == len(learned) + 2
    # The model alone, as older folders have it.
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "sentencepiece.bpe.model").write_bytes(learned.proto)
    assert convert_tokenizer(tmp_path).encode(languages, None) == expected


def test_rules_that_are_named_are_sentencepieces(content, folder, languages):
    named = {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}]}
    tokenizer = convert_tokenizer(folder({**content, "normalizer": named}))
    assert model_proto(tokenizer).normalizer_spec.precompiled_charsmap == compile_builtin_charsmap("nmt_nfkc")
    assert tokenizer.encode(["ﬁ ½"], None) == tokenizer.encode(["fi 1\u20442"], None)


def test_names_of_special_pieces_are_text_and_what_is_never_read_goes_first(content, folder, languages):
    content["model"]["vocab"] += [["", -1.0], ["<unused0>", -1.0], ["Donau", -50.0]]
    count = len(content["model"]["vocab"])
    content["added_tokens"].append({**content["added_tokens"][0], "content": "[Q]", "id": count + 1, "special": False})
    tokenizer = convert_tokenizer(folder(content))
    assert len(tokenizer) == count + 2
    assert 2 not in tokenizer.encode(["</s> <mask>"], None)[0][1:-1]
    assert count + 1 in tokenizer.encode(["a [Q] b"], None)[0]
    smaller, old_ids = prune_tokenizer(tokenizer, find_used_tokens(tokenizer, languages[:50]))
    assert {0, 1, 2, 3, count + 1} <= set(old_ids.tolist()) and not {count - 3, count - 2, count} & set(
        old_ids.tolist()
    )
    assert [[old_ids[id] for id in ids] for ids in smaller.encode(languages[:50])] == tokenizer.encode(languages[:50])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"normalizer": {"type": "Lowercase"}}, "Lowercase"),
        ({"normalizer": {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}}, "``"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "Whitespace"),
        ({"pre_tokenizer": {"type": "ByteLevel"}}, "byte-level"),
        ({"pre_tokenizer": None}, "\u2581"),
        ({"post_processor": None}, r"\$A"),
        ({"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}]}}, r"\$A"),
        ({"model": {"type": "Unigram", "unk_id": None, "vocab": []}}, "unknown"),
        ({"model": {"type": "Unigram", "unk_id": 7, "vocab": []}}, "tokenizer"),
        ({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]]}, "added_tokens": []}, "<s>"),
        ({"model": {"type": "Unigram", "unk_id": 0}}, "vocab"),
        ({"model": {"type": "WordLevel", "vocab": {}}}, "WordLevel"),
        ({"model": None}, "tokenizer"),
    ],
)
def test_what_cannot_be_read_as_sentencepieces_is_refused_by_its_name(content, folder, changes, named):
    with pytest.raises(EncoderError, match=named) as refused:
        convert_tokenizer(folder({**content, **changes}))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("broken", [b"", b"not a model", None])
def test_a_sentencepiece_model_that_is_none_or_no_xlm_rs_is_refused(broken, tmp_path, learned):
    other = trained_tokenizer(["the river", "the sea"] * 5, vocab_size=14, pad_id=0, unk_id=3, bos_id=2, eos_id=1)
    (tmp_path / "sentencepiece.bpe.model").write_bytes(other.proto if broken is None else broken)
    with pytest.raises(EncoderError, match=r"sentencepiece\.bpe\.model"):
        convert_tokenizer(tmp_path)


@pytest.mark.parametrize("normalizer", [None, {"type": "NFKC"}])
def test_words_are_split_at_line_breaks_and_tabs_as_the_package_splits_them(content, folder, normalizer):
    place, text = folder({**content, "normalizer": normalizer}), "one\ntwo\tthree\r\n four\u3000five\u2003six"
    reference = Reference.from_file(str(place / "tokenizer.json"))
    assert convert_tokenizer(place).encode([text]) == [reference.encode(text).ids]
