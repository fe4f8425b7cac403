"""Files are whole or absent, and what cannot be read says where."""

import errno
import os
import re
import shutil
import stat
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from fixtures.folders import names

from distill.errors import DataError, DistillError, InputError
from distill.system.arrays import write_arrays, write_vectors
from distill.system.files import find_leftovers, list_visible, require_writable, write_aside, write_json, write_text
from distill.system.input_files import iter_jsonl, read_json, read_jsonl, read_text
from distill.system.sections import write_sections


class Stop(Exception):
    """What a test raises in the middle of writing."""


def test_a_file_appears_when_it_is_whole_and_replaces_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    with write_aside(path) as aside:
        aside.write_text("all and longer")
        assert not path.exists() and aside.parent == tmp_path
    assert path.read_text() == "all and longer"
    write_text(path, "new")
    assert path.read_text() == "new" and names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("name", ["x" * 255, "渡" * 85])
def test_a_name_may_be_as_long_as_the_system_lets_it(tmp_path, name):
    write_text(tmp_path / name, "all")
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("error", [Stop, KeyboardInterrupt])
@pytest.mark.parametrize("old", [[], ["a.txt"]])
def test_a_failure_or_an_interrupt_leaves_no_file_or_the_old_one(tmp_path, error, old):
    for name in old:
        (tmp_path / name).write_text("old")
    with pytest.raises(error), write_aside(tmp_path / "a.txt") as aside:
        aside.write_text("half")
        raise error
    assert names(tmp_path) == old and all((tmp_path / name).read_text() == "old" for name in old)


@contextmanager
def room_for(size):
    """No file may be longer than so many bytes meanwhile, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def write_nested(path):
    with write_aside(path) as folder:
        folder.mkdir()
        write_vectors(folder / "v.npy", np.zeros((100, 100)))


@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_text(path, "a" * 10**5),
        lambda path: write_sections(path, {"a": np.zeros(10**5, np.uint8)}),
        lambda path: write_vectors(path, np.zeros((100, 100))),
        lambda path: write_arrays(path, {"a": np.zeros((100, 100))}),
        write_nested,
    ],
    ids=["text", "sections", "vectors", "arrays", "folder"],
)
def test_where_there_is_no_room_the_error_names_what_was_to_be_written(tmp_path, write):
    named = rf"{re.escape(str(tmp_path / 'out'))}(: not written|'?$)"
    with room_for(5000), pytest.raises(OSError, match=named) as caught:
        write(tmp_path / "out")
    assert not isinstance(caught.value, DistillError) and names(tmp_path) == []


def test_an_error_of_another_file_stays_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError, match="elsewhere"), write_aside(tmp_path / "out"):
        (tmp_path / "elsewhere").read_bytes()
    with pytest.raises(BrokenPipeError) as caught, write_aside(tmp_path / "out"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    assert caught.value.filename is None


@pytest.mark.parametrize("empty", [False, True])
def test_a_folder_appears_when_it_is_whole_or_an_empty_one_is_filled_and_not_after_a_failure(tmp_path, empty):
    if empty:
        (tmp_path / "out").mkdir()
    with write_aside(tmp_path / "out") as aside:
        aside.mkdir()
        (aside / "a.txt").write_text("a")
        assert not (tmp_path / "out" / "a.txt").exists()
    assert (names(tmp_path), names(tmp_path / "out")) == (["out"], ["a.txt"])
    with pytest.raises(Stop), write_aside(tmp_path / "other") as aside:
        aside.mkdir()
        raise Stop
    assert names(tmp_path) == ["out"]


def test_a_folder_that_holds_something_is_never_replaced_nor_any_by_a_file(tmp_path):
    for name in ("out", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "out" / "old.txt").write_text("old")
    with pytest.raises(InputError, match=r"/out\b"), write_aside(tmp_path / "out"):
        raise AssertionError("nothing may be written")
    with pytest.raises(InputError, match=r"/empty\b"):
        write_text(tmp_path / "empty", "text")
    with pytest.raises(InputError, match=r"/new\b"), write_aside(tmp_path / "new") as aside:
        aside.mkdir()
        # Another process was quicker.
        shutil.copytree(tmp_path / "out", tmp_path / "new")
    shutil.rmtree(tmp_path / "new")
    assert (names(tmp_path), names(tmp_path / "out")) == (["empty", "out"], ["old.txt"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes have names here")
def test_a_pipe_or_a_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(InputError, match=rf"/{name}\b"):
            write_json(tmp_path / name, {})
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(InputError, match=os.devnull):
        require_writable(os.devnull)


def test_of_a_link_what_it_leads_to_is_written(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "other" / "file")
    (tmp_path / "new").symlink_to("other/absent")
    write_text(tmp_path / "link", "new")
    write_text(tmp_path / "new", "newer")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "other" / "file").read_text() == "new"
    assert (tmp_path / "new").is_symlink() and (tmp_path / "other" / "absent").read_text() == "newer"
    assert names(tmp_path / "other") == ["absent", "file"]


def test_hidden_files_are_not_seen(tmp_path):
    for name in ("b.tsv", "a.jsonl", "._a.jsonl", ".b.tsv", "c.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in list_visible(tmp_path, "*.tsv", "*.jsonl", "a.*")] == ["a.jsonl", "b.tsv"]
    assert list_visible(tmp_path / "nowhere", "*.tsv") == []


def test_what_a_killed_process_left_is_known_by_its_name(tmp_path):
    left = []
    for name in ("file", ".hidden", "two\nlines"):
        with pytest.raises(Stop), write_aside(tmp_path / "a" / name) as aside:
            left.append(aside.name)
            raise Stop
    others = [".env.template", ".a.aside", ".a.0123abcX.aside", "a.0123abcd.aside"]
    for name in left + others:
        (tmp_path / "a" / name).write_text("", encoding="utf-8")
    assert {path.name for path in find_leftovers(tmp_path)} == set(left)


def test_text_and_json_are_written_readable_as_utf8_and_parent_folders_made_unless_one_is_a_file(tmp_path):
    write_text(str(tmp_path / "a" / "b" / "c.txt"), "ไนล์ ñ")
    with pytest.raises(InputError, match=r"/c\.txt/a\.txt: "):
        write_text(tmp_path / "a" / "b" / "c.txt" / "a.txt", "a")
    assert (tmp_path / "a" / "b" / "c.txt").read_bytes() == "ไนล์ ñ".encode()
    write_json(tmp_path / "a.json", {"título": ["ñ", 1]})
    written = '{\n "título": [\n  "ñ",\n  1\n ]\n}\n'.encode()
    assert (tmp_path / "a.json").read_bytes() == written
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", {1, 2})
    assert names(tmp_path) == ["a", "a.json"] and (tmp_path / "a.json").read_bytes() == written


def test_text_is_read_as_utf8_without_a_byte_order_mark_or_a_lone_surrogate_of_an_escape(tmp_path):
    (tmp_path / "a.txt").write_bytes("Größe 河".encode())
    assert read_text(tmp_path / "a.txt") == "Größe 河"
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert read_text(tmp_path / "a.json") == "[1]" and read_json(tmp_path / "a.json") == [1]
    (tmp_path / "a.json").write_text(r'{"a\udc80": ["\ud800 b", "\ud83d\ude00"]}')
    assert read_json(tmp_path / "a.json") == {"a\ufffd": ["\ufffd b", "\U0001f600"]}


def test_what_is_no_text_or_no_file_of_lines_is_named(tmp_path):
    (tmp_path / "a.txt").write_bytes("Grö".encode("latin-1"))
    for name, place in (("a.txt", r": .*\b2\b"), ("absent", ": "), ("", ": ")):
        with pytest.raises(DataError, match=f"{tmp_path / name}{place}"):
            read_text(tmp_path / name)
        with pytest.raises(DataError, match=f"{tmp_path / name}{place}"):
            list(iter_jsonl(tmp_path / name))


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("", 1, 1), ("{", 1, 2), ('{"a": 1,}', 1, 9), ('{\n  "a": 1\n  "b": 2\n}', 3, 3), ("[1]\n[2]", 2, 1)],
)
def test_invalid_json_gives_line_and_column(tmp_path, text, line, column):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=rf"a\.json: .* line {line}, column {column}: \w"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000])
def test_json_that_python_does_not_take_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=r"a\.json: "):
        read_json(tmp_path / "a.json")
    (tmp_path / "a.jsonl").write_text(f'{{"a": {text}}}')
    with pytest.raises(DataError, match=r"a\.jsonl, line 1: "):
        read_jsonl(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"a": 1}\n{"a": 2}\n', [(1, {"a": 1}), (2, {"a": 2})]),
        ('\n{"a": 1}\n \t\n\n{"a": 2}', [(2, {"a": 1}), (5, {"a": 2})]),
        ("", []),
        ('{"a": 1}\r\n\r\n{"a": 2}\r\n', [(1, {"a": 1}), (3, {"a": 2})]),
        # JSON allows these separators unescaped in a string, and str.splitlines would cut there.
        ('{"a": "x\u2028y\x85z"}\n', [(1, {"a": "x\u2028y\x85z"})]),
        ('\ufeff{"a": 1}\n', [(1, {"a": 1})]),
    ],
)
def test_json_lines_come_with_their_numbers(tmp_path, text, rows):
    (tmp_path / "a.jsonl").write_bytes(text.encode())
    assert read_jsonl(tmp_path / "a.jsonl") == list(iter_jsonl(tmp_path / "a.jsonl")) == rows


@pytest.mark.parametrize(("value", "kind"), [("[1]", "list"), ('"a"', "str"), ("3", "int"), ("null", "NoneType")])
def test_a_row_that_is_no_object_gives_its_line(tmp_path, value, kind):
    (tmp_path / "a.jsonl").write_text(f'{{"a": 1}}\n{value}\n')
    with pytest.raises(DataError, match=rf"a\.jsonl, line 2: .* {kind}"):
        read_jsonl(tmp_path / "a.jsonl")


def test_lines_come_one_at_a_time_before_the_rest_is_read(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": }\n')
    rows = iter_jsonl(tmp_path / "a.jsonl")
    assert next(rows) == (1, {"a": 1})
    with pytest.raises(DataError, match=r"a\.jsonl, line 3: "):
        next(rows)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("tail", [b"\xff\n", b"\xe6\xb2"])
def test_a_byte_that_is_no_utf8_is_counted_from_the_start_of_the_file(tmp_path, mark, tail):
    # Farther on than one read of the file goes.
    head = mark + '{"a": "河"}\n'.encode() * 20_000
    (tmp_path / "a.jsonl").write_bytes(head + tail)
    with pytest.raises(DataError, match=rf"a\.jsonl: .*\b{len(head)}\b"):
        list(iter_jsonl(tmp_path / "a.jsonl"))


def test_reading_by_lines_holds_no_more_than_a_line(tmp_path):
    line = '{"a": "' + "x" * 1000 + '"}\n'
    (tmp_path / "a.jsonl").write_text(line * 5000)
    tracemalloc.start()
    assert sum(len(row["a"]) for _, row in iter_jsonl(tmp_path / "a.jsonl")) == 5_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000
