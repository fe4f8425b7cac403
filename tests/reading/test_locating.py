import pytest

from distill.reading.locating import only_place, place_at

PASSAGE = "It rained,  and it rained again in Rome."


def test_an_answer_is_where_it_is_said_to_be_or_nowhere():
    assert place_at(PASSAGE, "rained", 3) == (3, 9) and PASSAGE[3:9] == "rained"
    assert place_at(PASSAGE, "rained", 4) is None and place_at(PASSAGE, "", 0) is None
    assert place_at(PASSAGE, "It", -1) is None and place_at(PASSAGE, "Rome", 400) is None


def test_runs_of_blanks_count_as_one():
    assert place_at(PASSAGE, "rained, and", 3) == (3, 15)
    assert place_at(PASSAGE, " rained ", 2) == (3, 9)


@pytest.mark.parametrize("answer", ["rained", "Paris", " "])
def test_without_a_place_an_answer_is_taken_that_is_there_once(answer):
    assert only_place(PASSAGE, answer) is None
    assert only_place(PASSAGE, "Rome.") == (35, 40)
