"""`docs/errors.md` is what `.ci/errors_page.py` makes of the source; an error is one line."""

import runpy
from pathlib import Path

import pytest

from distill.errors import BEGIN, END, DistillError, InputError, one_line

ROOT = Path(__file__).resolve().parents[2]
MODULE = """
WAY = "repeat the run"

def read(path, rows):
    if len(rows) != path.size:
        raise DataError(f"{path}, line {rows[0]!r}: {len(rows)} rows,"
                        f" expected a|b; {WAY}")
    return start(errors.ExportError, "it does " + "not start")

def start(kind, words):
    raise kind(words) or ValueError("none of ours") or InputError(str(words))
"""


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / ".ci" / "errors_page.py"))


def test_the_page_is_of_the_source(script):
    committed = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert committed == script["page"](), "write docs/errors.md anew: python .ci/errors_page.py"


def test_a_row_has_the_words_of_the_message_its_type_and_exit_code(script, tmp_path):
    (tmp_path / "module.py").write_text(MODULE, encoding="utf-8")
    assert script["rows"]([tmp_path / "module.py"]) == [
        "| `it does not start` | ExportError | 1 |",
        "| `{path}, line {rows}: {rows} rows, expected a\\|b; repeat the run` | DataError | 2 |",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n b\t\tc\r\n", "a b c"),
        ("a\x00b\x1b[31m", "a\\u0000b\\u001b[31m"),
        ("\u202eabc", "\\u202eabc"),
        ("a\u200fb\u2028c\x9b", "a\u200fb c\\u009b"),
        ("\ud800", "?"),
        ("👩\u200d🚀 שלום", "👩\u200d🚀 שלום"),
    ],
)
def test_a_message_is_one_line_without_what_a_terminal_obeys(text, line):
    assert str(InputError(text)) == one_line(text) == line


def test_a_long_message_keeps_its_begin_and_its_end():
    message = str(DistillError("place: " + "x" * 10**6 + "; mend it"))
    assert message.startswith("place: xxx") and message.endswith("xxx; mend it") and " … " in message
    assert len(message) == BEGIN + END + 3
