"""docs/papers.md says of each row of the papers what it is, and its own table counts them."""

import re
from collections import Counter

from fixtures.commands import ROOT

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
VERDICTS = ("faithful", "differs", "missing", "impossible")
PAPERS = {"CL-ReLKT": ("C57",), "LAReQA": ("L30", "K6"), "LIR": ("I15",), "Sentri": ("S36",)}
ROW = re.compile(r"^\|([CLKIS]\d[^|]*)\|([^|]*)\|", re.MULTILINE)


def expand(names):
    """The rows that a cell names: "C22, C23" or "C25 to C27"."""
    for part in names.split(", "):
        first, _, last = part.partition(" to ")
        yield from (f"{first[0]}{number}" for number in range(int(first[1:]), int((last or first)[1:]) + 1))


def verdicts():
    """What the page says of each row: one word for a line, and one for each row that is something else."""
    words = []
    for names, told in ROW.findall(PAGE):
        word, *odd = told.split("; ")
        others = dict(one.split() for one in odd)
        rows = list(expand(names))
        assert set(others) < set(rows), names
        words += [(row, others.get(row, word)) for row in rows]
    return words


def counted(paper):
    last = PAPERS[paper]
    rows = {f"{one[0]}{number}" for one in last for number in range(1, int(one[1:]) + 1)}
    return Counter(word for row, word in verdicts() if row in rows), len(rows)


def test_each_row_of_the_papers_is_there_once_and_is_something():
    rows = [row for row, _ in verdicts()]
    expected = [f"{one[0]}{n}" for last in PAPERS.values() for one in last for n in range(1, int(one[1:]) + 1)]
    assert sorted(rows) == sorted(expected) and len(expected) == 144
    assert {word for _, word in verdicts()} <= set(VERDICTS)


def test_the_pages_table_counts_its_own_rows():
    table = dict(re.findall(r"^\|(CL-ReLKT|LAReQA|LIR|Sentri|all)\|([\d|]+)\|$", PAGE, re.MULTILINE))
    numbers = {paper: [int(number) for number in cells.split("|")] for paper, cells in table.items()}
    for paper in PAPERS:
        words, rows = counted(paper)
        assert numbers[paper] == [rows, *(words[word] for word in VERDICTS)], paper
    assert numbers["all"] == [sum(column) for column in zip(*(numbers[paper] for paper in PAPERS), strict=True)]


def test_what_is_impossible_says_why():
    lines = [line for line in PAGE.splitlines() if ROW.match(line) and line.split("|")[2] == "impossible"]
    assert lines and [line for line in lines if "cannot: " not in line] == []
