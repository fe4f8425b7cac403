import pytest

from distill.retrieval.duplicates import first_alike

TEXT = "the quick brown fox jumps over the lazy dog and then it goes home to eat again in 1990"


@pytest.mark.parametrize(
    "other, first",
    [
        (TEXT.upper() + " !", 0),
        (TEXT.replace("quick", "slow"), 0),
        (TEXT.replace("1990", "1991"), 1),
        (TEXT.replace("quick brown", "slow white"), 1),
        (TEXT + " and many more words than there were", 1),
        ("", 1),
    ],
)
def test_a_text_repeats_the_first_one_that_has_nine_in_ten_of_its_words_and_its_numbers(other, first):
    assert first_alike([TEXT, other, TEXT]) == [0, first, 0]


def test_blank_texts_are_alike():
    assert first_alike(["", "…", "a"]) == [0, 0, 2] and first_alike([]) == []
