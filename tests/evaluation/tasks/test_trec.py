"""TREC's run files and qrels, read by ir-measures, which is not ours."""

import ir_measures
import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.evaluation.bm25 import Bm25
from distill.evaluation.tasks.retrieval import RetrievalTask
from distill.evaluation.tasks.trec import file_names, write_trec

# Questions lie at angles on a circle, and so do passages; the documents are (0, 1) and (2, 3).
PASSAGES = {"p 0": 0, "p1": 40, "p2": 90, "p3": 170}
QUESTIONS = {("en", "a b"): (10, 0), ("en", "c"): (60, 0), ("de", "c"): (100, 3)}


class Compass:
    """Texts are degrees, and a document's are its passages' mean."""

    name, dimension = "compass", 2

    def encode(self, texts, role="question", progress=None):
        angles = np.radians([np.mean([float(part) for part in text.split()]) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.fixture
def task():
    passages = tuple(Passage(id, str(angle), row // 2) for row, (id, angle) in enumerate(PASSAGES.items()))
    questions = {"de": {}, "en": {}}
    for (language, id), (angle, passage) in QUESTIONS.items():
        questions[language][id] = Question(id, language, str(angle), passage)
    dataset = Dataset("circle", "en", ("East", "The North"), passages, questions, {"dev": ("a b", "c")})
    return RetrievalTask(dataset, ("de", "en"), "dev", ("passage", "maxp"))


def test_run_files_and_qrels_have_the_order_and_the_answers_by_hand(task, tmp_path):
    write_trec(tmp_path, task, {"runs/compass": Compass(), "bm25": Bm25("bm25")}, depth=3)
    names = ["bm25.maxp.run", "bm25.passage.run", "compass.maxp.run", "compass.passage.run", "maxp.qrels"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [*names, "passage.qrels"]
    # At 100 degrees the nearest are those at 90, 40 and 170, at 60 those at 40, 90 and 0, at 10 those at 0, 40 and 90.
    rows = [line.split() for line in (tmp_path / "compass.passage.run").read_text().splitlines()]
    assert [(question, name) for question, _, name, *_ in rows] == [
        *(("de-c", name) for name in ("p2", "p1", "p3")),
        *(("en-a_b", name) for name in ("p_0", "p1", "p2")),
        *(("en-c", name) for name in ("p1", "p2", "p_0")),
    ]
    assert [int(place) for *_, place, _, _ in rows] == [1, 2, 3] * 3 and {tag for *_, tag in rows} == {"compass"}
    assert float(rows[0][4]) == pytest.approx(np.cos(np.radians(10)), rel=1e-6)
    assert (tmp_path / "maxp.qrels").read_text().splitlines() == [
        "de-c 0 1-The_North 1",
        "en-a_b 0 0-East 1",
        "en-c 0 0-East 1",
    ]


def test_another_reader_finds_the_same_figures(task, tmp_path):
    write_trec(tmp_path, task, {"compass": Compass()})
    evaluation = task.measure(Compass())
    for unit in task.units:
        qrels = list(ir_measures.read_trec_qrels(str(tmp_path / f"{unit}.qrels")))
        run = list(ir_measures.read_trec_run(str(tmp_path / f"compass.{unit}.run")))
        ranks = np.concatenate([evaluation.ranks[unit][language] for language in task.languages])
        by_hand = {"passage": [3, 1, 3], "maxp": [1, 1, 1]}[unit]
        assert ranks.tolist() == by_hand
        measures = [ir_measures.P @ 1, ir_measures.RR]
        expected = {measures[0]: np.mean(ranks == 1), measures[1]: np.mean(1 / ranks)}
        assert ir_measures.calc_aggregate(measures, qrels, run) == pytest.approx(expected)


def test_ids_that_differ_in_a_blank_or_by_where_their_language_ends_stay_apart(tmp_path):
    passages = tuple(Passage(id, str(angle), row) for row, (id, angle) in enumerate({"p 0": 0, "p_0": 90}.items()))
    of = {"en": {"a b": (10, 0), "a_b": (80, 1)}, "zh": {"Hans-1": (20, 0)}, "zh-Hans": {"1": (70, 1)}}
    questions = {
        language: {id: Question(id, language, str(angle), passage) for id, (angle, passage) in rows.items()}
        for language, rows in of.items()
    }
    ids = {"all": ("a b", "a_b", "Hans-1", "1")}
    dataset = Dataset("circle", "en", ("", ""), passages, questions, ids)
    write_trec(tmp_path, RetrievalTask(dataset, tuple(of), "all", ("passage",)), {"compass": Compass()})
    expected = [("en-a_b-2", "p_0-2"), ("en-a_b", "p_0"), ("zh-Hans-1", "p_0-2"), ("zh-Hans-1-2", "p_0")]
    rows = [line.split() for line in (tmp_path / "passage.qrels").read_text().splitlines()]
    assert [(question, name) for question, _, name, _ in rows] == expected
    rows = [line.split() for line in (tmp_path / "compass.passage.run").read_text().splitlines()]
    assert [(question, name) for question, _, name, place, *_ in rows if place == "1"] == expected


def test_two_models_of_one_name_have_files_of_their_own():
    names = file_names(["a/run", "b/run", "st:x y"])
    assert names == {"a/run": "run", "b/run": "run-2", "st:x y": "st-x-y"}
    assert len(set(file_names(["run-3", "run", "b/run", "c/run"]).values())) == 4
