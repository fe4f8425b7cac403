"""Ranks by unit against plain loops, at once and in blocks."""

import numpy as np
import pytest
from fixtures.vectors import unit_rows

from distill.errors import ConfigError
from distill.retrieval.exact import Candidates, candidate_ranks
from distill.retrieval.units import (
    as_thousandths,
    candidates_of,
    find_repeated,
    first_units,
    from_thousandths,
    list_right,
    nearest_of,
    ranks_of,
)
from distill.settings.choices import ALL_UNITS, UNITS, combine_units, list_measured_units, list_text_kinds
from distill.settings.sections import EvaluationSettings, Settings
from distill.system.text import number_copies

DOCUMENT_OF = np.repeat(np.arange(6), [1, 3, 2, 1, 4, 1])
PASSAGE_OF = np.repeat(np.arange(12), [2, 1, 5, 1, 3, 1, 1, 4, 1, 2, 1, 3])
GOLD = np.random.default_rng(0).integers(0, 12, 15)


def best(scores, part_of):
    """The best of each whole's parts."""
    return [max(s for s, p in zip(scores, part_of, strict=True) if p == whole) for whole in range(max(part_of) + 1)]


def looped(unit, questions, vectors, weight=1):
    """Ranks by loops, of scores as they are defined; ties and what is no number count against."""
    ranks = []
    for question, gold in zip(questions, GOLD, strict=True):
        plain = {kind: [row @ question for row in rows] for kind, rows in vectors.items()}
        parts = best(plain["sentence"], PASSAGE_OF)
        both = (weight * np.array(plain["passage"]) + parts) * 2 / (1 + weight)
        scores = {"": plain["passage"], "sentence": parts, "sum": both}[unit.partition("-")[2]]
        target = gold
        if not unit.startswith("passage"):
            scores = plain["document"] if unit == "document" else best(scores, DOCUMENT_OF)
            target = DOCUMENT_OF[gold]
        ranks.append(sum(not score < scores[target] for score in scores))
    return ranks


@pytest.mark.parametrize("unit", ALL_UNITS)
@pytest.mark.parametrize("ties", [False, True])
def test_ranks_are_those_of_plain_loops_whatever_the_blocks(unit, ties):
    sizes = {"document": 6, "passage": 12, "sentence": 25}
    vectors = {kind: unit_rows(size, 4, seed=seed) for seed, (kind, size) in enumerate(sizes.items())}
    questions = unit_rows(15, 4, seed=9)
    if ties:
        # Halves: many are equal, and no order of summation rounds them.
        questions, *rows = (np.round(2 * rows[:, :2]) / 2 for rows in (questions, *vectors.values()))
        vectors = dict(zip(sizes, rows, strict=True))
    expected, whole_of = looped(unit, questions, vectors), {"passage": DOCUMENT_OF, "sentence": PASSAGE_OF}
    assert len(set(expected)) > 2
    assert ranks_of(unit, questions, vectors, GOLD, whole_of) == pytest.approx(expected)
    target = GOLD if unit.startswith("passage") else DOCUMENT_OF[GOLD]
    for columns in (1, 4, 9, 100):
        candidates = candidates_of(unit, vectors, whole_of)
        assert candidate_ranks(questions, candidates, target, 4, 0, columns).tolist() == expected


@pytest.mark.parametrize("unit", ["passage-sum", "document-sum", "passage-sentence"])
def test_a_passage_weighs_less_than_its_best_sentence_where_that_is_asked(unit):
    vectors = {"passage": unit_rows(12, 4), "sentence": unit_rows(25, 4, seed=1)}
    questions, whole_of = unit_rows(15, 4, seed=9), {"passage": DOCUMENT_OF, "sentence": PASSAGE_OF}
    expected = looped(unit, questions, vectors, 0.25)
    assert (expected != looped(unit, questions, vectors)) == unit.endswith("sum")
    assert ranks_of(unit, questions, vectors, GOLD, whole_of, weight=0.25).tolist() == expected
    rows, scores = nearest_of(unit, questions, vectors, whole_of, 2, weight=0.25)
    assert rows[:, 0].tolist() == first_units(unit, questions, vectors, whole_of, weight=0.25).tolist()
    if unit == "passage-sum":
        wholes, parts = (questions @ vectors[kind].T for kind in ("passage", "sentence"))
        sums = 0.4 * wholes + 1.6 * np.array([best(row, PASSAGE_OF) for row in parts])
        assert scores == pytest.approx(-np.sort(-sums)[:, :2], abs=1e-6)


def test_files_say_a_weight_in_thousandths_and_nothing_of_one():
    assert [as_thousandths(weight) for weight in (1, 0.9999, 0.5, 0.0001, 10)] == [0, 0, 500, 1, 10_000]
    assert [from_thousandths(number) for number in (0, 500, 1)] == [1, 0.5, 0.001]


def test_names_of_all_pairs_that_there_are_and_the_texts_that_they_need():
    assert combine_units((), ()) == ()
    assert combine_units(("passage",), ("vector", "sentence", "sum")) == ("passage", "passage-sentence", "passage-sum")
    assert set(combine_units((), ("vector", "maxp"))) == set(combine_units(("document", "passage"), ())) == set(UNITS)
    assert combine_units((), ("sum",)) == ("document-sum", "passage-sum")
    assert set(combine_units((), ("vector", "maxp", "sentence", "sum"))) == set(ALL_UNITS)
    assert list_text_kinds(["document-sum", "document"]) == ("document", "passage", "sentence")
    assert [list_text_kinds([unit]) for unit in ("maxp", "document-sentence")] == [("passage",), ("sentence",)]
    for scores in (("maxp",), ("vector", "maxp")):
        with pytest.raises(ConfigError, match="maxp"):
            combine_units(("passage",), scores)


def measured(settings):
    chosen = settings.evaluation
    return list_measured_units(chosen.ranked, chosen.score, settings.teacher.unit, settings.student.dev_unit)


def test_the_first_unit_that_is_named_steers_both_stages_and_all_are_measured():
    settings = Settings()
    assert settings.with_dev_units() is settings and measured(settings) == UNITS
    settings.evaluation = EvaluationSettings(ranked=("passage",), score=("sum", "vector"))
    both = settings.with_dev_units()
    assert (both.teacher.unit, both.student.dev_unit, settings.teacher.unit) == ("passage-sum", "passage-sum", "maxp")
    assert measured(both) == (*UNITS, "passage-sum")
    settings = Settings()
    settings.student.dev_unit = "document-sentence"
    assert measured(settings) == (*UNITS, "document-sentence")


@pytest.mark.parametrize("blocks", [{}, {"whole": 0, "columns": 3, "block": 4}])
def test_copies_of_the_right_passage_are_right_wherever_they_stand(blocks):
    passages, questions = unit_rows(12, 8), unit_rows(15, 8, seed=1)
    # Each passage from 6 on is a copy of one before.
    passages[6:] = passages[:6]
    first_of = number_copies([str(number % 6) for number in range(12)])
    np.testing.assert_array_equal(first_of, np.arange(12) % 6)
    pairs = zip(questions, GOLD % 6, strict=True)
    distinct = [sum(row @ q >= passages[gold] @ q for row in passages[:6]) for q, gold in pairs]
    # Both copies of each wrong passage above it count.
    wanted = [2 * place - 1 for place in distinct]
    right = list_right(GOLD, first_of)
    assert candidate_ranks(questions, Candidates(passages), GOLD, right=right, **blocks).tolist() == wanted
    # A document with a copy is right: document 0 holds passage 0, and 6 is in document 3.
    one = np.array([0])
    assert list_right(one, first_of, DOCUMENT_OF)[1].tolist() == sorted({DOCUMENT_OF[0], DOCUMENT_OF[6]})
    whole_of = {"passage": DOCUMENT_OF}
    query = passages[:1]
    assert ranks_of("maxp", query, {"passage": passages}, one, whole_of).tolist() == [2]
    assert ranks_of("maxp", query, {"passage": passages}, one, whole_of, first_of).tolist() == [1]


def test_of_texts_that_are_all_the_same_only_its_own_is_right_and_ties_count_against():
    first_of = number_copies(["One text."] * 4)
    gold = np.array([0, 2])
    assert [rows.tolist() for rows in list_right(gold, first_of)] == [[0, 1], [0, 2]]
    same = np.ones((4, 1), np.float32)
    assert ranks_of("passage", same[:2], {"passage": same}, gold, {}, first_of).tolist() == [4, 4]
    # One that differs makes a rank say something.
    mixed = number_copies(["One text."] * 3 + ["Another."])
    assert ranks_of("passage", same[:2], {"passage": same}, gold, {}, mixed).tolist() == [2, 2]
    # A text alone has no copies.
    assert ranks_of("passage", same[:1], {"passage": same[:1]}, gold[:1], {}, first_of[:1]).tolist() == [1]


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
