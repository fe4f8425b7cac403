"""The commands `distill read train` and `apply`, and the task that measures a reader."""

import json
import shutil

import pytest

from distill import ReaderOptions, WriterOptions
from distill.cli import main
from distill.commands.read import read


@pytest.fixture(scope="module")
def reader(slim_folder, sentence_data, tmp_path_factory):
    """A reader of an untrained encoder, in a folder."""
    folder = tmp_path_factory.mktemp("reader") / "reader"
    data = (
        "--dataset",
        str(sentence_data),
        "--data",
        f"dev:{sentence_data}=0.5",
        "--epochs",
        "1",
        "--unanswered",
        "retrieved",
    )
    with pytest.raises(SystemExit) as left:
        main(["read", "train", "--encoder", str(slim_folder), *data, "--output", str(folder)])
    assert left.value.code == 0
    return folder


@pytest.fixture
def lines(tmp_path):
    rows = [
        {"id": "a", "question": "How old is river 1?", "passage": "River 1 is old. River 1 is 101 years old."},
        {"id": "b", "language": "de", "question": "Wie alt?", "passage": "old " * 400},
        {"id": "c", "language": None, "question": "How old?", "passage": "\u200b"},
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_answers_are_spans_of_their_passages(distill, reader, lines, tmp_path):
    left = distill("read", "apply", reader, "--input", lines, "--output", tmp_path / "answers.jsonl")
    assert left.code == 0, left.err
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    passages = [json.loads(line)["passage"] for line in lines.read_text().splitlines()]
    assert [(row["id"], row["language"]) for row in answers] == [("a", "en"), ("b", "de"), ("c", "en")]
    for row, passage in zip(answers, passages, strict=True):
        assert passage[row["start"] : row["end"]] == row["prediction"]
    assert [bool(row["prediction"]) for row in answers] == [True, True, False]


def test_an_answer_is_translated_into_its_questions_language_by_a_model_for_it(
    distill, reader, lines, tmp_path, word_translator
):
    command = ("read", "apply", reader, "--input", lines, "--output", tmp_path / "answers.jsonl")
    translator = word_translator({"old": "alt", "River": "Fluss"})
    answers = []
    for more in ((), ("--translator", f"de={translator}")):
        assert distill(*command, *more).code == 0
        answers.append([json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()])
    (first, second, third), translated = answers
    # The German question is answered in an English passage, in which the place stays.
    assert translated == [first, {**second, "prediction": second["prediction"].replace("old", "alt")}, third]
    assert second["prediction"].startswith("old")


def test_an_exported_reader_answers_as_the_reader(distill, reader, sentence_data, lines, tmp_path):
    left = distill("read", "export", reader, "--dataset", sentence_data, "--output", tmp_path / "lite")
    assert left.code == 0, left.err
    assert {path.name for path in (tmp_path / "lite").iterdir()} == {"reader.tflite", "reader.json", "rows.npz"}
    answers = []
    for one in (reader, tmp_path / "lite"):
        assert distill("read", "apply", one, "--input", lines, "--output", tmp_path / "answers.jsonl").code == 0
        answers.append([json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()])
    for before, after in zip(*answers, strict=True):
        assert before["prediction"] == after["prediction"]
        assert before["score"] == pytest.approx(after["score"], abs=0.05)


def test_a_reader_is_measured_behind_an_encoder_and_compared(distill, reader, slim_folder, sentence_data, tmp_path):
    of = ("--task", "reading", "--reader", reader, "--dataset", sentence_data, "--json", tmp_path / "figures.json")
    left = distill("evaluate", slim_folder, *of)
    assert left.code == 0, left.err
    parts = json.loads((tmp_path / "figures.json").read_text())["reading"]["encoders"][str(slim_folder)]["parts"]
    assert list(parts) == ["document", "passage", "gold", "gold, best sentence"]
    assert all(0 <= row["em"] <= row["f1"] <= 1 for part in parts.values() for row in part.values())
    # A sentence such as "river 0 is 100 years old." has the answer, one of five words.
    assert {row["em"] for row in parts["gold, best sentence"].values()} == {0.0}
    left = distill("compare", slim_folder, slim_folder, *of, "--draws", 1000)
    assert list(json.loads((tmp_path / "figures.json").read_text())["metrics"]) == ["f1"]
    more = ("--metric", "em,f1", "--ranked", "passage")
    left = distill("compare", slim_folder, slim_folder, *of, *more, "--draws", 1000)
    assert left.code == 0, left.err
    compared = json.loads((tmp_path / "figures.json").read_text())["metrics"]
    assert compared["em"]["gold"]["de"]["test"] == "mcnemar" and compared["f1"]["gold"]["de"]["test"] == "sign-flip"
    assert compared["f1"]["passage"]["en"]["difference"] == 0


def test_a_reader_of_another_encoder_no_reader_and_no_questions_are_refused(
    refused, reader, lines, tiny_folder, sentence_data, tmp_path
):
    other = shutil.copytree(reader, tmp_path / "other")
    card = json.loads((other / "reader.json").read_text())
    (other / "reader.json").write_text(json.dumps({**card, "encoder": str(tiny_folder)}))
    output = ("--output", tmp_path / "answers.jsonl")
    assert str(tiny_folder) in refused("read", "apply", other, "--input", lines, *output)
    assert str(tiny_folder) in refused("read", "apply", tiny_folder, "--input", lines, *output)
    (tmp_path / "empty.jsonl").touch()
    assert "empty.jsonl" in refused("read", "apply", reader, "--input", tmp_path / "empty.jsonl", *output)
    assert "--reader" in refused("evaluate", tiny_folder, "--task", "reading", "--dataset", sentence_data)


def test_training_data_whose_answers_are_elsewhere_is_refused(refused, slim_folder, sentence_data, tmp_path):
    folder = shutil.copytree(sentence_data, tmp_path / "data")
    value = json.loads((folder / "de.json").read_text())
    value["data"][0]["paragraphs"][0]["qas"][0]["answers"] = [{"text": "anderes", "answer_start": 0}]
    (folder / "de.json").write_text(json.dumps(value))
    command = ("read", "train", "--encoder", slim_folder, "--dataset", folder, "--output", tmp_path / "reader")
    assert str(folder / "de.json") in refused(*command)


def test_nothing_to_learn_or_to_choose_by_is_refused(refused, reader, slim_folder, sentence_data, tmp_path):
    all_dev, unanswered = (shutil.copytree(sentence_data, tmp_path / name) for name in ("dev", "unanswered"))
    splits = json.loads((all_dev / "splits.json").read_text())
    # The train questions are dev's too, in other words of its splits: asked once more under other ids.
    for path in all_dev.glob("??.json"):
        value = json.loads(path.read_text())
        for article in value["data"]:
            for paragraph in article["paragraphs"]:
                [qa] = paragraph["qas"]
                paragraph["qas"].append({**qa, "id": f"again {qa['id']}"})
        path.write_text(json.dumps(value))
    (all_dev / "splits.json").write_text(
        json.dumps({"train": splits["train"], "dev": [f"again {id}" for id in splits["train"]]})
    )
    for path in unanswered.glob("??.json"):
        value = json.loads(path.read_text())
        for article in value["data"]:
            for paragraph in article["paragraphs"]:
                for qa in paragraph["qas"]:
                    qa["answers"] = []
        path.write_text(json.dumps(value))
    train = ("read", "train", "--encoder", slim_folder, "--output", tmp_path / "reader")
    assert "--data" in refused(*train, "--dataset", all_dev)
    assert "--dataset" in refused(*train, "--dataset", unanswered, "--data", sentence_data)
    assert "--dataset" in refused("read", "export", reader, "--dataset", unanswered, "--output", tmp_path / "lite")
    of = ("--task", "reading", "--reader", reader, "--dataset", sentence_data)
    assert "maxp" in refused("evaluate", slim_folder, *of, "--unit", "maxp")


def test_a_training_in_python_takes_as_many_epochs_as_that_of_the_command():
    for name, options in (("train", ReaderOptions()), ("train-writer", WriterOptions())):
        parameters = {one.name: one.default for one in read.commands[name].params}
        assert (options.epochs, options.learning_rate) == (parameters["epochs"], parameters["learning_rate"])
