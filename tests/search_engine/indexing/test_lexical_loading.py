"""The encoder of an index's words: named, kept, gone, changed."""

import json
import shutil

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
from distill.system.sections import read_sections, write_sections

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
