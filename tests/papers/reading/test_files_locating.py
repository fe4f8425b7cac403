import pytest

from distill.papers.reading.files import find_only_place, find_place_at

PASSAGE = "It rained,  and it rained again in Rome."


def test_an_answer_is_where_it_is_said_to_be_or_nowhere():
    assert find_place_at(PASSAGE, "rained", 3) == (3, 9) and PASSAGE[3:9] == "rained"
    assert find_place_at(PASSAGE, "rained", 4) is None and find_place_at(PASSAGE, "", 0) is None
    assert find_place_at(PASSAGE, "It", -1) is None and find_place_at(PASSAGE, "Rome", 400) is None


def test_runs_of_blanks_count_as_one():
    assert find_place_at(PASSAGE, "rained, and", 3) == (3, 15)
    assert find_place_at(PASSAGE, " rained ", 2) == (3, 9)


@pytest.mark.parametrize("answer", ["rained", "Paris", " "])
def test_without_a_place_an_answer_is_taken_that_is_there_once(answer):
    assert find_only_place(PASSAGE, answer) is None
    assert find_only_place(PASSAGE, "Rome.") == (35, 40)
