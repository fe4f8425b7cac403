import json

import pytest

from distill.config import Settings, changed
from distill.data import load_dataset
from distill.dual import is_dual
from distill.errors import ConfigError
from distill.first_stage import asked_in, pairs_of, require_lines
from distill.loading import load_encoder
from distill.parallel import Parallel

SMALL = ["--teacher-batch-size", "4", "--bm25-epochs", "1", "--online-epochs", "1", "--teacher-learning-rate", "0.01"]


def settings(folder, batches="x-y"):
    values = {"teacher.loss": "softmax", "data.dataset": str(folder), "pairs.batches": batches}
    return changed(Settings(), values)


def test_en_en_asks_in_the_teachers_language_alone(sentence_data):
    assert asked_in(settings(sentence_data, "en-en"), ("en", "de")) == ("en",)
    assert asked_in(settings(sentence_data), ("en", "de")) == ("en", "de")


def test_batches_that_answer_in_one_language_have_no_passages_in_others(sentence_data):
    data = load_dataset(sentence_data)
    for batches, languages in (("x-en", ["en"]), ("en-en", ["en"]), ("x-y", ["de", "en"])):
        found = pairs_of(settings(sentence_data, batches), data, ("en", "de"))
        assert sorted(set(found.languages.tolist())) == languages


def test_a_teachers_language_without_passages_is_refused(sample):
    asked = changed(settings("sample", "x-en"), {"teacher.language": "de"})
    with pytest.raises(ConfigError, match="x-en takes passages in de, the teacher's language; sample has en"):
        pairs_of(asked, sample, ("de", "en"))


def test_parallel_text_of_the_teachers_language_alone_asks_for_nothing(sentence_data):
    values = {"pairs.parallel_share": 0.5, "student.parallel": ["x.tsv"]}
    asked = changed(settings(sentence_data), values)
    with pytest.raises(ConfigError, match="has lines in en alone"):
        require_lines(asked, [Parallel("x", 1.0, ("One",), ("en",), ("One",))])
    require_lines(asked, [Parallel("x", 1.0, ("Eins",), ("de",), ("One",))])


def test_triplets_have_no_pairs(sample):
    assert pairs_of(Settings(), sample, sample.languages) is None


@pytest.fixture(scope="module")
def folder(distill, tiny_folder, sentence_data, tmp_path_factory):
    """What a run with two encoders leaves."""
    runs = tmp_path_factory.mktemp("runs")
    pairs = ["--loss", "softmax", "--batches", "x-y", "--encoders", "dual", "--chunk-size", "2"]
    rest = ["--epochs", "1", "--max-drop", "100", "--min-cosine", "-1", "--runs", runs, "--name", "x"]
    assert distill("run", "--base", tiny_folder, "--dataset", sentence_data, *pairs, *SMALL, *rest) == 0
    return runs / "x"


def test_a_run_leaves_both_encoders_measured_and_counted(folder, tiny_folder):
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    one = sum(weight.size for weight in load_encoder(str(tiny_folder)).model.get_weights())
    assert metrics["size"] == {"teacher": {"parameters": 2 * one, "bytes": 8 * one}}
    assert set(metrics["splits"]["dev"]["encoders"]) == {"base", "teacher", "student", "bundle"}
    assert set(metrics["lareqa"]["encoders"]) == {"base", "teacher", "student", "bundle"}
    assert is_dual(folder / "teacher")


def test_the_log_counts_what_was_filtered_by_language(folder):
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["event"] == "teacher"]
    assert [set(row["filtered"]) for row in rows] == [set(), *[{"passage", "answer", "parallel"}] * 2]
    assert set(rows[1]["filtered"]["answer"]) <= {"en", "de"}


def test_stage_one_alone_takes_pairs_too(distill, tiny_folder, sentence_data, tmp_path):
    asked = ["--base", tiny_folder, "--dataset", sentence_data, "--loss", "softmax", "--batches", "x-x-mono"]
    assert distill("teach", *asked, *SMALL, "--filters", "", "--output", tmp_path / "teacher") == 0
    assert load_encoder(str(tmp_path / "teacher")).dimension == 16


def test_batches_that_the_data_lacks_are_refused_before_training(distill, tiny_folder, tmp_path, capsys):
    flags = ["--loss", "softmax", "--batches", "x-x"]
    assert distill("run", "--base", tiny_folder, *flags, *SMALL, "--runs", tmp_path / "runs") == 2
    assert "sample has them in en; take en-en or x-en" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
