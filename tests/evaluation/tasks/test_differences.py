"""Questions that one of two encoders alone finds: BM25 by words as they are, and by their stems."""

import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.encoders.encoder import normalise_rows
from distill.evaluation.bm25 import Bm25
from distill.evaluation.tasks.differences import Difference, find_differences
from distill.evaluation.tasks.retrieval import RetrievalTask
from distill.retrieval.exact import max_passage
from distill.retrieval.units import first_units

TEXTS = [(0, "Das Haus steht am Fluss."), (0, "Bäume und Wiesen."), (1, "Eine Brücke."), (1, "Die Häuser der Stadt.")]


@pytest.fixture(scope="module")
def task():
    passages = tuple(Passage(f"p{row}", text, of) for row, (of, text) in enumerate(TEXTS))
    german = {
        "both": Question("both", "de", "Brücke", 2),
        # As it is written it is in the first passage alone, by its stem in the last as well, whose words are fewer.
        "one": Question("one", "de", "Haus", 0),
        # By its stem alone: as it is written it is nowhere.
        "other": Question("other", "de", "Baum", 1),
    }
    english = {"other": Question("other", "en", "Bäumen", 1)}
    questions = {"de": german, "en": english}
    dataset = Dataset("houses", "de", ("River", "Town"), passages, questions, {"dev": tuple(german)})
    return RetrievalTask(dataset, ("de", "en"), "dev", ("passage", "document"))


def test_each_question_that_one_alone_finds_comes_with_what_both_find_first(task):
    encoders = Bm25("bm25"), Bm25("bm25-morphology")
    results = tuple(task.measure(encoder) for encoder in encoders)
    ranks = [result.ranks["passage"]["de"].tolist() for result in results]
    assert [row[0] for row in ranks] == [1, 1] and ranks[0][2] == 4 and ranks[1][2] == 1
    every = list(find_differences(task, encoders, results))
    known = task.dataset.questions
    of_passages = [one for one in every if one.unit == "passage"]
    assert Difference("passage", known["de"]["other"], (4, 1), (0, 1)) in of_passages
    assert Difference("passage", known["en"]["other"], (4, 1), (0, 1)) in of_passages
    assert {one.question.id for one in every} <= {"one", "other"} and {one.unit for one in every} == set(task.units)


def test_a_line_has_the_texts_and_the_question_in_the_documents_language(task):
    question = task.dataset.questions["en"]["other"]
    first = {"id": "p0", "title": "River", "text": TEXTS[0][1]}
    gold = {"id": "p1", "title": "River", "text": TEXTS[1][1]}
    assert Difference("passage", question, (4, 1), (0, 1)).as_dict(task.dataset) == {
        **{"unit": "passage", "id": "other", "language": "en", "text": "Bäumen", "twin": "Baum", "only": "b"},
        **{"gold": gold, "a": {"rank": 4, "first": first}, "b": {"rank": 1, "first": gold}},
    }
    german = task.dataset.questions["de"]["one"]
    line = Difference("document", german, (1, 2), (0, 1)).as_dict(task.dataset)
    assert line["only"] == "a" and "twin" not in line
    assert line["b"]["first"] == {"title": "Town", "text": "Eine Brücke. Die Häuser der Stadt."}


@pytest.mark.parametrize("block", [2, 100])
def test_what_is_first_is_the_highest_score_in_every_unit(block):
    random = np.random.default_rng(0)
    questions, passages, sentences = (normalise_rows(random.normal(size=(n, 4))).astype(np.float32) for n in (5, 6, 9))
    document_of, passage_of = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 0, 1, 2, 2, 3, 4, 5, 5])
    vectors, whole_of = {"passage": passages, "sentence": sentences}, {"passage": document_of, "sentence": passage_of}
    by_passage = questions @ passages.T
    both = by_passage + max_passage(questions @ sentences.T, passage_of)
    for unit, scores in (("passage", by_passage), ("document-sum", max_passage(both, document_of))):
        best = first_units(unit, questions, vectors, whole_of, block)
        assert best.tolist() == scores.argmax(axis=1).tolist()
