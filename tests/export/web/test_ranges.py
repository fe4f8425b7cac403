"""A page by ranges: what it loads, that it finds what Python finds, and what it says of files that are wrong."""

import shutil

import numpy as np
import pytest
from fixtures.chromium import served

from distill.data.loading import load_dataset
from distill.data.readers import SAMPLE
from distill.errors import ExportError, InputError
from distill.export.web.clusters import write_clusters
from distill.export.web.coder import Coder
from distill.indexing.answers import Answers
from distill.indexing.building import COMPACT, IndexChange, IndexSettings, build_index
from distill.indexing.stored import Index
from distill.jobs.make_page import make_page
from distill.system.sections import read_sections

MODEL = "released-small"
READY = "document.documentElement?.dataset.ready"
STATE = "document.getElementById('status').textContent"
ROWS = "document.getElementById('hits').dataset.rows.split(',').map(row => Number(row.split(' ')[0]))"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The sample's passages, indexed by the small encoder: the index's folder."""
    folder = tmp_path_factory.mktemp("small") / "kb"
    build_index(folder, IndexChange([SAMPLE / "documents.jsonl"]), MODEL)
    return folder


@pytest.fixture(scope="module")
def site(chromium, page_of, small, tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("ranges") / "site", MODEL, small / "index.bin", by_ranges=True)


@pytest.fixture(scope="module")
def questions():
    data = load_dataset("sample", "en")
    return [data.select(name, "test")[place].text for place, name in enumerate(data.languages)]


@pytest.fixture
def tab(chromium):
    tab = chromium.page()
    yield tab
    tab.close()


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
    site, small, questions, tab
):
    index, answers = Index(small), Answers(small)
    expected = [[hit.row for hit in answer.hits] for answer in answers.answers(questions, 10)]
    sent = []
    with served(site, sent) as address:
        opened(tab, address)
        # Of the ten that are shown the last may be others: so few bytes do not tell all of them.
        assert [rows_of(tab, question)[:5] for question in questions] == [rows[:5] for rows in expected]
        loaded = {name: sum(bytes for one, bytes in sent if one == name) for name in ("encoder.bin", "pieces.bin")}
        assert loaded["encoder.bin"] == 0
        assert 0 < loaded["pieces.bin"] < (site / "pieces.bin").stat().st_size / 8
        assert index.passages > 10 and tab.value("document.getElementById('notes').hidden")
        tab.value("document.getElementById('load-all').click()")
        tab.until("document.getElementById('all').hidden")
        tab.until("navigator.serviceWorker.ready.then(() => true)")
    opened(tab, address)
    assert [rows_of(tab, question)[:5] for question in questions] == [rows[:5] for rows in expected]
    assert not tab.value("document.getElementById('notes').hidden")
    assert tab.complaints == []


def test_a_server_without_ranges_gives_the_whole_files(site, small, questions, tab):
    expected = [hit.row for hit in next(iter(Answers(small).answers(questions[:1], 10))).hits]
    with served(site) as address:
        opened(tab, address)
        assert rows_of(tab, questions[0])[:5] == expected[:5]


@pytest.mark.parametrize("name", ["pieces.bin", "clusters.bin"])
@pytest.mark.parametrize("ranges", [None, []])
def test_a_file_that_is_not_whole_is_said_so(site, tab, tmp_path, name, ranges):
    broken = shutil.copytree(site, tmp_path / "site")
    content = (site / name).read_bytes()
    (broken / name).write_bytes(content[:-7])
    with served(broken, ranges) as address:
        tab.open(address)
        tab.until(f"{STATE}.includes('not whole')")
        assert f"{name} is not whole" in tab.value(STATE)


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


def test_codes_of_vectors_stand_near_them_by_plain_products():
    """Twelve directions of 48 with some noise: axes are left out, and the codes give the vectors back."""
    random = np.random.default_rng(0)
    base = random.normal(size=(12, 48))
    vectors = (random.normal(size=(600, 12)) @ base).astype(np.float32)
    coder = Coder.learn(vectors, 4, random)
    turning = coder.axes[0] * coder.axes[1][:, None]
    assert coder.width == 32 and turning.shape == (32, 48)
    question = random.normal(size=48).astype(np.float32)
    np.testing.assert_allclose((coder.turn(vectors) @ (turning @ question)), vectors @ question, rtol=0.02, atol=0.3)
    lists, codes = coder.codes(vectors)
    centroids = coder.centroids[0] * coder.centroids[1][:, None]
    words = (coder.books[0] * coder.books[1][:, None]).reshape(32, 256, 1)
    decoded = centroids[lists] + np.concatenate([words[place, codes[:, place]] for place in range(32)], 1)
    error = np.linalg.norm(decoded - coder.turn(vectors), axis=1) / np.linalg.norm(coder.turn(vectors), axis=1)
    assert np.median(error) < 0.05


def test_records_have_what_the_index_has(small, tmp_path):
    write_clusters(small, tmp_path / "clusters.bin")
    sections, index = read_sections(tmp_path / "clusters.bin"), Index(small)
    starts, width = sections["list_starts"], int(sections["numbers"][2])
    first = sections["lists"][: starts[1]]
    count = len(first) // 36
    reference = int(first[: 4 * count].view("<u4")[0])
    record = sections["records"][64 * (reference % 2**24) :][: 64 * (reference // 2**24)]
    size, row, sentences, vectors, text, document = record[:24].view("<u4").tolist()
    assert vectors == (1 + sentences) * width and sentences == len(index.bounds(row))
    rest = record[:size].tobytes()
    assert rest[-document - text : -document] == index.text(row)
    starts, owner = index.array("document_starts"), int(index.array("document_of")[row])
    assert rest[-document:] == index.array("documents")[slice(*starts[owner : owner + 2])].tobytes()


def test_what_has_no_page_of_ranges_is_refused(small, tmp_path):
    compact = tmp_path / "compact"
    (tmp_path / "a.txt").write_text("Lake Geneva lies in the Alps.", encoding="utf-8")
    build_index(compact, IndexChange([tmp_path / "a.txt"]), MODEL, IndexSettings(bits=COMPACT))
    with pytest.raises(ExportError, match="fewer bits"):
        write_clusters(compact, tmp_path / "clusters.bin")
    with pytest.raises(InputError, match="--compact"):
        make_page(IndexChange([tmp_path / "a.txt"]), tmp_path / "site", MODEL, compact=True, by_ranges=True)
    assert not (tmp_path / "clusters.bin").exists() and not (tmp_path / "site").exists()
