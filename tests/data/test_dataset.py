"""The data set itself, what it refuses, and the sample that ships."""

import json
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import distill
from distill.data.dataset import Dataset, Passage, Question, checked
from distill.data.loading import load_dataset
from distill.errors import DataError
from distill.settings.choices import SPLITS

SAMPLE = Path(distill.__file__).parent / "data" / "sample"
SCRIPTS = dict.fromkeys(("en", "de", "es", "vi"), "LATIN")
SCRIPTS |= {"ru": "CYRILLIC", "ar": "ARABIC", "th": "THAI", "zh": "CJK", "hi": "DEVANAGARI", "el": "GREEK"}


def small(languages=("en", "de"), splits=None):
    """Two documents of two and one passages; questions a, b, c, one a passage, in each language."""
    passages = (Passage("0-0", "Bread.", 0), Passage("0-1", "Flour.", 0), Passage("1-0", "Tea.", 1))
    questions = {
        language: {id: Question(id, language, f"{id} {language}?", i) for i, id in enumerate("abc")}
        for language in languages
    }
    splits = splits or {"train": ("a",), "dev": ("b",), "test": ("c",)}
    return Dataset("small", "en", ("Baking", "Drinks"), passages, questions, splits)


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_squad(path, articles):
    data = [
        {
            "title": title,
            "paragraphs": [
                {"context": text, "qas": [{"id": id, "question": question} for id, question in qas.items()]}
                for text, qas in paragraphs
            ],
        }
        for title, paragraphs in articles
    ]
    path.write_text(json.dumps({"version": "1.1", "data": data}), encoding="utf-8")


# the data set


def test_languages_are_sorted_and_documents_joined_of_their_passages():
    data = small(("ru", "en", "de"))
    assert data.languages == ("de", "en", "ru")
    assert data.passage_texts == ["Bread.", "Flour.", "Tea."]
    assert data.document_texts == ["Bread. Flour.", "Tea."]
    assert data.document_of.dtype == np.int64 and data.document_of.tolist() == [0, 0, 1]


def test_select_follows_the_order_of_the_split_and_leaves_out_what_the_language_lacks():
    data = small(splits={"train": ("c", "a"), "dev": ("b",)})
    assert [(q.id, q.language) for q in data.select("de", "train")] == [("c", "de"), ("a", "de")]
    del data.questions["de"]["a"]
    assert [q.id for q in data.select("de", "train")] == ["c"]
    assert [q.id for q in data.select("en", "train")] == ["c", "a"]


def test_require_names_what_is_missing_and_where():
    small().require(["de", "en"])
    with pytest.raises(DataError, match=r" ru, hi: .* small "):
        small().require(["en", "ru", "hi"])


# what is refused


def test_a_sound_data_set_is_returned_with_or_without_a_test_split():
    for data in (small(), small(splits={"train": ("a",), "dev": ("b",)})):
        assert checked(data) is data


@pytest.mark.parametrize(("split", "id"), [("train", "a"), ("dev", "b"), ("test", "c")])
def test_a_split_that_is_empty_is_refused_even_in_one_language(split, id):
    data = small()
    del data.questions["de"][id]
    with pytest.raises(DataError, match=rf"^small: .*\b{split}\b.*\bde$"):
        checked(data)
    data.splits[split] = ()
    with pytest.raises(DataError, match=rf"^small: .*\b{split}\b.*;"):
        checked(data)


def test_a_language_with_no_questions_is_refused():
    data = small()
    data.questions["ru"] = {}
    with pytest.raises(DataError, match=r"^small: .*\bru\b"):
        checked(data)


# loading


def test_what_is_no_folder_is_named(tmp_path):
    (tmp_path / "en.json").write_text("{}")
    for name, place in (("nowhere", "/nowhere; .*'sample'"), ("en.json", r"/en\.json")):
        with pytest.raises(DataError, match=place):
            load_dataset(tmp_path / name)


@pytest.fixture
def both_forms(tmp_path):
    """The same ten questions in two languages as a SQuAD folder and as a JSON Lines folder."""
    squad, lines = tmp_path / "squad" / "data", tmp_path / "lines" / "data"
    squad.mkdir(parents=True)
    lines.mkdir(parents=True)
    for language in ("en", "de"):
        paragraphs = [(f"Passage {i}.", {f"q{i}": f"{language} question {i}?"}) for i in range(10)]
        write_squad(squad / f"{language}.json", [("First", paragraphs[:4]), ("Second", paragraphs[4:])])
    parts = [{"id": f"p{i}", "text": f"Passage {i}."} for i in range(10)]
    documents = [("First", parts[:4]), ("Second", parts[4:])]
    rows = [{"id": title, "title": title, "passages": passages} for title, passages in documents]
    write_jsonl(lines / "documents.jsonl", rows)
    rows = [
        {"id": f"q{i}", "language": language, "text": f"{language} question {i}?", "passage": f"p{i}"}
        for language in ("en", "de")
        for i in range(10)
    ]
    write_jsonl(lines / "questions.jsonl", rows)
    return squad, lines


def test_both_forms_of_the_same_data_are_one_data_set(both_forms):
    squad, lines = (load_dataset(folder, seed=3) for folder in both_forms)
    assert squad.titles == lines.titles == ("First", "Second")
    assert squad.passage_texts == lines.passage_texts == [f"Passage {i}." for i in range(10)]
    assert squad.document_of.tolist() == lines.document_of.tolist() == [0] * 4 + [1] * 6
    assert squad.questions == lines.questions
    assert squad.splits == lines.splits
    assert squad.name == lines.name == "data"
    assert squad.questions["de"]["q5"] == Question("q5", "de", "de question 5?", 5)
    assert [len(squad.splits[split]) for split in SPLITS] == [7, 1, 2]
    assert load_dataset(both_forms[0], seed=2).splits != squad.splits


def test_splits_json_decides_in_either_form(both_forms):
    stored = {"train": ["q9", "q0"], "dev": ["q4"], "test": ["q7"]}
    for folder in both_forms:
        (folder / "splits.json").write_text(json.dumps(stored))
        splits = load_dataset(folder, seed=1).splits
        assert splits == {"train": ("q9", "q0"), "dev": ("q4",), "test": ("q7",)}


def test_loading_refuses_a_language_file_with_no_questions(both_forms):
    write_squad(both_forms[0] / "ru.json", [("First", [("Passage 0.", {})])])
    with pytest.raises(DataError, match=r"^data: .*\bru\b"):
        load_dataset(both_forms[0])


# the sample


@pytest.fixture(scope="module")
def documents():
    return _rows("documents.jsonl")


@pytest.fixture(scope="module")
def questions():
    return _rows("questions.jsonl")


def _rows(name):
    return [json.loads(line) for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines()]


def texts_of(questions, language):
    return [row["text"] for row in questions if row["language"] == language]


def test_the_sample_loads_by_name(sample):
    assert (sample.name, sample.document_language) == ("sample", "en")
    assert set(sample.splits) == set(SPLITS) and set(sample.languages) == set(SCRIPTS)


def test_the_sample_has_forty_articles_of_two_to_four_passages(documents):
    assert len(documents) >= 40
    assert {len(row["passages"]) for row in documents} <= {2, 3, 4}
    texts = [passage["text"] for row in documents for passage in row["passages"]]
    assert len(set(texts)) == len(texts)


def test_answers_of_the_sample_are_in_their_passages_two_of_an_article_or_more(documents, questions):
    passages = {passage["id"]: passage["text"] for row in documents for passage in row["passages"]}
    assert all(row["answer"].strip() for row in questions)
    assert [row["id"] for row in questions if row["answer"] not in passages[row["passage"]]] == []
    used = {row["passage"] for row in questions}
    assert [row["id"] for row in documents if sum(part["id"] in used for part in row["passages"]) < 2] == []


@pytest.mark.parametrize("language", SCRIPTS)
def test_the_sample_has_the_same_160_questions_in_each_language_and_its_script(questions, language):
    ids = {row["id"] for row in questions if row["language"] == language}
    assert len(ids) >= 160 and ids == {row["id"] for row in questions}
    texts = texts_of(questions, language)
    assert [text for text, times in Counter(texts).items() if times > 1] == []
    assert language == "en" or set(texts_of(questions, "en")).isdisjoint(texts)
    # Names such as DNA or Rover stay Latin in every language, hence most of the letters and not all.
    assert [text for text in texts if share(text, SCRIPTS[language]) < 0.75] == []


def share(text, script):
    """How many of the letters of `text` belong to `script`, by their Unicode names."""
    letters = [unicodedata.name(sign).split()[0] for sign in text if sign.isalpha()]
    return letters.count(script) / len(letters)


def test_spanish_questions_open_with_an_inverted_mark_and_vietnamese_ones_carry_tone_marks(questions):
    assert [text for text in texts_of(questions, "es") if "¿" not in text] == []
    assert [text for text in texts_of(questions, "vi") if text.isascii()] == []


def test_the_sample_teaches_and_measures_every_language(sample):
    ids = {split: set(sample.splits[split]) for split in SPLITS}
    assert sum(map(len, ids.values())) == len(set.union(*ids.values())) == len(sample.questions["en"])
    for language in SCRIPTS:
        assert [len(sample.select(language, split)) for split in SPLITS] == [len(ids[split]) for split in SPLITS]
