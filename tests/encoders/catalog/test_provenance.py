"""What a run learned from, chose by and saw of test, in words that follow from its settings and data."""

import hashlib
import json

import pytest

from distill.data.contexts import add_descriptions
from distill.data.dataset import Dataset, Passage, Question
from distill.data.parallel import Parallel
from distill.encoders.catalog.provenance import Sources, describe_learned, hash_run_files, read_learned
from distill.encoders.catalog.setting_files import named_paths
from distill.settings.sections import Settings
from distill.settings.store import change_settings, recipe_settings

ANSWERED = {"train": (0,), "dev": (1,), "test": (2, 3)}
EVERY = ["the train questions of toys in en, de", "the teacher's epoch and the student's epoch", "no question"]


@pytest.fixture
def toys():
    """Two documents of two passages each, a question about each passage in two languages."""
    passages = tuple(Passage(f"p{number}", f"Text {number}.", number // 2) for number in range(4))
    questions = {
        language: {str(row): Question(str(row), language, f"{language} {row}?", row) for row in range(4)}
        for language in ("en", "de")
    }
    splits = {split: tuple(map(str, rows)) for split, rows in ANSWERED.items()}
    return Dataset("toys", "en", ("A", "B"), passages, questions, splits, {"questions.jsonl": "a" * 64})


def told(settings, sources):
    return describe_learned(sources, settings.teacher, settings.student, settings.evaluation.dev_dataset)


def words(settings, toys, *more, **others):
    said = told(settings, Sources(toys, ("en", "de"), named_paths(settings), *more, **others)).as_dict()
    return [said["learned_from"], said["chosen_by"].removeprefix("dev chose "), said.get("seen_of_test", "")]


def test_the_words_are_of_the_stages_that_have_epochs(toys):
    settings = Settings()
    assert words(settings, toys) == EVERY
    assert words(change_settings(settings, {"teacher.model": "e5"}), toys)[1] == "the student's epoch"
    untaught = change_settings(settings, {"teacher.bm25_epochs": 0, "teacher.online_epochs": 0})
    assert words(untaught, toys)[1] == "the student's epoch"
    assert words(change_settings(untaught, {"student.averaged_epochs": 2}), toys)[1] == "nothing chose an epoch"
    assert words(change_settings(untaught, {"student.epochs": 0}), toys) == [
        "nothing",
        "nothing chose an epoch",
        "no question",
    ]
    other = told(change_settings(settings, {"evaluation.dev_dataset": "path/mlqa"}), Sources(toys, ("en",)))
    assert other.chosen_by.startswith("dev of mlqa chose ")
    del toys.splits["test"]
    assert words(settings, toys)[2] == ""


@pytest.mark.parametrize(("passages", "share"), [([2], "1 of the 2"), ([0, 1, 2, 3], "all 2"), ([0, 1], "")])
def test_descriptions_are_counted_and_those_of_what_test_asks_about_told(toys, tmp_path, passages, share):
    rows = [{"passage": f"p{row}", "de": "worum es geht"} for row in passages]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "descriptions.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "parallel.tsv").write_text("en\tde\none\teins\n", encoding="utf-8")
    described, settings = add_descriptions(toys, tmp_path), recipe_settings("default")
    settings.data.dataset = str(tmp_path)
    learned, _, seen = words(settings, toys, described=described)
    assert f"descriptions of {len(passages)} of its 4 passages" in learned and learned.endswith(", parallel.tsv")
    assert seen == "no question" + f"; described in training: {share} passages that answer its questions" * bool(share)
    # Both are files that it learned from, with what is in them.
    files, _ = hash_run_files(toys, named_paths(settings))
    assert sorted(files) == ["descriptions.jsonl", "parallel.tsv", "questions.jsonl"]
    assert files["descriptions.jsonl"] == hashlib.sha256(text.encode()).hexdigest()
    # The teacher reads no parallel text.
    for teacher, expected in ((True, ["questions.jsonl", "descriptions.jsonl"]), (False, ["questions.jsonl"])):
        changed = change_settings(settings, {"student.own_text": False, "teacher.own_text": teacher})
        assert list(hash_run_files(toys, named_paths(changed))[0]) == expected


def test_questions_of_test_that_stand_in_other_text_and_passages_of_both_splits_are_told(toys):
    lines = [Parallel("web", 1.0, ("de 3?", "anderes"), ("de", "de"), ("en", "other"))]
    assert words(Settings(), toys, lines)[2] == "1 of its 4 questions stand in the text beside them"
    toys.splits["train"] = ("0", "2")
    toys.splits["test"] = ("3",)
    toys.questions["en"]["3"] = Question("3", "en", "en 3?", 2)
    seen = words(Settings(), toys)[2]
    assert seen == "no question; asked about in train too: 1 of the 2 passages that answer its questions"


def test_text_of_other_places_is_named_with_its_folder_and_its_sha256(toys, tmp_path):
    folder = tmp_path / "web"
    (folder / "dev").mkdir(parents=True)
    for name in ("web.tsv", "pieces.txt", "dev/documents.jsonl", "dev/questions.jsonl"):
        (folder / name).write_text(name, encoding="utf-8")
    values = {"student.parallel": [f"{folder}/web.tsv=2"], "vocabulary.text": [f"el={folder}/pieces.txt"]}
    settings = change_settings(Settings(), {**values, "evaluation.dev_dataset": str(folder / "dev")})
    assert words(settings, toys)[0].endswith(", web/web.tsv")
    named = {"student.parallel": "web.tsv", "vocabulary.text": "pieces.txt"}
    expected = {
        f"{setting} {folder / name}": hashlib.sha256(name.encode()).hexdigest() for setting, name in named.items()
    }
    for name in ("documents.jsonl", "questions.jsonl"):
        content = hashlib.sha256(f"dev/{name}".encode()).hexdigest()
        expected[f"evaluation.dev_dataset {folder / 'dev' / name}"] = content
    assert hash_run_files(toys, named_paths(settings))[1] == expected


def test_a_card_hands_the_words_on():
    card = {"name": "x", "learned_from": "a", "chosen_by": "b"}
    assert read_learned(card) == {"learned_from": "a", "chosen_by": "b"} and read_learned({}) == {}
