"""Tables of the documents have as many cells in each row as in their head; the script that is shipped is today's."""

import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks", "distill", "docs", "examples", "export", "students", "teachers", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
FENCE = re.compile(r"\s*(`{3,}|~{3,})")
RULE = re.compile(r"\s*\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?)?\s*")


def prose(text):
    """`(number, line)` of what is outside code fences, and an empty line at the end; a line inside one is empty."""
    fence = ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence_line = FENCE.match(line)
        inside = bool(fence)
        if fence_line and not fence:
            fence = fence_line[1]
        elif fence_line and fence_line[1].startswith(fence) and line.strip() == fence_line[1]:
            fence = ""
        yield number, "" if inside or fence_line else line


def cells(line):
    """How many cells a row has; `\\|` is a bar within one."""
    return len(re.split(r"(?<!\\)\|", re.sub(r"^\||(?<!\\)\|$", "", line.strip())))


def faults(text):
    """The lines of a page's tables that have other than their head's number of cells, each with what is wrong."""
    wrong, head, before = [], 0, ""
    for number, line in prose(text):
        if head and line.strip():
            if cells(line) != head:
                wrong.append(f"{number}: {cells(line)} cells under a head of {head}")
        elif RULE.fullmatch(line) and "|" in before:
            head = cells(before)
            if cells(line) != head:
                wrong.append(f"{number}: a rule of {cells(line)} cells under a head of {head}")
        else:
            head = 0
            if before.lstrip().startswith("|"):
                wrong.append(f"{number - 1}: a row without a head")
        before = "" if head else line
    return wrong


def test_each_row_of_a_table_has_the_cells_of_its_head():
    texts = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
    assert {"README.md", "docs/lareqa.md", "benchmarks/recipes/README.md", "distill/released/README.md"} <= set(texts)
    assert [f"{name}:{fault}" for name, text in texts.items() for fault in faults(text)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", []),
        ("a | b\n--- | ---:\n1 | 2\n\nNo | row | of it.\n", []),
        ("| a | b |\n|---|---|\n| `x\\|y` | |\n", []),
        ("```\n| a | b |\n|---|---|\n| 1 |\n```\n", []),
        ("````\n```\n| 1 |\n````\n| a |\n|---|\n| 1 |\n", []),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 1 |\n", ["4: 1 cells under a head of 2"]),
        ("- a list\n\n  | a | b |\n  |---|---|\n  | 1 | 2 | 3 |\n", ["5: 3 cells under a head of 2"]),
        ("| a | b |\n|---|\n", ["2: a rule of 1 cells under a head of 2"]),
        ("| a | b |\n| 1 | 2 |\n", ["1: a row without a head", "2: a row without a head"]),
    ],
)
def test_a_row_of_other_cells_is_named_by_its_line(text, expected):
    assert faults(text) == expected


def test_the_cards_of_shipped_encoders_name_the_one_script_that_export_writes():
    script = (ROOT / "export" / "encode.py").read_bytes()
    for card in (ROOT / "distill").glob("released*/card.json"):
        said = json.loads(card.read_text(encoding="utf-8"))["files"]["encode.py"]
        assert said == {"bytes": len(script), "sha256": hashlib.sha256(script).hexdigest()}, card


def test_a_shipped_encoder_has_one_name_wherever_a_user_reads():
    """The former names, which are still taken, stand in no help, page, recipe or example."""
    former = re.compile(
        r"released-(small|transformer)\b(?!-)|[`\"']released[`\"']|(?<!--name) released (?=released|muse|[-|#])"
    )
    places = [*ROOT.glob("*.md"), *(ROOT / "distill" / "recipes").glob("*"), *(ROOT / "examples").rglob("*.py")]
    places += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md"), *(ROOT / "distill").rglob("*.py")]
    named = {path.relative_to(ROOT).as_posix() for path in places if former.search(path.read_text(encoding="utf-8"))}
    assert named == {"distill/encoders/catalog/bundle.py"}
