import json
import shutil
from math import log1p

import numpy as np
import pytest
from click.testing import CliRunner
from fixtures.folders import copy_shipped

import distill
from distill.cli import cli
from distill.errors import DataError, EncoderError, InputError
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import FILE, Index
from distill.search_engine.indexing.lexical import LONGEST, Lexical, invert_texts
from distill.system.sections import read_sections, write_sections

PASSAGES = ["Ada wrote a note", "a a a note", "東京 is a city", ""]


@pytest.fixture
def sections():
    return invert_texts(PASSAGES)


def weight(times, length):
    """255 f / (f + k1 (1 - b + b l / mean l)), where the passages have 12 words together."""
    return round(255 * times / (times + 0.6 * (0.25 + 0.75 * length / 3)))


def idf(having):
    return log1p((4 - having + 0.5) / (having + 0.5))


def test_sections_are_the_words_by_their_bytes_and_their_passages(sections):
    ends = sections["bm25.term_starts"]
    content = sections["bm25.terms"].tobytes().decode()
    assert content == "aadacityisnotewrote東京"
    assert ends.tolist() == [0, 1, 4, 8, 10, 14, 19, 25]
    assert sections["bm25.starts"].tolist() == [0, 3, 4, 5, 6, 8, 9, 10]
    assert sections["bm25.rows"].tolist() == [0, 1, 2, 0, 2, 2, 0, 1, 0, 2]
    weights = [weight(1, 4), weight(3, 4), *[weight(1, 4)] * 8]
    assert sections["bm25.weights"].tolist() == weights
    kinds = {name: array.dtype for name, array in sections.items()}
    assert {name for name, kind in kinds.items() if kind == np.uint8} == {"bm25.terms", "bm25.weights"}
    assert {kind for kind in kinds.values() if kind != np.uint8} == {np.dtype(np.uint32)}


def test_a_share_is_bm25_by_the_most_that_it_can_be(sections):
    shares = Lexical(sections, 4).shares("A note, a NOTE by Bob")
    whole = idf(3) + idf(2) + 2 * idf(0)
    one = weight(1, 4) / 255
    expected = [one * (idf(3) + idf(2)), weight(3, 4) / 255 * idf(3) + one * idf(2), one * idf(3), 0]
    np.testing.assert_allclose(shares, np.array(expected) / whole, rtol=1e-6)
    assert shares.dtype == np.float32


@pytest.mark.parametrize("question", ["", "…", "zzz", "aa", "京"])
def test_without_a_known_word_all_shares_are_0(sections, question):
    assert Lexical(sections, 4).shares(question).tolist() == [0] * 4


def test_long_words_count_by_their_begin():
    sections = invert_texts(["x" * LONGEST + "y", "z"])
    assert Lexical(sections, 2).shares("x" * (LONGEST + 9)).nonzero()[0].tolist() == [0]


def test_no_passages_have_no_shares():
    assert Lexical(invert_texts([]), 0).shares("a").shape == (0,)


def test_rows_are_those_of_bm25s():
    bm25s = pytest.importorskip("bm25s")
    words, generator = np.array([f"w{number}" for number in range(60)]), np.random.default_rng(0)
    texts = [" ".join(generator.choice(words, size)) for size in generator.integers(3, 40, 50)]
    peer = bm25s.BM25(method="lucene", k1=0.6, b=0.75)
    peer.index([text.split() for text in texts], show_progress=False)
    lexical = Lexical(invert_texts(texts), len(texts))
    for question in ("w1 w2 w3", "w10 w20", "w59"):
        theirs = peer.get_scores(question.split())
        idfs = sum(
            log1p((50 - n + 0.5) / (n + 0.5)) for n in (sum(w in t.split() for t in texts) for w in question.split())
        )
        np.testing.assert_allclose(lexical.shares(question), theirs / idfs, atol=1 / 255)


# The encoder of an index's words: named, kept, gone, changed.
MODEL = "multi12-static"
TEXTS = ["The dog sleeps under the table.", "Bread is baked in the morning.", "The train leaves at noon."]


def write(folder, texts=TEXTS):
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate(texts)))
    return path


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    build_index(folder / "kb", IndexChange([write(folder)]), MODEL, IndexSettings(hybrid=True))
    return folder / "kb"


def shares(folder, question="Hund"):
    return Answers(folder, hybrid=True).lexical.shares(question)


def test_a_word_of_another_language_finds_the_passage(kb):
    assert Index(kb).card["word_encoder"] == MODEL
    assert int(shares(kb).argmax()) == 0 and shares(kb)[0] > 0.3
    [answer] = distill.search(kb, "Hund", k=1, hybrid=True)
    assert answer.hits[0].row == 0


def test_none_leaves_the_words_as_they_are_written(kb, tmp_path):
    build_index(tmp_path / "kb", IndexChange([write(tmp_path)]), MODEL, IndexSettings(hybrid=True), word_model="none")
    assert not Index(tmp_path / "kb").has_related_words
    assert shares(tmp_path / "kb").tolist() == [0] * 3
    # It stays so until an encoder is named, and documents that come later keep that.
    command = ["index", "--model", MODEL, "--output", str(tmp_path / "kb"), "--hybrid"]
    assert CliRunner().invoke(cli, command).exit_code == 0
    assert not Index(tmp_path / "kb").has_related_words
    assert CliRunner().invoke(cli, [*command, "--word-model", MODEL]).exit_code == 0
    assert (tmp_path / "kb" / FILE).read_bytes() == (kb / FILE).read_bytes()
    more = [*TEXTS, "A cat and a dog."]
    build_index(tmp_path / "kb", IndexChange([write(tmp_path, more)]), MODEL)
    assert shares(tmp_path / "kb")[3] > 0.2
    # The same as an index of all of them at once.
    build_index(tmp_path / "all", IndexChange([write(tmp_path, more)]), MODEL, IndexSettings(hybrid=True))
    assert (tmp_path / "kb" / FILE).read_bytes() == (tmp_path / "all" / FILE).read_bytes()


def test_without_words_there_is_no_encoder_of_them(tmp_path):
    with pytest.raises(InputError):
        build_index(tmp_path / "kb", IndexChange([write(tmp_path)]), MODEL, word_model=MODEL)


def test_an_encoder_of_words_that_is_gone_leaves_the_words_as_they_are_written(tmp_path, capsys):
    place = tmp_path / "place"
    copy_shipped(MODEL, place)
    change, given = IndexChange([write(tmp_path)]), IndexSettings(hybrid=True)
    build_index(tmp_path / "kb", change, "multi12-ngram", given, word_model=place)
    assert shares(tmp_path / "kb")[0] > 0.3
    shutil.rmtree(place)
    assert shares(tmp_path / "kb").tolist() == [0] * 3
    assert "--word-model" in capsys.readouterr().err
    with pytest.raises(EncoderError, match="--word-model"):
        build_index(tmp_path / "kb", IndexChange([], ["0"]), "multi12-ngram")
    build_index(tmp_path / "kb", IndexChange([], ["0"]), "multi12-ngram", word_model="none")
    assert not Index(tmp_path / "kb").has_related_words


@pytest.mark.parametrize("name", ["words.mean", "words.axes", "words.scales"])
def test_broken_vectors_of_words_are_refused(kb, tmp_path, name):
    sections = {key: np.array(array) for key, array in read_sections(kb / FILE).items()}
    sections[name] = np.full_like(sections[name], np.nan)
    (tmp_path / "kb").mkdir()
    write_sections(tmp_path / "kb" / FILE, sections)
    with pytest.raises(DataError):
        Index(tmp_path / "kb")
    del sections[name]
    write_sections(tmp_path / "kb" / FILE, sections)
    with pytest.raises(DataError):
        Index(tmp_path / "kb")
