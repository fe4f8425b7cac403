"""What a run's log holds, in memory and on disk."""

import json
import time

import pytest

from distill.training.log import RunLog, is_start_kept, keeps_start


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


def scored(*scores, **more):
    return [{"event": "student", "p@1": p, "mrr@10": mrr, **more} for p, mrr in scores]


QUANTISED = {"quantised": True}


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        (scored((0.5, 0.6)), True),
        # Of equal ones the first; the second score decides between equal first ones.
        (scored((0.5, 0.6), (0.5, 0.6), (0.4, 0.9)), True),
        (scored((0.5, 0.6), (0.5, 0.61)), False),
        # Rounded, the start scores less and is kept all the same; then a rounded epoch is better than it.
        ([*scored((0.5, 0.6), (0.4, 0.6)), *scored((0.45, 0.6), (0.44, 0.6), **QUANTISED)], True),
        ([*scored((0.5, 0.6), (0.4, 0.6)), *scored((0.45, 0.6), (0.46, 0.6), **QUANTISED)], False),
        ([*scored((0.5, 0.6), (0.6, 0.6)), *scored((0.45, 0.6), (0.44, 0.6), **QUANTISED)], False),
        ([*scored((0.5, 0.6), (0.4, 0.6)), *scored((0.3, 0.6), averaged=2)], False),
        # A stage that returned its start for another reason says so.
        ([*scored((0.5, 0.6), (0.6, 0.6)), {"event": "student", "start_kept": True}], True),
    ],
)
def test_a_stage_kept_its_start_if_no_evaluation_was_better(rows, kept, tmp_path):
    assert is_start_kept(rows) is kept
    log = [{"event": "teacher", "p@1": 0.1, "mrr@10": 0.1}, *rows, {"event": "done"}]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in log), encoding="utf-8")
    assert keeps_start(tmp_path, "student") is kept and keeps_start(tmp_path, "nothing") is None


def test_without_a_log_nothing_is_known(tmp_path):
    assert keeps_start(tmp_path, "teacher") is None
