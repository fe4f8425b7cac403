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
SCRIPTS = {
    "en": "LATIN",
    "de": "LATIN",
    "es": "LATIN",
    "ru": "CYRILLIC",
    "ar": "ARABIC",
    "th": "THAI",
    "zh": "CJK",
    "hi": "DEVANAGARI",
    "el": "GREEK",
    "vi": "LATIN",
}


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


def test_languages_are_sorted():
    assert small(("ru", "en", "de")).languages == ("de", "en", "ru")


def test_passage_texts_keep_the_order_of_the_passages():
    assert small().passage_texts == ["Bread.", "Flour.", "Tea."]


def test_a_document_is_its_passages_joined_by_a_space():
    assert small().document_texts == ["Bread. Flour.", "Tea."]


def test_the_document_of_each_passage():
    got = small().document_of
    assert got.dtype == np.int64
    assert got.tolist() == [0, 0, 1]


def test_select_follows_the_order_of_the_split():
    data = small(splits={"train": ("c", "a"), "dev": ("b",)})
    assert [(q.id, q.language) for q in data.select("de", "train")] == [("c", "de"), ("a", "de")]


def test_select_leaves_out_what_the_language_lacks():
    data = small(splits={"train": ("a", "b"), "dev": ("c",)})
    del data.questions["de"]["a"]
    assert [q.id for q in data.select("de", "train")] == ["b"]
    assert [q.id for q in data.select("en", "train")] == ["a", "b"]


def test_require_accepts_languages_that_are_there():
    assert small().require(["de", "en"]) is None


def test_require_names_what_is_missing_and_what_is_there():
    with pytest.raises(DataError, match=r" ru, hi: .* small "):
        small().require(["en", "ru", "hi"])


# what is refused


def test_check_returns_a_sound_data_set():
    data = small()
    assert checked(data) is data


def test_a_language_with_no_questions_is_refused():
    data = small()
    data.questions["ru"] = {}
    with pytest.raises(DataError, match=r"^small: .*\bru\b"):
        checked(data)


@pytest.mark.parametrize("split", SPLITS)
def test_an_empty_split_is_refused(split):
    data = small()
    data.splits[split] = ()
    with pytest.raises(DataError, match=rf"^small: .*\b{split}\b.*;"):
        checked(data)


@pytest.mark.parametrize(("split", "id"), [("train", "a"), ("dev", "b"), ("test", "c")])
def test_a_split_that_is_empty_in_one_language_is_refused(split, id):
    data = small()
    del data.questions["de"][id]
    with pytest.raises(DataError, match=rf"^small: .*\b{split}\b.*\bde$"):
        checked(data)


def test_a_data_set_without_a_test_split_is_sound():
    assert checked(small(splits={"train": ("a",), "dev": ("b",)})).splits.keys() == {"train", "dev"}


# loading


def test_no_such_folder(tmp_path):
    with pytest.raises(DataError, match="/nowhere; .*'sample'"):
        load_dataset(tmp_path / "nowhere")


def test_a_file_is_no_data_set_folder(tmp_path):
    (tmp_path / "en.json").write_text("{}")
    with pytest.raises(DataError, match=r"/en\.json"):
        load_dataset(tmp_path / "en.json")


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
    documents = [
        {"id": "d0", "title": "First", "passages": parts[:4]},
        {"id": "d1", "title": "Second", "passages": parts[4:]},
    ]
    write_jsonl(lines / "documents.jsonl", documents)
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


@pytest.mark.parametrize("form", [0, 1], ids=["squad", "jsonl"])
def test_a_question_leads_to_its_passage(both_forms, form):
    data = load_dataset(str(both_forms[form]))
    question = data.questions["de"]["q5"]
    assert question == Question("q5", "de", "de question 5?", 5)
    assert data.passages[question.passage].text == "Passage 5."


def test_a_loaded_data_set_is_split_seven_one_two(both_forms):
    splits = load_dataset(both_forms[0]).splits
    assert {split: len(ids) for split, ids in splits.items()} == {"train": 7, "dev": 1, "test": 2}


def test_the_seed_decides_the_split(both_forms):
    first, again, other = (load_dataset(both_forms[0], seed=seed).splits for seed in (1, 1, 2))
    assert first == again
    assert first != other


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
    assert sample.name == "sample"
    assert sample.document_language == "en"
    assert set(sample.splits) == set(SPLITS)


def test_the_sample_has_forty_articles_of_two_to_four_passages(documents):
    assert len(documents) >= 40
    assert {len(row["passages"]) for row in documents} <= {2, 3, 4}


def test_no_passage_of_the_sample_occurs_twice(documents):
    texts = [passage["text"] for row in documents for passage in row["passages"]]
    assert len(set(texts)) == len(texts)


def test_the_sample_has_all_ten_languages(sample):
    assert set(sample.languages) == set(SCRIPTS)


@pytest.mark.parametrize("language", SCRIPTS)
def test_the_sample_has_the_same_160_questions_in_each_language(questions, language):
    ids = {row["id"] for row in questions if row["language"] == language}
    assert len(ids) >= 160
    assert ids == {row["id"] for row in questions}


def test_every_answer_of_the_sample_is_in_its_passage(documents, questions):
    passages = {passage["id"]: passage["text"] for row in documents for passage in row["passages"]}
    assert all(row["answer"].strip() for row in questions)
    assert [row["id"] for row in questions if row["answer"] not in passages[row["passage"]]] == []


def test_the_questions_of_each_article_use_two_passages_or_more(documents, questions):
    passages = {row["passage"] for row in questions}
    few = [row["id"] for row in documents if sum(passage["id"] in passages for passage in row["passages"]) < 2]
    assert few == []


@pytest.mark.parametrize("language", SCRIPTS)
def test_no_question_of_the_sample_occurs_twice_in_a_language(questions, language):
    assert [text for text, times in Counter(texts_of(questions, language)).items() if times > 1] == []


@pytest.mark.parametrize("language", SCRIPTS)
def test_the_sample_is_in_the_right_script(questions, language):
    # Names such as DNA or Rover stay Latin in every language, hence most of the letters and not all.
    wrong = [text for text in texts_of(questions, language) if share(text, SCRIPTS[language]) < 0.75]
    assert wrong == []


def share(text, script):
    """How many of the letters of `text` belong to `script`, by their Unicode names."""
    letters = [unicodedata.name(sign).split()[0] for sign in text if sign.isalpha()]
    return letters.count(script) / len(letters)


@pytest.mark.parametrize("language", [language for language in SCRIPTS if language != "en"])
def test_no_question_of_the_sample_was_left_in_english(questions, language):
    english = set(texts_of(questions, "en"))
    assert english.isdisjoint(texts_of(questions, language))


def test_every_spanish_question_opens_with_an_inverted_mark(questions):
    assert [text for text in texts_of(questions, "es") if "¿" not in text] == []


def test_every_vietnamese_question_carries_tone_marks(questions):
    assert [text for text in texts_of(questions, "vi") if text.isascii()] == []


def test_the_sample_teaches_and_measures_every_language(sample):
    ids = {split: set(sample.splits[split]) for split in SPLITS}
    assert sum(map(len, ids.values())) == len(set.union(*ids.values())) == len(sample.questions["en"])
    for language in SCRIPTS:
        assert [len(sample.select(language, split)) for split in SPLITS] == [len(ids[split]) for split in SPLITS]
