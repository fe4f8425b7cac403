from distill.data.dataset import Question, line_name
from distill.training.batches import Maker, diverged, listed, named


def test_a_maker_makes_when_it_is_called_and_not_before():
    calls = []
    maker = Maker(lambda: calls.append(1) or {"x": 2}, lambda: ["en a"], "loss")
    assert calls == [] and maker.ids() == ["en a"]
    assert maker() == {"x": 2} and calls == [1]


def test_questions_are_named_with_their_language_lines_by_number_and_start_and_of_many_eight():
    assert named([Question("a", "en", "Where?", 0), Question("a", "de", "Wo?", 0)]) == ["en a", "de a"]
    assert line_name("news.tsv", 0, "x" * 50) == f"news.tsv 1 ('{'x' * 30}')"

    assert listed(list("abcdefgh")) == "a, b, c, d, e, f, g, h"
    assert listed(list("abcdefghij")) == "a, b, c, d, e, f, g, h and 2 more"


def test_what_is_said_of_a_loss_has_all_that_one_looks_for():
    maker = Maker(dict, lambda: [f"en {number}" for number in range(64)], "softmax loss")
    message = diverged("teacher", maker, float("inf"), "step 17 of epoch 2", 1e-3)
    parts = "teacher: ", "softmax loss", " inf ", "step 17 of epoch 2", " 0.001", "en 0, en 1, ", "en 7 and 56 more"
    assert [part for part in parts if part not in message] == []
