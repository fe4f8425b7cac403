"""An index knows the files of its documents: by any path they take their own place, and what is gone can go."""

import json
import shutil

import numpy as np
import pytest

from distill.documents.document import Source, locate_file
from distill.errors import DataError
from distill.indexing.building import IndexChange, build_index
from distill.indexing.index_file import Index, hash_id
from distill.indexing.sources import SOURCES, Sources
from distill.system.sections import read_sections

MODEL = "multi12-static"


def ids(kb="kb"):
    return [fields["id"] for fields in Index(kb).all_fields()]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of two notes and three records in the working directory."""
    (tmp_path / "d" / "sub").mkdir(parents=True)
    (tmp_path / "d" / "a.md").write_text("# A\n\nThe ferry leaves at nine.")
    (tmp_path / "d" / "sub" / "b.md").write_text("The castle is old.")
    records = [{"text": "The first."}, {"id": "x", "text": "The second."}, {"id": "y", "text": "The third."}]
    (tmp_path / "d" / "c.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "o.md").write_text("Another.")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ALL = ["d/a.md", "d/c.jsonl, line 1", "x", "y", "d/sub/b.md"]


def test_files_take_their_place_by_whatever_path(here, monkeypatch):
    build_index("kb", IndexChange(["d"]), MODEL)
    assert ids() == ALL
    (here / "link").symlink_to(here / "d")
    for spelling in ("./d", here / "d", "other/../d", "link"):
        build_index("kb", IndexChange([spelling]), MODEL)
        assert ids() == ALL
    monkeypatch.chdir(here / "d")
    build_index("../kb", IndexChange(["."]), MODEL)
    assert ids("../kb") == ALL
    build_index("../kb", IndexChange(["sub/b.md", "../other"]), MODEL)
    assert ids("../kb") == [*ALL, "../other/o.md"]


def test_what_is_gone_goes_by_sync_and_what_is_elsewhere_stays(here):
    build_index("kb", IndexChange(["d", "other"]), MODEL)
    (here / "d" / "sub" / "b.md").unlink()
    (here / "other" / "o.md").unlink()
    (here / "d" / "c.jsonl").write_text(json.dumps({"id": "x", "text": "The second."}))
    build_index("kb", IndexChange(["d"]), MODEL)
    assert sorted(ids()) == sorted([*ALL, "other/o.md"])
    build_index("kb", IndexChange([here / "d"], synced=True), MODEL)
    assert ids() == ["other/o.md", "d/a.md", "x"]
    shutil.rmtree(here / "d" / "sub")
    for path in (here / "d").iterdir():
        path.unlink()
    with pytest.raises(DataError):
        build_index("kb", IndexChange(["d"]), MODEL)
    build_index("kb", IndexChange(["d"], synced=True), MODEL)
    assert ids() == ["other/o.md"]


def test_what_cannot_be_read_is_not_gone(here):
    (here / "d" / "empty.md").write_text("Soon without text.")
    build_index("kb", IndexChange(["d"]), MODEL)
    (here / "d" / "a.md").write_bytes(b"caf\xe9")
    (here / "d" / "c.jsonl").write_text('{"id": "x", "text": "The second."}\n{"id": "y", "te')
    (here / "d" / "empty.md").write_text("")
    build_index("kb", IndexChange(["d"], synced=True), MODEL)
    assert sorted(ids()) == sorted(ALL)


def test_an_index_and_its_folder_may_move_together_or_alone(here, monkeypatch):
    build_index("kb", IndexChange(["d"]), MODEL)
    moved = here / "moved"
    moved.mkdir()
    for name in ("d", "kb"):
        shutil.move(here / name, moved / name)
    (moved / "d" / "a.md").unlink()
    build_index(moved / "kb", IndexChange([moved / "d"], synced=True), MODEL)
    assert ids(moved / "kb") == ALL[1:]
    monkeypatch.chdir(moved)
    shutil.move(moved / "kb", here / "kb")
    (moved / "d" / "sub" / "b.md").unlink()
    build_index(here / "kb", IndexChange(["d"], synced=True), MODEL)
    assert ids(here / "kb") == ["d/c.jsonl, line 1", "x", "y"]


def test_an_index_that_knows_no_files_goes_by_the_paths_of_its_documents(here):
    build_index("kb", IndexChange(["d", "other"]), MODEL)
    (here / "kb" / SOURCES).unlink()
    (here / "d" / "a.md").unlink()
    build_index("kb", IndexChange([here / "d"], synced=True), MODEL)
    # Records without an id are called after the file, of which nothing was known.
    assert ids() == ["d/c.jsonl, line 1", "other/o.md", f"{here.as_posix()}/d/c.jsonl, line 1", "x", "y", "d/sub/b.md"]


def test_the_file_has_a_path_a_file_and_a_number_a_document(here):
    kb, place = here / "kb", locate_file("d/a.md")
    kb.mkdir()
    Sources({}, {}).apply_change({hash_id("i"): Source(here / "d" / "a.md", "d/a.md", place)}, ()).write(kb)
    sections = read_sections(kb / SOURCES)
    assert json.loads(sections["files"].tobytes()) == [["../d/a.md", "d/a.md"]]
    np.testing.assert_array_equal(sections["ids"], [hash_id("i")])
    np.testing.assert_array_equal(sections["file_of"], [0])


def test_a_broken_file_is_refused_by_its_name(here):
    build_index("kb", IndexChange(["d"]), MODEL)
    path = here / "kb" / SOURCES
    whole = path.read_bytes()
    for content in (b"none", b"", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"{SOURCES}.*distill index"):
            build_index("kb", IndexChange(["d"]), MODEL)
    # As it says: without the file, the same documents make it anew.
    path.unlink()
    build_index("kb", IndexChange(["d"]), MODEL)
    assert path.read_bytes() == whole
