import pytest

from distill.jobs.pipeline.finished_runs import read_run
from distill.report.runs_page import (
    judge_data,
    list_shared_languages,
    name_runs,
    select_differing,
    transpose,
    write_comparison,
)


@pytest.fixture
def compared(run_folder, read_page, tmp_path):
    """The page of runs `a`, `b`, …, each altered by its change: `compared(*changes)` -> `Page`."""

    def compare(*changes):
        runs = [read_run(run_folder(name, change)) for name, change in zip("abc", changes, strict=False)]
        write_comparison(tmp_path / "page.html", runs)
        return read_page(tmp_path / "page.html")

    return compare


def same(metrics):
    pass


def other_settings(metrics):
    metrics["settings"]["teacher"]["base"] = "e5"
    metrics["settings"]["student"]["nested"] = ["64", "128"]
    metrics["versions"]["keras"] = "3.10.0"


def more_languages(metrics):
    """Russian in front; the mean is over it and German."""
    metrics["languages"] = ["en", "ru", "de"]
    metrics["mean_over"] = ["ru", "de"]
    for part in metrics["splits"].values():
        for units in [*part["encoders"].values(), *part["mcnemar"].values()]:
            for row in units.values():
                row["ru"] = dict(row["en"])


def test_there_is_a_row_a_run_and_encoder(compared, shown):
    def measured(metrics):
        metrics["lareqa"], metrics["bundle_bytes"] = {**shown["lareqa"](), "split": "test"}, 6_300_000

    page = compared(same, measured)
    head = ["run", "encoder", "en", "de", "mean of 1", "MB", "ms", "LAReQA, mAP, %"]
    assert page.rows.count(head) == 3  # units
    # passage, test: .7 points above dev
    assert ["a", "student", "66.2", "56.3", "56.3", "–", "–", "–"] in page.rows
    assert ["a", "bundle", "65.4", "55.5", "55.5", "69.5", "0.250", "–"] in page.rows
    assert ["b", "base", "50.8", "11.9", "11.9", "–", "–", "21.3"] in page.rows
    assert ["b", "bundle", "65.4", "55.5", "55.5", "6.3", "0.250", "–"] in page.rows
    assert page.tags.count("svg") == 3


@pytest.mark.parametrize("change", [{"split": "dev"}, {"languages": ["en"]}, {"candidates": {"en": 1, "de": 1}}])
def test_language_bias_is_compared_on_one_split_and_pool_alone(compared, shown, change):
    def on_test(metrics):
        metrics["lareqa"] = {**shown["lareqa"](), "split": "test"}

    def other(metrics):
        metrics["lareqa"] = {**shown["lareqa"](), "split": "test", **change}

    rows = compared(on_test, other).rows
    assert [row[-1] for row in rows if row[:2] == ["a", "base"]] == ["21.3"] * 3
    assert [row[-1] for row in rows if row[:2] == ["b", "base"]] == ["–"] * 3


def test_means_are_over_the_languages_that_all_have(compared):
    page = compared(more_languages, same)
    assert " over de, " in page.words
    # Russian is as English; b lacks it.
    assert ["a", "student", "66.2", "66.2", "56.3", "56.3", "–", "–"] in page.rows
    assert ["b", "student", "66.2", "–", "56.3", "56.3", "–", "–"] in page.rows

    def only_english(metrics):
        metrics["mean_over"] = ["en"]

    page = compared(same, only_english)
    assert "svg" not in page.tags
    assert ["a", "student", "66.2", "56.3", "–", "–", "–"] in page.rows
    named = {"a": {"mean_over": ["zh", "de", "ru"]}, "b": {"mean_over": ["ru", "zh"]}}
    assert list_shared_languages(named) == ["zh", "ru"]


def test_the_split_is_one_that_all_have(compared):
    def only(split):
        return lambda metrics: metrics["splits"].pop("dev" if split == "test" else "test")

    assert "for test;" in compared(same, same).words
    page = compared(same, only("dev"))
    assert "for dev," in page.words
    assert ["b", "student", "65.5", "55.6", "55.6", "–", "–"] in page.rows
    page = compared(only("test"), only("dev"))
    assert "no split" in page.words and "svg" not in page.tags


def test_only_what_differs_is_listed(compared):
    page = compared(same, other_settings)
    assert "✓ the same" in page.words
    assert ["teacher.base", "muse", "e5"] in page.rows and ["student.nested", "–", "64, 128"] in page.rows
    assert ["keras", "3.9.1", "3.10.0"] in page.rows and "seed" not in [row[0] for row in page.rows]
    assert "teacher.base" not in compared(same, same).words
    page = compared(same, change("settings", "teacher", "base", "<i>"))
    assert "i" not in page.tags and ["teacher.base", "muse", "<i>"] in page.rows
    values = {"a": {"x": 1, "y": 2}, "b": {"x": 1, "z": None}, "c": {"x": 1, "y": 2}}
    assert list(select_differing(values)) == ["y"] and list(transpose(values)) == ["x", "y", "z"]
    assert select_differing(values)["y"] == {"a": 2, "b": None, "c": 2}


def verdicts(*changes, shown):
    named = {name: shown["metrics"]() for name, _ in zip("abc", changes, strict=False)}
    for change, metrics in zip(changes, named.values(), strict=True):
        change(metrics)
    return [(verdict.mark, verdict.figures) for verdict in judge_data(named)]


def change(*path):
    *above, last, value = path

    def alter(metrics):
        for name in above:
            metrics = metrics[name]
        metrics[last] = value

    return alter


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (change("dataset", "name", "games"), "The data sets are toys (a); games (b)."),
        (change("dataset", "files", "de.json", "0" * 64), "The data files' hashes differ: de.json."),
        (change("dataset", "passages", 346), "12 documents, 346 passages, train 70, dev 17, test 23 (b)."),
        (change("settings", "seed", 42), "question with seed 41 (a); question with seed 42 (b)."),
        (change("settings", "data", "document_language", "de"), "The documents are in en (a); de (b)."),
    ],
)
def test_runs_on_other_data_are_said_to_be(shown, alter, said):
    ((mark, figures),) = verdicts(same, alter, shown=shown)
    assert mark == "✗" and said in figures


def test_runs_on_other_data_are_compared_but_a_seed_does_not_matter_to_splits_of_a_file(shown, compared):
    page = compared(same, change("dataset", "name", "games"))
    assert "✗" in page.words and "toys (a); games (b)." in page.words
    assert len([row for row in page.rows if row[:2] == ["b", "student"]]) == 3

    def fixed(seed):
        def alter(metrics):
            metrics["dataset"]["files"]["splits.json"], metrics["settings"]["seed"] = "5" * 64, seed

        return alter

    assert [mark for mark, _ in verdicts(fixed(1), fixed(2), shown=shown)] == ["✓"]


def test_an_older_run_leaves_it_open_whether_the_data_is_the_same(shown, compared):
    def older(metrics):
        del metrics["versions"], metrics["dataset"]["files"]

    ((mark, figures),) = verdicts(same, older, same, shown=shown)
    assert mark == "≈" and "recorded in b:" in figures
    page = compared(same, older)
    assert ["de.json", "d" * 64, "–"] in page.rows and ["keras", "3.9.1", "–"] in page.rows


def test_runs_of_one_name_are_told_apart_by_their_paths(run_folder, tmp_path):
    runs = [read_run(run_folder(name)) for name in ("one/first", "two/first", "second")]
    assert name_runs(runs[1:]) == ["first", "second"]
    assert name_runs(runs) == [str(run.folder) for run in runs]
