import threading
from functools import partial

import pytest

from distill.data.dataset import Question, name_line
from distill.errors import DataError
from distill.training.batches import BatchMaker, divergence_message, make_ahead, name_questions, shorten_list

NAMES = ("first", "ahead", "waits", "last")


def test_a_maker_makes_when_it_is_called_and_not_before():
    calls = []
    maker = BatchMaker(lambda: calls.append(1) or {"x": 2}, lambda: ["en a"], "loss")
    assert calls == [] and maker.ids() == ["en a"]
    assert maker() == {"x": 2} and calls == [1]


def test_questions_are_named_with_their_language_lines_by_number_and_start_and_of_many_eight():
    assert name_questions([Question("a", "en", "Where?", 0), Question("a", "de", "Wo?", 0)]) == ["en a", "de a"]
    assert name_line("news.tsv", 0, "x" * 50) == f"news.tsv 1 ('{'x' * 30}')"

    assert shorten_list(list("abcdefgh")) == "a, b, c, d, e, f, g, h"
    assert shorten_list(list("abcdefghij")) == "a, b, c, d, e, f, g, h and 2 more"


def test_what_is_said_of_a_loss_has_all_that_one_looks_for():
    maker = BatchMaker(dict, lambda: [f"en {number}" for number in range(64)], "softmax loss")
    message = divergence_message("teacher", maker, float("inf"), "step 17 of epoch 2", 1e-3)
    parts = "teacher: ", "softmax loss", " inf ", "step 17 of epoch 2", " 0.001", "en 0, en 1, ", "en 7 and 56 more"
    assert [part for part in parts if part not in message] == []


def test_the_next_batch_is_made_by_a_thread_while_a_step_computes_where_it_rests_on_no_step():
    events, ready = [], {name: threading.Event() for name in NAMES}

    def make(name):
        events.append(("made", name, threading.current_thread() is threading.main_thread()))
        ready[name].set()
        return {"x": name}

    makers = [BatchMaker(partial(make, name), list, "loss", ahead=name != "waits") for name in NAMES]
    with make_ahead(makers) as next_batch:
        for following in [*NAMES[1:], None]:
            batch = next_batch()
            if following not in ("waits", None):
                # It is there before the step ends.
                assert ready[following].wait(timeout=20)
            events.append(("step", batch["x"], True))
    assert [main for event, _, main in events if event == "made"] == [True, False, True, False]
    order = [(event, name) for event, name, _ in events]
    assert order.index(("step", "ahead")) < order.index(("made", "waits")) < order.index(("step", "waits"))
    assert [name for event, name in order if event == "step"] == list(NAMES)


def test_what_a_thread_cannot_make_is_raised_in_its_turn():
    def broken():
        raise DataError("a text")

    with make_ahead([BatchMaker(dict, list, "loss"), BatchMaker(broken, list, "loss", ahead=True)]) as next_batch:
        next_batch()
        with pytest.raises(DataError):
            next_batch()
