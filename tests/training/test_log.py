"""What a run's log holds, in memory and on disk."""

import json
import time

import pytest

from distill.training.log import RunLog, read_outcome


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def without_time(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_an_event_is_one_line_on_disk_at_once(tmp_path):
    log = RunLog(tmp_path / "log.jsonl")
    log.write("epoch", loss=0.5, text="Где Нил?\n")
    assert lines(tmp_path / "log.jsonl") == log.rows
    assert without_time(log.rows) == [{"event": "epoch", "loss": 0.5, "text": "Где Нил?\n"}]
    log.write("done")
    log.close()
    assert without_time(lines(tmp_path / "log.jsonl"))[1:] == [{"event": "done"}]
    # Other scripts stay readable.
    assert "Где Нил?" in (tmp_path / "log.jsonl").read_text(encoding="utf-8")


def test_a_log_that_was_only_remembered_is_saved_as_one_that_was_kept(tmp_path):
    kept, remembered = RunLog(tmp_path / "kept.jsonl"), RunLog()
    for log in (kept, remembered):
        log.write("student", step=1, text="Нил")
        log.write("student", step=2, languages={"de": 0.5})
        log.close()
    remembered.save(tmp_path / "saved.jsonl")
    assert without_time(lines(tmp_path / "saved.jsonl")) == without_time(lines(tmp_path / "kept.jsonl"))


def test_an_earlier_log_is_written_anew_unless_it_is_to_stay(tmp_path):
    for mode, events in (("w", ["second"]), ("a", ["second", "third"])):
        log = RunLog(tmp_path / "log.jsonl", mode)
        log.write(events[-1])
        log.close()
        assert [row["event"] for row in lines(tmp_path / "log.jsonl")] == events
        assert [row["event"] for row in log.rows] == events[-1:]


def test_seconds_count_from_the_start():
    before = time.perf_counter()
    log = RunLog()
    log.write("first")
    time.sleep(0.06)
    log.write("second")
    passed = time.perf_counter() - before
    first, second = (row["seconds"] for row in log.rows)
    # Seconds are rounded to two places.
    assert first >= 0
    assert first + 0.05 <= second <= passed + 0.005


def rows(*scores, **last):
    """Evaluations of P@1 and MRR@10, the start's first, eight steps an epoch; the last has further fields."""
    of_epochs = [{"epoch": n, "step": 8 * n, "p@1": p, "mrr@10": mrr} for n, (p, mrr) in enumerate(scores)]
    return [*of_epochs[:-1], of_epochs[-1] | last] if of_epochs else []


KEPT = {
    "better": (
        rows((0.5, 0.6), (0.6, 0.1), (0.4, 0.9)),
        False,
        1,
        "16 steps, dev P@1 0.500 to 0.600; epoch 1 was kept",
    ),
    "worse": (
        rows((0.5, 0.6), (0.4, 0.9), (0.5, 0.5)),
        True,
        2,
        "16 steps, dev P@1 0.500 to 0.500, MRR@10 0.600 to 0.500; the start was kept",
    ),
    "equal": (
        rows((1.0, 1.0), (1.0, 1.0)),
        True,
        1,
        "8 steps, dev P@1 1.000 to 1.000, MRR@10 1.000 to 1.000; the start was kept",
    ),
    "mean": (rows((0.5, 0.6), (0.4, 0.9), averaged=1), False, 1, "8 steps, dev P@1 0.500 to 0.400; epoch 1 was kept"),
    "means": (
        rows((0.5, 0.6), (0.6, 0.6), (0.4, 0.9), averaged=2),
        False,
        2,
        "16 steps, dev P@1 0.500 to 0.400; the mean of 2 epochs was kept",
    ),
    "no significant gain": (
        [*rows((0.5, 0.6), (0.6, 0.7)), rows((0.5, 0.6), start_kept=True)[0]],
        True,
        1,
        "8 steps, dev P@1 0.500 to 0.600; the start was kept",
    ),
}


@pytest.mark.parametrize("case", KEPT)
def test_the_outcome_says_whether_dev_kept_the_start(case):
    of, kept, epoch, line = KEPT[case]
    outcome = read_outcome(of)
    assert (outcome.kept_start, outcome.epoch) == (kept, epoch)
    assert outcome.describe("stage 1") == f"stage 1: {line}"


def test_a_start_that_only_rounding_changed_was_kept():
    """The rounded epochs begin with the best of the others, which is scored again."""
    exact = rows((0.5, 0.6), (0.4, 0.5))
    rounded = [{**row, "quantised": True} for row in (exact[-1] | {"p@1": 0.48}, exact[-1] | {"epoch": 2, "step": 16})]
    kept = read_outcome([*exact, *rounded])
    # No epoch trained the rounded start.
    assert kept.kept_start and (kept.trained, kept.epoch) == ((0.4, 0.5), 1)
    learned = read_outcome([*exact, rounded[0], rounded[1] | {"p@1": 0.7}])
    assert (learned.kept_start, learned.trained, learned.steps) == (False, (0.7, 0.5), 16)


def test_without_a_step_there_is_no_outcome():
    assert read_outcome([]) is None and read_outcome(rows((0.5, 0.5))) is None
