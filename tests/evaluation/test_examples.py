from dataclasses import dataclass, field

import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.evaluation.evaluate import Evaluation
from distill.evaluation.examples import (
    AROUND,
    EncodedTexts,
    choose_diverse,
    choose_examples,
    cut_excerpt,
    find_nearest_passage,
)

TEXTS = ["One. Two here. Three.", "Four is it. Five.", "Six. Seven."]
SPANS = [((0, 4), (5, 14), (15, 21)), ((0, 11), (12, 17)), ((0, 4), (5, 11))]


@pytest.fixture
def dataset():
    """Passages 0 and 1 of the first document, 2 of the second; the answer is in passage 1."""
    passages = tuple(
        Passage(str(number), text, number // 2, spans)
        for number, (text, spans) in enumerate(zip(TEXTS, SPANS, strict=True))
    )
    ids = [f"q{number}" for number in range(4)]
    questions = {
        language: {id: Question(id, language, f"{id} {language}?", 1, ("Five",)) for id in ids}
        for language in ("en", "de")
    }
    return Dataset("toys", "en", ("first", "second"), passages, questions, {"test": tuple(ids)})


@dataclass
class Table:
    """An encoder that knows its texts by heart, and keeps which it was given."""

    vectors: dict
    name: str = "table"
    texts: list = field(default_factory=list)

    def encode(self, texts, role="question", progress=None):
        self.texts += texts
        return np.array([self.vectors.get(text, (0, 0, 0)) for text in texts], dtype=np.float32)


def evaluations(**right):
    """Of each encoder whether it has each of the four questions first, by language."""
    ranks = {
        name: {language: np.array([1 if one == "x" else 3 for one in row]) for language, row in rows.items()}
        for name, rows in right.items()
    }
    return {name: Evaluation(name, "test", {"passage": row, "document": row}) for name, row in ranks.items()}


RIGHT = {
    "base": {"en": "--xx", "de": "-xxx"},
    "student": {"en": "x-x-", "de": "x--x"},
    "bundle": {"en": "xxx-", "de": "---x"},
}


def vectors():
    """The question lies nearest to passage 0, and among the sentences to "Five."."""
    question = np.array([[1, 0, 0]] * 4, dtype=np.float32)
    passages = np.array([[0.8, 0.6, 0], [0, 1, 0], [0.6, 0.8, 0]], dtype=np.float32)
    documents = np.array([[0, 0, 1], [1, 0, 0]], dtype=np.float32)
    return {"en": question, "de": question}, {"passage": passages, "document": documents}


def test_won_and_lost_questions_have_the_passage_that_is_first_and_the_right_one(dataset):
    questions, by_kind = vectors()
    encoder = Table({"Two here.": (1, 0, 0)})
    chosen = choose_examples(dataset, evaluations(**RIGHT), EncodedTexts(encoder, questions, by_kind), "passage")
    # Student and bundle both: English 0. The base alone: English 3, German 1 and 2.
    assert (chosen.split, chosen.unit, chosen.questions_won, chosen.questions_lost) == ("test", "passage", 1, 3)
    [won] = chosen.won
    assert (won.id, won.language, won.question, won.right) == ("q0", "en", "q0 en?", None)
    assert vars(won.nearest) == {"title": "first", "before": "One. ", "sentence": "Two here.", "after": " Three."}
    assert sorted((one.language, one.id) for one in chosen.lost) == [("de", "q1"), ("de", "q2"), ("en", "q3")]
    for one in chosen.lost:
        assert vars(one.right) == {"title": "first", "before": "Four is it. ", "sentence": "Five.", "after": ""}
    # The sentences of the passage shown, and nothing that has a vector.
    assert set(encoder.texts) == {"One.", "Two here.", "Three."}


def test_vectors_of_sentences_are_used_where_they_are(dataset):
    questions, by_kind = vectors()
    by_kind["sentence"] = np.eye(3, dtype=np.float32)[[1, 1, 0, 1, 1, 1, 1]]
    encoder = Table({})
    [won] = choose_examples(dataset, evaluations(**RIGHT), EncodedTexts(encoder, questions, by_kind), "passage").won
    assert won.nearest.sentence == "Three." and encoder.texts == []


@pytest.mark.parametrize(
    ("unit", "passage"),
    # The second document by its own vector; sentence 3, of passage 1, is the nearest; .8 + 0, 0 + 1 and .6 + .9.
    [("passage", 0), ("document", 2), ("maxp", 0), ("document-sentence", 1), ("passage-sentence", 1)]
    + [("document-sum", 2), ("passage-sum", 2)],
)
def test_the_passage_is_the_units_first_or_its_documents_best(dataset, unit, passage):
    questions, by_kind = vectors()
    by_kind["sentence"] = np.zeros((7, 3), dtype=np.float32)
    by_kind["sentence"][[3, 6], 0] = 1, 0.9
    assert find_nearest_passage(dataset, by_kind, questions["en"][0], unit) == passage


def test_the_draw_takes_as_many_languages_and_then_ids_as_there_are():
    rows = [(Question(f"q{id}", language, "", 0), id) for language in ("ar", "de", "en", "zh") for id in range(5)]
    taken = choose_diverse(rows, seed=3)
    assert taken == choose_diverse(rows, seed=3) != choose_diverse(rows, seed=4)
    languages = [question.language for question, _ in taken]
    assert len(taken) == 6 and set(languages[:4]) == {"ar", "de", "en", "zh"} and len(set(languages[4:])) == 2
    assert len({question.id for question, _ in taken}) == 5
    assert choose_diverse(rows[:2], seed=3, most=6) in (rows[:2], rows[1::-1]) and choose_diverse([], seed=3) == []


def test_a_long_passage_is_cut_at_words_around_its_sentence():
    text = "a" * 30 + " " + "word " * 200 + "Here it is. " + "end " * 300
    start = text.index("Here")
    one = cut_excerpt(
        Dataset("long", "en", ("title",), (Passage("0", text, 0),), {}), 0, start, start + len("Here it is.")
    )
    assert one.sentence == "Here it is." and text.find(one.before[1:] + one.sentence + one.after[:-1]) > 30
    assert one.before.startswith("…word ") and one.after.endswith("end…")
    assert AROUND - 10 < len(one.before) <= AROUND + 1 and AROUND - 10 < len(one.after) <= AROUND + 1
