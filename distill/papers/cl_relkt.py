"""CL-ReLKT's tables (Limkonchotiwat et al., Findings of NAACL 2022) on any data set."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import InputError
from .choices import AUTHORS, LINEAR
from .readers import read_comparison, read_disagreements
from .rows import Row
from .tables import Line, Table

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
        unit: "document", "passage" or "maxp".
        metric: The metric, such as "p@1".
    """
    read, tests = read_comparison("a", unit, metric), read_disagreements(columns, unit, metric)
    logged = (unit, metric) == LOGGED
    return Line(name, f"{row}-figures", read, paper or {}, trained=row, against=tests, logged=logged)


def base_line(
    name: str, row: str, paper: Mapping[str, float] | None = None, unit: str = "document", metric: str = "p@1"
) -> Line:
    """Return the line of the base."""
    return Line(name, f"{row}-figures", read_comparison("b", unit, metric), paper or {}, fixed=True)


def _join(*parts):
    return " ".join(filter(None, parts))


TEACHER, STUDENT = "teacher", "student"
ABOUT = (
    "Per cent of the {split} questions. * is better and † worse than {base} by McNemar's test, p < .05 after Holm's "
    'correction over the languages of the line, in each seed. "best of" is the number of evaluations among which dev '
    'chose the weights, "at the end" the mean of the last one on dev, which nothing chose. Where dev kept the start, '
    "the line is the encoder that the training began with."
)


@dataclass(frozen=True)
class Study:
    """The data, the languages, the base and the settings of CL-ReLKT's trainings.

    `languages` are the questions', the teacher's `language` among them. `teaching` and `learning` are settings,
    NAME=VALUE, that stand above the `recipe` in stage 1 and in stage 2. `divided` is true where the data set's own
    splits hold for all seeds. `digest` identifies the texts that are learned and measured.
    """

    dataset: str
    languages: tuple[str, ...]
    language: str = "en"
    document_language: str = "en"
    split: str = "dev"
    base: str = "muse"
    recipe: str = AUTHORS
    teaching: tuple[str, ...] = ()
    learning: tuple[str, ...] = ()
    divided: bool = False
    digest: str = ""

    @property
    def others(self) -> tuple[str, ...]:
        """The languages that are not the teacher's, over which means are taken."""
        return tuple(language for language in self.languages if language != self.language)

    @property
    def trainings(self) -> Trainings:
        """The rows of this data set."""
        data = f"--dataset {{data}} --document-language {self.document_language} --languages {','.join(self.languages)}"
        return Trainings(
            data,
            teaching=" ".join(["--base {base}", f"--teacher {self.language}", *map(_assign, self.teaching)]),
            learning=" ".join([f"--teacher-language {self.language}", *map(_assign, self.learning)]),
            measuring=f"--split {self.split} --seed {{seed}}",
            base="{base}",
        )

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows that the tables have."""
        make, recipe = self.trainings, self.recipe
        teachers = {
            **{TEACHER: "", "passages": PASSAGES, "bm25": f"{PASSAGES} {BM25}", "online": f"{PASSAGES} {ONLINE}"},
            **{"contrastive": f"{PASSAGES} {CONTRASTIVE}", "documents": DOCUMENTS},
            **{"all-passages": f"{PASSAGES} {ALL_LANGUAGES}", "all-documents": f"{DOCUMENTS} {ALL_LANGUAGES}"},
        }
        taught = "--teacher {runs}/teacher-{seed}"
        students = {
            STUDENT: (taught, (TEACHER,)),
            "cosine": (f"{taught} --set student.distance=cosine", (TEACHER,)),
            "q": ("--teacher {base} --objectives qq", ()),
            "qd": ("--teacher {base} --objectives qq,dd", ()),
            "all": ("--teacher {base}", ()),
        }
        rows = [row for name, flags in teachers.items() for row in make.teach(name, flags, recipe)]
        rows += [row for name, (flags, after) in students.items() for row in make.transfer(name, flags, after, recipe)]
        return tuple(rows)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The paper's tables that this data can have."""
        return (
            self._table("3", "P@1 by document", [self._base(STUDENT), *self._lines(teacher=TEACHER, student=STUDENT)]),
            self._table(
                "6",
                f"training objectives, from {self.base} as the teacher",
                [self._base("q"), *self._lines(q="Obj. 1", qd="Obj. 1, 2", all="Obj. 1, 2, 3")],
            ),
            self._table(
                "7",
                "the student by passage and by document",
                [trained_line(unit, STUDENT, self.languages, unit=unit) for unit in ("passage", "document", "maxp")],
            ),
            self._table("8", "P@5 and P@10 by document", self._deep("p@5") + self._deep("p@10")),
            self._table(
                "11a",
                "how the teacher is trained",
                self._lines(
                    online="triplets, online",
                    bm25="triplets, BM25",
                    passages="triplets, BM25, online",
                    contrastive="contrastive, both",
                ),
            ),
            self._table(
                "11b",
                "what the teacher is trained on",
                self._lines(
                    **{"documents": f"{self.language}, documents", "passages": f"{self.language}, passages"},
                    **{"all-documents": "all languages, documents", "all-passages": "all languages, passages"},
                ),
            ),
            self._table(
                "11d", "the distance of the student's loss", self._lines(student="squared L2", cosine="cosine")
            ),
        )

    @property
    def about(self) -> str:
        """The text that explains the figures."""
        return ABOUT.format(split=self.split, base=self.base)

    def _table(self, name, title, lines):
        columns = (*self.others, self.language)
        return Table(name, f"CL-ReLKT, Table {name}: {title}", columns, tuple(lines), mean=self.others)

    def _lines(self, **names):
        """Return lines, given the name of each by its row."""
        return [trained_line(name, row, self.languages) for row, name in names.items()]

    def _deep(self, metric):
        """Return the lines of the base, the teacher and the student by a metric."""
        names = (TEACHER, STUDENT)
        lines = [trained_line(f"{name}, {metric.upper()}", name, self.languages, metric=metric) for name in names]
        base = self._base(STUDENT, metric)
        return [replace(base, name=f"{base.name}, {metric.upper()}"), *lines]

    def _base(self, row, metric="p@1"):
        """Return the line of the base; seeds bear on it where each has other questions."""
        return replace(base_line(self.base, row, metric=metric), fixed=self.divided)


def choose_tables(study: Study, names: Sequence[str]) -> tuple[Table, ...]:
    """Return some tables of a study. Raises `InputError` for a name that there is not.

    Args:
        names: The names of the tables, such as "3".
    """
    by_name = {table.name: table for table in study.tables}
    if unknown := [name for name in names if name not in by_name]:
        raise InputError(f"--tables: no table {unknown[0]}; there are {', '.join(by_name)}")
    return tuple(by_name[name] for name in dict.fromkeys(names))


def choose_rows(study: Study, names: Sequence[str], tables: Sequence[Table]) -> list[str]:
    """Return the names of the rows to run. Raises `InputError` for a name that there is not."""
    known = [row.name for row in study.rows]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"--rows: no row {unknown[0]}; there are {', '.join(known)}")
    return list(names) or [line.row for table in tables for line in table.lines]


def _assign(text):
    """Return `--set NAME=VALUE` as part of a command whose braces are placeholders."""
    return f"--set {shlex.quote(text)}".replace("{", "{{").replace("}", "}}")
