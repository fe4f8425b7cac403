import json

import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.data.pairs import Pairs
from distill.training.stages.answering_passages import AnsweringPassages
from distill.training.stages.mined_pairs import FalseNegatives, mine_pairs, write_mined

EN = ("The Danube ends in the Black Sea.", "The Black Sea is salty.", "The Rhine ends.", "The Volga.", "Odessa.")
DE = ("Die Donau endet im Meer.", "Das Meer ist salzig.", "Der Rhein.", "Die Wolga.", "Am Schwarzen Meer.")
ANSWERS = {"en": {"danube": ("Black Sea",), "lost": ("Atlantis",)}, "de": {"danube": ("Schwarzen Meer",)}}
# English rows are 0 to 4, German ones 5 to 9; own: content 0, of "free" nothing.
QUESTIONS = (("danube", "en", [0, 5]), ("danube", "de", [0, 5]), ("lost", "en", [0, 5]), ("free", "en", []))
RANKING = np.array(
    [
        [1, 3, 0, 8, 2, -1],  # 8 is 3 in German
        [5, 1, 9, 4, 7, 3],  # 5 is the own one; 9 holds the answer, so its translation 4 is no negative
        [1, 2, 3, -1, -1, -1],
        [1, 2, 3, -1, -1, -1],
    ]
)


@pytest.fixture
def gold():
    return Pairs(
        tuple(Question(id, language, f"{id}?", 0) for id, language, _ in QUESTIONS),
        EN + DE,
        np.repeat(np.array(["en", "de"]), 5),
        np.tile(np.arange(5), 2),
        tuple(np.array(passages, dtype=int) for *_, passages in QUESTIONS),
        tuple(np.zeros(0, dtype=int) for _ in QUESTIONS),
    )


@pytest.fixture
def mine(gold):
    def make(negatives=9, ranking=RANKING, answers=ANSWERS):
        return mine_pairs(gold, ranking, AnsweringPassages(gold, answers), negatives)

    return make


def rows(arrays):
    return [array.tolist() for array in arrays]


def test_what_holds_the_answer_is_a_positive_and_what_lacks_it_a_negative_each_content_once(mine, gold):
    assert rows(mine().pairs.positives) == [[0, 5, 1], [0, 5, 1, 9], [0, 5]]
    assert rows(mine().pairs.negatives) == [[3, 2], [7, 3], []]
    assert rows(mine(negatives=1).pairs.negatives) == [[3], [7], []]
    assert rows(mine(negatives=0).pairs.negatives) == [[], [], []]
    assert mine().pairs.questions == gold.questions[:3]


def test_own_passages_and_translations_of_what_holds_the_answer_are_no_negatives(mine):
    # English 4 lacks the answer, German 9 has it, though 9 is not ranked.
    ranking = np.array([[4, 3], [4, 3], [-1, -1], [-1, -1]])
    assert rows(mine(ranking=ranking).pairs.negatives)[:2] == [[3], [3]]
    ranking = np.array([[5, 0, 6], [5, 0, 6], [-1] * 3, [-1] * 3])
    mined = mine(ranking=ranking)
    assert rows(mined.pairs.negatives)[:2] == [[], []] and rows(mined.pairs.positives)[:2] == [[0, 5], [0, 5]]
    # In a language without answers nothing is mined.
    mined = mine(ranking=np.array([[8, 3], [9, 8], [-1, -1], [-1, -1]]), answers={"en": ANSWERS["en"]})
    assert rows(mined.pairs.negatives)[:2] == [[3], []] and rows(mined.pairs.positives)[:2] == [[0, 5], [0, 5]]


def test_statistics_are_by_language(mine):
    assert mine().statistics == {
        # Of danube, lost and free: 3, 2 and 0 positives, 2, 0 and 0 negatives.
        "en": {"questions": 3, "retrieved": 1, "mined": 1, "positives": 1.6667, "negatives": 0.6667, "without": 2},
        "de": {"questions": 1, "retrieved": 1, "mined": 1, "positives": 4.0, "negatives": 2.0, "without": 0},
    }
    row = mine(ranking=np.array([[0], [3], [1], [-1]])).statistics
    assert (row["en"]["retrieved"], row["en"]["mined"]) == (1, 0)
    assert (row["de"]["retrieved"], row["de"]["mined"]) == (0, 0)


def test_the_files_name_passages_and_languages(mine, tmp_path):
    passages = tuple(Passage(f"d/{i}", text, 0) for i, text in enumerate(EN))
    mined = mine()
    write_mined(tmp_path, mined, Dataset("toy", "en", ("one",), passages, {}))
    lines = [json.loads(line) for line in (tmp_path / "mined.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[1] == {
        "id": "danube",
        "language": "de",
        "positives": [
            {"passage": "d/0", "language": "en", "gold": True},
            {"passage": "d/0", "language": "de", "gold": True},
            {"passage": "d/1", "language": "en", "gold": False},
            {"passage": "d/4", "language": "de", "gold": False},
        ],
        "negatives": [{"passage": "d/2", "language": "de"}, {"passage": "d/3", "language": "en"}],
    }
    assert [line["id"] for line in lines] == ["danube", "danube", "lost"]
    assert json.loads((tmp_path / "statistics.json").read_text(encoding="utf-8")) == mined.statistics
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mined.jsonl", "statistics.json"]


NONE = np.zeros(0, dtype=np.int64)
# Passages: two contents in English and German, then two more in English.
CONTENT, IN = np.array([0, 1, 0, 1, 2, 3]), np.array(["en", "en", "de", "de", "en", "en"])


@pytest.fixture
def pairs():
    questions = [
        Question("a", "en", "When?", 0, ("July 16",)),
        Question("b", "en", "On which day?", 0, ("16th of July",)),
        Question("a", "de", "Wann?", 0, ("July 16",)),
        Question("c", "de", "Wie viele?", 1, ("seven",)),
        Question("d", "en", "How many?", 2, (" SEVEN",)),
        Question("e", "en", "Who?", 3, ()),
    ]
    positives = tuple(map(np.array, ([0, 2], [0, 2], [0, 2], [1, 3], [4], [5])))
    return Pairs(tuple(questions), tuple("abcdef"), IN, CONTENT, positives, (NONE,) * 6)


def masked(mask):
    return sorted(map(tuple, np.argwhere(mask).tolist()))


# A batch of all six questions; the first two are answered in English and in German.
ROWS, PASSAGES = np.arange(6), np.array([0, 2, 0, 1, 4, 5])


# "seven" and " SEVEN" are one answer; questions without an answer share none.
SHARED = {"passage": [(0, 1), (0, 2), (1, 2)], "answer": [(0, 2), (3, 4)], "parallel": [(0, 2)]}


@pytest.mark.parametrize("kind", SHARED)
def test_the_same_passage_answer_or_question_in_whatever_language_is_no_negative(pairs, kind):
    mask = FalseNegatives(pairs, (kind,)).mask(ROWS, PASSAGES, NONE)
    assert masked(mask) == sorted(SHARED[kind] + [(b, a) for a, b in SHARED[kind]])
    filters = FalseNegatives(pairs, ())
    assert not filters.mask(ROWS, PASSAGES, NONE).any() and filters.take_counts() == {}


def test_each_is_counted_once_by_the_questions_language(pairs):
    filters = FalseNegatives(pairs, ("passage", "answer", "parallel"))
    filters.mask(ROWS, PASSAGES, NONE)
    filters.mask(ROWS[3:5], PASSAGES[3:5], NONE)
    # What a passage has shown already no answer shows again.
    answers, parallel = {"de": 2, "en": 2}, {"de": 0, "en": 0}
    assert filters.take_counts() == {"passage": {"de": 2, "en": 4}, "answer": answers, "parallel": parallel}
    assert filters.take_counts() == {}


def test_hard_negatives_that_answer_or_are_nearer_than_the_positive_and_fillings_are_left_out(pairs):
    filters = FalseNegatives(pairs, ("passage",))
    # Beside two own columns: content 0 in German, which answers the first; content 1; and nothing.
    mask = filters.mask(np.array([0, 4]), np.array([0, 4]), np.array([2, 3, -1]))
    assert masked(mask) == [(0, 2), (0, 4), (1, 4)]
    assert filters.take_counts() == {"passage": {"en": 1}}
    # By the margin: what is nearer than the positive.
    scores = np.array([[0.5, 0.64, 0.9], [0.2, 0.7, 0.86]])
    filters = FalseNegatives(pairs, (), margin=0.15)
    mask = filters.mask(np.array([3, 5]), np.array([1, 5]), np.array([4]), scores)
    assert masked(mask) == [(0, 2), (1, 2)]
    assert filters.take_counts() == {"margin": {"de": 1, "en": 1}}
