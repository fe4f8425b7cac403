import re

import pytest

from distill.cli import main


@pytest.fixture
def report(capsys):
    """`report(*arguments)` -> exit code and what was said."""

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(["report", *map(str, arguments)])
        return left.value.code, capsys.readouterr().err

    return call


def test_a_runs_report_is_written_again(report, run_folder, shown, read_page):
    folder = run_folder(search=shown["search"]())
    code, said = report(folder)
    assert (code, said) == (0, f"report: {folder / 'report.html'}\n")
    page = read_page(folder / "report.html")
    assert "toys: from muse to a student of 2 languages" in page.words and "tiny-used-int4" in page.words
    assert page.tags.count("svg") == 2 * 3 + 1 + 1 + 1


def test_it_may_be_written_elsewhere(report, run_folder, tmp_path):
    folder = run_folder()
    assert report(folder, "--output", tmp_path / "page.html")[0] == 0
    assert (tmp_path / "page.html").is_file() and not (folder / "report.html").exists()


def test_an_earlier_report_stays_where_the_run_is_refused(report, run_folder):
    folder = run_folder()
    (folder / "report.html").write_text("earlier", encoding="utf-8")
    (folder / "log.jsonl").unlink()
    code, said = report(folder)
    assert code == 2 and said.startswith("error: ") and "log.jsonl: cannot be read" in said
    assert (folder / "report.html").read_text(encoding="utf-8") == "earlier"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_several_runs_need_a_place(report, run_folder):
    code, said = report(run_folder("a"), run_folder("b"))
    assert (code, said.count("\n")) == (2, 1) and "say where with --output" in said


def test_several_runs_make_one_page(report, run_folder, tmp_path, read_page):
    assert report(run_folder("a"), run_folder("b"), "--output", tmp_path / "both.html")[0] == 0
    assert "2 runs compared" in read_page(tmp_path / "both.html").words


@pytest.mark.parametrize("content", ["{", "[]"])
def test_one_bad_run_among_several_is_named(report, run_folder, tmp_path, content):
    bad = run_folder("bad")
    (bad / "metrics.json").write_text(content, encoding="utf-8")
    code, said = report(run_folder("a"), bad, "--output", tmp_path / "both.html")
    assert (code, said.count("\n")) == (2, 1) and "bad/metrics.json" in said.replace("\\", "/")
    assert not (tmp_path / "both.html").exists()


def test_a_run_is_compared_with_others_only(report, run_folder, tmp_path):
    folder = run_folder("a")
    code, said = report(folder, f"{folder}/../a", "--output", tmp_path / "both.html")
    assert (code, said.count("\n")) == (2, 1) and "a run is named twice" in said


def test_figures_of_another_form_are_no_traceback(report, run_folder, shown):
    def strange(metrics):
        metrics["lareqa"] = shown["lareqa"]()
        metrics["lareqa"]["encoders"]["base"]["map"] = "much"

    code, said = report(run_folder("a", strange))
    assert (code, said.count("\n")) == (2, 1) and re.search("figures of another form .*(Type|Value)Error", said)
