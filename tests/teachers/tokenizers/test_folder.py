"""Which files of a folder are read, and what it says of prompts and the longest text."""

import json

import pytest
from fixtures.pieces import trained_tokenizer
from tokenizers import Tokenizer as Reference

from distill.encoders.tokenizer import model_proto
from distill.errors import EncoderError, InputError
from distill.students.vocabulary.pieces import find_used_tokens, prune_tokenizer
from distill.teachers.tokenizers import convert_tokenizer
from distill.teachers.tokenizers.reading import read_folder_reading

PIECES = "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", "##s", ":", "the", "nile"])


def test_the_tokenizer_may_lie_in_the_folder_of_its_module_beside_which_its_longest_text_stands(tmp_path):
    inner = tmp_path / "0_Transformer"
    inner.mkdir()
    (inner / "vocab.txt").write_text(PIECES)
    (inner / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 5, "do_lower_case": False}))
    modules = [{"type": "sentence_transformers.models.Transformer", "path": "0_Transformer"}, {"type": "x.Pooling"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    prompts = {"query": "query: ", "document": "the ", "passage": "other ", "classification": "none"}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    tokenizer = convert_tokenizer(tmp_path, positions=512)
    assert tokenizer.encode(["Nile Niles", "nile"]) == [[2, 5, 7, 9, 3], [2, 5, 7, 9, 3]]
    assert tokenizer.encode(["Niles"], "document") == [[2, 8, 9, 6, 3]]


@pytest.mark.parametrize("modules", [{"path": "a"}, ["a"], [{"type": "x.Transformer", "path": 5}]])
def test_modules_without_a_path_are_refused(modules, tmp_path):
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(EncoderError, match="modules.json: "):
        convert_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("e5-small", {}, ({"question": "query: ", "document": "passage: "}, None)),
        ("e5-instruct", {}, ({}, None)),
        ("e5-own", {"config_sentence_transformers": {"prompts": {"query": "q "}}}, ({"question": "q "}, None)),
        ("mini", {"config_sentence_transformers": {"prompts": {"query": "", "document": None}}}, ({}, None)),
        ("mini", {"config_sentence_transformers": {"prompts": []}, "tokenizer_config": []}, ({}, None)),
        ("mini", {"sentence_bert_config": {"max_seq_length": 128}}, ({}, 128)),
        ("mini", {"tokenizer_config": {"model_max_length": 64}}, ({}, 64)),
        ("mini", {"tokenizer_config": {"model_max_length": 10**30}}, ({}, None)),
        ("mini", {"tokenizer_config": {"model_max_length": 1e30}}, ({}, None)),
    ],
)
def test_prompts_and_the_longest_text_are_those_of_the_folder(tmp_path, name, files, expected):
    (tmp_path / name).mkdir()
    for file, content in files.items():
        (tmp_path / name / f"{file}.json").write_text(json.dumps(content))
    reading = read_folder_reading(tmp_path / name, tmp_path / name)
    assert (reading.prompts, reading.longest) == expected


@pytest.mark.parametrize("files", [[], ["spiece.model"], ["merges.txt", "vocab.txt"]])
def test_a_folder_without_a_tokenizer_that_can_be_read_is_named(tmp_path, files):
    for name in files:
        (tmp_path / name).write_text(PIECES)
    with pytest.raises(EncoderError, match=tmp_path.name):
        convert_tokenizer(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '"a"', "{}", '{"model": 5}', '{"model": {"type": "BPE"}}'])
def test_a_file_that_is_cut_off_or_another_is_named_in_one_line(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match=tmp_path.name) as refused:
        convert_tokenizer(tmp_path)
    assert "\n" not in str(refused.value)


# BPE of Gemma's kind against the package tokenizers.
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
