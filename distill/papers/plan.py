"""The base of all studies of `distill papers`: data, base and settings, and how rows and tables are chosen."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..errors import InputError
from .rows import Row
from .tables import Table

# The row of the base, without any training.
START = "start"
# Behind what explains a table's figures: how each two lines are tested.
PAIRS = (
    " Below a table of trainings each two of its lines are tested. A sign flip takes a question with all its languages "
    "and seeds, and p is after Holm's correction over all pairs of the table."
)


@dataclass(frozen=True)
class Study(ABC):
    """The data, the languages, the base and the settings of a paper's trainings.

    Attributes:
        dataset: The folder of the data.
        languages: Those of the questions, the teacher's `language` among them.
        recipe: The recipe of a paper that has several.
        settings: NAME=VALUE, which stand above the recipe, by the command of `stages` that takes them.
        divided: True where the data set's own splits hold for all seeds.
        digest: Identifies the texts that are learned and measured.
        spoken: The languages of the passages.
        cut: True where `output/data` has to have the sentences, because the data set has none.
        corpus: Files of text by language, LANGUAGE=FILE, that language information removal learns from.
        paper: The paper's name, by which its runs know each other.
        stages: The commands whose settings a user may give.
        stem: The name of the files with the tables.
        measured: The questions that the paper's own figures are of.
    """

    dataset: str
    languages: tuple[str, ...]
    language: str = "en"
    document_language: str = "en"
    split: str = "dev"
    base: str = "muse"
    recipe: str = ""
    settings: tuple[tuple[str, ...], ...] = ()
    divided: bool = False
    digest: str = ""
    spoken: tuple[str, ...] = ()
    cut: bool = False
    corpus: tuple[str, ...] = ()
    paper: ClassVar[str]
    stages: ClassVar[tuple[str, ...]] = ("teach",)
    stem: ClassVar[str] = "tables"
    measured: ClassVar[str] = "its test questions"

    @property
    @abstractmethod
    def rows(self) -> tuple[Row, ...]:
        """All rows that the tables have."""

    @property
    @abstractmethod
    def tables(self) -> tuple[Table, ...]:
        """The paper's tables that this data can have."""

    @property
    @abstractmethod
    def about(self) -> str:
        """The text that explains the figures."""

    @property
    def others(self) -> tuple[str, ...]:
        """The languages that are not the teacher's, over which means are taken."""
        return tuple(language for language in self.languages if language != self.language)

    @property
    def data(self) -> str:
        """The options that name the data set in a row."""
        return f"--dataset {{data}} --document-language {self.document_language} --languages {','.join(self.languages)}"

    def assign(self, stage: int) -> str:
        """Return `--set NAME=VALUE` of a stage, as part of a row's command."""
        return repeat_option("--set", self.settings[stage] if self.settings else ())


def choose_tables(study: Study, names: Sequence[str]) -> tuple[Table, ...]:
    """Return tables of a study by their names, such as "3". Raises `InputError` for a name that there is not."""
    by_name = {table.name: table for table in study.tables}
    if unknown := [name for name in names if name not in by_name]:
        raise InputError(f"--tables: no table {unknown[0]}; there are {', '.join(by_name)}")
    return tuple(by_name[name] for name in dict.fromkeys(names))


def choose_rows(study: Study, names: Sequence[str], tables: Sequence[Table]) -> list[str]:
    """Return the names of the rows to run. Raises `InputError` for a name that there is not."""
    known = [row.name for row in study.rows]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"--rows: no row {unknown[0]}; there are {', '.join(known)}")
    return list(names) or [row for table in tables for line in table.lines for row in line.rows]


def repeat_option(flag: str, values: Sequence[str]) -> str:
    """Return an option with each value, as part of a row's command, whose braces are placeholders."""
    return " ".join(f"{flag} {shlex.quote(value)}" for value in values).replace("{", "{{").replace("}", "}}")


def join_words(*parts: str) -> str:
    """Return the parts that are not empty, with a space between them."""
    return " ".join(filter(None, parts))
