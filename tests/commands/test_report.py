import re

import pytest


@pytest.fixture
def report(distill):
    return lambda *arguments: distill("report", *arguments)


def test_a_runs_report_is_written_again_or_elsewhere(report, run_folder, shown, read_page, tmp_path):
    folder = run_folder(search=shown["search"]())
    assert report(folder, "--output", tmp_path / "page.html").code == 0
    assert (tmp_path / "page.html").is_file() and not (folder / "report.html").exists()
    left = report(folder)
    assert (left.code, left.err) == (0, f"report: {folder / 'report.html'}\n")
    page = read_page(folder / "report.html")
    assert "toys:" in page.words and "tiny-used-int4" in page.words
    assert page.tags.count("svg") == 2 * 3 + 1 + 1 + 1


def test_an_earlier_report_stays_where_the_run_is_refused(report, run_folder):
    folder = run_folder()
    (folder / "report.html").write_text("earlier", encoding="utf-8")
    (folder / "log.jsonl").unlink()
    left = report(folder)
    assert left.code == 2 and left.is_one_error and "log.jsonl" in left.err
    assert (folder / "report.html").read_text(encoding="utf-8") == "earlier"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_several_runs_make_one_page(report, run_folder, tmp_path, read_page):
    first, second, output = run_folder("a"), run_folder("b"), ["--output", tmp_path / "both.html"]
    for arguments, named in (([first, second], "--output"), ([first, f"{first}/../a", *output], "twice")):
        left = report(*arguments)
        assert left.code == 2 and left.is_one_error and named in left.err
    assert report(first, second, *output).code == 0
    assert "2 runs " in read_page(tmp_path / "both.html").words


@pytest.mark.parametrize("content", ["{", "[]"])
def test_one_bad_run_among_several_is_named(report, run_folder, tmp_path, content):
    bad = run_folder("bad")
    (bad / "metrics.json").write_text(content, encoding="utf-8")
    left = report(run_folder("a"), bad, "--output", tmp_path / "both.html")
    assert left.code == 2 and left.is_one_error and str(bad / "metrics.json") in left.err
    assert not (tmp_path / "both.html").exists()


def test_figures_of_another_form_are_no_traceback(report, run_folder, shown):
    def strange(metrics):
        metrics["lareqa"] = shown["lareqa"]()
        metrics["lareqa"]["encoders"]["base"]["map"] = "much"

    left = report(run_folder("a", strange))
    assert left.code == 2 and left.is_one_error and re.search("(Type|Value)Error", left.err)
