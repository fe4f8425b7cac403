"""Documents become a page with its index, and nothing else is left."""

import json

import pytest
from fixtures.folders import names

from distill.errors import DataError, EncoderError, InputError
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.intake import IndexChange
from distill.search_engine.make_page import _replace_page, make_page
from distill.system.sections import read_sections


@pytest.fixture
def change(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "river.txt").write_text("The Danube ends in the Black Sea.", encoding="utf-8")
    (tmp_path / "notes" / "castle.md").write_text("# Castle\n\nIt is of stone.", encoding="utf-8")
    return IndexChange([tmp_path / "notes"])


def test_the_page_has_the_documents_and_says_what_it_is_told(change, tmp_path):
    site = tmp_path / "site"
    judged = make_page(change, site, "multi12-static", title='Notes & "rivers"', about="<b>")
    assert names(tmp_path) == ["notes", "site"] and judged.card.form.format == "web"
    card = json.loads(read_sections(site / "index.bin")["card"].tobytes())
    assert (card["documents"], card["encoder"]) == (2, "multi12-static")
    page = (site / "index.html").read_text(encoding="utf-8")
    assert page.count("Notes &amp; &quot;rivers&quot;") == 2 and "<b>" not in page and "&lt;b&gt;" in page
    assert json.loads((site / "manifest.webmanifest").read_text(encoding="utf-8"))["name"] == 'Notes & "rivers"'
    # The index is one for Python, too.
    (answer,) = Answers(site).answers(["Wo endet die Donau?"], 1)
    assert answer.hits[0].text.startswith("The Danube")


def test_a_page_is_made_again_in_its_own_folder_and_in_no_other(change, tmp_path):
    site = tmp_path / "site"
    make_page(change, site, "multi12-static")
    (tmp_path / "notes" / "lake.txt").write_text("Lake Geneva lies in the Alps.", encoding="utf-8")
    make_page(change, site, "multi12-static", title="Again")
    card = json.loads(read_sections(site / "index.bin")["card"].tobytes())
    assert card["documents"] == 3 and "Again" in (site / "index.html").read_text(encoding="utf-8")
    with pytest.raises(DataError):
        make_page(IndexChange([tmp_path / "nowhere"]), site, "multi12-static")
    assert (site / "index.bin").exists() and names(tmp_path) == ["notes", "site"]
    (site / "mine").touch()
    with pytest.raises(InputError, match="mine"):
        make_page(change, site, "multi12-static")


def test_a_page_stays_where_the_new_one_cannot_take_its_place(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    with pytest.raises(FileNotFoundError):
        _replace_page(tmp_path / "site", lambda aside: None)
    assert names(tmp_path) == ["site"] and names(tmp_path / "site") == ["index.html"]


def test_no_bundle_and_a_folder_that_is_there_are_refused_before_anything_is_encoded(change, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine").touch()
    with pytest.raises(InputError):
        make_page(change, tmp_path / "site", "multi12-static")
    for model in ("muse", "nowhere", tmp_path / "notes"):
        with pytest.raises(EncoderError):
            make_page(change, tmp_path / "other", model)
    assert names(tmp_path) == ["notes", "site"]
