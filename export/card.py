"""Describe an artefact in its card: the files in its folder, where they come from, and what the gate measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from .. import __version__
from ..encoders.encoder import KerasEncoder
from ..encoders.language_removal import LanguageRemoval
from ..errors import InputError
from ..students.origin import MUSE, Origin, describe_origin, make_card_entries, read_origin
from ..system.files import write_json, write_text
from ..system.types import File, Json
from .encode import CARD, MODELS, REMOVAL, sha256
from .form import Form
from .formats.format import format_of
from .gate import Cost, Figures, Scores, as_dict, format_costs
from .languages import CARD_KEY


def read_removal(path: File, rank: int, form: Form) -> LanguageRemoval:
    """Load the first `rank` components per language from a file of `fit_removal`, if the form can remove them."""
    if form.format not in MODELS:
        raise InputError(
            f"--removal: the format {form.format} has no encode.py, which removes components; "
            f"use {' or '.join(MODELS)}, or fold them in with distill lir fold"
        )
    return LanguageRemoval.load(path).at(rank)


def write_removal(folder: Path, removal: LanguageRemoval) -> None:
    """Write the components into an artefact as a float32 array `(languages, r, d)`."""
    with open(folder / REMOVAL, "wb") as file:
        np.save(file, removal.stack())


def removal_entry(removal: LanguageRemoval) -> dict[str, Json]:
    """Return the entry of a card about the components."""
    return {"languages": list(removal.languages), "rank": removal.rank, "encoder": removal.encoder}


README = "README.md"
# Entries about the whole artefact, which are not true of one that is made of it.
MEASURED_KEYS = ("dev", "refused", "without_spellings")
# The notes that tell where an encoder comes from.
ORIGIN = (
    "source",
    "documents",
    "dataset",
    "languages",
    "teacher",
    "teacher_model",
    "triplets",
    "parallel_text",
    "learned_from",
    "chosen_by",
    "seen_of_test",
    "score",
    "seed",
)


@dataclass(frozen=True)
class StoredFile:
    """The size in bytes and the SHA-256 of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Card:
    """A card. `origin` has the owner and the licence of the weights that the encoder was initialised from.

    `read` is the number of tokens that the encoder reads of a text, None for all.
    """

    name: str
    form: Form
    dimension: int
    vocabulary: int
    files: Mapping[str, StoredFile]
    notes: Mapping[str, Json]
    removal: LanguageRemoval | None = None
    pieces: tuple[str, ...] = ()
    origin: Origin = MUSE
    read: int | None = None

    @property
    def bytes(self) -> int:
        """The size of all files in bytes."""
        return sum(file.bytes for file in self.files.values())

    def as_dict(self) -> dict[str, Json]:
        """Return the content of `card.json`."""
        return {
            "name": self.name,
            "format": self.form.format,
            "precision": self.form.precision.as_dict(),
            "dimension": self.dimension,
            "vocabulary": self.vocabulary,
            "max_length": self.form.longest,
            "signatures": list(self.form.signatures),
            "distill": __version__,
            **make_card_entries(self.origin),
            **self.notes,
            **({"removal": removal_entry(self.removal)} if self.removal else {}),
            **({CARD_KEY: {"languages": list(self.pieces)}} if self.pieces else {}),
            "bytes": self.bytes,
            "files": {name: asdict(file) for name, file in self.files.items()},
        }


@dataclass(frozen=True)
class JudgedCard:
    """A card with what the gate measured, and what an artefact without spellings loses, by language.

    `reference` is what it was compared with, for a person to read.
    """

    card: Card
    figures: Figures | None
    refused: tuple[str, ...] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)
    reference: str = "the student"

    def as_dict(self) -> dict[str, Json]:
        """Return the content of `card.json`."""
        measured = {"dev": self.figures.as_dict(), "refused": list(self.refused)} if self.figures else {}
        return {**self.card.as_dict(), **measured, **({"without_spellings": as_dict(self.costs)} if self.costs else {})}


def make_card(
    name: str,
    student: KerasEncoder,
    form: Form,
    folder: Path,
    notes: Mapping[str, Json] | None = None,
    removal: LanguageRemoval | None = None,
    pieces: tuple[str, ...] = (),
) -> Card:
    """Make the card of the files in a folder. `removal` are the language components that `encode.py` can remove."""
    sizes, origin = (student.dimension, len(student.tokenizer)), Origin.of(student.origin)
    read = student.tokenizer.reading.longest
    return Card(name, form, *sizes, stored_files(folder), notes or {}, removal, pieces, origin, read)


def stored_files(folder: Path) -> dict[str, StoredFile]:
    """Return the sizes and hashes of all files in a folder, including its subfolders, by relative path."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): StoredFile(path.stat().st_size, sha256(path)) for path in files}


def remake_card(
    card: Mapping[str, Json], folder: Path, output: File, source: str, changes: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the card of an artefact in `folder` that was made of another one, whose card changes."""
    files = {name: asdict(file) for name, file in stored_files(folder).items()}
    rest = {key: value for key, value in card.items() if key not in MEASURED_KEYS}
    size = sum(file["bytes"] for file in files.values())
    return {**rest, **changes, "name": Path(output).resolve().name, "source": source, "bytes": size, "files": files}


def fill_page(page: str, card: Mapping[str, Json], note: str, **values: str) -> str:
    """Return the README of an artefact that was made of another one; `note` says what its card has besides."""
    how = format_of(card["format"]).how_to.format(dimension=card["dimension"], max_length=card["max_length"])
    derived, size = describe_origin(read_origin(card), note), f"{card['bytes'] / 1e6:.1f} MB"
    known = {key: card[key] for key in ("name", "dimension", "source")}
    return page.format(**known, how=how, derived=derived, size=size, **values)


def write_card(folder: Path, card: Card) -> None:
    write_json(folder / CARD, card.as_dict())


def write_judged_card(folder: Path, judged: JudgedCard) -> None:
    """Write `card.json` with the gate's figures, and the README that tells a person the same."""
    write_json(folder / CARD, judged.as_dict())
    write_text(folder / README, render_readme(judged))


def render_readme(judged: JudgedCard) -> str:
    card, figures, precision = judged.card, judged.figures, judged.card.form.precision
    origin = {key: card.notes[key] for key in ORIGIN if key in card.notes}
    removable = ", ".join(card.removal.languages) if card.removal else ""
    spelled = "" if card.form.spelled else " without its words and spellings"
    lines = [
        f"- format: {card.form.format}, dense layers {precision.dense}, table {precision.table}",
        f"- texts: {describe_lengths(card.form, card.read)}",
        f"- size: {card.bytes / 1e6:.1f} MB",
        *([f"- cosine to {judged.reference}{spelled}: {_cosines(figures)}"] if figures else []),
        *([f"- {costs_line(judged)}"] if judged.costs else []),
        *([f"- `encode(texts, language=…)` can remove the components of: {removable}"] if removable else []),
        *(f"- {key}: {', '.join(value) if isinstance(value, list) else value}" for key, value in origin.items()),
        *(f"- **refused by the gate and kept by force**: {reason}" for reason in judged.refused),
    ]
    sizes = {"dimension": card.dimension, "max_length": card.form.longest}
    how = format_of(card.form.format).how_to.format(**sizes, folder=card.name, options="")
    return PAGE.format(
        name=card.name,
        dimension=card.dimension,
        derived=describe_origin(card.origin, "`card.json` has the same facts and the sha256 of the files."),
        how=how,
        facts="\n".join(lines),
        table=MEASURED_TEXT.format(table=p1_table(figures.p1)) if figures else NOT_MEASURED_TEXT,
    )


def _cosines(figures):
    questions = f"{figures.texts - figures.cut} dev questions of {figures.dataset}"
    return f"{figures.cosine_mean:.5f}, least {figures.cosine_min:.5f} ({questions})"


def costs_line(judged: JudgedCard) -> str:
    """Return the line about what an artefact without spellings loses."""
    dataset = judged.figures.dataset if judged.figures else ""
    return (
        f"without the words and spellings of its encoder: P@1 on the dev questions of {dataset}, "
        f"with and without, and mean cosine: {format_costs(judged.costs)}"
    )


def describe_lengths(form: Form, read: int | None = None) -> str:
    """Describe in words how many tokens a text may have, and how many of them the encoder reads."""
    if form.signatures:
        return f"up to {form.longest} tokens, signatures of {', '.join(map(str, form.signatures))}"
    if form.longest:
        return f"up to {form.longest} tokens"
    return f"of any length, of which {read} tokens are read" if read else "of any length"


def p1_table(scores: Mapping[str, Scores]) -> str:
    """Return P@1 in per cent by language as a Markdown table."""
    lines = [
        f"| {language} | {100 * row.student:.1f} | {100 * row.artefact:.1f} | {row.p_holm:.3f} |"
        for language, row in scores.items()
    ]
    return "\n".join(["| language | student | artefact | p |", "|---|---|---|---|", *lines])


PAGE = """# {name}

A sentence encoder for retrieval question answering. It turns a text into a vector of {dimension} numbers with unit
length. The document whose vector has the largest dot product with the question's vector answers the question.

{how}

{facts}

{table}

{derived}
"""

MEASURED_TEXT = """P@1 on dev questions in per cent, with one vector per document, and McNemar's p (Holm-corrected):

{table}"""
NOT_MEASURED_TEXT = "It was not measured again: all weights are those of its source, bit for bit."
