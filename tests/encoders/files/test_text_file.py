"""Texts to encode come in order or not at all, however many they are."""

import hashlib
import json
import os
import threading
import tracemalloc

import pytest

from distill.encoders.files.text_file import TextFile, make_rereadable
from distill.errors import DataError


def texts_of(path):
    return list(TextFile(path, block=2))


def write(folder, *rows):
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    (folder / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder / "texts.jsonl"


def test_texts_keep_their_order_and_are_taken_as_they_are_whatever_their_ids(tmp_path):
    texts = {"b": "zwei", "a": "один", 0: "  x\n\u2028y ", 1: "zwei", "0": "y"}
    rows = [{"id": id, "text": text, "language": "de"} for id, text in texts.items()]
    assert texts_of(write(tmp_path, *rows)) == list(texts.values())


@pytest.mark.parametrize(
    ("row", "field"),
    [
        *(({"id": "b", "text": text}, "text") for text in ("", " \n", None, 5, ["x"])),
        ({"id": "b"}, "text"),
        *(({"id": id, "text": "y"}, "id") for id in (None, ["a"], {"a": 1}, 1.5, True)),
        ({"text": "y"}, "id"),
        ({"id": "a", "text": "y"}, "a"),
    ],
)
def test_a_row_that_is_none_gives_its_line_and_field(row, field, tmp_path):
    path = write(tmp_path, {"id": "a", "text": "x"}, "", row)
    with pytest.raises(DataError, match=rf"texts\.jsonl, line 3: .*'{field}'"):
        texts_of(path)


def test_an_absent_file_one_without_texts_and_invalid_json_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"absent\.jsonl"):
        texts_of(tmp_path / "absent.jsonl")
    row = {"id": "a", "text": "x"}
    for rows, named in (((), "texts.jsonl: "), (("", "  "), "texts.jsonl: "), ((row, '{"id": }'), "line 2: .* 8: ")):
        with pytest.raises(DataError, match=named):
            texts_of(write(tmp_path, *rows))


def test_a_block_is_read_alone_and_the_last_is_what_is_left(tmp_path):
    path = write(tmp_path, "", *({"id": n, "text": f"ä{n}"} for n in range(7)))
    file = TextFile(path, block=3)
    assert file.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (len(file), file.blocks, [file.rows(n) for n in range(3)]) == (7, 3, [3, 3, 1])
    assert [file.read(n) for n in (2, 0, 1)] == [["ä6"], ["ä0", "ä1", "ä2"], ["ä3", "ä4", "ä5"]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_and_files_begin_as_in_any_text_file(tmp_path, end):
    lines = ["", json.dumps({"id": 0, "text": "河"}, ensure_ascii=False), " ", "\xa0"]
    lines += [json.dumps({"id": n, "text": f"河 {n}\u2028"}, ensure_ascii=False) for n in range(1, 5)]
    path = tmp_path / "texts.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + end.join(lines).encode())
    expected = ["河", *(f"河 {n}\u2028" for n in range(1, 5))]
    assert [list(TextFile(path, block)) for block in (1, 2, 3, 9)] == [expected] * 4


def test_ids_of_one_hash_are_two_ids(tmp_path):
    assert hash(-1) == hash(-2)
    rows = [{"id": id, "text": "x"} for id in (-1, -2, "b", -2)]
    assert texts_of(write(tmp_path, *rows[:2])) == ["x", "x"]
    with pytest.raises(DataError, match=r"line 4: .*-2"):
        TextFile(write(tmp_path, *rows))


def test_a_file_that_changes_after_its_check_is_refused(tmp_path):
    path = write(tmp_path, *({"id": n, "text": "x" * 9} for n in range(9)))
    file = TextFile(path, block=3)
    file.require_unchanged()
    path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    for read in (file.require_unchanged, lambda: file.read(2)):
        with pytest.raises(DataError, match="texts.jsonl: "):
            read()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a pipe")
def test_a_pipe_is_read_once_and_copied(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=('{"id": 1, "text": "x"}',))
    writer.start()
    with make_rereadable(pipe) as path:
        assert (texts_of(path), path.name) == (["x"], "pipe")
    writer.join()
    assert not path.exists()


def test_what_is_held_of_a_text_is_its_ids_hash(tmp_path):
    rows = 10_000
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(f'{{"id": "{n}", "text": "{"x" * 200}"}}\n' for n in range(rows)), encoding="utf-8")
    tracemalloc.start()
    assert sum(1 for _ in TextFile(path, block=1000)) == rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The file has 2.3 MB: 9 bytes a text, what an array grows by, and a block of texts.
    assert peak < 1_000_000
