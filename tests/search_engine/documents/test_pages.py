"""A page gives what it shows: a block each for paragraphs, items and cells, in one line whatever is in it."""

import time

import pytest

from distill.search_engine.documents.limits import Meter, ReadingLimits
from distill.search_engine.documents.pages import read_html, read_page
from distill.vocabulary.words.cutting import find_sentences


def texts(source):
    return [block.text for block in read_page(source).blocks]


@pytest.mark.parametrize(
    "line",
    [
        "The <big>ferry</big> to <strike>Oslo</strike> <svg><title>T</title><text>x</text></svg> <nobr>at nine</nobr>",
        "The <b>fer</b>ry to <my-badge>Oslo</my-badge> <button>at</button>\n\tnine",
        "The ferry<!-- to Bergen --> to <acronym>Oslo</acronym> <a href=x>at <i>nine</i></a>",
    ],
)
def test_what_stands_in_a_line_does_not_break_it(line):
    assert texts(f"<p>{line}") == ["The ferry to Oslo at nine"]


def test_an_element_of_xhtml_may_end_where_it_begins(tmp_path):
    path = tmp_path / "a.xhtml"
    path.write_text('<head><title/><script src="a>b.js"/></head><h1 id=\'x\'>Ferry</h1><p>At <a id="p1" />nine<br/>ten')
    content = read_html(path, Meter(path.name, ReadingLimits()))
    assert (content.title, content.text) == ("Ferry", "Ferry\n\nAt nine\nten")


def test_readings_above_characters_are_left_out():
    assert texts("<p><ruby>東<rp>(</rp><rt>とう</rt>京<rt>きょう</rt></ruby>です") == ["東京です"]


def test_items_rows_and_headings_are_sentences_of_their_own():
    source = "<h1>Hours</h1><ul><li>Museum: closed<li>Ferry: nine</ul><table><tr><td>Zoo<td>open<tr><th>Bank</table>"
    page = read_page(source + "<dl><dt>a<dd>b</dl><select><option>c<option>d</select>One<hr>two<br>three")
    expected = [
        "Hours",
        "Museum: closed",
        "Ferry: nine",
        "Zoo | open",
        "Bank",
        "a",
        "b",
        "c",
        "d",
        "One",
        "two\nthree",
    ]
    assert [block.text for block in page.blocks] == expected
    assert [page.text[start:end] for start, end in find_sentences(page.text, "en")] == expected


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>X</p>",
        '<p style="color: red; DISPLAY : none !important">X</p>',
        '<div style="visibility:hidden"><p>X</p></div>',
        "<video>X</video>",
        "<progress value=1>X</progress>",
        "<audio>X</audio>",
        "<iframe src=x>X</iframe>",
        "<object>X<p>X</p></object>",
        "<canvas>X</canvas>",
        "<dialog>X</dialog>",
        "<template><p>X</p></template>",
        "<noscript>X</noscript>",
        "<script>X</script>",
        "<style>X</style>",
        "<svg><text>X</text></svg>",
        "<nav><ul><li>X</ul></nav>",
        "<div role=navigation>X</div>",
        "<datalist><option>X</datalist>",
        '<a class="x headerlink" href="#t">X</a>',
        "<!-- X -->",
    ],
)
def test_what_a_page_does_not_show_is_left_out(hidden):
    assert texts(f"<!doctype html><title>T</title>{hidden}<p>Shown.") == ["Shown."]


def test_what_is_open_is_shown():
    assert texts("<dialog open>A</dialog><details><summary>B</summary>C</details><p style='display:block'>D") == list(
        "ABCD"
    )
    assert texts("<h2>A</h2><div hidden=until-found>B</div><p hidden>C</p>") == list("AB")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<!doctype html><head><meta charset=utf-8><title>A  page</title><h1>Head</h1><p>Text.", "A page"),
        ("<!doctype html><svg><title>Menu</title></svg><h1>Head</h1><p>Text.", ""),
        ("<title>A</title><p>Text.<h1>Head</h1>", "A"),
        ("<html><head><title>Cats &amp; <b>dogs</title><body><h1>Head</h1>Text.", "Cats & <b>dogs"),
    ],
)
def test_a_title_is_the_heads_whatever_is_left_out(source, title):
    page = read_page(source)
    assert (page.title, page.heading) == (title, "Head") and "Text." in page.text


def test_text_as_it_is_written_keeps_its_lines():
    assert texts("<p>Fähr&shy;ver\xadbindung") == ["Fährverbindung"]
    assert texts("<p>a\n b<pre>\nx  y\n  z\n</pre>") == ["a b", "x  y\n  z"]


def test_a_page_that_nests_without_bounds_is_read_in_time():
    start = time.perf_counter()
    assert texts("<div>" * 50_000 + "x") == ["x"]
    assert texts("<p><b>" * 300 + "x") == ["x"]
    assert time.perf_counter() - start < 60


def test_the_language_is_the_pages():
    assert read_page("<html lang=de-AT><p>x").language == "de-AT"
    assert read_page('<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="de"><p>x').language == "de"
