"""The card of an artefact: the files in its folder, where they come from, and the figures that the gate measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .. import __version__
from ..encoders.encoder import KerasEncoder
from ..evaluation.bias.removal import LanguageRemoval
from ..students.origin import MUSE, Origin, derivation, entries
from ..system.files import write_json, write_text
from ..system.types import Json
from .cost import Cost, as_dict, told
from .encode import CARD, sha256
from .form import Form
from .formats.registry import format_of
from .gate import Figures, Scores
from .languages import CARD_KEY
from .removal import described

README = "README.md"
# Notes that say where the encoder comes from.
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
    """The size and the SHA-256 of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Card:
    """The card of the files in a folder; `notes` say where they come from, `removal` is what `encode.py` removes.

    `pieces` are the languages that are known of each piece, `origin` is whose weights these were.
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

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files.values())

    def as_dict(self) -> dict[str, Json]:
        """The card as `card.json` has it."""
        return {
            "name": self.name,
            "format": self.form.format,
            "precision": self.form.precision.as_dict(),
            "dimension": self.dimension,
            "vocabulary": self.vocabulary,
            "max_length": self.form.longest,
            "signatures": list(self.form.signatures),
            "distill": __version__,
            **entries(self.origin),
            **self.notes,
            **({"removal": described(self.removal)} if self.removal else {}),
            **({CARD_KEY: {"languages": list(self.pieces)}} if self.pieces else {}),
            "bytes": self.bytes,
            "files": {name: asdict(file) for name, file in self.files.items()},
        }


@dataclass(frozen=True)
class JudgedCard:
    """A card with the gate's figures, and the reasons for which it refuses the artefact: none where it passed.

    What was not measured has no figures. `costs` are what an artefact without spellings loses by language.
    """

    card: Card
    figures: Figures | None
    refused: tuple[str, ...] = ()
    costs: Mapping[str, Cost] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Json]:
        """The card as `card.json` has it."""
        measured = {"dev": self.figures.as_dict(), "refused": list(self.refused)} if self.figures else {}
        return {**self.card.as_dict(), **measured, **({"without_spellings": as_dict(self.costs)} if self.costs else {})}


def card_of(
    name: str,
    student: KerasEncoder,
    form: Form,
    folder: Path,
    notes: Mapping[str, Json] | None = None,
    removal: LanguageRemoval | None = None,
    pieces: tuple[str, ...] = (),
) -> Card:
    """The `Card` of the files that lie in `folder`."""
    sizes, origin = (student.dimension, len(student.tokenizer)), Origin.of(student.origin)
    return Card(name, form, *sizes, stored_files(folder), notes or {}, removal, pieces, origin)


def stored_files(folder: Path) -> dict[str, StoredFile]:
    """The files that lie in a folder and in those inside it, by name."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): StoredFile(path.stat().st_size, sha256(path)) for path in files}


def write_card(folder: Path, card: Card) -> None:
    """Write `card.json`."""
    write_json(folder / CARD, card.as_dict())


def write_judged(folder: Path, judged: JudgedCard) -> None:
    """Write `card.json` with the gate's figures, and the page that says the same to a person."""
    write_json(folder / CARD, judged.as_dict())
    write_text(folder / README, readme(judged))


def readme(judged: JudgedCard) -> str:
    """The card as a page of Markdown."""
    card, figures, precision = judged.card, judged.figures, judged.card.form.precision
    origin = {key: card.notes[key] for key in ORIGIN if key in card.notes}
    lines = [
        f"- format: {card.form.format}, dense layers {precision.dense}, table {precision.table}",
        f"- texts: {lengths(card.form)}",
        f"- size: {card.bytes / 1e6:.1f} MB",
        *([f"- cosine to {compared(card)}: {_cosines(figures)}"] if figures else []),
        *([f"- {costs_line(judged)}"] if judged.costs else []),
        *([removes(card.removal)] if card.removal else []),
        *(f"- {key}: {', '.join(value) if isinstance(value, list) else value}" for key, value in origin.items()),
        *(f"- **refused by the gate and kept by force**: {reason}" for reason in judged.refused),
    ]
    sizes = {"dimension": card.dimension, "max_length": card.form.longest}
    how = format_of(card.form.format).how_to.format(**sizes, folder=card.name, options="")
    return PAGE.format(
        name=card.name,
        dimension=card.dimension,
        derived=derivation(card.origin, "`card.json` says the same with the files' sha256."),
        how=how,
        facts="\n".join(lines),
        table=MEASURED.format(table=p1_table(figures.p1)) if figures else AS_STORED,
    )


def _cosines(figures):
    questions = f"{figures.texts - figures.cut} dev questions of {figures.dataset}"
    return f"{figures.cosine_mean:.5f}, least {figures.cosine_min:.5f} ({questions})"


def compared(card: Card) -> str:
    """The encoder that an artefact was compared with, in words."""
    return "the student" if card.form.spelled else "the student without its words and spellings"


def costs_line(judged: JudgedCard) -> str:
    """The line on what an artefact without spellings loses."""
    dataset = judged.figures.dataset if judged.figures else ""
    return (
        f"without the words and spellings of its encoder: P@1 on the dev questions of {dataset}, "
        f"with and without, and mean cosine: {told(judged.costs)}"
    )


def removes(removal: LanguageRemoval) -> str:
    """The page's line on the languages whose directions are removed."""
    return f"- `encode(texts, language=…)` removes what is of: {', '.join(removal.languages)}"


def lengths(form: Form) -> str:
    """The number of tokens that a text may have, in words."""
    if form.signatures:
        return f"up to {form.longest} tokens, signatures of {', '.join(map(str, form.signatures))}"
    return f"up to {form.longest} tokens" if form.longest else "of any length"


def p1_table(scores: Mapping[str, Scores]) -> str:
    """P@1 in per cent by language, as a table of Markdown."""
    lines = [
        f"| {language} | {100 * row.student:.1f} | {100 * row.artefact:.1f} | {row.p_holm:.3f} |"
        for language, row in scores.items()
    ]
    return "\n".join(["| language | student | artefact | p |", "|---|---|---|---|", *lines])


PAGE = """# {name}

A sentence encoder for retrieval question answering: text in, {dimension} numbers of unit length out.
The document whose vector has the largest dot product with the question's answers it.

{how}

{facts}

{table}

{derived}
"""

MEASURED = """P@1 on dev in per cent, one vector a document, and McNemar's p (Holm-corrected) between the two:

{table}"""
AS_STORED = "It was not measured here: all weights are those of its source, bit for bit."
