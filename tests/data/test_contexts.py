"""Descriptions of passages: what a student learns beside the train questions."""

import json
from dataclasses import replace

import pytest
from fixtures.data import write_lines

from distill.data.contexts import add_descriptions, add_titles, find_own_text
from distill.data.dataset import Dataset, Passage, Question
from distill.data.loading import load_dataset
from distill.errors import DataError

IDS = [f"d{number}" for number in range(6)]


@pytest.fixture
def folder(tmp_path):
    """Six documents of a passage, a question each in English and German."""
    documents = [{"id": id, "passages": [f"Text of {id}."]} for id in IDS]
    questions = [
        {"id": f"q-{id}", "language": language, "text": f"{language}: {id}?", "passage": f"{id}/0"}
        for id in IDS
        for language in ("en", "de")
    ]
    splits = {"train": ["q-d0", "q-d1", "q-d2"], "dev": ["q-d3"], "test": ["q-d4", "q-d5"]}
    (tmp_path / "splits.json").write_text(json.dumps(splits), encoding="utf-8")
    return write_lines(tmp_path, documents, questions)


def write(folder, *rows):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "descriptions.jsonl").write_text(text, encoding="utf-8")


def test_descriptions_join_the_train_questions_with_their_passage_in_languages_with_questions(folder):
    # One of a passage with a train question, one of a passage that only test asks about; nobody asks in French.
    write(
        folder, {"passage": "d0/0", "en": "About 0", "fr": "De 0"}, {"passage": "d5/0", "en": "About 5", "de": "Zu 5"}
    )
    dataset = load_dataset(folder)
    learned = add_descriptions(dataset, folder)
    assert learned.languages == ("de", "en")
    texts = {
        language: [(learned.passages[question.passage].id, question.text) for question in questions]
        for language in ("en", "de")
        for questions in [learned.select(language, "train")]
    }
    asked_about = {language: [(f"{id}/0", f"{language}: {id}?") for id in IDS[:3]] for language in ("en", "de")}
    assert texts == {
        "en": [*asked_about["en"], ("d0/0", "About 0"), ("d5/0", "About 5")],
        "de": [*asked_about["de"], ("d5/0", "Zu 5")],
    }
    for split in ("dev", "test"):
        assert learned.select("en", split) == dataset.select("en", split)
    assert find_own_text(folder) == [folder / "descriptions.jsonl"]


def test_several_lines_about_a_passage_are_all_learned_and_the_texts_of_one_are_translations(folder):
    """The last one of a language had taken the place of the others."""
    rows = [{"en": "About 0"}, {"en": "More on 0", "de": "Mehr zu 0"}, {"de": "Noch mehr"}]
    write(folder, *({"passage": "d0/0", **row} for row in rows), *({"passage": "d1/0", **row} for row in rows[:2]))
    learned = add_descriptions(load_dataset(folder), folder)
    english, german = (learned.select(language, "train")[3:] for language in ("en", "de"))
    assert [(one.text, one.passage) for one in english] == [
        (text, row) for row in (0, 1) for text in ("About 0", "More on 0")
    ]
    assert [one.text for one in german] == ["Mehr zu 0", "Noch mehr", "Mehr zu 0"]
    assert german[0].id == english[1].id and german[1].id not in {one.id for one in english}


def test_a_description_names_its_passage_by_a_whole_number_too(folder):
    write_lines(
        folder,
        [{"id": 1, "passages": [{"id": 5, "text": "Text."}]}],
        [{"id": id, "language": "en", "text": "?", "passage": 5} for id in ("q-d0", "q-d3", "q-d4")],
    )
    write(folder, {"passage": 5, "en": "About it"})
    train = add_descriptions(load_dataset(folder), folder).select("en", "train")
    assert [(one.text, one.passage) for one in train] == [("?", 0), ("About it", 0)]


def test_without_descriptions_it_is_the_data_set(folder):
    dataset = load_dataset(folder)
    assert add_descriptions(dataset, folder) is dataset and find_own_text(folder) == []


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ({"passage": "d9/0", "en": "About 9"}, "'passage'.*'d9/0'"),
        ({"en": "About 0"}, "'passage'.*None"),
        ({"passage": "d0/0", "de": " "}, "'de'"),
        ({"passage": "d0/0", "de": 3}, "'de'.*3"),
    ],
)
def test_a_line_that_describes_no_passage_is_refused_with_its_place(folder, row, place):
    write(folder, {"passage": "d0/0", "en": "About 0"}, row)
    with pytest.raises(DataError, match=f"descriptions.jsonl, line 2: .*{place}"):
        add_descriptions(load_dataset(folder), folder)


def test_a_title_asks_for_the_first_passage_in_the_language_of_the_documents():
    passages = [
        Passage("a/0", "One.", 0),
        Passage("a/1", "Two.", 0),
        Passage("b/0", "Three.", 1),
        Passage("c/0", "4", 2),
    ]
    questions = {name: {"q": Question("q", name, "Who?", 1)} for name in ("de", "en")}
    dataset = Dataset("x", "en", ("Ada", " ", "Nile"), tuple(passages), questions, {"train": ("q",), "dev": ()})
    learned = [(question.text, question.passage) for question in add_titles(dataset).select("en", "train")]
    # The second document has none.
    assert learned == [("Who?", 1), ("Ada", 0), ("Nile", 3)]
    assert [question.text for question in add_titles(dataset).select("de", "train")] == ["Who?"]
    foreign = replace(dataset, document_language="fr")
    assert add_titles(foreign) is foreign


def test_nobody_asks_by_the_id_of_a_document_without_a_title(folder):
    dataset = load_dataset(folder)
    assert dataset.titles == tuple(IDS) and add_titles(dataset) is dataset
