import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.evaluation.bench import rounds
from distill.evaluation.bench.process import start_workers
from distill.evaluation.bench.rounds import (
    BATCH,
    COLD_STARTS,
    WARM_UP,
    bench,
    by_language,
    count_steps,
    intervals,
    measure_cold_starts,
    measure_latency,
    measure_throughput,
    rotate,
    select_questions,
    summarise,
)


def shared_log(tmp_path, name):
    return f"open({str(tmp_path / 'calls')!r}, 'a').write({name!r} + ' '.join(texts) + chr(10))"


def calls(tmp_path):
    return (tmp_path / "calls").read_text().splitlines()


def questions(*texts):
    return [Question(str(number), "de" if number % 2 else "th", text, 0) for number, text in enumerate(texts)]


def test_encoders_take_turns_a_round_each_and_the_order_rotates(scripted, tmp_path):
    specs = {name: scripted(name, encode=shared_log(tmp_path, name)) for name in "ab"}
    texts = list("01234567xy")
    with start_workers(specs, 1) as workers:
        measure_latency(workers, texts, rounds=2)
    warm_up = [name + text for name in "ab" for text in texts]
    # A turn starts with five calls that are not timed.
    turns = [[name + text for text in "567xy01234567xy"] for name in "abba"]
    assert calls(tmp_path) == warm_up + [call for turn in turns for call in turn]


def test_the_warm_up_is_short(scripted, tmp_path):
    texts = [str(number) for number in range(WARM_UP + 5)]
    with start_workers({"a": scripted(encode=shared_log(tmp_path, ""))}, 1) as workers:
        measure_latency(workers, texts, rounds=1)
    assert calls(tmp_path)[:WARM_UP] == texts[:WARM_UP] and calls(tmp_path)[WARM_UP : WARM_UP + 5] == texts[-5:]


def test_times_stand_at_their_round_and_text(scripted):
    with start_workers({"a": scripted(encode="time.sleep(int(texts[0]) / 1000)")}, 1) as workers:
        spent = measure_latency(workers, ["0", "40", *"0000000", "80"], rounds=2)["a"]
    assert spent.shape == (2, 10)
    assert (spent[:, 1] >= 40).all() and (spent[:, 9] >= 80).all()
    assert (np.median(np.delete(spent, [1, 9], axis=1)) < 20) and (spent[:, 1] < spent[:, 9]).all()


def test_orders_rotate():
    assert [rotate(["a", "b", "c"], turn) for turn in (0, 1, 5)] == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]


def test_throughput_is_of_whole_batches(scripted, tmp_path):
    slow = f"time.sleep(0.064 if len(texts) == {BATCH} else 9); {shared_log(tmp_path, '')}"
    with start_workers({"a": scripted(encode=slow)}, 1) as workers:
        rate = measure_throughput(workers, ["x", "y", "z"], lambda done: None)["a"]
    assert 150 < rate <= BATCH / 0.064
    assert set(calls(tmp_path)[0].split()) == {"x", "y", "z"}


@pytest.fixture
def as_users_have_it(monkeypatch):
    """As many cold starts as a user's measurement has."""
    monkeypatch.setattr(rounds, "COLD_STARTS", COLD_STARTS)


def test_a_cold_start_is_from_the_process_to_the_first_vector(scripted, as_users_have_it):
    specs = {"fast": scripted("fast"), "slow": scripted("slow", load="time.sleep(0.4)", encode="time.sleep(0.4)")}
    starts = measure_cold_starts(specs, "a", 1, lambda done: None)
    assert {name: len(seconds) for name, seconds in starts.items()} == {"fast": COLD_STARTS, "slow": COLD_STARTS}
    assert min(starts["slow"]) >= 0.8 > np.median(starts["fast"]) > 0.01


def test_a_row_holds_every_figure(scripted, as_users_have_it):
    specs, told = {"slow": scripted("slow", encode="time.sleep(0.01 * len(texts))"), "fast": scripted("fast")}, []
    rows = bench(specs, questions("a", "b", "c"), rounds=2, documents=["d", "e"], progress=told.append)
    assert told == [1] * count_steps(2, rounds=2, documents=["d", "e"])
    assert list(rows) == ["slow", "fast"]
    slow, fast = rows.values()
    assert slow["median_ms"] >= 10 > fast["median_ms"]
    assert slow["median_ms"] <= slow["p90_ms"] <= slow["p95_ms"] <= slow["p99_ms"]
    assert {language: row["questions"] for language, row in slow["languages"].items()} == {"th": 2, "de": 1}
    assert slow["search"]["median_ms"] >= 10 > fast["search"]["median_ms"]
    assert slow["texts_per_s"] <= 100 < fast["texts_per_s"]
    assert slow["cold_start_s"] == sorted(slow["cold_starts_s"])[1]
    assert (slow["kind"], slow["dimension"]) == ("bundle", 2) and 0 < slow["bytes"] < 2000
    assert "numpy" in slow["versions"]
    # Search is timed only where there are documents.
    assert "search" not in bench({"a": specs["fast"]}, questions("a"), rounds=1)["a"]


def test_dev_questions_of_all_languages_in_turn_and_no_more_than_told():
    by_language = {lang: {id: Question(id, lang, f"{lang} {id}", 0) for id in "abc"} for lang in ("de", "en")}
    splits = {"train": ("c",), "dev": ("b", "a")}
    dataset = Dataset("two", "en", ("t",), (Passage("p", "text", 0),), by_language, splits)
    assert [q.text for q in select_questions(dataset, ("en", "de"))] == ["en b", "de b", "en a", "de a"]
    assert [q.text for q in select_questions(dataset, ("en", "de"), most=3)] == ["en b", "de b", "en a"]
    # Two of English, and one of German.
    del by_language["de"]["a"]
    assert [q.text for q in select_questions(dataset, ("de", "en"))] == ["de b", "en b", "en a"]


def test_a_summary_by_hand():
    # Of 1 … 100: linear percentiles are 1 + 99 p; the variance of n numbers in a row is (n^2 - 1) / 12.
    figures = summarise(np.arange(1.0, 101.0).reshape(4, 25))
    ends = [end for pair in figures.pop("intervals").values() for end in pair]
    assert {type(value) for value in [*figures.values(), *ends]} == {float}
    expected = {"median_ms": 50.5, "p90_ms": 90.1, "p95_ms": 95.05, "p99_ms": 99.01, "mean_ms": 50.5}
    assert figures == pytest.approx({**expected, "std_ms": (9999 / 12) ** 0.5})


def test_an_interval_is_over_questions_and_not_over_rounds():
    # Every question takes the same: however the rounds spread, drawing questions anew changes nothing.
    times = np.repeat([[1.0], [2.0], [9.0]], 50, axis=1)
    assert intervals(times)["median_ms"] == [2.0, 2.0]
    # Drawn with replacement: both 1 (1 in 4), both 3 (1 in 4), or one of each, whose median is 2.
    assert intervals(np.array([[1.0, 3.0], [1.0, 3.0]]))["median_ms"] == [1.0, 3.0]


def test_an_interval_covers_what_theory_says():
    # The median of n normal numbers has the standard deviation sqrt(pi / 2n): 0.0627 for 400.
    times = np.random.default_rng(1).normal(10, 1, size=(1, 400))
    low, high = intervals(times)["median_ms"]
    assert low < np.median(times) < high
    assert high - low == pytest.approx(2 * 1.96 * (np.pi / 800) ** 0.5, rel=0.35)


def test_an_interval_is_seeded():
    times = np.random.default_rng(0).random((2, 30))
    assert intervals(times, 3) == intervals(times, 3) != intervals(times, 4)


def test_languages_have_their_own_figures():
    figures = by_language(np.array([[1.0, 10.0, 3.0], [1.0, 30.0, 3.0]]), ["de", "th", "de"])
    assert list(figures) == ["de", "th"]
    assert [(row["questions"], row["median_ms"]) for row in figures.values()] == [(2, 2.0), (1, 20.0)]
