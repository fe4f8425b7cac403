"""Standard streams in any encoding, or closed, and texts that a terminal would obey."""

import json
import shlex
import subprocess
import sys

import pytest
from fixtures.commands import environment

from distill.cli import main

MODEL = "multi12-static"
TEXT = "Die Fähre fährt um neun.\nSie \x1b]52;c;b3duZWQ=\x07 kommt um \x9b2J zehn. 渡"
ROWS = [{"id": "a", "title": "Ferry\n2. 0.9  Train \x1b[31mred\u202e", "text": TEXT}, {"id": "b", "text": "Bread."}]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    (folder / "all.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["index", "--model", MODEL, "--documents", str(folder / "all.jsonl"), "--output", str(folder / "kb")])
    assert left.value.code == 0
    return folder / "kb"


def ask(kb, *arguments, closed="", encoding="utf-8:strict", given=b""):
    """`distill search` by a shell that closes streams of it, as bytes: exit code, standard output and error."""
    command = [sys.executable, "-m", "distill", "search", "--index", kb, *arguments]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh"]
    options = {"env": environment() | {"PYTHONIOENCODING": encoding}, "capture_output": True, "timeout": 180}
    done = subprocess.run([*shell, *map(str, command)], input=given, **options)
    return done.returncode, done.stdout, done.stderr


def test_a_document_is_shown_in_lines_of_its_own_that_no_terminal_obeys(distill, kb):
    out = distill("search", "--index", kb, "-k", "1", "--", "\x1b[2JFähre?").out
    assert out.replace("**", "").splitlines()[:2] == [
        "1. " + out[3:8] + r"  Ferry 2. 0.9 Train \u001b[31mred\u202e (a)",
        r"   Die Fähre fährt um neun. Sie \u001b]52;c;b3duZWQ=\u0007 kommt um \u009b2J zehn. 渡",
    ]


def test_questions_are_utf_8_whatever_the_locale_and_a_bom_is_none_of_them(kb):
    said = "\ufeffWann fährt die Fähre?\r\n\r\nWo?".encode()
    code, out, _ = ask(kb, "--json", "-", encoding="latin-1", given=said)
    assert code == 0
    assert [json.loads(line)["question"] for line in out.splitlines()] == ["Wann fährt die Fähre?", "Wo?"]


def test_questions_that_are_not_utf_8_are_refused_by_their_line(kb):
    code, out, err = ask(kb, "--json", "-", given="Wo?\nFähre?\n".encode("latin-1"))
    assert code == 2 and err.startswith(b"error: ") and b"line 2" in err and err.count(b"\n") == 1
    assert json.loads(out)["question"] == "Wo?"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_has_all_letters_in_every_encoding(kb, encoding):
    code, out, _ = ask(kb, "--json", "-k", "1", "Fähre?", encoding=encoding)
    [hit] = json.loads(out)["hits"]
    assert code == 0 and hit["text"] == TEXT and out.isascii() == (encoding != "utf-8")
    assert not set("\x9b\u202e\x1b") & set(out.decode())


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_nothing_to_a_command_that_needs_none(kb, closed):
    code, out, err = ask(kb, "Bread?", closed=closed)
    assert (code, err) == (0, b"") and (b"Bread." in out) == (">&-" not in closed.split())


def test_a_full_standard_error_does_not_end_a_command(kb, tmp_path):
    words = "index", "--model", MODEL, "--documents", kb.parent / "all.jsonl", "--output"
    command = f"exec {shlex.join([sys.executable, '-m', 'distill', *map(str, words)])} {{}} 2>/dev/full"
    codes = [
        subprocess.run(["sh", "-c", command.format(name)], cwd=tmp_path).returncode for name in ("kb", "/dev/null")
    ]
    assert codes == [0, 2] and (tmp_path / "kb" / "index.bin").read_bytes() == (kb / "index.bin").read_bytes()


def test_questions_on_a_closed_standard_input_are_refused(kb):
    code, out, err = ask(kb, "-", closed="<&-")
    assert (code, out) == (2, b"") and err.startswith(b"error: ") and err.count(b"\n") == 1


def test_all_that_is_missing_is_named_at_once(refused):
    line = refused("encode", "--model", MODEL)
    assert all(name in line for name in ("--role", "--input", "--output")) and "--model" not in line


@pytest.mark.parametrize("words", ["init NAME", "run --runs NAME", "index --model M --documents d.txt --output NAME"])
def test_a_name_that_no_file_can_have_is_wrong_input(refused, words):
    assert "x" * 300 in refused(*words.replace("NAME", "x" * 300).split())


def test_an_index_is_made_where_a_link_leads(distill, kb, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "kb")
    left = distill("index", "--model", MODEL, "--documents", kb.parent / "all.jsonl", "--output", tmp_path / "link")
    assert left.code == 0
    assert (tmp_path / "deep" / "kb" / "index.bin").read_bytes() == (kb / "index.bin").read_bytes()
