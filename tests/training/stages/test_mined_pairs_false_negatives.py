import numpy as np
import pytest

from distill.data.dataset import Question
from distill.data.pairs import Pairs
from distill.training.stages.mined_pairs import FalseNegatives

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
