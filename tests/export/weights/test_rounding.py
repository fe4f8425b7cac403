"""What kernels of 4 bits are rounded to: short texts of every language, and as many tokens of passages."""

import pytest
from fixtures.pieces import tokenizer_of

from distill.encoders.tokenizer import Tokenizer
from distill.export.encode import Reading
from distill.export.rounding import PASSAGE, draw_by_role

# A letter is a token, and so is what stands before a text; behind it are <s> and </s>.
QUESTION, DOCUMENT = 3, 4


@pytest.fixture(scope="module")
def letters():
    proto = tokenizer_of(*((letter, -1.0) for letter in "?!abcdef")).proto
    return Tokenizer(proto, reading=Reading({"question": "?", "document": "!"}))


def many(letters, texts):
    return ["".join("abcdef"[(number + place) % 6] for place in range(letters)) for number in range(texts)]


def tokens(rows, prompt):
    return sum(len(row) for row in rows if row[1] == prompt)


def test_half_of_the_tokens_are_of_passages_and_each_language_has_as_many_questions(letters):
    texts = {"de": many(9, 400), "en": many(4, 900) + many(PASSAGE + 10, 50)}
    rows = draw_by_role(letters, texts, 2_000)
    assert 1_000 <= tokens(rows, QUESTION) < 1_030 and 1_000 <= tokens(rows, DOCUMENT) < 1_070
    assert all((len(row) >= PASSAGE) == (row[1] == DOCUMENT) for row in rows)
    assert 500 <= sum(len(row) for row in rows if len(row) == 9 + 3) < 520  # German


def test_where_all_texts_are_short_or_long_they_are_read_in_both_roles(letters):
    for length in (5, PASSAGE + 5):
        rows = draw_by_role(letters, {"de": many(length, 200)}, 1_000)
        assert abs(tokens(rows, QUESTION) - tokens(rows, DOCUMENT)) < 2 * length
