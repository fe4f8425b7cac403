import numpy as np
import pytest

from distill.data.pairs import Bitext
from distill.errors import EncoderError
from distill.evaluation.tasks.bitext import BitextTask, accuracies, retrieve
from distill.evaluation.tasks.task import TaskOptions
from distill.settings.sections import DataSettings

LINES = {"en": ["one", "two", "three"], "de": ["eins", "zwei", "drei"], "th": ["หนึ่ง", "สอง", "สาม"]}
BITEXT = Bitext("lines", "en", LINES)


class Given:
    """Vectors by text."""

    name = "given"

    def __init__(self, vectors):
        self.vectors = vectors

    def encode(self, texts, role="question", progress=None):
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


def test_translations_are_looked_for_in_both_directions():
    # en on the axes; eins is right, zwei nearer to three than to two, drei right: two of three found.
    # From English: one and three find theirs; two scores .2 with zwei and 0 with others.
    vectors = {"one": [1, 0, 0], "two": [0, 1, 0], "three": [0, 0, 1]}
    vectors |= {"eins": [1, 0, 0], "zwei": [0, 0.2, 0.9], "drei": [0, 0, 1]}
    # A tie counts against: หนึ่ง is as near to one as to two, and so is สอง.
    vectors |= {"หนึ่ง": [0.5, 0.5, 0], "สอง": [0.5, 0.5, 0], "สาม": [0, 0, 1]}
    ranks = retrieve(Given(vectors), BITEXT)
    assert {language: places.tolist() for language, places in ranks.to.items()} == {"de": [1, 2, 1], "th": [2, 2, 1]}
    assert {language: places.tolist() for language, places in ranks.back.items()} == {"de": [1, 1, 1], "th": [2, 2, 1]}
    assert accuracies(ranks) == {
        "de": {"to": pytest.approx(2 / 3), "from": 1},
        "th": {"to": pytest.approx(1 / 3), "from": pytest.approx(1 / 3)},
    }


def test_vectors_that_are_no_numbers_are_refused():
    vectors = {word: [np.inf if word == "zwei" else 1.0] for lines in BITEXT.sentences.values() for word in lines}
    with pytest.raises(EncoderError, match="^given: 1 .*3 .* 1;"):
        retrieve(Given(vectors), BITEXT)


def test_a_copy_of_the_translation_is_right_and_how_many_there_are_is_said_once(tmp_path, capsys):
    vectors = {"one": [1, 0], "two": [0, 1], "eins": [0.8, 0.6], "zwei": [0.6, 0.8]}
    once, twice = (
        Bitext("lines", "en", {"en": ["one", "two"] * times, "de": ["eins", "zwei"] * times}) for times in (1, 2)
    )
    for bitext in (once, twice):
        ranks = retrieve(Given(vectors), bitext)
        assert {*ranks.to["de"].tolist(), *ranks.back["de"].tolist()} == {1}
    # Both copies of a wrong one still count: eins is nearer to two.
    vectors["eins"] = [0.6, 0.8]
    assert retrieve(Given(vectors), twice).to["de"].tolist() == [3, 1, 3, 1]
    path = tmp_path / "b.tsv"
    path.write_text("en\tde\n" + "one\teins\ntwo\tzwei\n" * 2, encoding="utf-8")
    BitextTask.load(str(path), TaskOptions(DataSettings()))
    assert capsys.readouterr().err.split().count("2") == 2


def test_of_lines_that_are_all_the_same_none_is_found_and_it_is_said(tmp_path, capsys):
    path = tmp_path / "b.tsv"
    path.write_text("en\tde\n" + "one\teins\nOne\teins\n" * 2, encoding="utf-8")
    task = BitextTask.load(str(path), TaskOptions(DataSettings()))
    # All are the same in German, and two are copies in English.
    assert {"de;", "2"} <= {*capsys.readouterr().err.split()}
    ranks = retrieve(Given({"one": [1], "One": [1], "eins": [1]}), task.bitext)
    # Of the English lines each has one copy.
    assert (ranks.back["de"].tolist(), ranks.to["de"].tolist()) == ([4] * 4, [3] * 4)
