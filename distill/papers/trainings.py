"""CL-ReLKT's trainings on one data set as rows, and the lines of tables that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .choices import AUTHORS, LINEAR
from .readers import read_comparison, read_disagreements
from .rows import Row
from .tables import Line

MEASURED = "--unit document --unit passage --unit maxp --metric p@1,p@5,p@10 --draws 1000"
# What the log of a training has of each evaluation on dev.
LOGGED = ("document", "p@1")
# Section A.5: ablations of the teacher, by the flags that each adds. Tables 11a and 11b.
BM25, ONLINE, CONTRASTIVE = "--online-epochs 0", "--bm25-epochs 0", "--loss contrastive"
PASSAGES, DOCUMENTS = "--set teacher.train_unit=passage", "--set teacher.train_unit=document"
ALL_LANGUAGES = "--set teacher.questions=all"


@dataclass(frozen=True)
class Trainings:
    """Rows of teachers, students and their figures, on one data set.

    `data` are the options that name the data set, `teaching` and `learning` those that each `teach` and `transfer` has
    besides, and `measuring` those of each comparison with `base`.
    """

    data: str
    teaching: str = ""
    learning: str = ""
    measuring: str = ""
    base: str = "muse"

    def teach(self, name: str, flags: str = "", recipe: str = AUTHORS) -> tuple[Row, Row]:
        """Return the rows of a teacher and of its figures.

        Args:
            name: the teacher's row; its figures are NAME-figures.
            flags: options of `distill teach`.
            recipe: the recipe that these stand above.
        """
        return Row(name, _join("teach --recipe", recipe, self.data, self.teaching, flags)), self.compare(name)

    def transfer(self, name: str, flags: str, after: Sequence[str] = (), recipe: str = LINEAR) -> tuple[Row, Row]:
        """Return the rows of a student and of its figures.

        Args:
            name: the student's row; its figures are NAME-figures.
            flags: options of `distill transfer`.
            after: rows whose encoders the flags name.
            recipe: the recipe that the flags stand above.
        """
        command = _join("transfer --recipe", recipe, self.data, self.learning, flags)
        return Row(name, command, tuple(after)), self.compare(name)

    def compare(self, name: str) -> Row:
        """Return the row that measures an encoder beside the base, question by question."""
        command = f"compare {{runs}}/{name}-{{seed}} {self.base}"
        data = self.data.partition(" --set ")[0]
        return Row(f"{name}-figures", _join(command, data, MEASURED, self.measuring), (name,))


def trained_line(
    name: str,
    row: str,
    columns: Sequence[str],
    paper: Mapping[str, float] | None = None,
    unit: str = "document",
    metric: str = "p@1",
) -> Line:
    """Return the line of an encoder that a row trained, tested against the base.

    Args:
        columns: The languages to test, with one correction over all of them.
        paper: The paper's figures by column.
        unit: "document", "passage" or "maxp".
        metric: The metric, such as "p@1".
    """
    read, tests = read_comparison("a", unit, metric), read_disagreements(columns, unit, metric)
    logged = (unit, metric) == LOGGED
    return Line(name, f"{row}-figures", read, paper or {}, trained=row, against=tests, logged=logged)


def base_line(
    name: str, row: str, paper: Mapping[str, float] | None = None, unit: str = "document", metric: str = "p@1"
) -> Line:
    """Return the line of the base.

    Args:
        paper: The paper's figures by column.
        unit: "document", "passage" or "maxp".
        metric: The metric, such as "p@1".
    """
    return Line(name, f"{row}-figures", read_comparison("b", unit, metric), paper or {}, fixed=True)


def _join(*parts):
    return " ".join(filter(None, parts))
