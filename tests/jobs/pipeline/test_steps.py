"""The engine that goes through a job's steps."""

import random
import weakref
from contextlib import contextmanager

import pytest

from distill.jobs.pipeline.steps import Engine, Step


class Made:
    """A result that can be watched: a plain object is let go of as soon as nothing holds it."""


def test_steps_come_in_their_order_with_the_results_that_they_need():
    steps = [
        Step("two", lambda base: base + 2, ["base"]),
        Step("product", lambda base, two: base * two, ["base", "two"]),
        Step("told", str, ["product"]),
    ]
    assert Engine(0).go(steps, {"base": 5}) == "35"


def test_what_is_there_is_loaded_and_what_is_not_is_made(tmp_path):
    path, calls = tmp_path / "result", []

    def make():
        calls.append("made")
        path.write_text("7", encoding="utf-8")
        return "7"

    step = Step("seven", make, is_there=path.is_file, load=path.read_text)
    assert [Engine(0).do(step), Engine(0).do(step)] == ["7", "7"] and calls == ["made"]


def test_a_step_draws_the_same_whether_those_before_it_drew_or_were_there():
    drawing = Step("drawing", random.random)
    first = Engine(3).go([drawing], {})
    assert Engine(3).go([Step("before", random.random), drawing], {}) == first != Engine(4).go([drawing], {})


def test_what_no_later_step_needs_is_let_go_of_before_the_next():
    alive = {}

    def make():
        result = Made()
        alive["first"] = weakref.ref(result)
        return result

    steps = [
        Step("first", make),
        Step("uses", lambda first: None, ["first"]),
        Step("is alive", lambda: alive["first"]()),
    ]
    assert Engine(0).go(steps, {}) is None
    # Where it is needed it is there.
    kept = [*steps[:2], Step("is alive", lambda first: alive["first"]() is first, ["first"])]
    assert Engine(0).go(kept, {}) is True


def test_a_named_step_is_timed_also_when_it_breaks_off():
    seconds = []

    @contextmanager
    def timer(name):
        try:
            yield
        finally:
            seconds.append(name)

    def broken():
        raise KeyboardInterrupt

    steps = [Step("one", lambda: 1, timed="a"), Step("two", lambda: 2), Step("three", broken, timed="b")]
    with pytest.raises(KeyboardInterrupt):
        Engine(0, timer).go(steps, {})
    assert seconds == ["a", "b"]
