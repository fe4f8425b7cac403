"""Seeded splits and those that `splits.json` decides."""

import json

import pytest
from fixtures.data import write_lines

from distill.data.dataset import Dataset, Passage, Question
from distill.data.loading import load_dataset
from distill.data.splits import draw_splits, find_question_copies, read_splits
from distill.errors import DataError, InputError
from distill.evaluation.tasks.retrieval import RetrievalTask
from distill.evaluation.tasks.task import TaskOptions
from distill.settings.sections import DataSettings


def dataset(questions=10, documents=None, languages=("en", "de")):
    """`questions` q000, q001, …, dealt to the documents in turn (each its own, unless said); a passage a document."""
    documents = documents or questions
    passages = tuple(Passage(f"p{i}", f"Passage {i}.", i) for i in range(documents))
    ids = [f"q{i:03d}" for i in range(questions)]
    in_language = {
        language: {id: Question(id, language, f"{language} {id}?", i % documents) for i, id in enumerate(ids)}
        for language in languages
    }
    return Dataset("made", "en", tuple(f"Title {i}" for i in range(documents)), passages, in_language)


def lengths(splits):
    return {split: len(ids) for split, ids in splits.items()}


def write_data(folder, questions, count=None):
    """The questions q0, q1, …; a document each, unless said."""
    count = count or questions
    documents = [{"id": f"d{i}", "passages": [f"Passage {i}."]} for i in range(count)]
    rows = [{"id": f"q{i}", "language": "en", "text": "?", "passage": f"d{i % count}/0"} for i in range(questions)]
    return write_lines(folder, documents, rows)


def write_splits(folder, stored):
    (folder / "splits.json").write_text(stored if isinstance(stored, str) else json.dumps(stored))
    return folder


def test_a_hundred_questions_are_shuffled_and_split_seventy_ten_twenty_those_of_one_language_too():
    splits = draw_splits(dataset(100), seed=7)
    assert lengths(splits) == {"train": 70, "dev": 10, "test": 20}
    assert set(splits["train"]) != {f"q{i:03d}" for i in range(70)}
    assert splits == draw_splits(dataset(100), seed=7) != draw_splits(dataset(100), seed=8)
    data = dataset(10)
    data.questions["de"]["extra"] = Question("extra", "de", "Noch eine?", 0)
    splits = draw_splits(data)
    assert sum("extra" in ids for ids in splits.values()) == 1


@pytest.mark.parametrize("by", ["question", "document"])
def test_every_question_is_in_one_split_whatever_the_order_of_the_files(by):
    splits = draw_splits(dataset(37, documents=11), by)
    ids = [id for split in splits.values() for id in split]
    assert sorted(ids) == [f"q{i:03d}" for i in range(37)]
    data, turned = dataset(40, documents=10), dataset(40, documents=10)
    for language, known in reversed(list(data.questions.items())):
        del turned.questions[language]
        turned.questions[language] = dict(reversed(known.items()))
    assert list(turned.questions["en"]) != list(data.questions["en"])
    assert draw_splits(turned, by, 3) == draw_splits(data, by, 3)


def test_by_document_keeps_the_questions_of_a_document_together_and_by_question_does_not():
    data = dataset(40, documents=10)
    splits = draw_splits(data, "document", seed=5)
    documents = {split: {data.questions["en"][id].passage for id in ids} for split, ids in splits.items()}
    assert lengths(documents) == {"train": 7, "dev": 1, "test": 2}
    assert lengths(splits) == {"train": 28, "dev": 4, "test": 8}
    data = dataset(40, documents=2)
    train, dev, _ = ({data.questions["en"][id].passage for id in ids} for ids in draw_splits(data).values())
    assert train & dev


def test_by_document_means_the_document_and_not_the_passage():
    passages = tuple(Passage(f"p{i}", f"Passage {i}.", i // 4) for i in range(40))
    questions = {"en": {f"q{i}": Question(f"q{i}", "en", f"{i}?", i) for i in range(40)}}
    data = Dataset("made", "en", tuple("0123456789"), passages, questions)
    splits = draw_splits(data, "document")
    assert lengths(splits) == {"train": 28, "dev": 4, "test": 8}
    for ids in splits.values():
        assert all(f"q{int(id[1:]) // 4 * 4 + k}" in ids for id in ids for k in range(4))


@pytest.mark.parametrize(("questions", "empty"), [(1, "dev"), (2, "test"), (3, "dev")])
def test_too_few_questions_for_a_seeded_split(tmp_path, questions, empty):
    # 0.7, 0.8 and 1.0 of one question end at 1, 1, 1; of two at 1, 2, 2; of three at 2, 2, 3.
    with pytest.raises(DataError, match=rf"\b{empty}\b.*;"):
        load_dataset(write_data(tmp_path, questions))


def test_too_few_documents_for_a_seeded_split_by_document(tmp_path):
    write_data(tmp_path, 20, 3)
    assert lengths(load_dataset(tmp_path).splits) == {"train": 14, "dev": 2, "test": 4}
    with pytest.raises(DataError, match=r"\bdev\b"):
        load_dataset(tmp_path, split_by="document")


def test_splits_json_keeps_the_order_of_its_ids_and_test_and_ids_that_the_data_lacks_may_be_elsewhere(tmp_path):
    write_splits(tmp_path, {"train": ["q003", "sealed"], "dev": ["q009"]})
    data = dataset()
    assert read_splits(tmp_path, data) == {"train": ("q003",), "dev": ("q009",)}
    # One language is enough.
    del data.questions["en"]["q003"]
    assert read_splits(tmp_path, data)["train"] == ("q003",)
    write_splits(tmp_path, {"train": ["q003", "q001"], "dev": ["q009"], "test": ["q000", "q004"]})
    assert read_splits(tmp_path, dataset()) == {"train": ("q003", "q001"), "dev": ("q009",), "test": ("q000", "q004")}


def test_ids_of_splits_json_may_be_whole_numbers(tmp_path):
    data = dataset(3)
    data.questions["en"] |= {"7": Question("7", "en", "?", 0), "8": Question("8", "en", "?", 0)}
    assert read_splits(write_splits(tmp_path, {"train": [8, "7"], "dev": ["q001"]}), data) == {
        "train": ("8", "7"),
        "dev": ("q001",),
    }


WHOLE = {"train": ["q001"], "dev": ["q002"], "test": ["q003"]}


@pytest.mark.parametrize(
    ("stored", "place"),
    [
        *(
            ({**WHOLE, b: [*WHOLE[a], "q7"]}, f".* {WHOLE[a][0]} .*{a} and {b}$")
            for a, b in (("train", "dev"), ("dev", "test"))
        ),
        *((value, "") for value in (["q001"], "3", {"train": "q001", "dev": ["q002"]}, {"train": {}, "dev": []})),
        *(({"train": [id], "dev": ["q002"]}, "") for id in (["q001"], {"id": "q001"})),
        ('{"train": [],\n "dev" []}', ".* 2, .* 8: "),
    ],
)
def test_splits_json_that_is_wrong_is_named_with_the_place(tmp_path, stored, place):
    write_splits(tmp_path, stored)
    with pytest.raises(DataError, match=rf"splits\.json: {place}"):
        read_splits(tmp_path, dataset())


@pytest.mark.parametrize("ids", [[], ["unknown"], None], ids=["no ids", "no known ids", "not there"])
@pytest.mark.parametrize("empty", ["train", "dev", "test"])
def test_a_data_set_without_a_split_is_measured_and_not_trained_on(tmp_path, empty, ids):
    stored = {"train": ["q0"], "dev": ["q1"], "test": ["q2"], empty: ids}
    write_splits(write_data(tmp_path, 3), {split: of for split, of in stored.items() if of is not None})
    if (empty, ids) != ("test", None):
        with pytest.raises(DataError, match=rf"\b{empty}\b.*--split all"):
            load_dataset(tmp_path)
        write_splits(tmp_path, {})
        with pytest.raises(DataError, match=r"\btrain\b.*--split all"):
            load_dataset(tmp_path)
    data = DataSettings(str(tmp_path))
    assert [len(RetrievalTask.load(str(tmp_path), TaskOptions(data, "all")).dataset.splits["all"])] == [3]
    with pytest.raises(InputError, match=rf"\b{empty}\b"):
        RetrievalTask.load(str(tmp_path), TaskOptions(data, empty))


def write_copies(folder, distinct=40):
    """Each question three times, under three ids, once with other letters and blanks."""
    documents = [{"id": f"d{i}", "passages": [f"Ship number {i} leaves pier {7 * i}."]} for i in range(distinct)]
    text = {0: "Where does ship {} leave?", 1: "where does  SHIP {} leave?", 2: "Where does ship {} leave?"}
    rows = [
        {"id": f"q{i}.{k}", "language": "en", "text": text[k].format(i), "passage": f"d{i}/0"}
        for i in range(distinct)
        for k in text
    ]
    return write_lines(folder, documents, rows)


def test_a_question_under_several_ids_is_in_the_split_of_the_first_and_what_moved_is_said(tmp_path, capsys):
    data = load_dataset(write_copies(tmp_path))
    drawn = {id: split for split, ids in draw_splits(data).items() for id in ids}
    split_of = {id: split for split, ids in data.splits.items() for id in ids}
    assert {split_of[f"q{i}.{k}"] == drawn[f"q{i}.0"] for i in range(40) for k in range(3)} == {True}
    moved = sum(drawn[id] != split for id, split in split_of.items())
    assert moved and str(moved) in capsys.readouterr().err.split()


def test_questions_that_test_asks_too_are_left_out_of_stored_train_and_dev_and_test_stays(tmp_path, capsys):
    folder = write_copies(tmp_path, 4)
    stored = {"train": ["q0.0", "q1.0", "q1.1"], "dev": ["q2.0", "q0.1"], "test": ["q0.2", "q3.0", "q3.1"]}
    data = load_dataset(write_splits(folder, stored))
    assert data.splits == {"train": ("q1.0", "q1.1"), "dev": ("q2.0",), "test": ("q0.2", "q3.0", "q3.1")}
    assert {"2", "splits.json"} <= {*capsys.readouterr().err.split()}


def test_ids_are_copies_through_any_of_their_languages_and_without_copies_nothing_is_said(tmp_path, capsys):
    data = dataset(4)
    for id, language, text in (("q001", "de", "de q000?"), ("q003", "en", "EN  q001?")):
        data.questions[language][id] = Question(id, language, text, 0)
    assert find_question_copies(data) == {"q001": "q000", "q003": "q000"}
    assert find_question_copies(dataset(4)) == {}
    folder = write_lines(
        tmp_path,
        [{"id": f"d{i}", "passages": [f"Passage {i}."]} for i in range(20)],
        [{"id": f"q{i}", "language": "en", "text": f"Which {i}?", "passage": f"d{i}/0"} for i in range(20)],
    )
    data = load_dataset(folder)
    assert data.splits == draw_splits(data) and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("texts", "said"),
    [(("A.", "B."), set()), (("A.", " A. ", "B."), {"1", "earlier"}), (("A.", " A. "), {"all", "rank"})],
)
def test_how_many_passages_are_copies_is_said_and_when_all_are(tmp_path, capsys, texts, said):
    documents = [{"id": f"d{i}", "passages": [text]} for i, text in enumerate(texts)]
    rows = [{"id": f"q{i}", "language": "en", "text": f"Which {i}?", "passage": f"d{i % 2}/0"} for i in range(20)]
    load_dataset(write_lines(tmp_path, documents, rows))
    told = {*capsys.readouterr().err.split()}
    assert said <= told and bool(said) == bool(told)
