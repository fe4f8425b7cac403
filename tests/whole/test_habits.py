"""What a developer runs: make, pre-commit and the tools in .ci agree, and links of the documents lead somewhere."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = runpy.run_path(str(ROOT / ".ci" / "coverage_table.py"))


def recipe(target):
    """The commands of a target of the Makefile, without the environment's folder."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", text, re.MULTILINE)[1].splitlines()
    return [line.strip().replace("$(BIN)/", "") for line in lines]


def hooks():
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    return re.findall(r"^ +entry: (.*)$", text, re.MULTILINE)


def test_ci_and_hooks_are_commands_of_make_test_and_fetch_nothing():
    commands = recipe("test")
    *whole, docs = hooks()
    assert whole == ["ruff check .", "ruff format --check .", "python .ci/typecheck.py"]
    built = docs.partition(" --site-dir")[0]
    assert built == "mkdocs build --strict"
    assert all(any(one in command for command in commands) for one in [*whole, built])
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"repo: (.*)", text) == ["local"]
    assert set(re.findall(r"language: (.*)", text)) == {"system"}
    assert re.findall(r"make [^=]*", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))[-1] == "make test VENV"


def test_a_page_whose_links_lead_nowhere_fails_the_build(tmp_path):
    """With --quiet it does not: --strict sees no warning then. That of our pages, which `make test` builds, passes."""
    pytest.importorskip("mkdocs")
    (tmp_path / "docs").mkdir()
    links = "[a](#b) [a](nowhere.md) [a](#nowhere)"
    (tmp_path / "docs" / "index.md").write_text(f"# A page\n\n{links}\n\n# b\n", encoding="utf-8")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n  - index.md")[0]
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    command = [sys.executable, "-m", *hooks()[-1].split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "with 2 warnings" in said and "'nowhere.md'" in said and "'#nowhere'" in said, said


def test_types_are_checked_under_the_installed_names(tmp_path):
    pytest.importorskip("mypy")
    runpy.run_path(str(ROOT / ".ci" / "typecheck.py"))["link"](tmp_path)
    for name in ("teachers", "students", "export"):
        assert (tmp_path / "distill" / name).resolve() == ROOT / name
    modules = {path.name for path in (ROOT / "distill").glob("*.py")}
    assert {path.name for path in (tmp_path / "distill").glob("*.py")} == modules


def test_lines_are_counted_of_all_that_is_not_left_out(tmp_path):
    measured = pytest.importorskip("coverage").Coverage(data_file=tmp_path / "data", config_file=ROOT / "setup.cfg")
    path = ROOT / "distill" / "__main__.py"
    measured.get_data().add_lines({str(path): [3]})
    every = TABLE["sources"](measured)
    assert {path, ROOT / "export" / "gate.py"} < set(every)
    assert not {path for path in every if "released" in str(path) or path.name == "distill_ngram.py"}
    counts = {"distill": (2, 1), "teachers": (0, 0), "students": (0, 0), "export": (0, 0)}
    assert TABLE["counted"](measured, [path]) == counts


def test_coverage_is_of_all_lines_together():
    text, share = TABLE["table"]({"distill": (300, 270), "export": (100, 50), "empty": (0, 0)})
    rows = [line.split() for line in text.splitlines()]
    assert rows[1:] == [
        ["distill", "300", "270", "90.0"],
        ["export", "100", "50", "50.0"],
        ["empty", "0", "0", "0.0"],
        ["total", "400", "320", "80.0"],
    ]
    assert share == 80


def anchors(text):
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


# mkdocs checks those of docs/.
@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "benchmarks/recipes/README.md", "benchmarks/xquad/README.md"]
)
def test_links_lead_to_a_file_and_its_heading(page):
    path = ROOT / page
    links = re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
    for link in links:
        file, _, anchor = link.partition("#")
        if file.startswith("http"):
            continue
        target = path.parent / file if file else path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link
    assert links or not page.startswith(("README", "CONTRIBUTING"))


def test_every_page_is_in_the_nav():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n  - index.md")[2]
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} - {"index.md"}
    assert pages == set(re.findall(r"- (\S+\.md)", nav))
