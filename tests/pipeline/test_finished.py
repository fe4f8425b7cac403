import json

import pytest

from distill.errors import DataError, InputError
from distill.pipeline.finished import read_run


def test_a_finished_run_is_what_its_files_hold(run_folder, shown):
    run = read_run(run_folder(search=shown["search"]()))
    assert run.metrics == shown["metrics"]()
    assert run.rows == shown["rows"]()
    assert run.search == shown["search"]()
    assert read_run(run_folder("other")).search is None


def without(*path):
    """A change that takes a value out."""

    def change(metrics):
        for name in path[:-1]:
            metrics = metrics[name]
        del metrics[path[-1]]

    return change


def having(value, *path):
    """A change that puts a value in."""

    def change(metrics):
        for name in path[:-1]:
            metrics = metrics[name]
        metrics[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (without("languages"), "metrics.json: 'languages'"),
        (without("settings", "teacher", "base"), "metrics.json, settings, teacher: 'base'"),
        (having([], "splits"), "metrics.json: 'splits'"),
        (having({}, "splits"), "metrics.json"),
        (without("splits", "dev", "encoders", "bundle"), "splits.dev, encoders: 'bundle'"),
        (without("splits", "test", "encoders", "base", "maxp", "de"), "splits.test, encoders, base, maxp: 'de'"),
        (having("much", "splits", "dev", "mean_p@1", "base", "maxp"), "base: 'maxp'"),
        (without("splits", "dev", "mcnemar", "student against base", "document", "en", "p_holm"), "'p_holm'"),
        (without("gate", "drop"), "metrics.json, gate: 'drop'"),
        (having({"languages": []}, "lareqa"), "metrics.json, lareqa: 'name'"),
        (without("timings", "query", "p99_ms"), "timings.query: 'p99_ms'"),
    ],
)
def test_metrics_of_another_form_are_refused_with_their_place(run_folder, change, place):
    with pytest.raises(DataError, match=place):
        read_run(run_folder(change=change))


@pytest.mark.parametrize("content", ["[]", "3", "null", '{"settings": {},}', None])
def test_metrics_that_are_none_are_refused(run_folder, content):
    folder = run_folder()
    (folder / "metrics.json").unlink()
    if content:
        (folder / "metrics.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError if content else InputError, match="metrics.json"):
        read_run(folder)


def test_an_older_run_is_read(run_folder):
    def older(metrics):
        for path in (["versions"], ["dataset", "files"], ["gate"], ["timings", "query"], ["settings", "student"]):
            without(*path)(metrics)

    assert "versions" not in read_run(run_folder(change=older)).metrics


def test_a_log_of_another_form_is_refused_with_its_line(run_folder):
    folder = run_folder()
    with open(folder / "log.jsonl", "a", encoding="utf-8") as log:
        log.write(json.dumps({"event": "student", "step": 12}) + "\n")
    with pytest.raises(DataError, match="line 7: 'p@1'"):
        _ = read_run(folder).rows


def test_a_search_of_another_form_is_refused(run_folder, shown):
    search = shown["search"]()
    del search["bundles"][1]["pieces"]
    with pytest.raises(DataError, match="bundle 2: 'pieces'"):
        _ = read_run(run_folder(search=search)).search
