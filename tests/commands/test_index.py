"""`distill index`, and `distill search --index`."""

import io
import json
import sys

import pytest

from distill.encoders.catalog.loading import load_encoder
from distill.search_engine.indexing.index_file import FILE
from distill.search_engine.indexing.sources import SOURCES

MODEL = "multi12-static"
RIVER, CASTLE = "The Nile flows north. It ends in the sea.", "The castle is of stone. Its tower burned down."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Documents in two files, and a broken one."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "river.jsonl").write_text(json.dumps({"id": "r", "text": RIVER, "lang": "en"}) + "\n", encoding="utf-8")
    (folder / "castle.txt").write_text(CASTLE, encoding="utf-8")
    (folder / "broken.jsonl").write_text('{"id": 1, "text": "Whole."}\n{"id": 2, "text": " "}\n', encoding="utf-8")
    return folder


@pytest.fixture
def kb(distill, folder, tmp_path):
    files = folder / "river.jsonl", folder / "castle.txt"
    left = distill("index", "--model", MODEL, "--documents", *files, "--output", tmp_path / "kb")
    assert left.code == 0 and "2 documents" in left.err
    return tmp_path / "kb"


def test_documents_are_indexed_searched_and_removed(distill, kb, folder, monkeypatch):
    left = distill("search", "Where does the Nile flow?", "--index", kb, "-k", "1")
    assert left.code == 0 and "**The Nile flows north.** It ends in the sea." in left.out and "castle" not in left.out
    left = distill("search", "Where does the Nile flow?", "--index", kb, "--json")
    [answer] = map(json.loads, left.out.splitlines())
    assert [hit["text"] for hit in answer["hits"]] == [RIVER, CASTLE]
    first = answer["hits"][0]
    assert first["document"] == {"id": "r", "title": "", "lang": "en"}
    assert (first["sentence"], first["sentence_at"], first["offset"]) == ("The Nile flows north.", [0, 21], 0)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Where does the Nile flow?\n\n\xad\nWhat burned?\n"))
    left = distill("search", "-", "--index", kb, "--json", "-k", "1", "--score", "vector")
    assert [json.loads(line)["hits"][0]["text"] for line in left.out.splitlines()] == [RIVER, CASTLE]
    left = distill("search", "What burned?", "--index", kb, "--json", "--where", "lang=en")
    assert [hit["text"] for hit in json.loads(left.out)["hits"]] == [RIVER]
    assert distill("index", "--model", MODEL, "--output", kb, "--remove", "r").code == 0
    assert sorted(path.name for path in kb.iterdir()) == [FILE, SOURCES]
    left = distill("search", "Where does the Nile flow?", "--index", kb)
    assert CASTLE.split(".")[0] in left.out and "Nile" not in left.out


def test_the_probability_of_an_answer_is_that_of_the_card_and_below_the_threshold_nothing_is_shown(
    distill, kb, small_sample
):
    ask = ["search", "Where does the Nile flow?", "--index", kb]
    [answer] = map(json.loads, distill(*ask, "--json", "-k", "1").out.splitlines())
    hits = json.loads(distill(*ask, "--json").out)["hits"]
    line = load_encoder(MODEL).calibrations["sum"]
    known = line.probability([hit["score"] for hit in hits], 2)
    assert answer["probability"] == pytest.approx(known, abs=1e-4) and len(answer["hits"]) == 1
    assert answer["answered"] == (known >= line.threshold)
    share = f"{100 * known:.0f} %"
    assert share in distill(*ask).out and "Nile" in distill(*ask).out
    shown = distill(*ask, "--threshold", "0.999").out
    assert share in shown and "Nile" not in shown
    [answer] = map(json.loads, distill(*ask, "--json", "--threshold", "0").out.splitlines())
    assert answer["answered"] is True


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["--documents", "FOLDER/broken.jsonl", "--strict", "--output", "new"], r"broken\.jsonl, line 2"),
        (["--documents", "FOLDER/none.jsonl", "--output", "new"], r"none\.jsonl"),
        (["--documents", "FOLDER/castle.txt", "--output", "FOLDER"], "FOLDER"),
        (["--documents", "FOLDER/castle.txt", "--output", "new", "--length", "60", "--overlap", "60"], "--overlap"),
        (["--documents", "FOLDER/castle.txt", "--output", "new", "--workers", "2"], "--workers"),
        (["--output", "new"], "--documents"),
        (["--output", "new", "--remove", "x"], "--remove"),
    ],
)
def test_wrong_documents_leave_nothing(refused, folder, arguments, place):
    named = [argument.replace("FOLDER", str(folder)) for argument in arguments]
    assert place.replace("FOLDER", str(folder)).replace("\\", "") in refused("index", "--model", MODEL, *named)


def test_bad_records_are_left_out_and_fields_are_named(distill, tmp_path):
    (tmp_path / "a.csv").write_text("key;body\n1;Good.\n2;\n", encoding="utf-8")
    named = [
        "--documents",
        tmp_path / "a.csv",
        "--text-field",
        "body",
        "--id-field",
        "key",
        "--output",
        tmp_path / "kb",
    ]
    left = distill("index", "--model", MODEL, *named)
    assert left.code == 0 and "a.csv, line 3" in left.err and "1 documents" in left.err


def test_a_deleted_file_is_told_of_and_taken_out_by_sync(distill, refused, tmp_path):
    for name in ("river", "castle"):
        (tmp_path / f"{name}.md").write_text(f"The {name}.", encoding="utf-8")
    make = ["index", "--model", MODEL, "--documents", tmp_path, "--output", tmp_path / "kb"]
    assert distill(*make).code == 0
    (tmp_path / "castle.md").unlink()
    left = distill(*make)
    assert left.code == 0 and "castle.md" in left.err and "--sync" in left.err and "2 documents" in left.err
    left = distill(*make, "--sync")
    assert left.code == 0 and "castle.md" in left.err and "1 documents" in left.err
    (tmp_path / "river.md").unlink()
    assert "--remove-most" in refused(*make, "--sync")
    left = distill(*make, "--sync", "--remove-most")
    assert left.code == 0 and "river.md" in left.err and "0 documents" in left.err


def test_an_index_is_searched_with_its_own_encoder_and_what_is_none_is_refused(distill, refused, kb, folder):
    ask = ["search", "Where?", "--index"]
    assert "multi12-transformer" in refused(*ask, kb, "--model", "multi12-transformer")
    assert FILE in refused(*ask, folder)
    assert "--where" in refused(*ask, kb, "--where", "lang")
    assert "--where" in refused(*ask, kb, "--where", "author=x")
    content = (kb / FILE).read_bytes()
    (kb / FILE).write_bytes(content[:-100])
    assert FILE in refused(*ask, kb)
    assert FILE in refused("index", "--model", MODEL, "--documents", folder / "castle.txt", "--output", kb)
