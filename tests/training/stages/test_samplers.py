from collections import Counter
from functools import partial

import numpy as np
import pytest

from distill.data.dataset import Question
from distill.data.more_questions import Triplets, draw_epoch, make_collection
from distill.data.pairs import Pairs, add_collection
from distill.encoders.batching import draw_cycled
from distill.errors import ConfigError
from distill.training.stages.samplers import ParallelLines, Sampler

LANGUAGES = ("en", "de", "th")


def toy(spoken=LANGUAGES, answered=LANGUAGES, size=10, missing=()):
    """`size` questions in each language of `spoken`, but `missing` pairs, a passage each in every one of `answered`."""
    asks = [(number, language) for language in spoken for number in range(size) if (number, language) not in missing]
    return Pairs(
        tuple(Question(str(number), language, f"{number}?", number) for number, language in asks),
        tuple(f"{number} in {language}" for language in answered for number in range(size)),
        np.repeat(np.array(answered), size),
        np.tile(np.arange(size), len(answered)),
        tuple(number + size * np.arange(len(answered)) for number, _ in asks),
        tuple(np.zeros(0, dtype=np.int64) for _ in asks),
    )


def drawn(kind, pairs=None, size=4, count=0, epochs=1, **more):
    """`[[(question's language, passage's language, id)]]` of the batches of so many epochs."""
    pairs = pairs or toy()
    sampler = Sampler(pairs, kind, "en", size, 0, **more)
    batches = [batch for epoch in range(1, epochs + 1) for batch in sampler.batches(count, epoch)]
    for questions, passages in batches:
        assert all(pairs.content[p] == int(pairs.questions[q].id) for q, p in zip(questions, passages, strict=True))
    return [
        [(str(pairs.asked_in[q]), str(pairs.languages[p]), pairs.questions[q].id) for q, p in zip(*batch, strict=True)]
        for batch in batches
    ]


def kinds(batches):
    return {(question, passage) for batch in batches for question, passage, _ in batch}


@pytest.mark.parametrize(
    ("kind", "pairs", "mixed"),
    [
        ("en-en", {("en", "en")}, False),
        ("x-en", {(language, "en") for language in LANGUAGES}, True),
        ("x-x", {(language, language) for language in LANGUAGES}, True),
        ("x-x-mono", {(language, language) for language in LANGUAGES}, False),
    ],
)
def test_languages_of_questions_and_passages_and_whether_a_batch_mixes_them(kind, pairs, mixed):
    batches = drawn(kind, size=5)
    assert kinds(batches) == pairs and any(len(kinds([batch])) > 1 for batch in batches) == mixed


def test_x_y_asks_and_answers_in_any_two_languages():
    batches = drawn("x-y", epochs=20)
    assert kinds(batches) == {(one, other) for one in LANGUAGES for other in LANGUAGES}
    # 560 pairs of nine kinds, all alike: 62 each, with a deviation of 7.4.
    counts = Counter((question, answered) for batch in batches for question, answered, _ in batch)
    assert all(abs(count - 560 / 9) < 4 * 7.4 for count in counts.values())


@pytest.mark.parametrize("kind", ["x-en", "x-x", "x-x-mono", "x-y"])
def test_a_question_comes_again_when_all_have_come(kind):
    # 30 questions in batches of 5: six batches, one of them of each language twice.
    epochs = drawn(kind, size=5, epochs=2)
    for batches in (epochs[:6], epochs[6:]):
        assert len({(question, id) for batch in batches for question, _, id in batch}) == 30
    assert epochs[:6] != epochs[6:]


def test_whole_batches_alone_and_as_many_as_asked_for_but_of_a_language_with_few_questions():
    for kind in ("x-en", "en-en"):
        assert [len(batch) for batch in drawn(kind, size=4, count=30)] == [4] * 7
    # Fewer questions than a batch takes: they are one.
    assert [len(batch) for batch in drawn("en-en", size=64)] == [10]
    few = toy(missing=[(number, "th") for number in range(3, 10)])
    batches = drawn("x-x-mono", few, size=5, count=25)
    assert sorted((batch[0][0], len(batch)) for batch in batches) == [("de", 5)] * 2 + [("en", 5)] * 2 + [("th", 3)]


def test_the_same_seed_draws_the_same_and_a_kind_without_a_pair_is_refused():
    draws = [Sampler(toy(), "x-y", "en", 4, seed).batches(0, 1) for seed in (0, 0, 1)]
    first, again, other = (np.concatenate([*map(np.concatenate, batches)]).tolist() for batches in draws)
    assert first == again != other
    with pytest.raises(ConfigError, match="pairs.batches: x-x"):
        Sampler(toy(spoken=("de",), answered=("en",)), "x-x", "en", 4, 0)


def test_a_share_of_a_batch_is_parallel_text():
    pairs = toy()
    lines = ParallelLines(18, np.arange(12) % 7, np.array([0] * 4 + [1] * 8), np.array([0.5, 0.5]), 0.25)
    batches = Sampler(pairs, "x-y", "en", 8, 0, lines).batches(0, 1)
    # 18 questions of the data in batches of six, and two lines with each.
    assert len(batches) == 3
    for questions, passages in batches:
        assert (questions[:6] < 18).all() and (questions[6:] >= 18).all()
        assert passages[6:].tolist() == [(row - 18) % 7 for row in questions[6:]]


def test_orders_follow_each_other_without_a_gap():
    whole = draw_cycled(7, 21, 0, 3)
    assert sorted(whole[:7]) == sorted(whole[7:14]) == sorted(whole[14:]) == list(range(7))
    assert whole[:7].tolist() != whole[7:14].tolist()
    np.testing.assert_array_equal(
        np.concatenate([draw_cycled(7, 4, 0, 3), draw_cycled(7, 11, 4, 3), draw_cycled(7, 6, 15, 3)]), whole
    )


@pytest.mark.parametrize("kind", ["en-en", "x-en", "x-x", "x-x-mono", "x-y"])
def test_pairs_of_other_collections_are_asked_by_weight_among_the_others_in_mono_alone(kind):
    sources = [
        Triplets(name, weight, *([f"{name} {kind} {n}" for n in range(60)] for kind in "qp"))
        for name, weight in (("a", 1.0), ("b", 3.0))
    ]
    pairs = toy(size=12)
    both = add_collection(pairs, make_collection(sources, "en"), "en", partial(draw_epoch, sources, 24, 0, 0))
    sampler, counts, mixed = Sampler(both, kind, "en", 4, 0), Counter(), set()
    of_data = 12 if kind == "en-en" else 36
    for epoch in range(1, 21):
        batches = sampler.batches(0, epoch)
        assert len(batches) == (of_data + 24) // 4 and {len(rows) for batch in batches for rows in batch} == {4}
        for questions, passages in batches:
            new = questions >= 36
            mixed.add(bool(new.any() and not new.all()))
            texts = [both.questions[row].text for row in questions[new]]
            assert [text.replace("q", "p") for text in texts] == [both.passages[row] for row in passages[new]]
            counts.update(text[0] for text in texts)
    assert counts["a"] + counts["b"] == 480 and counts["b"] / 480 == pytest.approx(0.75, abs=0.06)
    assert (True in mixed) == (kind != "x-x-mono")


@pytest.mark.parametrize(
    ("kind", "count", "sizes"), [("x-x-mono", 0, [4, 4, 4, 3]), ("en-en", 1, [4]), ("x-en", 1, [4])]
)
def test_fewer_questions_of_other_collections_than_a_batch_are_asked(kind, count, sizes):
    """Three of them, beside all questions of the data set or one."""
    sources = [Triplets("a", 1.0, *([f"{name} {n}" for n in range(3)] for name in "qp"))]
    both = add_collection(toy(size=4), make_collection(sources, "en"), "en", partial(draw_epoch, sources, 0, 0, 0))
    batches = [rows for rows, _ in Sampler(both, kind, "en", 4 if count == 0 else 8, 0).batches(count, 1)]
    assert sorted(map(len, batches), reverse=True) == sizes
    assert {row for rows in batches for row in rows if row >= 12} == {12, 13, 14}
