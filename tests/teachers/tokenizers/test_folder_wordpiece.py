"""BERT's files against the package tokenizers."""

import json

import pytest
from tokenizers import BertWordPieceTokenizer

from distill.errors import EncoderError, InputError
from distill.teachers.tokenizers import convert_tokenizer


@pytest.fixture(scope="module")
def learned(languages):
    """The names of pieces by id."""
    learner = BertWordPieceTokenizer()
    learner.train_from_iterator(languages, vocab_size=3000, limit_alphabet=1000, show_progress=False)
    known = learner.get_vocab()
    return sorted(known, key=known.get)


@pytest.mark.parametrize(
    ("settings", "rules"),
    [
        ({}, {}),
        ({"do_lower_case": False}, {"lowercase": False}),
        ({"do_lower_case": True, "strip_accents": False}, {"strip_accents": False}),
        ({"tokenize_chinese_chars": False}, {"handle_chinese_chars": False}),
    ],
)
def test_both_files_give_the_ids_of_the_package(learned, languages, settings, rules, tmp_path):
    reference = BertWordPieceTokenizer({name: id for id, name in enumerate(learned)}, **rules)
    expected = [one.ids for one in reference.encode_batch(languages)]
    (tmp_path / "vocab.txt").write_text("\n".join(learned) + "\n", encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": 10**30}))
    assert convert_tokenizer(tmp_path).encode(languages) == expected
    reference.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "vocab.txt").unlink()
    tokenizer = convert_tokenizer(tmp_path, positions=512)
    assert tokenizer.encode(languages, None) == expected and tokenizer.reading.longest == 512


def test_other_names_and_lines_of_windows_are_read(tmp_path):
    (tmp_path / "vocab.txt").write_bytes("\r\n".join(["<pad>", "<unk>", "<s>", "</s>", "a", "##b", ""]).encode())
    names = {"cls_token": "<s>", "sep_token": {"content": "</s>"}, "unk_token": "<unk>", "pad_token": "<pad>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(names))
    tokenizer = convert_tokenizer(tmp_path)
    assert tokenizer.encode(["AB c"]) == [[2, 4, 5, 1, 3]] and len(tokenizer) == 6


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        ("normalizer", {"type": "Lowercase"}, "Lowercase"),
        ("normalizer", None, "None"),
        ("pre_tokenizer", {"type": "Whitespace"}, "Whitespace"),
        ("post_processor", None, r"\$A"),
    ],
)
def test_other_rules_than_berts_are_refused(learned, tmp_path, place, value, named):
    BertWordPieceTokenizer({name: id for id, name in enumerate(learned)}).save(str(tmp_path / "tokenizer.json"))
    content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    (tmp_path / "tokenizer.json").write_text(json.dumps({**content, place: value}))
    with pytest.raises(EncoderError, match=named):
        convert_tokenizer(tmp_path)
    content["added_tokens"].append({**content["added_tokens"][0], "content": "word", "special": False})
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(EncoderError, match="word"):
        convert_tokenizer(tmp_path)


@pytest.mark.parametrize("content", ["", "a\nb\n", None])
def test_a_vocabulary_without_berts_pieces_is_refused(content, tmp_path):
    (tmp_path / "vocab.txt").write_bytes(b"\xff\n" if content is None else content.encode())
    with pytest.raises(InputError, match=r"vocab\.txt"):
        convert_tokenizer(tmp_path)
