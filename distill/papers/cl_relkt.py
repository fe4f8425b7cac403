"""CL-ReLKT's tables (Limkonchotiwat et al., Findings of NAACL 2022) on any data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .choices import AUTHORS, LINEAR
from .plan import Study, join_words
from .readers import read_comparison, read_counts, read_disagreements
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
        return Row(name, join_words("teach --recipe", recipe, self.data, self.teaching, flags)), self.compare(name)

    def transfer(self, name: str, flags: str, after: Sequence[str] = (), recipe: str = LINEAR) -> tuple[Row, Row]:
        """Return the rows of a student and of its figures.

        Args:
            name: the student's row; its figures are NAME-figures.
            flags: options of `distill transfer`.
            after: rows whose encoders the flags name.
            recipe: the recipe that the flags stand above.
        """
        command = join_words("transfer --recipe", recipe, self.data, self.learning, flags)
        return Row(name, command, tuple(after)), self.compare(name)

    def compare(self, name: str) -> Row:
        """Return the row that measures an encoder beside the base, question by question."""
        command = f"compare {{runs}}/{name}-{{seed}} {self.base}"
        data = self.data.partition(" --set ")[0]
        return Row(f"{name}-figures", join_words(command, data, MEASURED, self.measuring), (name,))


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
    counted = read_counts(columns, unit, metric)
    return Line(name, f"{row}-figures", read, paper or {}, "", row, tests, logged=logged, counted=counted)


def base_line(
    name: str, row: str, paper: Mapping[str, float] | None = None, unit: str = "document", metric: str = "p@1"
) -> Line:
    """Return the line of the base."""
    return Line(name, f"{row}-figures", read_comparison("b", unit, metric), paper or {}, fixed=True)


TEACHER, STUDENT = "teacher", "student"
# What documents are ranked by, and how a line of the base calls it.
UNITS = {"passage": "by passage", "document": "by document", "maxp": "MaxP"}
ABOUT = (
    "Per cent of the {split} questions, N of each language. * is better and † worse than {base} by McNemar's test, "
    "p < .05 after Holm's correction over the languages of the line, in each seed. MaxP ranks documents by their best "
    'passage, without any training. "best of" is the number of evaluations among which dev chose the weights, "at the '
    'end" the mean of the last one on dev, which nothing chose. Where dev kept the start, the line is the encoder that '
    "the training began with."
)


@dataclass(frozen=True)
class ClRelkt(Study):
    """CL-ReLKT's trainings, by one of its two recipes: a teacher in one language, a student in the others."""

    paper = "cl-relkt"
    stages = ("teach", "transfer")

    @property
    def trainings(self) -> Trainings:
        """The rows of this data set."""
        return Trainings(
            self.data,
            teaching=join_words("--base {base}", f"--teacher {self.language}", self.assign(0)),
            learning=join_words(f"--teacher-language {self.language}", self.assign(1)),
            measuring=f"--split {self.split} --seed {{seed}}",
            base="{base}",
        )

    @property
    def rows(self) -> tuple[Row, ...]:
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
        of, every = self.language, "all languages"
        by_unit = [self._base(STUDENT, unit=unit) for unit in UNITS]
        by_unit += [trained_line(unit, STUDENT, self.languages, unit=unit) for unit in UNITS]
        objectives = {"q": "Obj. 1", "qd": "Obj. 1, 2", "all": "Obj. 1, 2, 3"}
        losses = {"online": "triplets, online", "bm25": "triplets, BM25", "passages": "triplets, BM25, online"}
        losses["contrastive"] = "contrastive, both"
        texts = {"documents": f"{of}, documents", "passages": f"{of}, passages"}
        texts |= {"all-documents": f"{every}, documents", "all-passages": f"{every}, passages"}
        return (
            self._table("3", "P@1 by document", self._beside(STUDENT, {TEACHER: "teacher", STUDENT: "student"})),
            self._table("6", f"training objectives, from {self.base} as the teacher", self._beside("q", objectives)),
            self._table("7", "the student by passage and by document", by_unit),
            self._table("8", "P@5 and P@10 by document", self._deep("p@5") + self._deep("p@10")),
            self._table("11a", "how the teacher is trained", self._beside("passages", losses)),
            self._table("11b", "what the teacher is trained on", self._beside("passages", texts)),
            self._table(
                "11d",
                "the distance of the student's loss",
                self._beside(STUDENT, {STUDENT: "squared L2", "cosine": "cosine"}),
            ),
        )

    @property
    def about(self) -> str:
        return ABOUT.format(split=self.split, base=self.base)

    def _table(self, name, title, lines):
        columns = (*self.others, self.language)
        return Table(name, f"CL-ReLKT, Table {name}: {title}", columns, tuple(lines), mean=self.others)

    def _beside(self, start, names):
        """Return the lines of the base, out of a row, and of rows with their names."""
        return self._starts(start) + [trained_line(name, row, self.languages) for row, name in names.items()]

    def _deep(self, metric):
        """Return the lines of the base, the teacher and the student by a metric."""
        names = (TEACHER, STUDENT)
        lines = [trained_line(f"{name}, {metric.upper()}", name, self.languages, metric=metric) for name in names]
        bases = [replace(line, name=f"{line.name}, {metric.upper()}") for line in self._starts(STUDENT, metric)]
        return [*bases, *lines]

    def _starts(self, row, metric="p@1"):
        """Return the lines of the base, by document and by the best passage, beside which a training has to gain."""
        return [self._base(row, metric), self._base(row, metric, "maxp")]

    def _base(self, row, metric="p@1", unit="document"):
        """Return the line of the base; seeds bear on it where each has other questions."""
        name = self.base if unit == "document" else f"{self.base}, {UNITS[unit]}"
        line = base_line(name, row, metric=metric, unit=unit)
        return replace(line, fixed=self.divided, counted=read_counts(self.languages, unit, metric))
