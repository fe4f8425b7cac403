import json

import pytest

from distill.errors import DataError, InputError
from distill.pipeline.finished import read_run


def test_a_finished_run_is_what_its_files_hold(run_folder, shown):
    run = read_run(run_folder(search=shown["search"]()))
    assert run.metrics == shown["metrics"]()
    assert run.rows == shown["rows"]()
    assert run.search == shown["search"]()


def test_a_run_without_a_search_has_none(run_folder):
    assert read_run(run_folder()).search is None


def test_a_folder_without_metrics_is_refused(tmp_path):
    with pytest.raises(InputError, match="no metrics.json in it; give the folder of a finished `distill run`"):
        read_run(tmp_path)


def test_broken_json_is_refused_with_its_place(run_folder):
    folder = run_folder()
    (folder / "metrics.json").write_text('{"settings": {},}', encoding="utf-8")
    with pytest.raises(DataError, match=r"metrics.json: invalid JSON at line 1, column 1[67]"):
        read_run(folder)


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
    ("change", "said"),
    [
        (
            without("languages"),
            "metrics.json: 'languages' is missing; was it written by a `distill run` that came",
        ),
        (without("settings", "teacher", "base"), "metrics.json, settings, teacher: 'base' is missing"),
        (having([], "splits"), "metrics.json: 'splits' is of another type than expected: list"),
        (having({}, "splits"), "no split or no language was measured"),
        (without("splits", "dev", "encoders", "bundle"), "splits.dev, encoders: 'bundle' is missing"),
        (without("splits", "test", "encoders", "base", "maxp", "de"), "splits.test, encoders, base, maxp: 'de' is"),
        (having("much", "splits", "dev", "mean_p@1", "base", "maxp"), "base: 'maxp' is of another type than"),
        (without("splits", "dev", "mcnemar", "student against base", "document", "en", "p_holm"), "'p_holm' is"),
        (without("gate", "drop"), "metrics.json, gate: 'drop' is missing"),
        (having({"languages": []}, "lareqa"), "metrics.json, lareqa: 'name' is missing"),
        (without("timings", "query", "p99_ms"), "timings.query: 'p99_ms' is missing"),
    ],
)
def test_metrics_of_another_form_are_refused_with_their_place(run_folder, change, said):
    with pytest.raises(DataError) as refused:
        read_run(run_folder(change=change))
    assert said in str(refused.value)


@pytest.mark.parametrize("content", ["[]", "3", "null"])
def test_metrics_that_are_no_object_are_refused(run_folder, content):
    folder = run_folder()
    (folder / "metrics.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match="expected an object, got"):
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
    with pytest.raises(DataError, match="log.jsonl, line 7: 'p@1' is missing"):
        _ = read_run(folder).rows


def test_a_search_of_another_form_is_refused(run_folder, shown):
    found = shown["search"]()
    del found["bundles"][1]["pieces"]
    with pytest.raises(DataError, match="search.json, bundle 2: 'pieces' is missing"):
        _ = read_run(run_folder(search=found)).search
