"""Texts in twelve languages, and folders with a `tokenizer.json`."""

import json

import pytest

pytest.importorskip("tokenizers")

from distill.data.loading import load_dataset
from distill.data.readers import SAMPLE


@pytest.fixture(scope="session")
def languages():
    """Questions in twelve languages and passages, and what is odd in texts."""
    sample = load_dataset(SAMPLE)
    assert len(sample.questions) == 12
    questions = [q.text for known in sample.questions.values() for q in list(known.values())[:150]]
    odd = ["", "two  spaces", "a\nb\n\n\nc\t\td", "emoji 🙂 ﷺ ½ e\u0301", "return x;\n    if y:\n        z"]
    return [*questions, *sample.passage_texts[:60], *odd]


@pytest.fixture
def folder(tmp_path):
    """`folder(content, **files)`: a folder with a `tokenizer.json`, and other files of JSON by name."""

    def write(content, **files):
        (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
        for name, other in files.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(other), encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def template():
    """`template(bos, eos)`: a post-processor that puts these pieces, `(name, id)`, around a text."""

    def make(*pieces):
        first, last = ({"SpecialToken": {"id": name, "type_id": 0}} for name, _ in pieces)
        text = {"Sequence": {"id": "A", "type_id": 0}}
        ids = {name: {"id": name, "ids": [id], "tokens": [name]} for name, id in pieces}
        pair = [first, text, {"Sequence": {"id": "B", "type_id": 0}}, last]
        return {"type": "TemplateProcessing", "single": [first, text, last], "pair": pair, "special_tokens": ids}

    return make


@pytest.fixture
def added():
    """`added(*pieces)`: the list of pieces `(name, id, special)` that a `tokenizer.json` adds."""
    rest = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return lambda *pieces: [{"id": id, "content": name, **rest, "special": special} for name, id, special in pieces]
