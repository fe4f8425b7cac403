"""Passages that have a question's words stand higher, and those that say the same are one."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner

from distill.cli import cli
from distill.errors import DataError, InputError
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import FILE, Index
from distill.search_engine.indexing.lexical import Lexical, invert_texts
from distill.system.sections import read_sections, write_sections

MODEL = "multi12-static"
TEXTS = [
    "The ferry X-41 leaves the harbour at noon.",
    "Trains to the harbour leave every hour.",
    "The ferry X-42 leaves the harbour at noon.",
    "Bread is baked in the morning.",
    "THE ferry X-41 leaves the harbour, at noon!",
    "The old castle has a garden.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hybrid")
    rows = [{"id": str(n), "title": f"T{n}", "text": text} for n, text in enumerate(TEXTS)]
    (folder / "all.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    build_index(folder / "plain", IndexChange([folder / "all.jsonl"]), MODEL)
    build_index(folder / "kb", IndexChange([folder / "all.jsonl"]), MODEL, IndexSettings(hybrid=True))
    change = IndexChange([folder / "all.jsonl"])
    build_index(folder / "written", change, MODEL, IndexSettings(hybrid=True), word_model="none")
    return folder


def test_words_are_added_to_an_index_that_is_there_and_stay(folder, tmp_path):
    kb, sections = tmp_path / "kb", invert_texts(TEXTS)
    build_index(kb, IndexChange([folder / "all.jsonl"]), MODEL)
    result = CliRunner().invoke(cli, ["index", "--model", MODEL, "--output", str(kb), "--hybrid"])
    assert result.exit_code == 0
    assert (kb / FILE).read_bytes() == (folder / "kb" / FILE).read_bytes()
    for name, array in sections.items():
        np.testing.assert_array_equal(Index(kb).array(name), array)
    build_index(kb, IndexChange(removed=["1"]), MODEL)
    np.testing.assert_array_equal(Index(kb).array("bm25.rows"), invert_texts(TEXTS[:1] + TEXTS[2:])["bm25.rows"])


def test_shares_of_words_are_added_in_deviations_of_the_scores(folder):
    plain, hybrid = Answers(folder / "plain"), Answers(folder / "written", hybrid=True)
    question = "When does the X-42 leave?"
    hits = next(plain.answers([question], 6)).hits
    scores = np.zeros(6)
    for hit in hits:
        scores[hit.row] = hit.score
    shares = Lexical(invert_texts(TEXTS), 6).shares(question)
    expected = scores + 8 * float(f"{scores.std():.1e}") * shares
    hits = next(hybrid.answers([question], 6)).hits
    assert hits[0].row == 2 == int(np.argmax(expected))
    every = [hit for one in hits for hit in (one, *one.repeats)]
    np.testing.assert_allclose([hit.score for hit in every], expected[[hit.row for hit in every]], atol=1e-5)


def test_passages_that_say_the_same_are_one_and_numbers_tell_them_apart(folder):
    hits = next(Answers(folder / "kb", hybrid=True).answers(["the ferry X-41 at noon"], 2)).hits
    assert [(hit.row, [one.row for one in hit.repeats]) for hit in hits] == [(0, [4]), (2, [])]
    hits = next(Answers(folder / "plain").answers(["the ferry X-41 at noon"], 6)).hits
    assert sorted(hit.row for hit in hits) == list(range(6))


def test_the_command_prints_what_is_repeated(folder):
    arguments = ["search", "--index", str(folder / "kb"), "--hybrid", "the ferry X-41 at noon", "-k", "1"]
    result = CliRunner().invoke(cli, arguments)
    assert "T0" in result.output and "also in T4" in result.output
    [hit] = json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).stdout)["hits"]
    assert [one["document"]["id"] for one in hit["repeats"]] == ["4"]


def test_the_names_of_turkish_are_found_however_they_are_typed(tmp_path):
    texts = ["İstanbul iki kıtadadır.", "Ankara başkenttir.", "Bursa yeşildir.", "Van gölü büyüktür."]
    rows = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts)]
    (tmp_path / "all.jsonl").write_text("\n".join(rows), encoding="utf-8")
    build_index(tmp_path / "kb", IndexChange([tmp_path / "all.jsonl"]), MODEL, IndexSettings(hybrid=True))
    index = Index(tmp_path / "kb")
    words = Lexical(index.sections, index.passages)
    for typed in ("İstanbul", "istanbul", "ISTANBUL", "ıstanbul"):
        # The only word of the question, in one of four passages of 2.5 words, 3 of its own.
        assert words.shares(typed)[0] == pytest.approx(round(255 / (1 + 0.6 * (0.25 + 0.75 * 3 / 2.5))) / 255)


def test_an_index_of_words_as_they_were_compared_before_is_refused_and_made_anew(folder, tmp_path):
    sections = {name: np.array(array) for name, array in read_sections(folder / "kb" / FILE).items()}
    card = json.loads(sections["card"].tobytes())
    del card["words"]
    write_sections(tmp_path / FILE, sections | {"card": np.frombuffer(json.dumps(card).encode(), np.uint8)})
    with pytest.raises(InputError, match=r"distill index .*--hybrid"):
        Answers(tmp_path, hybrid=True)
    build_index(tmp_path, IndexChange(removed=["5"]), MODEL)
    assert Answers(tmp_path, hybrid=True).index.has_words


def test_an_index_without_words_is_refused_with_a_command_that_can_be_pasted(folder, tmp_path):
    kb = shutil.copytree(folder / "plain", tmp_path / "my kb")
    with pytest.raises(InputError) as refused:
        Answers(kb, hybrid=True)
    command = f"distill index --model {MODEL} --hybrid --output '{kb}'"
    assert str(refused.value).endswith(f"run {command}")


@pytest.mark.parametrize("name", ["rows", "bm25.rows", "bm25.weights", "bm25.starts", "bm25.term_starts"])
def test_words_that_are_not_whole_are_refused(folder, tmp_path, name):
    sections = {name: np.array(array) for name, array in read_sections(folder / "kb" / FILE).items()}
    if name == "bm25.starts":
        sections[name][1:3] = sections[name][2:0:-1]
    elif name == "rows":
        sections["bm25.rows"][0] = len(TEXTS)
    else:
        sections[name] = sections[name][:-1]
    write_sections(tmp_path / FILE, sections)
    with pytest.raises(DataError, match=FILE):
        Index(tmp_path)
