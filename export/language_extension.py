"""Add a language or spellings to an artefact: it gets more tokens, and everything else keeps its stored codes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..encoders.tokenizer import Tokenizer, list_spellings
from ..errors import EncoderError, ExportError
from ..students.vocabulary.pieces import find_used_tokens, reorder_tokenizer
from ..system.files import write_aside, write_json, write_text
from ..system.types import Booleans, File, Floats, Integers, Json
from . import encode
from .card import README, fill_page, remake_card
from .formats.format import format_of
from .languages import CARD_KEY, FILE, TokenLanguages, read_languages, write_languages
from .student import read_checked_card
from .subset import SPELLINGS_KEY
from .weights.codecs import CODECS, MIXED_CODECS, int4_rows, uint8_values
from .weights.products import CODEWORDS, find_nearest
from .weights.stored_table import StoredTable


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
        rewritten = _card(card, aside, output, new, source)
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


def _card(card: dict[str, Json], folder: Path, output: File, new: NewLanguage, source: str) -> dict[str, Json]:
    changes: dict[str, Json] = {"vocabulary": card["vocabulary"] + len(new.rows)}
    if "languages" in card:
        changes["languages"] = [*card["languages"], new.language]
    if (folder / FILE).is_file():
        changes[CARD_KEY] = {"languages": [*card[CARD_KEY]["languages"], new.language]}
    added = {"language": new.language, "pieces": len(new.rows), **new.notes}
    return remake_card(card, folder, output, source, {**changes, "added": [*card.get("added", ()), added]})


def render_page(card: dict[str, Json], new: NewLanguage) -> str:
    """Return the README of an artefact with an additional language."""
    return fill_page(
        PAGE,
        card,
        CARD_NOTE,
        new=new.language,
        languages=", ".join(card.get("languages", ())),
        pieces=f"{card['vocabulary']}, of which {len(new.rows)} for {new.language}",
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


# These files are written again and not copied.
REWRITTEN = (encode.CARD, encode.TOKENIZER, encode.SPELLINGS, encode.READING, encode.SCRIPT.name)


def write_with_spellings(
    folder: Path,
    output: Path,
    tokenizer: Tokenizer,
    notes: Mapping[str, Json],
    source: str,
    pieces: TokenLanguages | None = None,
) -> None:
    """Write an artefact whose tokenizer has spellings; the languages of its tokens stay, unless `pieces` has others."""
    card = read_checked_card(folder)
    with write_aside(output) as aside:
        aside.mkdir()
        for name in set(card["files"]) - set(REWRITTEN):
            shutil.copyfile(folder / name, aside / name)
        shutil.copyfile(encode.__file__, aside / "encode.py")
        tokenizer.save(aside / encode.TOKENIZER)
        if pieces:
            write_languages(aside, pieces)
        rewritten = remake_card(card, aside, output, source, {SPELLINGS_KEY: dict(notes)})
        write_json(aside / encode.CARD, rewritten)
        write_text(aside / README, render_spellings_page(rewritten, len(list_spellings(tokenizer))))


def render_spellings_page(card: Mapping[str, Json], count: int) -> str:
    """Return the README of an artefact with spellings."""
    kinds = ", ".join(card[SPELLINGS_KEY]["kinds"])
    return fill_page(SPELLINGS_PAGE, card, SPELLINGS_NOTE, kinds=kinds, many=f"{count:,}")


SPELLINGS_NOTE = "`card.json` has the same facts, the sha256 of the files, and the spellings by kind and language."
SPELLINGS_PAGE = """# {name}

A sentence encoder. It turns a text into a vector of {dimension} numbers with unit length. It is {source} with {many}
spellings ({kinds}). Each spelling is read as other tokens: a noisy form as the word in its correct form, and `words`
as what they mean. A text that is tokenized as before keeps its vector.

{how}

- size: {size}
- source: {source}

{derived}
"""


@dataclass(frozen=True)
class Addition:
    """New rows `(n, width)` to add to a stored embedding table.

    If a format has separate parts for frequent rows and all others, each new row is placed at the end of its part.
    """

    codec: str
    rows: int
    new: Floats
    often: int = 0

    def order(self, arrays: Sequence[np.ndarray]) -> Integers:
        """Return the order of rows in the larger table: ids below `rows` for old ones, and the others for new ones."""
        ids, first = np.arange(self.rows + len(self.new)), self._count_frequent(arrays)
        return np.concatenate(
            [ids[:first], ids[self.rows :][: self.often], ids[first : self.rows], ids[self._first_rare_id :]]
        )

    def extend(self, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Return the arrays of the larger table, with its rows in their `order`; no old row is rounded again."""
        if self.codec in MIXED_CODECS:
            return self._mix_rows(arrays)
        codec = CODECS[self.codec]
        rows, shared = codec.split(arrays)
        new = [_codes(self.new, rows[0], shared)] if shared else codec.rows(self.new)
        return *(np.concatenate([old, view_as_stored(more, old)]) for old, more in zip(rows, new, strict=True)), *shared

    @property
    def _first_rare_id(self):
        return self.rows + self.often

    def _count_frequent(self, arrays):
        return int(arrays[-1][0]) if self.codec in MIXED_CODECS else self.rows

    def _mix_rows(self, arrays):
        *first, codes, words, step, count = arrays
        table = StoredTable(tuple(arrays), self.rows, self.new.shape[1])
        new, rest = int4_rows(self.new[: self.often]), table.codes(self.new[self.often :])
        # A part without rows stores one that nothing looks up.
        here, there = int(count[0]), self.rows - int(count[0])
        often = [np.concatenate([old[:here], more]) for old, more in zip(first, new, strict=True)]
        larger = np.array([here + self.often], dtype=count.dtype)
        return *often, np.concatenate([codes[:there], rest]), words, step, larger


def view_as_stored(array: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """View an array in the type of a stored one; a flatbuffer stores float32 as bytes."""
    return np.ascontiguousarray(array).view(stored.dtype)


def _codes(table: Floats, codes: np.ndarray, shared: Sequence[np.ndarray]) -> np.ndarray:
    """Return the nearest codewords of each row, uint8 `(n, places)`."""
    words, scales = shared
    books = uint8_values(words, scales).reshape(codes.shape[1], CODEWORDS, -1)
    places, size = codes.shape[1], books.shape[2]
    parts = np.pad(table, [(0, 0), (0, places * size - table.shape[1])]).reshape(len(table), places, size)
    chosen = [find_nearest(np.ascontiguousarray(parts[:, place]), book) for place, book in enumerate(books)]
    return np.column_stack(chosen).astype(np.uint8)
