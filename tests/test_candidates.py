from distill.budget import Budget
from distill.candidates import SHAPES, TABLES, VOCABULARIES, Candidate, cheap, cost, to_train
from distill.config import TABLES as ALL_TABLES
from distill.students.ngram import NGramEncoder
from distill.students.shape import Shape


def tried(*rows):
    return [{"vocabulary": v, "table": t, "p@1": p, "table_bytes": b} for v, t, p, b in rows]


PROBES = {"full": {"other_bytes": 30, "ms": 3.0}, "small": {"other_bytes": 10, "ms": 1.0}}
TRIED = tried(("all", "uint8", 0.9, 100), ("used", "int4", 0.9, 50), ("used", "pq8", 0.7, 20))


def test_the_cheap_ones_are_every_vocabulary_in_every_format():
    assert len(set(cheap())) == len(VOCABULARIES) * len(TABLES)
    assert not any(candidate.trained for candidate in cheap())


def test_formats_are_ones_that_an_artefact_can_have():
    assert set(TABLES) <= set(ALL_TABLES)


def test_every_shape_is_a_cut_of_the_base():
    sizes = {"vocabulary": 10}
    assert all(shape.check(NGramEncoder(**sizes)) for shape in SHAPES.values())
    assert SHAPES["full"] == Shape()


def test_names_say_what_a_candidate_is():
    assert Candidate("used", "int4").name == "full-used-int4"
    assert Candidate("all", "pq8", "static", True).name == "static-all-pq8-trained"


def test_without_limits_each_shape_takes_what_lost_least_the_smaller_of_equals():
    found = to_train(TRIED, PROBES, Budget())
    assert found == {s: Candidate("used", "int4", s, True) for s in PROBES}


def test_a_limit_on_size_counts_table_and_shape():
    found = to_train(TRIED, PROBES, Budget(bytes=60))
    assert found == {"full": Candidate("used", "pq8", "full", True), "small": Candidate("used", "int4", "small", True)}


def test_a_shape_that_is_too_slow_or_too_large_is_left_out():
    assert to_train(TRIED, PROBES, Budget(ms=2.0))["full"] is None
    assert to_train(TRIED, PROBES, Budget(bytes=30)) == {"full": None, "small": Candidate("used", "pq8", "small", True)}


def test_the_cost_of_the_whole_shape_is_one():
    assert cost(5, 5) == 1
    assert cost(0, 5) == 0.2
