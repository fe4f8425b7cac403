"""A page by ranges: what it loads, that it finds what Python finds, and what it says of files that are wrong."""

import shutil

import pytest
from fixtures.chromium import served

from distill.data.loading import load_dataset
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.clusters import write_clusters
from distill.search_engine.indexing.index_file import Index

MODEL = "multi12-static"
# First passages that are those of the whole index. Of the ten that are shown others may differ: so few bytes do not
# tell all of them, and vectors are rounded anew, so that scores that differ by .0002 change places.
SAME = 3
READY = "document.documentElement?.dataset.ready"
STATE = "document.getElementById('status').textContent"
ROWS = "document.getElementById('hits').dataset.rows.split(',').map(row => Number(row.split(' ')[0]))"


@pytest.fixture(scope="module")
def site(chromium, page_of, small_kb, tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("ranges") / "site", MODEL, small_kb / "index.bin", by_ranges=True)


@pytest.fixture(scope="module")
def questions():
    data = load_dataset("sample", "en")
    return [data.select(name, "test")[place].text for place, name in enumerate(("ar", "de", "th", "zh"))]


def opened(tab, address):
    tab.send("Page.navigate", url="about:blank")
    tab.until("location.href === 'about:blank'")
    tab.open(address)
    tab.until(READY)


def rows_of(tab, question):
    """The rows of the passages that the page shows for a question."""
    tab.value("document.getElementById('question').select()")
    tab.type(question)
    tab.until(f"document.getElementById('hits').dataset.question === {question.strip()!r}")
    return tab.value(ROWS)


def test_parts_of_the_files_give_the_rows_of_the_whole_index_and_all_of_them_go_without_a_network(
    site, small_kb, questions, tab
):
    index, answers = Index(small_kb), Answers(small_kb)
    expected = [[hit.row for hit in answer.hits] for answer in answers.answers(questions, 10)]
    sent = []
    with served(site, sent) as address:
        opened(tab, address)
        assert [rows_of(tab, question)[:SAME] for question in questions] == [rows[:SAME] for rows in expected]
        loaded = {name: sum(bytes for one, bytes in sent if one == name) for name in ("encoder.bin", "pieces.bin")}
        assert loaded["encoder.bin"] == 0
        assert 0 < loaded["pieces.bin"] < (site / "pieces.bin").stat().st_size / 8
        assert index.passages > 10 and tab.value("document.getElementById('notes').hidden")
        # A question is under way while the whole encoder takes the place of its own.
        tab.value("document.getElementById('question').select()")
        tab.type("Was ist das?")
        tab.value("document.getElementById('load-all').click()")
        tab.until("document.getElementById('all').hidden")
        assert rows_of(tab, questions[0])[:SAME] == expected[0][:SAME]
        tab.until("navigator.serviceWorker.ready.then(() => true)")
    opened(tab, address)
    assert rows_of(tab, questions[1])[:SAME] == expected[1][:SAME]
    assert not tab.value("document.getElementById('notes').hidden")
    assert tab.complaints == []


def test_a_server_without_ranges_gives_the_whole_files(site, small_kb, questions, tab):
    expected = [hit.row for hit in next(iter(Answers(small_kb).answers(questions[:1], 10))).hits]
    with served(site) as address:
        opened(tab, address)
        assert rows_of(tab, questions[0])[:SAME] == expected[:SAME]


@pytest.mark.parametrize(("name", "ranges"), [("pieces.bin", None), ("clusters.bin", [])])
def test_a_file_that_is_not_whole_is_said_so(site, tab, tmp_path, name, ranges):
    broken = shutil.copytree(site, tmp_path / "site")
    content = (site / name).read_bytes()
    (broken / name).write_bytes(content[:-7])
    with served(broken, ranges) as address:
        tab.open(address)
        tab.until(f"{STATE}.includes('not whole')")
        assert tab.value(STATE).startswith(name)


def test_parts_that_cannot_be_loaded_are_said_and_the_next_question_is_answered(site, questions, tab, tmp_path):
    copy = shutil.copytree(site, tmp_path / "site")
    with served(copy, []) as address:
        opened(tab, address)
        (copy / "pieces.bin").rename(tmp_path / "pieces.bin")
        tab.value("document.getElementById('question').select()")
        tab.type(questions[0])
        tab.until(f"{STATE}.includes('404')")
        (tmp_path / "pieces.bin").rename(copy / "pieces.bin")
        assert rows_of(tab, questions[1])


LIES = {
    "another start": lambda start, part: (start + 1, part),
    "bytes from elsewhere": lambda start, part: (start, part[4:] + bytes(4)),
    "fewer bytes": lambda start, part: (start, part[:-1]),
}


def test_parts_that_are_wrong_are_said_and_never_held(site, small_kb, questions, tab):
    expected = [[hit.row for hit in answer.hits] for answer in Answers(small_kb).answers(questions, 10)]
    # Each of a question in another script, which needs other parts.
    wrong = [("clusters.bin", LIES["fewer bytes"]), *(("pieces.bin", lie) for lie in LIES.values())]
    told = []

    def lie(path, *part):
        return told[-1][1](*part) if told and told[-1][0] in path else part

    with served(site, [], lie=lie) as address:
        opened(tab, address)
        for question, rows, one in zip(questions, expected, wrong, strict=True):
            told.append(one)
            tab.value("document.getElementById('question').select()")
            tab.type(question)
            tab.until(f"{STATE}.includes('{one[0]} came with other bytes')")
            told.clear()
            assert rows_of(tab, question + " ")[:SAME] == rows[:SAME]


def test_a_part_that_is_wrong_once_is_asked_for_past_every_cache(site, small_kb, questions, tab):
    expected = [hit.row for hit in next(iter(Answers(small_kb).answers(questions[:1], 10))).hits]
    with served(
        site, [], lie=lambda path, start, part: (start, part if "again=" in path else bytes(len(part)))
    ) as address:
        opened(tab, address)
        assert rows_of(tab, questions[0])[:SAME] == expected[:SAME]
        assert "came with" not in tab.value(STATE)


def test_a_file_that_changes_under_way_is_noticed(site, small_kb, questions, tab, tmp_path):
    copy = shutil.copytree(site, tmp_path / "site")
    with served(copy, []) as address:
        opened(tab, address)
        # As many bytes, of other centroids.
        write_clusters(small_kb, copy / "clusters.bin", seed=1)
        assert (copy / "clusters.bin").stat().st_size == (site / "clusters.bin").stat().st_size
        tab.value("document.getElementById('question').select()")
        tab.type(questions[0])
        tab.until(f"{STATE}.includes('clusters.bin came with other bytes')")
