"""Files are whole or absent, and what cannot be read says where."""

import os
import stat
import tracemalloc

import pytest

from distill.errors import DataError, InputError
from distill.system.files import leftovers, require_writable, write_aside, write_json, write_text
from distill.system.reading import iter_jsonl, read_json, read_jsonl, read_text


class Stop(Exception):
    """What a test raises in the middle of writing."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# writing


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    with write_aside(path) as aside:
        aside.write_text("all")
        assert not path.exists()
        assert aside.parent == tmp_path
    assert path.read_text() == "all"
    assert names(tmp_path) == ["a.txt"]


def test_a_failure_leaves_no_file(tmp_path):
    with pytest.raises(Stop), write_aside(tmp_path / "a.txt") as aside:
        aside.write_text("half")
        raise Stop
    assert names(tmp_path) == []


def test_a_failure_leaves_the_old_file(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(Stop), write_aside(tmp_path / "a.txt") as aside:
        aside.write_text("half")
        raise Stop
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_an_interrupt_leaves_nothing_either(tmp_path):
    with pytest.raises(KeyboardInterrupt), write_aside(tmp_path / "a.txt") as aside:
        aside.write_text("half")
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_a_file_replaces_the_old_one(tmp_path):
    write_text(tmp_path / "a.txt", "old and longer")
    write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


def test_a_folder_appears_when_it_is_whole(tmp_path):
    with write_aside(tmp_path / "out") as aside:
        aside.mkdir()
        (aside / "a.txt").write_text("a")
        assert not (tmp_path / "out").exists()
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["a.txt"]


def test_a_failure_leaves_no_folder(tmp_path):
    with pytest.raises(Stop), write_aside(tmp_path / "out") as aside:
        aside.mkdir()
        (aside / "a.txt").write_text("a")
        raise Stop
    assert names(tmp_path) == []


def test_a_folder_that_holds_something_is_never_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("old")
    with pytest.raises(InputError, match=r"/out\b"), write_aside(tmp_path / "out"):
        raise AssertionError("nothing may be written")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["old.txt"]


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "out").mkdir()
    with write_aside(tmp_path / "out") as aside:
        aside.mkdir()
        (aside / "new.txt").write_text("new")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["new.txt"]


def test_a_file_is_not_written_over_a_folder(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match=r"/out\b"):
        write_text(tmp_path / "out", "text")
    assert names(tmp_path) == ["out"]


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


def test_what_a_killed_process_left_is_known_by_its_name(tmp_path):
    left = []
    for name in ("file", ".hidden", "two\nlines"):
        with pytest.raises(Stop), write_aside(tmp_path / "a" / name) as aside:
            left.append(aside.name)
            raise Stop
    others = [".env.template", ".a.aside", ".a.0123abcX.aside", "a.0123abcd.aside"]
    for name in left + others:
        (tmp_path / "a" / name).write_text("", encoding="utf-8")
    assert {path.name for path in leftovers(tmp_path)} == set(left)


def test_parent_folders_are_made(tmp_path):
    write_text(tmp_path / "a" / "b" / "c.txt", "c")
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "c"


def test_a_path_may_be_a_string(tmp_path):
    write_text(str(tmp_path / "a.txt"), "a")
    assert names(tmp_path) == ["a.txt"]


def test_a_parent_that_is_a_file_is_refused_before_anything_is_made(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"/file/a\.txt: "):
        write_text(tmp_path / "file" / "a.txt", "a")
    assert (tmp_path / "file").read_text() == "in the way"


def test_text_is_written_as_utf8(tmp_path):
    write_text(tmp_path / "a.txt", "ไนล์ ñ")
    assert (tmp_path / "a.txt").read_bytes() == "ไนล์ ñ".encode()


def test_json_is_written_readable(tmp_path):
    write_json(tmp_path / "a.json", {"título": ["ñ", 1]})
    assert (tmp_path / "a.json").read_bytes() == '{\n "título": [\n  "ñ",\n  1\n ]\n}\n'.encode()


def test_a_value_that_is_no_json_leaves_the_old_file(tmp_path):
    write_json(tmp_path / "a.json", 1)
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", {1, 2})
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "1\n"


# reading text


def test_text_is_read_as_utf8(tmp_path):
    (tmp_path / "a.txt").write_bytes("Größe 河".encode())
    assert read_text(tmp_path / "a.txt") == "Größe 河"


def test_a_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert read_text(tmp_path / "a.json") == "[1]"
    assert read_json(tmp_path / "a.json") == [1]


def test_other_encodings_are_refused_with_the_byte(tmp_path):
    (tmp_path / "a.txt").write_bytes("Grö".encode("latin-1"))
    with pytest.raises(DataError, match=r"a\.txt: .*\b2\b"):
        read_text(tmp_path / "a.txt")


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"a\.txt: "):
        read_text(tmp_path / "a.txt")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(DataError, match=f"{tmp_path}: "):
        read_text(tmp_path)


# reading JSON


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


def test_a_lone_surrogate_of_an_escape_is_replaced(tmp_path):
    (tmp_path / "a.json").write_text(r'{"a\udc80": ["\ud800 b", "\ud83d\ude00"]}')
    assert read_json(tmp_path / "a.json") == {"a\ufffd": ["\ufffd b", "\U0001f600"]}


def test_json_lines_come_with_their_numbers(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    assert read_jsonl(tmp_path / "a.jsonl") == [(1, {"a": 1}), (2, {"a": 2})]


def test_blank_lines_are_skipped_and_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text('\n{"a": 1}\n \t\n\n{"a": 2}')
    assert read_jsonl(tmp_path / "a.jsonl") == [(2, {"a": 1}), (5, {"a": 2})]


def test_an_empty_file_has_no_rows(tmp_path):
    (tmp_path / "a.jsonl").write_text("")
    assert read_jsonl(tmp_path / "a.jsonl") == []


def test_windows_line_ends_are_no_part_of_a_row(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\r\n\r\n{"a": 2}\r\n')
    assert read_jsonl(tmp_path / "a.jsonl") == [(1, {"a": 1}), (3, {"a": 2})]


def test_unicode_line_separators_do_not_end_a_row(tmp_path):
    # JSON allows them unescaped in a string, and str.splitlines would cut there.
    (tmp_path / "a.jsonl").write_text('{"a": "x\u2028y\x85z"}\n', encoding="utf-8")
    assert read_jsonl(tmp_path / "a.jsonl") == [(1, {"a": "x\u2028y\x85z"})]


def test_an_invalid_row_gives_line_and_column(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": }\n')
    with pytest.raises(DataError, match=r"a\.jsonl, line 3: .* 7: \w"):
        read_jsonl(tmp_path / "a.jsonl")


@pytest.mark.parametrize(("value", "kind"), [("[1]", "list"), ('"a"', "str"), ("3", "int"), ("null", "NoneType")])
def test_a_row_that_is_no_object_gives_its_line(tmp_path, value, kind):
    (tmp_path / "a.jsonl").write_text(f'{{"a": 1}}\n{value}\n')
    with pytest.raises(DataError, match=rf"a\.jsonl, line 2: .* {kind}"):
        read_jsonl(tmp_path / "a.jsonl")


# JSON line by line


def test_lines_come_one_at_a_time_before_the_rest_is_read(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": }\n')
    rows = iter_jsonl(tmp_path / "a.jsonl")
    assert next(rows) == (1, {"a": 1})
    with pytest.raises(DataError, match=r"a\.jsonl, line 3: "):
        next(rows)


def test_a_row_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\n')
    assert list(iter_jsonl(tmp_path / "a.jsonl")) == [(1, {"a": 1})]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("tail", [b"\xff\n", b"\xe6\xb2"])
def test_a_byte_that_is_no_utf8_is_counted_from_the_start_of_the_file(tmp_path, mark, tail):
    # Farther on than one read of the file goes.
    head = mark + '{"a": "河"}\n'.encode() * 20_000
    (tmp_path / "a.jsonl").write_bytes(head + tail)
    with pytest.raises(DataError, match=rf"a\.jsonl: .*\b{len(head)}\b"):
        list(iter_jsonl(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("name", ["a.jsonl", "."])
def test_lines_of_what_is_no_file_are_refused(tmp_path, name):
    with pytest.raises(DataError, match=f"{tmp_path / name}: "):
        list(iter_jsonl(tmp_path / name))


def test_reading_by_lines_holds_no_more_than_a_line(tmp_path):
    line = '{"a": "' + "x" * 1000 + '"}\n'
    (tmp_path / "a.jsonl").write_text(line * 5000)
    tracemalloc.start()
    assert sum(len(row["a"]) for _, row in iter_jsonl(tmp_path / "a.jsonl")) == 5_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000
