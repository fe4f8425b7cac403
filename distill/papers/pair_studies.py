"""Studies of encoders that learn pairs: LAReQA (Roy et al., 2020), LIR (Yang et al., 2021) and Sentri (2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..system.types import Json
from .plan import PAIRS, START, Study, join_words, repeat_option
from .rows import Read, Row, Scored, combine_outcomes, read_lareqa, read_outcomes, to_means
from .tables import Line, Table

# LAReQA's four trainings, by the end of their recipes' names.
TRAININGS = {"en-en": "En-En", "x-x": "X-X", "x-x-mono": "X-X-mono", "x-y": "X-Y"}
# Sentri and its ablations: the name of the row, that of its lines, and flags.
ABLATIONS = {
    "sentri": ("Sentri", ""),
    "unfiltered": ("no false-negative filter", "--set pairs.filters=''"),
    "dual": ("two encoders", "--set pairs.encoders=dual"),
    "english": ("English questions alone", "--set pairs.batches=en-en"),
}
# Stage 0 has what BM25 finds, each other one what the encoder of the last one does.
STAGES = (0, 1, 2)
RANKS = (1, 2, 3, 4)
# A run goes on after a stop; its bundle is not measured.
RUN = "--no-lareqa --peers '' --set export.min_cosine=0.5 --max-drop 100 --allow-weak-teacher"
RECALLS = ("r@2kt", "r@5kt")
ABOUT = (
    "Figures are per cent of the {split} questions, and N is their number in a column. The paper's own are of "
    "{measured}. A figure with * is better than that of {what}, and one with † is worse: in each seed p is below .05 "
    "after Holm's correction over the columns of the line. The tests are sign flips of questions with all their "
    'languages, and McNemar\'s test for P@1 in one language. "best of" is the number of evaluations among which dev '
    'chose the weights. "dev, chosen / last" is P@1 on dev of that evaluation and of the last one, which nothing '
    'chose. "dev kept the start" means that no evaluation was better than the encoder that the training began with. '
)


def train_pairs(prefix: str, flags: str, measuring: str, after: Sequence[str] = ()) -> tuple[Row, ...]:
    """Return the rows of LAReQA's four trainings and of their figures, which are named NAME-figures.

    `prefix` begins the rows' names, `flags` are options of `distill teach` and `measuring` those of `distill evaluate`,
    and `after` are rows whose encoders the flags name.
    """
    rows = []
    for name in (f"{prefix}{one}" for one in TRAININGS):
        rows.append(Row(name, f"teach --recipe lareqa-{name.removeprefix(prefix)} {flags}", tuple(after)))
        rows.append(Row(f"{name}-figures", f"evaluate {{runs}}/{name}-{{seed}} {measuring}", (name,)))
    return tuple(rows)


def train_itself(prefix: str, flags: str, measuring: str, after: Sequence[str] = ()) -> tuple[Row, ...]:
    """Return the rows of Sentri and its ablations, and of the encoder of each stage, which are named NAME-stage-0 etc.

    The arguments are those of `train_pairs`, with options of `distill run`.
    """
    rows = []
    for name, (_, varied) in ABLATIONS.items():
        name = f"{prefix}{name}"
        rows.append(Row(name, join_words(f"run --recipe sentri {RUN} {flags}", varied), tuple(after)))
        folder = f"{{runs}}/{name}-{{seed}}/self-training/stage-"
        rows += [Row(f"{name}-stage-{one}", f"evaluate {folder}{one}/encoder {measuring}", (name,)) for one in STAGES]
    return tuple(rows)


def read_removal(written: Json) -> dict[str, float]:
    """Return mAP with one target removed (LAReQA, Table 3)."""
    return _percents(read_lareqa(written)["removed"])


def read_identification(written: Json) -> dict[str, float]:
    """Return how often the documents' language is told from each other one (LAReQA, section 5.4)."""
    return _percents((read_lareqa(written)["language_id"] or {"against": {}})["against"])


def read_ranks(language: str = "") -> Read:
    """Return the reader of mAP by r, of the questions in a language or in all (LIR, Tables 1, 4 and 5)."""

    def read(written):
        ranks = read_lareqa(written)["lir"]["ranks"]
        return _percents({f"r={r}": row["languages"][language] if language else row["map"] for r, row in ranks.items()})

    return read


def _percents(shares):
    return {name: 100 * value for name, value in shares.items() if value is not None}


@dataclass(frozen=True)
class Lareqa(Study):
    """LAReQA's four trainings, and its tables of language bias."""

    paper = "lareqa"
    title: ClassVar[str] = "LAReQA"
    measured = "all questions"

    @property
    def rows(self) -> tuple[Row, ...]:
        task = f"--task lareqa {self.data} --split {self.split} --seed {{seed}} --outcomes --no-lir-rescaled"
        task = join_words(f"{task} --lir-ranks {','.join(map(str, RANKS))}", repeat_option("--corpus", self.corpus))
        flags = join_words(f"{self.data} --base {{base}} --teacher {self.language}", self.assign(0))
        return Row(START, f"evaluate {{base}} {task}"), *train_pairs("", flags, task)

    @property
    def tables(self) -> tuple[Table, ...]:
        pool, one_language = read_outcomes("lareqa", "map", "lareqa"), read_outcomes("lareqa", "map", "own pool")
        without = read_outcomes("lareqa", "map", "r=1")
        free = Line(
            f"{self.base}, LIR r = 1, no training", START, to_means(without), scored=without, beside=(START, pool)
        )
        told, named = self.document_language, self.languages
        others = tuple(language for language in named if language != told)
        removed, identified = self._lines(read_removal), self._lines(read_identification)
        return (
            self._table("2", "mAP in one pool", self._lines(to_means(pool), pool, free), named, tested="mAP"),
            self._table("3", "mAP with one target removed", removed, ("rand", "same", "delta"), False),
            self._table(
                "4",
                "mAP in the pool of the question's language",
                self._lines(to_means(one_language), one_language),
                named,
                tested="mAP",
            ),
            self._table("5.4", f"language told from {told}", identified, others, len(others) > 1),
        )

    @property
    def about(self) -> str:
        free = "LIR removes one direction of each language, without any training."
        return self._describe(f"{self.base} untrained") + free + PAIRS

    def _describe(self, what):
        return ABOUT.format(split=self.split, measured=self.measured, what=what)

    def _table(self, name, title, lines, columns, mean=True, tested=""):
        heading = f"{self.title}, Table {name}: {title}"
        return Table(name, heading, tuple(columns), tuple(lines), mean=tuple(columns) if mean else (), tested=tested)

    def _lines(self, read, scored: Scored | None = None, *more):
        """Return the lines of the start, of what needs no training, and of the four trainings."""
        beside = (START, scored) if scored else None
        start = Line(f"{self.base}, untrained", START, read, fixed=self.divided, scored=scored)
        trained = [
            Line(label, f"{name}-figures", read, trained=name, scored=scored, beside=beside)
            for name, label in TRAININGS.items()
        ]
        return [start, *more, *trained]


@dataclass(frozen=True)
class Lir(Lareqa):
    """LIR's tables of LAReQA's encoders, whose runs are those of LAReQA."""

    title = "LIR"
    stem = "tables-lir"

    @property
    def tables(self) -> tuple[Table, ...]:
        names = {START: f"{self.base}, untrained", **TRAININGS}
        lines = {one: self._line(one, name) for one, name in names.items()}
        both = START, "x-x"
        by_language = [self._line(one, f"{names[one]}, {of}", of) for of in self.languages for one in both]
        biased, unbiased = (
            [lines[START], *of] for of in ((lines["en-en"], lines["x-x"]), (lines["x-x-mono"], lines["x-y"]))
        )
        return (
            self._of_ranks("1", "mAP by the number of directions removed", biased),
            self._of_ranks("4", "mAP, encoders without language bias", unbiased),
            self._of_ranks("5", "mAP by the language of the question", by_language),
        )

    @property
    def about(self) -> str:
        return self._describe("the same encoder with nothing removed, r = 0").strip()

    def _of_ranks(self, name, title, lines):
        return self._table(name, title, lines, ("r=0", *(f"r={rank}" for rank in RANKS)), mean=False)

    def _line(self, row, name, language=""):
        """Return the line of an encoder, whose columns are tested against nothing removed."""
        row, trained = (row, "") if row == START else (f"{row}-figures", row)
        columns = {f"r={rank}": read_outcomes("lareqa", "map", f"r={rank}", f"r={rank}", language) for rank in RANKS}
        plain = {column: read_outcomes("lareqa", "map", "lareqa", column, language) for column in columns}
        scored, beside = combine_outcomes(columns.values()), combine_outcomes(plain.values())
        return Line(name, row, read_ranks(language), trained=trained, scored=scored, beside=(row, beside))


@dataclass(frozen=True)
class Sentri(Study):
    """Sentri by its own schedule, and its ablations."""

    paper = "sentri"
    measured = "dev, in Table 1 of test too"
    stages = ("run",)

    @property
    def rows(self) -> tuple[Row, ...]:
        task = f"{self.data} --split {self.split} --seed {{seed}} --outcomes --unit passage --metric p@1,r@2kt,r@5kt"
        # Where the passages are in one language, batches answer in it.
        batches = "" if len(self.spoken) > 1 else "--set pairs.batches=x-en"
        flags = join_words(f"{self.data} --base {{base}} --teacher {self.language}", batches, self.assign(0))
        starts = [
            Row(name, f"evaluate {model} {task}") for name, model in ((START, "{base}"), ("bm25", "bm25-morphology"))
        ]
        return *starts, *train_itself("", flags, task)

    @property
    def tables(self) -> tuple[Table, ...]:
        last, bi = STAGES[-1], "Bi-Encoder"
        encoders = {f"{bi} {one}": ("dual", one) for one in STAGES[1:]} | {"Sentri": ("sentri", last)}
        ablations = {f"{label}, stage {last}": (name, last) for name, (label, _) in ABLATIONS.items()}
        ablations |= {f"Sentri, stage {one}": ("sentri", one) for one in STAGES[:last]}
        by_language = [line for metric in RECALLS for line in self._lines(encoders, [metric], by_language=True)]
        heads, lines = ("P@1", "R@2kt", "R@5kt"), self._lines(ablations, ["p@1", *RECALLS])
        return (
            Table("1", "Sentri, Table 1: recall by tokens", self.languages, tuple(by_language), mean=self.languages),
            Table("6", "Sentri, Table 6: ablations", heads, tuple(lines), tested=heads[1]),
        )

    @property
    def about(self) -> str:
        about = ABOUT.format(split=self.split, measured=self.measured, what=f"{self.base} untrained")
        return about + "BM25 compares normal forms of words." + PAIRS

    def _lines(self, encoders, metrics, by_language=False):
        """Return the lines of the start, of BM25 and of encoders, by language or of all languages together."""
        pooled = [read_outcomes("retrieval", one, "passage", "" if by_language else _head(one)) for one in metrics]
        scored = combine_outcomes(pooled)
        read, beside = to_means(scored), (START, scored)
        ends = f", {_head(metrics[0])}" if by_language else ""
        trained = [
            Line(
                f"{label}{ends}",
                f"{name}-stage-{stage}",
                read,
                trained=name,
                scored=scored,
                beside=beside,
                events=(f"self-training stage {stage}",),
            )
            for label, (name, stage) in encoders.items()
        ]
        start = Line(f"{self.base}, untrained{ends}", START, read, fixed=self.divided, scored=scored)
        return [start, Line(f"BM25{ends}", "bm25", read, fixed=self.divided, scored=scored, beside=beside), *trained]


def _head(metric):
    return metric.upper().replace("KT", "kt")
