import numpy as np
import pytest

from distill.evaluation.token_recall import TokenRecall
from distill.vocabulary.words.answer_finder import drop_closed_answers

# 5, 7 and 3 words, commas and full stops being words.
PASSAGES = ["The Nile is long.", "It rises in Rwanda, perhaps.", "Cairo grew."]


@pytest.fixture(scope="module")
def recall():
    return TokenRecall(PASSAGES)


def test_words_are_counted_as_nltk_counts_them_and_enough_passages_hold_them(recall):
    np.testing.assert_array_equal(recall.lengths, [5, 7, 3])
    # The shortest first: 3, then 8, then 15 words.
    assert [recall.passages_needed(tokens) for tokens in (1, 3, 4, 8, 9, 15)] == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    "tokens, expected",
    [
        (1, "Cairo"),
        (3, "Cairo grew."),
        (4, "Cairo grew. It"),
        (8, "Cairo grew. It rises in Rwanda,"),
        (10, "Cairo grew. It rises in Rwanda, perhaps."),
        (11, "Cairo grew. It rises in Rwanda, perhaps. The"),
        (15, "Cairo grew. It rises in Rwanda, perhaps. The Nile is long."),
        (99, "Cairo grew. It rises in Rwanda, perhaps. The Nile is long."),
    ],
)
def test_the_text_of_the_first_words(recall, tokens, expected):
    assert recall.text_within([2, 1, 0], tokens) == expected


def test_an_answer_is_found_in_the_first_words_only_and_where_the_tokenizer_splits_it(recall):
    order = np.array([[0, 1], [1, 0], [0, 1]])
    answers = [("Rwanda",), ("Rwanda",), ("Kenya", "Nile")]
    np.testing.assert_array_equal(recall.hits(order, answers, 8), [False, True, True])
    np.testing.assert_array_equal(recall.hits(order, answers, 9), [True, True, True])
    # These are not looked for.
    assert (drop_closed_answers(("yes", "no", "now")), drop_closed_answers(("no",))) == (("now",), ())
    # XOR-TyDi's script joins words by blanks and would look for it in "It 's 5 %".
    recall = TokenRecall(['He said "It\'s 5%" (twice).'])
    assert recall.hits(np.array([[0]]), [("It's 5%",)], 99).all()


@pytest.mark.parametrize(
    "text", ["", " ", '""" \'\' ``', "''\"''``\"", "ไทยไม่มีช่องว่าง", "\u200b…", "a\x00b", "(((" * 50]
)
def test_any_text_can_be_cut(text):
    recall = TokenRecall([text])
    assert recall.text_within([0], 10**6) == text
    assert text.startswith(recall.text_within([0], 1).rstrip() or "")
