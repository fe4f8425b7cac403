"""mteb's folders of rankings read and compared; what mteb itself writes is in tests/test_mteb.py."""

import json

import numpy as np
import pytest

from distill.errors import DataError, InputError
from distill.evaluation.mcnemar import mcnemar_p
from distill.papers.mteb_predictions import compare_predictions, is_predictions, question_scores, read_parts

RIGHT = {f"q{number}": {"d1": 1, "d2": 0} for number in range(20)}


def rankings(right):
    """One ranking a question, the right document first in the first `right` of them."""
    return {id: {"d1": 2.0 if place < right else 0.5, "d2": 1.0} for place, id in enumerate(RIGHT)}


def write(folder, name, content):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def predictions(folder, subsets, task="Task"):
    meta = {"mteb_model_meta": {"model_name": "a/b", "revision": None}}
    return write(folder, f"{task}_predictions.json", meta | {subset: {"test": of} for subset, of in subsets.items()})


@pytest.fixture
def folders(tmp_path):
    a = predictions(tmp_path / "a", {"de": rankings(18), "fr": rankings(9), "it": rankings(9)})
    b = predictions(tmp_path / "b", {"de": rankings(6), "fr": rankings(9)})
    return a, b, write(tmp_path, "Task_relevant.json", {subset: {"test": RIGHT} for subset in ("de", "fr", "it")})


def test_the_scores_of_a_question_with_several_right_documents():
    ranking = {"a": 0.9, "b": 0.8, "wrong": 0.8, "c": 0.7, "other": 0.1}
    grades = {"q": {"a": 1, "b": 2, "c": 1, "nowhere": 1, "wrong": 0}}
    # By hand: b ties with a wrong one, which counts against it; ranks 1, 3 and 4, the fourth is not ranked.
    expected = {"p@1": 1, "mrr@10": 1, "map": (1 + 2 / 3 + 3 / 4) / 4, "p@3": 1}
    gain = 1 + 1 / np.log2(4) + 1 / np.log2(5)
    expected["ndcg@10"] = gain / sum(1 / np.log2(place) for place in (2, 3, 4, 5))
    assert {metric: question_scores({"q": ranking}, grades, metric)[0] for metric in expected} == pytest.approx(
        expected
    )
    assert question_scores({"q": {"wrong": 1.0}}, {"q": {"a": 1}}, "map") == [0]


def test_scores_that_differ_in_their_last_bit_are_a_tie_and_small_ones_are_not():
    rounded = float(np.nextafter(np.float32(0.7), np.float32(0)))
    rankings = {"a": {"right": float(np.float32(0.7)), "wrong": rounded}, "b": {"right": 2e-9, "wrong": 1e-9}}
    assert question_scores(rankings, dict.fromkeys(rankings, {"right": 1}), "mrr@10").tolist() == [0.5, 1]


def test_two_folders_are_compared_question_by_question(folders, capsys):
    a, b, relevant = folders
    assert is_predictions(a) and not is_predictions(relevant) and not is_predictions(a / "Task_predictions.json")
    rows = compare_predictions(a, b, relevant, ["p@1"])["p@1"]["Task test"]
    assert list(rows) == ["de", "fr", "all"]
    de = rows["de"]
    assert (de.a, de.b, de.only_a, de.only_b, de.questions, de.test) == (0.9, 0.3, 12, 0, 20, "mcnemar")
    assert de.p == mcnemar_p(np.arange(20) < 18, np.arange(20) < 6) == 2 / 2**12
    assert rows["fr"].difference == 0 and (rows["all"].questions, rows["all"].clusters) == (40, 20)
    assert "Task test it" in capsys.readouterr().err


def test_folders_that_cannot_be_compared_are_refused(folders, tmp_path):
    a, b, relevant = folders
    other = predictions(tmp_path / "other", {"de": rankings(1)}, "Other")
    fewer = predictions(tmp_path / "fewer", {"de": {id: of for id, of in rankings(1).items() if id != "q3"}})
    more = predictions(tmp_path / "more", {"de": rankings(1) | {"q99": {"d1": 1.0}}})
    for pair, named in (((a, other), "Other"), ((a, fewer), "q3"), ((more, b), "q99"), ((other, other), "Other")):
        with pytest.raises(DataError, match=named):
            compare_predictions(*pair, relevant, ["p@1"])
    with pytest.raises(DataError, match="_relevant.json"):
        compare_predictions(a, b, b, ["p@1"])
    none = write(tmp_path / "none", "Task_relevant.json", {name: {"test": {"q0": {"d1": 0}}} for name in ("de", "fr")})
    with pytest.raises(DataError, match="none"):
        compare_predictions(a, b, none, ["p@1"])
    with pytest.raises(DataError, match="empty"):
        compare_predictions(predictions(tmp_path / "empty", {}), b, relevant, ["p@1"])
    with pytest.raises(InputError, match="40"):
        compare_predictions(a, b, relevant, ["p@1"], draws=1)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ([1], "Task"),
        ({"de": [1]}, "de"),
        ({"de": {"test": {"q0": [{"corpus_id": 0, "score": 1.0}]}}}, "q0"),
        ({"de": {"test": {"q0": {"d1": "1"}}}}, "d1"),
        ({"de": {"test": {"q0": {"d1": float("nan")}}}}, "Task_predictions.json"),
    ],
)
def test_what_is_no_ranking_is_refused_with_its_place(tmp_path, content, named):
    folder = write(tmp_path / "a", "Task_predictions.json", content)
    with pytest.raises(DataError, match=named):
        read_parts(folder, "_predictions.json")


def test_the_command_compares_folders_and_refuses_what_is_of_encoders(folders, distill, tmp_path, capsys):
    a, b, relevant = folders
    command = ("compare", a, b, "--relevant", relevant, "--metric", "p@1,ndcg@10", "--draws", "1000")
    assert distill(*command, "--json", tmp_path / "figures.json") == 0
    assert "Task test" in capsys.readouterr().out
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert set(figures["metrics"]) == {"p@1", "ndcg@10"}
    assert figures["metrics"]["p@1"]["Task test"]["de"]["difference"] == pytest.approx(0.6)
    assert distill(*command[:5], "--draws", "1000", "--json", tmp_path / "figures.json") == 0
    assert set(json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["metrics"]) == {"ndcg@10"}
    for more, named in (
        (["--unit", "maxp"], "--unit"),
        (["--split", "dev"], "--split"),
        (["--dataset", "sample"], "--dataset"),
        (["--metric", "r@2kt"], "r@2kt"),
        (["--metric", "p@1,em"], "em"),
    ):
        assert distill(*command[:5], *more) == 2
        assert named in capsys.readouterr().err
    assert distill("compare", a, b) == 2 and "--relevant" in capsys.readouterr().err
    assert (
        distill("compare", a, "multi12-ngram", "--relevant", relevant) == 2
        and "multi12-ngram" in capsys.readouterr().err
    )
