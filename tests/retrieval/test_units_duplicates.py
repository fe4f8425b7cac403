import pytest

from distill.retrieval.units import find_repeated

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
    assert find_repeated([TEXT, other, TEXT]) == [0, first, 0]


def test_texts_without_words_are_alike_where_their_signs_are():
    assert find_repeated(["", "…", " ", "😀", "a", "🎉 !!!", " 😀"]) == [0, 1, 0, 3, 4, 5, 3]
    assert find_repeated([]) == []
