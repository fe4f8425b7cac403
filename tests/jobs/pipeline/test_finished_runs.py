import json

import pytest

from distill.errors import DataError, InputError
from distill.jobs.pipeline.finished_runs import read_run
from distill.report.run_page import write_report
from distill.report.run_tables import print_run
from distill.report.runs_page import write_comparison


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


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("splits", "test", "encoders", "muse"), "splits.test, encoders: 'muse'"),
        (("splits", "dev", "sign_flips", "student against base", "maxp"), "student against base: 'maxp'"),
        (("examples", "won"), "examples: 'won'"),
    ],
)
def test_what_a_newer_run_has_besides_has_to_be_whole(run_folder, shown, path, place):
    assert read_run(run_folder(change=lambda metrics: metrics.update(shown["beside"]()))).metrics["peers"]
    with pytest.raises(DataError, match=place):
        read_run(run_folder(change=lambda metrics: (metrics.update(shown["beside"]()), without(*path)(metrics))))


def with_unit(name, *encoders):
    """The metrics with the figures of the unit passage as those of another unit too, of some encoders or of all."""

    def change(metrics):
        for part in metrics["splits"].values():
            figures = [part["encoders"], part["mean_p@1"]]
            for row in [row for of in figures for key, row in of.items() if not encoders or key in encoders]:
                row[name] = row["passage"]
            for row in part["mcnemar"].values():
                row[name] = row["passage"]
        metrics["settings"]["student"]["dev_unit"] = name

    return change


def test_a_unit_beside_the_three_of_every_run_is_shown_and_has_to_be_whole(run_folder, read_page, tmp_path, capsys):
    run, other = read_run(run_folder("a", change=with_unit("passage-sum"))), read_run(run_folder("b"))
    write_report(tmp_path / "report.html", run.metrics, run.rows)
    assert "P@1, dev, passage-sum" in (tmp_path / "report.html").read_text(encoding="utf-8")
    print_run({**run.metrics, "bundle_bytes": 1}, run.folder)
    assert "passage-sum, test" in capsys.readouterr().out
    for runs, shown in (([run, run], True), ([run, other], False)):
        write_comparison(tmp_path / "runs.html", runs)
        assert ("passage-sum: " in (tmp_path / "runs.html").read_text(encoding="utf-8")) is shown
    with pytest.raises(DataError, match="encoders, base: 'passage-sum'"):
        read_run(run_folder("c", change=with_unit("passage-sum", "student")))


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
