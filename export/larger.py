"""An artefact with another language: more pieces and rows, and all that was there in the codes that it had."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ..encoders.tokenizer import Tokenizer, spellings_of
from ..errors import EncoderError, ExportError
from ..students.origin import derivation, origin_in
from ..students.vocabulary.pieces import reordered, used_pieces
from ..system.files import write_aside, write_json, write_text
from ..system.types import Booleans, File, Floats, Integers, Json
from . import encode
from .card import README, stored_files
from .formats.registry import format_of
from .languages import CARD_KEY, FILE, PieceLanguages, read_languages, write_languages
from .student import checked_card
from .subset import MEASURED
from .weights.added import Addition
from .weights.codecs import CODECS


@dataclass(frozen=True)
class NewLanguage:
    """A `language`, the `texts` that say which pieces it uses, and its `rows`, float32 `(n, width)`.

    They are of the pieces that `tokenizer` has behind those of an artefact, the most frequent first. `notes` go into
    the card.
    """

    language: str
    tokenizer: Tokenizer
    rows: Floats
    texts: Sequence[str]
    notes: Mapping[str, Json] = field(default_factory=dict)


def write_larger(folder: Path, output: File, new: NewLanguage, source: str) -> dict[str, Json]:
    """Write the artefact in `folder` with a new language to `output`, and return its card.

    A text that uses no new piece has the same vector, to the last bit. `source` is named in the card. Raises
    `EncoderError` for an artefact whose table cannot be added to.
    """
    card = checked_card(folder)
    pieces = read_languages(folder, card) if FILE in card["files"] else None
    with write_aside(output) as aside:
        aside.mkdir()
        order = _write_model(folder, card, aside, new)
        tokenizer = reordered(new.tokenizer, order)
        tokenizer.save(aside / encode.TOKENIZER)
        if pieces:
            before = len(spellings_of(Tokenizer.load(folder / encode.TOKENIZER)))
            write_languages(aside, _with_language(pieces, tokenizer, order, new, before))
        # Of this version: an older one reads no spellings.
        shutil.copyfile(encode.__file__, aside / "encode.py")
        if encode.REMOVAL in card["files"]:
            shutil.copyfile(folder / encode.REMOVAL, aside / encode.REMOVAL)
        rewritten = _card(card, aside, Path(output).resolve().name, new, source)
        write_json(aside / encode.CARD, rewritten)
        write_text(aside / README, page(rewritten, new))
    return rewritten


def _write_model(folder: Path, card: dict[str, Json], aside: Path, new: NewLanguage) -> Integers:
    """Write the model's file with all rows and return their order, as `Addition.order` gives it."""
    format_, codec = format_of(card["format"]), card["precision"]["table"]
    addition = Addition(codec, card["vocabulary"], new.rows, CODECS[codec].frequent(len(new.rows)))
    orders: list[Integers] = []

    def remade(arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        orders.append(addition.order(arrays))
        return addition.remade(arrays)

    try:
        content = (folder / format_.file).read_bytes()
        (aside / format_.file).write_bytes(format_.with_table(content, card["vocabulary"], codec, remade))
    except (ExportError, ValueError, IndexError, KeyError) as error:
        raise EncoderError(f"{folder}: no rows can be put into {format_.file}: {error}") from error
    return orders[0]


def _with_language(
    pieces: PieceLanguages, tokenizer: Tokenizer, order: Integers, new: NewLanguage, before: int
) -> PieceLanguages:
    """The languages of all pieces: of the old ones as they were, and the new language where its texts use a piece.

    So many spellings were there `before`.
    """
    used = np.zeros((len(tokenizer), len(pieces.languages) + 1), dtype=bool)
    old = order < len(pieces.used)
    used[old, :-1] = pieces.used[order[old]]
    used[sorted(used_pieces(tokenizer, new.texts)), -1] = True
    # A word has its piece whether the texts hold it or not.
    used[~old, -1] = True
    larger, many = (
        PieceLanguages((*pieces.languages, new.language), used, _spelled(pieces)),
        len(spellings_of(tokenizer)),
    )
    return larger.with_words(before, many - before, new.language) if many > before else larger


def _spelled(pieces: PieceLanguages) -> Booleans | None:
    """The languages of the spellings that were there, with a new one, which has those that any may have."""
    old = pieces.spelled
    return None if old is None else np.column_stack([old, old.all(axis=1)])


def _card(card: dict[str, Json], folder: Path, name: str, new: NewLanguage, source: str) -> dict[str, Json]:
    files = {name: asdict(file) for name, file in stored_files(folder).items()}
    rest = {key: value for key, value in card.items() if key not in MEASURED}
    languages = {key: [*card[key], new.language] for key in ("languages",) if key in card}
    known = {CARD_KEY: {"languages": [*card[CARD_KEY]["languages"], new.language]}} if FILE in files else {}
    return {
        **rest,
        **languages,
        **known,
        "name": name,
        "vocabulary": card["vocabulary"] + len(new.rows),
        "source": source,
        "added": [*card.get("added", ()), {"language": new.language, "pieces": len(new.rows), **new.notes}],
        "bytes": sum(file["bytes"] for file in files.values()),
        "files": files,
    }


def page(card: dict[str, Json], new: NewLanguage) -> str:
    """Return the card of an artefact with a new language as a page of Markdown."""
    how = format_of(card["format"]).how_to.format(dimension=card["dimension"], max_length=card["max_length"])
    return PAGE.format(
        **{key: card[key] for key in ("name", "dimension", "source")},
        derived=derivation(origin_in(card), SAID),
        how=how,
        new=new.language,
        languages=", ".join(card.get("languages", ())),
        pieces=f"{card['vocabulary']}, of which {len(new.rows)} for {new.language}",
        size=f"{card['bytes'] / 1e6:.1f} MB",
    )


SAID = "`card.json` says the same with the files' sha256, and what the new language was learned from."
PAGE = """# {name}

A sentence encoder for {languages}: text in, {dimension} numbers of unit length out. It is {source} with pieces and rows
for {new}: a text that holds none of these has the vector that it had there.

{how}

- size: {size}
- source: {source}
- languages: {languages}
- pieces: {pieces}

{derived}
"""
