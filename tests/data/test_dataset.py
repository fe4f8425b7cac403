"""The data set itself, and what it refuses."""

import json

import numpy as np
import pytest
from fixtures.data import squad, write_lines, write_squad

from distill.data.dataset import Dataset, Passage, Question, require_trainable_data
from distill.data.loading import choose_data, load_dataset
from distill.errors import DataError
from distill.settings.choices import SPLITS
from distill.settings.sections import DataSettings


def small(languages=("en", "de"), splits=None):
    """Two documents of two and one passages; questions a, b, c, one a passage, in each language."""
    passages = (Passage("0-0", "Bread.", 0), Passage("0-1", "Flour.", 0), Passage("1-0", "Tea.", 1))
    questions = {
        language: {id: Question(id, language, f"{id} {language}?", i) for i, id in enumerate("abc")}
        for language in languages
    }
    splits = splits or {"train": ("a",), "dev": ("b",), "test": ("c",)}
    return Dataset("small", "en", ("Baking", "Drinks"), passages, questions, splits)


# the data set


def test_languages_are_sorted_and_required_and_documents_joined_of_their_passages():
    data = small(("ru", "en", "de"))
    assert data.languages == ("de", "en", "ru")
    assert data.passage_texts == ["Bread.", "Flour.", "Tea."]
    assert data.document_texts == ["Bread. Flour.", "Tea."]
    assert data.document_of.dtype == np.int64 and data.document_of.tolist() == [0, 0, 1]
    small().require(["de", "en"])
    with pytest.raises(DataError, match=r" ru, hi: .* small "):
        small().require(["en", "ru", "hi"])


def test_select_follows_the_order_of_the_split_and_leaves_out_what_the_language_lacks():
    data = small(splits={"train": ("c", "a"), "dev": ("b",)})
    assert [(q.id, q.language) for q in data.select("de", "train")] == [("c", "de"), ("a", "de")]
    del data.questions["de"]["a"]
    assert [q.id for q in data.select("de", "train")] == ["c"]
    assert [q.id for q in data.select("en", "train")] == ["c", "a"]
    for language, split in (("fr", "train"), ("en", "other")):
        with pytest.raises(DataError):
            data.select(language, split)


# what is refused


def test_a_sound_data_set_is_returned_and_one_with_a_language_of_no_questions_refused():
    for data in (small(), small(splits={"train": ("a",), "dev": ("b",)})):
        assert require_trainable_data(data) is data
    data = small()
    data.questions["ru"] = {}
    with pytest.raises(DataError, match=r"^small: .*\bru\b"):
        require_trainable_data(data)


@pytest.mark.parametrize(("split", "id"), [("train", "a"), ("dev", "b"), ("test", "c")])
def test_a_split_that_is_empty_is_refused_even_in_one_language(split, id):
    data = small()
    del data.questions["de"][id]
    with pytest.raises(DataError, match=rf"^small: .*\b{split}\b.*\bde;"):
        require_trainable_data(data)
    # A language that is left out may lack them, and translations may give those of one that is not there.
    assert require_trainable_data(data, languages=("en", "fr")) is data
    data.splits[split] = ()
    with pytest.raises(DataError, match=rf"^small: .*\b{split}\b.*;"):
        require_trainable_data(data)


# loading


@pytest.fixture
def both_forms(tmp_path):
    """The same ten questions in two languages as a SQuAD folder and as a JSON Lines folder."""
    folders = tmp_path / "squad" / "data", tmp_path / "lines" / "data"
    for folder in folders:
        folder.mkdir(parents=True)
    texts = {language: [f"{language} question {i}?" for i in range(10)] for language in ("en", "de")}
    for language, of in texts.items():
        paragraphs = [(f"Passage {i}.", {f"q{i}": of[i]}) for i in range(10)]
        write_squad(folders[0], **{language: squad([("First", paragraphs[:4]), ("Second", paragraphs[4:])])})
    parts = [{"id": f"p{i}", "text": f"Passage {i}."} for i in range(10)]
    documents = [{"id": "First", "passages": parts[:4]}, {"id": "x", "title": "Second", "passages": parts[4:]}]
    rows = [
        {"id": f"q{i}", "language": language, "text": text, "passage": f"p{i}"}
        for language, of in texts.items()
        for i, text in enumerate(of)
    ]
    write_lines(folders[1], documents, rows)
    return folders


def test_a_language_that_is_named_twice_counts_once(both_forms):
    """Its questions were learned, and its tokens counted, as often as it was named."""
    settings = DataSettings(str(both_forms[0]), languages=("de", "en", "de"))
    assert choose_data(settings, seed=0)[1] == ("de", "en")


def test_both_forms_of_the_same_data_are_one_data_set_and_splits_json_decides_in_either(both_forms):
    one, other = (load_dataset(folder, seed=3) for folder in both_forms)
    assert one.titles == other.titles == ("First", "Second")
    assert one.passage_texts == other.passage_texts == [f"Passage {i}." for i in range(10)]
    assert one.document_of.tolist() == other.document_of.tolist() == [0] * 4 + [1] * 6
    assert (one.questions, one.splits) == (other.questions, other.splits)
    assert one.name == other.name == "data"
    assert one.questions["de"]["q5"] == Question("q5", "de", "de question 5?", 5)
    assert [len(one.splits[split]) for split in SPLITS] == [7, 1, 2]
    assert load_dataset(both_forms[0], seed=2).splits != one.splits
    stored = {"train": ["q9", "q0"], "dev": ["q4"], "test": ["q7"]}
    for folder in both_forms:
        (folder / "splits.json").write_text(json.dumps(stored))
        splits = load_dataset(folder, seed=1).splits
        assert splits == {"train": ("q9", "q0"), "dev": ("q4",), "test": ("q7",)}
