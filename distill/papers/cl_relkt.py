"""CL-ReLKT's tables (Limkonchotiwat et al., Findings of NAACL 2022) on any data set."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .plan import PAIRS, START, Study, join_words
from .rows import Row, read_outcomes, to_means
from .tables import Line, Table

MEASURED = "--unit document --unit passage --unit maxp --metric p@1,p@5,p@10 --outcomes"
# What the log of a training has of each evaluation on dev.
LOGGED = ("document", "p@1")
# Section A.5: ablations of the teacher, by the flags that each adds. Tables 11a and 11b.
BM25, ONLINE, CONTRASTIVE = "--set teacher.online_epochs=0", "--set teacher.bm25_epochs=0", "--loss contrastive"
PASSAGES, DOCUMENTS = "--set teacher.train_unit=passage", "--set teacher.train_unit=document"
ALL_LANGUAGES = "--set teacher.questions=all"

TEACHER, STUDENT = "teacher", "student"
# What documents are ranked by, and how a line of the base calls it.
UNITS = {"passage": "by passage", "document": "by document", "maxp": "MaxP"}
ABOUT = (
    "Figures are per cent of the {split} questions, and N is their number in a language. The paper's own are of "
    "{measured}. A figure with * is better than that of {base}, and one with † is worse: in each seed p is below .05 "
    "by McNemar's test, after Holm's correction over the languages of the line. MaxP ranks documents by their best "
    'passage and needs no training. "best of" is the number of evaluations among which dev chose the weights, and "at '
    'the end" is the mean on dev of the last one, which nothing chose. "dev kept the start" means that no evaluation '
    "was better than the encoder that the training began with."
)


@dataclass(frozen=True)
class ClRelkt(Study):
    """CL-ReLKT's trainings, by one of its two recipes: a teacher in one language, a student in the others."""

    paper = "cl-relkt"
    stages = ("teach", "transfer")

    @property
    def rows(self) -> tuple[Row, ...]:
        measured = f"{self.data} --split {self.split} --seed {{seed}} {MEASURED}"
        teach = join_words("teach --recipe", self.recipe, self.data, "--base {base}", f"--teacher {self.language}")
        transfer = join_words("transfer --recipe", self.recipe, self.data, f"--teacher-language {self.language}")
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
        trainings = [Row(name, join_words(teach, self.assign(0), flags)) for name, flags in teachers.items()]
        trainings += [
            Row(name, join_words(transfer, self.assign(1), flags), after) for name, (flags, after) in students.items()
        ]
        rows = [Row(START, f"evaluate {{base}} {measured}")]
        for one in trainings:
            rows += [one, Row(f"{one.name}-scores", f"evaluate {{runs}}/{one.name}-{{seed}} {measured}", (one.name,))]
        return tuple(rows)

    @property
    def tables(self) -> tuple[Table, ...]:
        of, every = self.language, "all languages"
        by_unit = [self._line(self._name(unit), unit=unit) for unit in UNITS]
        by_unit += [self._line(unit, STUDENT, unit) for unit in UNITS]
        objectives = {"q": "Obj. 1", "qd": "Obj. 1, 2", "all": "Obj. 1, 2, 3"}
        losses = {"online": "triplets, online", "bm25": "triplets, BM25", "passages": "triplets, BM25, online"}
        losses["contrastive"] = "contrastive, both"
        texts = {"documents": f"{of}, documents", "passages": f"{of}, passages"}
        texts |= {"all-documents": f"{every}, documents", "all-passages": f"{every}, passages"}
        distances = {STUDENT: "squared L2", "cosine": "cosine"}
        return (
            self._table("3", "P@1 by document", self._beside({TEACHER: "teacher", STUDENT: "student"})),
            self._table("6", f"training objectives, from {self.base} as the teacher", self._beside(objectives)),
            self._table("7", "the student by passage and by document", by_unit),
            self._table("8", "P@5 and P@10 by document", self._deep("p@5") + self._deep("p@10"), ""),
            self._table("11a", "how the teacher is trained", self._beside(losses)),
            self._table("11b", "what the teacher is trained on", self._beside(texts)),
            self._table("11d", "the distance of the student's loss", self._beside(distances)),
        )

    @property
    def about(self) -> str:
        return ABOUT.format(split=self.split, measured=self.measured, base=self.base) + PAIRS

    def _table(self, name, title, lines, tested="P@1"):
        columns, title = (*self.others, self.language), f"CL-ReLKT, Table {name}: {title}"
        return Table(name, title, columns, tuple(lines), mean=self.others, tested=tested)

    def _beside(self, names, metric="p@1"):
        """Return the lines of the base, by document and by the best passage, and those of rows with their names."""
        starts = [self._line(self._name(unit), unit=unit, metric=metric) for unit in ("document", "maxp")]
        return starts + [self._line(name, row, metric=metric) for row, name in names.items()]

    def _deep(self, metric):
        """Return the lines of the base, the teacher and the student by a metric."""
        lines = self._beside({TEACHER: TEACHER, STUDENT: STUDENT}, metric)
        return [replace(line, name=f"{line.name}, {metric.upper()}") for line in lines]

    def _name(self, unit):
        return self.base if unit == "document" else f"{self.base}, {UNITS[unit]}"

    def _line(self, name, row=START, unit="document", metric="p@1"):
        """Return the line of a row's encoder, tested against the base, or of the base itself.

        Seeds bear on the base where each has other questions.
        """
        scored = read_outcomes("retrieval", metric, unit)
        line = Line(name, START, to_means(scored), fixed=self.divided, scored=scored)
        if row == START:
            return line
        line = replace(line, row=f"{row}-scores", trained=row, fixed=False, beside=(START, scored))
        return replace(line, logged=(unit, metric) == LOGGED)
