"""Which files of a folder are read, and what it says of prompts and the longest text."""

import json

import pytest

from distill.errors import EncoderError, InputError
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
