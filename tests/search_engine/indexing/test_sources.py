"""An index knows the files of its documents: by any path they take their own place, and what is gone can go."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from distill.errors import DataError, InputError
from distill.search_engine.documents.document import Source, locate_file
from distill.search_engine.indexing.building import IndexChange, build_index
from distill.search_engine.indexing.index_file import Index, hash_id
from distill.search_engine.indexing.sources import SOURCES, Sources, read_sources
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
    # A disk that is not mounted is an empty folder.
    with pytest.raises(InputError, match="--remove-most"):
        build_index("kb", IndexChange(["d"], synced=True), MODEL)
    assert ids() == ["other/o.md", "d/a.md", "x"]
    build_index("kb", IndexChange(["d"], synced=True, removes_most=True), MODEL)
    assert ids() == ["other/o.md"]


def source(name):
    return Source(Path(name), name, locate_file(name))


@pytest.mark.parametrize(
    ("documents", "gone", "come", "is_refused"),
    [
        (1, 1, 0, True),
        (19, 19, 0, True),
        (19, 18, 0, False),
        # All are others.
        (19, 19, 1, False),
        (20, 10, 0, False),
        (20, 11, 0, True),
        (20, 11, 30, True),
        (20, 0, 0, False),
        (0, 0, 0, False),
    ],
)
def test_all_of_a_folder_or_more_than_half_of_twenty_go_only_if_it_is_meant(here, documents, gone, come, is_refused):
    known = {number: source(f"d/{number}.md") for number in range(documents)}
    elsewhere = {number: source(f"other/{number}.md") for number in range(1000, 1100)}
    sources = Sources({}, {}).apply_change(known | elsewhere, ())
    new = {number: source(f"d/{number}.md") for number in range(2000, 2000 + come)}
    stay = {number: one for number, one in known.items() if number >= gone}
    with pytest.raises(InputError, match=f"d: {gone} of its {documents}") if is_refused else nullcontext():
        sources.require_most(["other", "d"], elsewhere | stay | new, range(gone))


def test_while_an_index_is_written_its_documents_may_have_two_files(here):
    kb = here / "kb"
    build_index(kb, IndexChange(["d/a.md", "d/c.jsonl"]), MODEL)
    known = read_sources(kb, Index(kb))
    after = known.apply_change({hash_id("x"): source("other/x.jsonl"), hash_id("new"): source("d/new.md")}, ())
    known.join(after).write(kb)
    both = read_sources(kb, Index(kb))
    named = [locate_file("d/c.jsonl"), locate_file("other/x.jsonl")]
    assert sorted(both.files_of[hash_id("x")]) == named and both.files_of[hash_id("y")] == (named[0],)
    # What the index does not have yet is of no file.
    assert len(both.files_of) == 4 and both.within(["d/new.md"]) == []
    assert hash_id("x") in both.within(["d"]) and both.within(["other"]) == [hash_id("x")]
    assert both.apply_change({hash_id("x"): source("other/x.jsonl")}, ()).files_of[hash_id("x")] == (named[1],)


def test_what_cannot_be_read_is_not_gone(here):
    (here / "d" / "empty.md").write_text("Soon without text.")
    build_index("kb", IndexChange(["d"]), MODEL)
    (here / "d" / "a.md").write_bytes(b"caf\xe9")
    (here / "d" / "c.jsonl").write_text('{"id": "x", "text": "The second."}\n{"id": "y", "te')
    (here / "d" / "empty.md").write_text("")
    build_index("kb", IndexChange(["d"], synced=True), MODEL)
    assert sorted(ids()) == sorted(ALL)


def test_what_a_link_that_leads_nowhere_led_to_is_not_gone(here, capsys):
    # Files of a folder elsewhere that are named by a link.
    (here / "d" / "far").symlink_to(here / "other")
    build_index("kb", IndexChange(["d", "d/far"]), MODEL)
    assert sorted(ids()) == sorted([*ALL, "d/far/o.md"])
    (here / "d" / "a.md").unlink()
    (here / "d" / "a.md").symlink_to("nothing.md")
    shutil.rmtree(here / "d" / "sub")
    (here / "d" / "sub").symlink_to(here / "not mounted" / "sub")
    shutil.rmtree(here / "other")
    build_index("kb", IndexChange(["d"], synced=True), MODEL)
    assert sorted(ids()) == sorted([*ALL, "d/far/o.md"])
    assert "3 linked" in capsys.readouterr().err
    for name in ("a.md", "sub", "far"):
        (here / "d" / name).unlink()
    build_index("kb", IndexChange(["d"], synced=True), MODEL)
    assert ids() == ["d/c.jsonl, line 1", "x", "y"]


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
