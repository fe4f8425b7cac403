"""A table as LaTeX and CSV; Markdown is tested with the scripts of benchmarks/papers."""

import csv
import io
import shutil
import subprocess

import pytest

from distill.papers.formats import to_csv, to_latex, to_markdown, to_pairs_csv
from distill.papers.tables import Line, Table

TABLE = Table(
    "3", "P@1 & more", ("de", "th"), (Line("A", "a"), Line("B", "b")), mean=("de", "th"), note="100 % of dev, p < .05"
)
TESTS = {"de": {"p": 0.01, "better": True}, "th": {"p": 0.04, "better": False}}
FIGURES = {
    "A_1": {
        "paper": {"de": 61.5},
        "here": {"0": {"de": 50.0, "th": 25.0}, "1": {"de": 60.0, "th": 35.0}},
        "against_base": {"0": TESTS, "1": TESTS},
        "best_of": {"0": 3, "1": 5},
        "last": {"0": {"de": 40.0, "th": 20.0}, "1": {"de": 40.0, "th": 20.0}},
        "start_kept": {"0": False, "1": True},
        "command": "distill teach",
    },
    "B": {"paper": {}, "here": {}, "command": "distill teach"},
}
PAIRS = {
    "metric": "P@1",
    "languages": ["de", "th"],
    "seeds": ["0", "1"],
    "pairs": [
        {"line": "A_1", "other": "B", "difference": -2.0, "low": -3.0, "high": -1.0, "test": "sign-flip"}
        | {"p": 0.0001, "p_holm": 0.0001, "questions": 40, "clusters": 10}
    ],
}


def test_pairs_stand_below_a_table_of_latex_and_in_a_csv_of_their_own():
    lines = to_latex(TABLE, FIGURES, tested=PAIRS).splitlines()
    assert lines[10:12] == [
        r"\end{tabular}",
        r"\par\smallskip\begin{minipage}{\linewidth}\footnotesize Of 1 pair of lines, 1 shows a difference by P@1"
        r" of all questions (2 languages, seeds 0, 1; p after Holm's correction)."
        r" B is above A\_1 (2.0 points, p $<$ .001).\end{minipage}",
    ]
    assert to_pairs_csv({"3": PAIRS}).splitlines() == [
        "table,metric,seeds,line,other,difference,low,high,test,p,p_holm,questions,clusters",
        "3,P@1,0 1,A_1,B,-2.0,-3.0,-1.0,sign-flip,0.0001,0.0001,40,10",
    ]


def test_latex_has_the_marks_the_means_and_no_sign_of_its_own():
    text = to_latex(TABLE, FIGURES)
    assert text.splitlines()[2:] == [
        r"\begin{tabular}{lrrrrr}",
        r"\toprule",
        r" & de & th & mean of 2 & at the end & best of \\",
        r"\midrule",
        r"A\_1, the paper & 61.5 &  &  &  &  \\",
        r"A\_1, seeds 0, 1, dev kept the start in seed 1"
        r" & 55.0$^{*}$ & 30.0$^{\dagger}$ & 42.5 $\pm$ 7.1 & 30.0 $\pm$ 0.0 & 3 to 5 \\",
        r"B & not run &  &  &  &  \\",
        *(r"\bottomrule", r"\end{tabular}", r"\caption{P@1 \& more. 100 \% of dev, p $<$ .05}", r"\end{table}"),
    ]


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX")
def test_latex_is_typeset(tmp_path):
    head = "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\\begin{document}\n"
    (tmp_path / "a.tex").write_text(
        head + to_latex(TABLE, FIGURES, tested=PAIRS) + "\n\\end{document}\n", encoding="utf-8"
    )
    subprocess.run(["pdflatex", "-halt-on-error", "a.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_csv_has_a_figure_per_line_with_its_seed_and_its_test():
    rows = list(csv.DictReader(io.StringIO(to_csv([TABLE], {"3": FIGURES}))))
    assert [(row["column"], row["seed"], float(row["value"])) for row in rows] == [
        ("de", "paper", 61.5),
        *(("de", "0", 50.0), ("th", "0", 25.0), ("de", "1", 60.0), ("th", "1", 35.0)),
    ]
    assert rows[2]["p_holm"] == "0.04" and rows[2]["better_than_base"] == "false" and rows[2]["best_of"] == "3"
    assert [row["start_kept"] for row in rows] == ["", "false", "false", "true", "true"]


@pytest.mark.parametrize(
    ("kept", "seeds", "told"),
    [
        ({"0": True, "1": True}, 2, "**A_1, seeds 0, 1**, dev kept the start in seeds 0, 1"),
        ({"0": True}, 1, "**A_1**, dev kept the start"),
        ({"0": False}, 1, "**A_1**"),
    ],
)
def test_a_line_that_is_its_start_says_so_behind_its_name(kept, seeds, told):
    here = dict(list(FIGURES["A_1"]["here"].items())[:seeds])
    text = to_markdown(TABLE, {"A_1": {**FIGURES["A_1"], "here": here, "start_kept": kept}})
    assert text.splitlines()[7].split("|")[1] == told
