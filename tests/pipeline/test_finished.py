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


def without(*path, instead=None):
    """A change that takes a value out, or puts another there."""

    def change(metrics):
        *place, last = path
        for name in place:
            metrics = metrics[name]
        if instead is None:
            del metrics[last]
        else:
            metrics[last] = instead

    return change


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (without("languages"), "metrics.json: 'languages'"),
        (without("settings", "teacher", "base"), "metrics.json, settings, teacher: 'base'"),
        (without("splits", instead=[]), "metrics.json: 'splits'"),
        (without("splits", instead={}), "metrics.json"),
        (without("splits", "dev", "encoders", "bundle"), "splits.dev, encoders: 'bundle'"),
        (without("splits", "test", "encoders", "base", "maxp", "de"), "splits.test, encoders, base, maxp: 'de'"),
        (without("splits", "dev", "mean_p@1", "base", "maxp", instead="much"), "base: 'maxp'"),
        (without("splits", "dev", "mcnemar", "student against base", "document", "en", "p_holm"), "'p_holm'"),
        (without("gate", "drop"), "metrics.json, gate: 'drop'"),
        (without("lareqa", instead={"languages": []}), "metrics.json, lareqa: 'name'"),
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


def test_a_log_and_a_search_of_another_form_are_refused_with_their_place(run_folder, shown):
    search = shown["search"]()
    del search["bundles"][1]["pieces"]
    folder = run_folder(search=search)
    with pytest.raises(DataError, match="bundle 2: 'pieces'"):
        _ = read_run(folder).search
    with open(folder / "log.jsonl", "a", encoding="utf-8") as log:
        log.write(json.dumps({"event": "student", "step": 12}) + "\n")
    with pytest.raises(DataError, match="line 7: 'p@1'"):
        _ = read_run(folder).rows
