"""Markdown gives its text without marks, a title that is one, and its front matter as fields."""

import pytest

from distill.search_engine.documents.limits import Meter, ReadingLimits
from distill.search_engine.documents.markdown import read_markdown, split_front_matter
from distill.search_engine.documents.read_documents import read_documents


@pytest.fixture
def content(tmp_path):
    def read(text):
        path = tmp_path / "a.md"
        path.write_text(text, encoding="utf-8")
        return read_markdown(path, Meter(path.name, ReadingLimits()))

    return read


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# C#\n\nx", "C#"),
        ("# F# ##\n\nx", "F#"),
        ("#hashtag\n\n## Real", "Real"),
        ("```bash\n# install\n```\n\n# Head", "Head"),
        ("~~~\n# install\n~~~\n\nHead\n====\n", "Head"),
        ("    # code\n\n   ## Head\n", "Head"),
        ("<!--\n# comment\n-->\n\n# Head", "Head"),
        ("<h1 align=center>Project</h1>\n\n## Install", "Project"),
        ("#\n\n# *A* [link](x) `code` &amp; more", "A link code & more"),
        ("---\ntitle: Front\n# comment\n---\n\n# Head", "Front"),
        ("---\n# comment\nx: 1\n---\n\n# Head", "Head"),
        ("---\ntitle:\n---\n\n# Head", "Head"),
        ("---\ntitle: 1984\n---\n\n# Head", "1984"),
        ("+++\ntitle = 'Front'\n+++\n\n# Head", "Front"),
        ("\n \n---\nTitle: Front\n---\n\n# Head", "Front"),
        ("# A *set* {1, 2} {#sets .big}\n\nx {#y}", "A set {1, 2}"),
        ("# `{#code}`\n\nx", "{#code}"),
        ("no heading # here", ""),
    ],
)
def test_the_title_is_the_front_matters_else_the_first_heading(content, text, title):
    assert content(text).title == title


def test_marks_are_no_text_and_blocks_end_sentences(content):
    text = """# *The* head

A [link](http://x "y"), **bold** and `code [[x]]`, [[Page|a page]], [[Other]], ~~gone~~, 1 < 2,
<http://u.rl>, <kbd>Ctrl</kbd><!-- c --> &amp; <name>. ![alt](x.png)

- [x] done
- two
  1. nested

> [!note] Quoted

| a | b |
|---|---|
| c | d\\|e |

```py
# comment

x = 1
```
<details><summary>S</summary>in <b>it</b></details>

Last <script> one.

[ref]: http://x
"""
    assert content(text).text.split("\n\n") == [
        "The head",
        "A link, bold and code [[x]], a page, Other, gone, 1 < 2, http://u.rl, Ctrl & <name>.",
        *("done", "two", "nested", "Quoted", "a | b", "c | d|e", "# comment", "x = 1", "S", "in it", "Last one."),
    ]


def test_footnotes_are_paragraphs_and_what_points_to_them_is_no_text(content):
    text = "One.[^1] Two[^b], [^a-z] and `[^1]`.\n\n[^1]: note\n[^b]: A *longer* one.\n    Its second line.\n\nEnd."
    assert content(text).text == ("One. Two, [^a-z] and [^1].\n\nnote\n\nA longer one. Its second line.\n\nEnd.")


def test_fields_of_front_matter_are_json():
    text = "---\ndate: 2024-01-02\ntags: [a, b]\nat: 10:30\nlang: no\n"
    text += "n: .nan\nm: -.inf\nzip: 0123\nx: 1.5\ny: true\n3: {z: null}\n---\nText."
    fields, rest, problem = split_front_matter(text)
    assert fields == {
        **{"date": "2024-01-02", "tags": ["a", "b"], "at": "10:30", "lang": "no", "n": None, "m": None},
        **{"zip": "0123", "x": 1.5, "y": True, "3": {"z": None}},
    }
    assert (rest, problem) == ("Text.", "")
    # As Python's json.dumps writes an emoji, and half of one.
    fields, _, _ = split_front_matter('---\ntitle: "\\ud83d\\ude00 A"\nx: ["\\ud83d"]\n---\nText.')
    assert fields == {"title": "\U0001f600 A", "x": ["\ufffd"]}
    fields, rest, _ = split_front_matter("+++\nd = 2024-01-02\nn = nan\n[a]\nb = 1\n+++\nText.")
    assert (fields, rest) == ({"d": "2024-01-02", "n": None, "a": {"b": 1}}, "Text.")


@pytest.mark.parametrize(
    "text", ["---\nWords.\n---\nMore.", "---\n- a\n---\nMore.", "Text\n---\na: 1\n---\n", "---\na: 1\n"]
)
def test_text_between_rules_is_no_front_matter(text):
    assert split_front_matter(text) == ({}, text, "")


@pytest.mark.parametrize(
    "block",
    [
        "title: Foo: bar",
        "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "\n".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 11)}]" for a, b in zip("abcd", "bcde", strict=True)),
    ],
)
def test_front_matter_that_cannot_be_read_is_no_text_and_its_document_stays(content, block):
    left = content(f"---\n{block}\n---\n# Head\n")
    assert (left.text, left.title, left.fields) == ("Head", "Head", {}) and left.problem


def test_fields_do_not_take_the_place_of_id_and_path(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("---\nid: x\npath: y\ntitle: T\nlang: de\ntags: [a]\n---\nText.", encoding="utf-8")
    [document] = read_documents([path])
    name = path.as_posix()
    assert document.fields == {"id": name, "title": "T", "path": name, "lang": "de", "tags": ["a"]}
    assert (document.language, document.text) == ("de", "Text.")


def test_front_matter_makes_no_objects():
    fields, _, problem = split_front_matter("---\na: !!python/object/apply:os.getcwd []\n---\nText.")
    assert fields == {} and problem
