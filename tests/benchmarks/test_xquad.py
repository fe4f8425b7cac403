"""benchmarks/xquad/divide.py: XQuAD as it comes, in the splits that all figures rest on."""

import json
import subprocess
import sys

import pytest
from fixtures.commands import ROOT

from distill.system.input_files import read_json

SCRIPT = ROOT / "benchmarks" / "xquad" / "divide.py"


def divided(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, cwd=ROOT)


@pytest.fixture
def named():
    """The ids that the file names, read without the script."""
    lines = (line.split() for line in (ROOT / "benchmarks" / "xquad" / "ids.txt").read_text().splitlines())
    rows = [(split, first + last) for split, first, *rest in lines if split != "#" for last in rest]
    return {split: [id for of, id in rows if of == split] for split in ("train", "dev")}


@pytest.fixture
def official(tmp_path, named):
    """Files as XQuAD's, with the named questions and three more, in one article a hundred questions."""
    ids = [*named["dev"], "f" * 24, *named["train"], "e" * 24, "d" * 24]
    articles = [
        {"title": str(start), "paragraphs": [{"context": "a", "qas": [{"id": id} for id in ids[start : start + 100]]}]}
        for start in range(0, len(ids), 100)
    ]
    for language in ("en", "de"):
        text = json.dumps({"version": "1.1", "data": articles})
        (tmp_path / f"xquad.{language}.json").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_file_names_833_and_119_questions_each_once(named):
    assert [len(ids) for ids in named.values()] == [833, 119]
    every = [id for ids in named.values() for id in ids]
    assert len({*every}) == 952 and all(len(id) == 24 and int(id, 16) for id in every)


def test_the_official_questions_are_divided_and_the_rest_is_test(official, named):
    done = divided(official, official / "xquad")
    assert done.stdout.endswith("2 languages, questions: 833 train, 119 dev, 3 test\n")
    expected = {**named, "test": ["f" * 24, "e" * 24, "d" * 24]}
    assert read_json(official / "xquad" / "splits.json") == expected
    assert read_json(official / "xquad" / "de.json") == read_json(official / "xquad.de.json")


@pytest.mark.parametrize(("change", "said"), [("{}", "952 of 952 questions"), (None, "no xquad.{lang}.json")])
def test_other_files_are_one_line_and_nothing_is_written(official, change, said):
    for path in official.glob("xquad.*.json"):
        path.write_text(change) if change else path.unlink()
    done = divided(official, official / "xquad")
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
    assert not (official / "xquad").exists()
