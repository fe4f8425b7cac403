"""Add a language to an artefact: it gets more tokens and embeddings, and everything else keeps its stored codes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from ..encoders.tokenizer import Tokenizer, list_spellings
from ..errors import EncoderError, ExportError
from ..students.origin import describe_origin, read_origin
from ..students.vocabulary.pieces import find_used_tokens, reorder_tokenizer
from ..system.files import write_aside, write_json, write_text
from ..system.types import Booleans, File, Floats, Integers, Json
from . import encode
from .card import README, stored_files
from .formats.registry import format_of
from .languages import CARD_KEY, FILE, TokenLanguages, read_languages, write_languages
from .student import read_checked_card
from .subset import MEASURED_KEYS
from .weights.added_rows import Addition
from .weights.codecs import CODECS


@dataclass(frozen=True)
class NewLanguage:
    """A language to add to an artefact: its tokenizer has the new tokens, most frequent first, behind the old ones."""

    language: str
    tokenizer: Tokenizer
    rows: Floats
    texts: Sequence[str]
    notes: Mapping[str, Json] = field(default_factory=dict)


def write_with_language(folder: Path, output: File, new: NewLanguage, source: str) -> dict[str, Json]:
    """Write an artefact with an additional language.

    A text that uses none of the new tokens keeps its vector, to the last bit.
    """
    card = read_checked_card(folder)
    pieces = read_languages(folder, card) if FILE in card["files"] else None
    with write_aside(output) as aside:
        aside.mkdir()
        order = _write_model(folder, card, aside, new)
        tokenizer = reorder_tokenizer(new.tokenizer, order)
        tokenizer.save(aside / encode.TOKENIZER)
        if pieces:
            before = len(list_spellings(Tokenizer.load(folder / encode.TOKENIZER)))
            write_languages(aside, _extend_token_languages(pieces, tokenizer, order, new, before))
        # The script of this version, because an older one may not read spellings.
        shutil.copyfile(encode.__file__, aside / "encode.py")
        if encode.REMOVAL in card["files"]:
            shutil.copyfile(folder / encode.REMOVAL, aside / encode.REMOVAL)
        rewritten = _card(card, aside, Path(output).resolve().name, new, source)
        write_json(aside / encode.CARD, rewritten)
        write_text(aside / README, render_page(rewritten, new))
    return rewritten


def _write_model(folder: Path, card: dict[str, Json], aside: Path, new: NewLanguage) -> Integers:
    """Write the model's file with all embeddings, and return their order as `Addition.order` gives it."""
    format_, codec = format_of(card["format"]), card["precision"]["table"]
    addition = Addition(codec, card["vocabulary"], new.rows, CODECS[codec].frequent_count(len(new.rows)))
    orders: list[Integers] = []

    def remade(arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        orders.append(addition.order(arrays))
        return addition.extend(arrays)

    try:
        content = (folder / format_.file).read_bytes()
        (aside / format_.file).write_bytes(format_.with_table(content, card["vocabulary"], codec, remade))
    except (ExportError, ValueError, IndexError, KeyError) as error:
        raise EncoderError(f"{folder}: no embeddings can be added to {format_.file}: {error}") from error
    return orders[0]


def _extend_token_languages(
    pieces: TokenLanguages, tokenizer: Tokenizer, order: Integers, new: NewLanguage, before: int
) -> TokenLanguages:
    """Return the languages of all tokens: the old ones are unchanged, the new language has those that its texts use."""
    used = np.zeros((len(tokenizer), len(pieces.languages) + 1), dtype=bool)
    old = order < len(pieces.used)
    used[old, :-1] = pieces.used[order[old]]
    used[sorted(find_used_tokens(tokenizer, new.texts)), -1] = True
    # A word has its own token, whether it occurs in the texts or not.
    used[~old, -1] = True
    larger, count = (
        TokenLanguages((*pieces.languages, new.language), used, _extend_spelling_languages(pieces)),
        len(list_spellings(tokenizer)),
    )
    return larger.with_more_spellings(before, count - before, new.language) if count > before else larger


def _extend_spelling_languages(pieces: TokenLanguages) -> Booleans | None:
    """Return the languages of the old spellings; the new language may use those that any language may use."""
    old = pieces.spelled
    return None if old is None else np.column_stack([old, old.all(axis=1)])


def _card(card: dict[str, Json], folder: Path, name: str, new: NewLanguage, source: str) -> dict[str, Json]:
    files = {name: asdict(file) for name, file in stored_files(folder).items()}
    rest = {key: value for key, value in card.items() if key not in MEASURED_KEYS}
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


def render_page(card: dict[str, Json], new: NewLanguage) -> str:
    """Return the README of an artefact with an additional language."""
    how = format_of(card["format"]).how_to.format(dimension=card["dimension"], max_length=card["max_length"])
    return PAGE.format(
        **{key: card[key] for key in ("name", "dimension", "source")},
        derived=describe_origin(read_origin(card), CARD_NOTE),
        how=how,
        new=new.language,
        languages=", ".join(card.get("languages", ())),
        pieces=f"{card['vocabulary']}, of which {len(new.rows)} for {new.language}",
        size=f"{card['bytes'] / 1e6:.1f} MB",
    )


CARD_NOTE = "`card.json` has the same facts, the sha256 of the files, and what the new language was learned from."
PAGE = """# {name}

A sentence encoder for {languages}. It turns a text into a vector of {dimension} numbers with unit length. It is
{source} with more tokens, for {new}. A text that contains none of these keeps its vector.

{how}

- size: {size}
- source: {source}
- languages: {languages}
- tokens: {pieces}

{derived}
"""
