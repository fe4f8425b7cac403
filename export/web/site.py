"""Write the files of a page that searches by itself, served by any static server: see docs/web.md.

In `pieces.bin` the section `core` holds what every question needs. A token is in the bucket of the prefix that it
begins with, or in the core if that prefix was divided further; an embedding is at the place of its id.
"""

from __future__ import annotations

import html
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from pathlib import Path
from string import Template

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, EncoderError
from ...system.hashes import CHECK, add_check, fingerprint_of, join_hashes
from ...system.sections import TYPES, pack_sections, read_sections, write_sections
from ...system.types import File, Json

ENCODER, INDEX = "encoder.bin", "index.bin"
# The same two, laid out for range requests.
PIECES, CLUSTERS = "pieces.bin", "clusters.bin"
PROGRAM = "distill.wasm"
SOURCES = Path(__file__).parent
# The entries of an index's card that name an encoder.
ENCODERS = ("encoder", "question_encoder", "word_encoder")
TITLE, HEADING = "Search by meaning", "Ask in your own language"
ABOUT = "A small encoder and its index, in this page alone. Nothing that you type leaves it."
# Templates, into which facts about the page's files are filled.
TEMPLATES = ("index.html", "offline.js", "manifest.webmanifest")
SCRIPTS = ("engine", "distill", "sections", "notes", "notebook", "ranged", "ranges", "checks", "pieces", "clusters")
COPIED = ("page.css", "page.js", *(f"{name}.js" for name in SCRIPTS), "icon.svg", PROGRAM)


@dataclass(frozen=True)
class PageText:
    """The texts of a page, the default ones where they are empty. The title is also that of the installed app."""

    title: str = ""
    about: str = ""

    def values(self) -> dict[str, str]:
        """Return the values for the page's templates, escaped for their places."""
        title, about = html.escape(self.title), html.escape(self.about)
        # The name is placed inside a JSON string, so it comes without quotes.
        name = json.dumps(self.title or TITLE, ensure_ascii=False)[1:-1]
        return {
            "title": title or TITLE,
            "heading": title or HEADING,
            "about": about or ABOUT,
            "usual": "" if about else "usual",
            "name": name,
        }


def write_page(folder: Path, text: PageText = PageText()) -> None:
    """Write the page for the encoder in a folder, and for the index if there is one."""
    for name in COPIED:
        shutil.copyfile(SOURCES / name, folder / name)
    parts = {name: folder / f"{name}.bin" for name in ("encoder", "index", "pieces", "clusters")}
    values = {name: _bytes(path) for name, path in parts.items()}
    files = [*(SOURCES / name for name in (*TEMPLATES, *COPIED)), *parts.values()]
    values["files"] = ", ".join(json.dumps(name) for name in COPIED)
    values["version"] = _version(files, text)
    values |= text.values()
    for name in TEMPLATES:
        content = Template((SOURCES / name).read_text(encoding="utf-8")).substitute(values)
        (folder / name).write_text(content, encoding="utf-8")


def add_index(folder: Path, index: Path, text: PageText = PageText(), clusters: Path | None = None) -> None:
    """Copy an index into the folder of a page, which has an `encoder.bin`, and write the page again.

    With `clusters`, the path of the index's `clusters.bin`, that is copied instead, and the page loads only the parts
    that a question needs. Raises `EncoderError` if the index was made by another encoder than the page's.
    """
    require_same_encoder(folder / ENCODER, index)
    if clusters:
        write_pieces(folder / ENCODER, folder / PIECES)
        shutil.copyfile(clusters, folder / CLUSTERS)
    else:
        sections = read_sections(index)
        card = json.dumps(name_encoders(json.loads(sections["card"].tobytes())), ensure_ascii=False).encode()
        write_sections(folder / INDEX, {**sections, "card": np.frombuffer(card, np.uint8)})
    write_page(folder, text)


def name_encoders(card: Mapping[str, Json]) -> dict[str, Json]:
    """Return an index's card for others to read: of an encoder's folder on this machine it has the name alone."""
    named = {key: str(card[key]) for key in ENCODERS if key in card}
    local = {key for key, name in named.items() if os.path.isabs(name.removeprefix("st:").removeprefix("hf:"))}
    return {**card, **{key: os.path.basename(named[key]) for key in local}}


def require_same_encoder(encoder: Path, index: Path) -> None:
    """Require that an index was made by the page's encoder, or is searched with it."""
    ours = read_sections(encoder)["fingerprint"].tobytes().decode()
    try:
        card = json.loads(read_sections(index)["card"].tobytes())
        theirs, name = card["fingerprint"], card["encoder"]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{index}: expected an index, but it has no card; write it again with distill index") from error
    if ours not in (theirs, card.get("question_fingerprint")):
        raise EncoderError(
            f"{index}: made by {name} ({theirs[:12]}), not by the page's encoder ({ours[:12]}); export the bundle that "
            "made it, or make a new index with the page's bundle"
        )


def _bytes(path):
    return str(path.stat().st_size) if path.is_file() else ""


def _version(paths, text):
    """Return a version for the content of the page, by which a browser tells whether its cached copy is current."""
    files = fingerprint_of(*(path for path in paths if path.is_file()))
    return join_hashes([files, *text.values().values()])[:16]


# The most tokens of a bucket, which then has some 800 bytes when compressed.
MOST_PIECES = 64
NORMAL, USER_DEFINED, UNUSED = 1, 4, 5
# The number in the list `settings` of a table in two formats, and the part with the rows of the second format.
MIXED, SECOND = 3, 3
# The number of a table's parts that have a row for each id, by the number of its format.
ROW_PARTS = {0: 1, 1: 2, 2: 3, MIXED: 4}
VOCABULARY = ("pieces", "piece_starts", "piece_scores", "piece_types", "spellings")
Sections = Mapping[str, NDArray[np.generic]]


def write_pieces(encoder: File, output: File) -> None:
    sections = read_sections(encoder)
    vocabulary = Vocabulary.read(sections)
    keys, buckets, short = vocabulary.divide()
    contents = [deflate(vocabulary.content(ids)) for ids in buckets]
    starts = np.cumsum([0, *(len(content) + CHECK for content in contents)]).astype(np.uint32)
    parts = list(_row_parts(sections))
    core = {
        name: array for name, array in sections.items() if name not in {*VOCABULARY, *(part.name for part in parts)}
    }
    core |= {
        "always": vocabulary.content(sorted({*short, *vocabulary.required_ids(), *_first_rows(sections)})),
        "bucket_keys": np.frombuffer(b"".join(keys), np.uint8),
        "bucket_key_starts": np.cumsum([0, *map(len, keys)]).astype(np.uint32),
        "bucket_starts": starts,
        "row_parts": np.array([part.numbers for part in parts], np.int32),
    }
    first = add_check(deflate(pack_sections(core)))
    seed = int.from_bytes(first[-CHECK:], "little")
    checked = b"".join(map(add_check, contents, repeat(seed), starts.tolist()))
    rows = {f"rows.{group}": _records(parts, group, seed) for group in (0, 1)}
    joined = {name: np.frombuffer(part, np.uint8) for name, part in (("core", first), ("buckets", checked))}
    write_sections(output, joined | rows)


def deflate(content: bytes | NDArray[np.uint8]) -> bytes:
    """Compress bytes as raw deflate, which browsers can decompress."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(bytes(content)) + packer.flush()


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of an encoder: the bytes, the score and SentencePiece's type of each, by id."""

    pieces: Sequence[bytes]
    scores: NDArray[np.float32]
    types: NDArray[np.uint8]
    spelled: Mapping[int, Sequence[int]]

    @classmethod
    def read(cls, sections: Sections) -> Vocabulary:
        content, starts = sections["pieces"].tobytes(), sections["piece_starts"].tolist()
        pieces = [content[start:end] for start, end in zip(starts[:-1], starts[1:], strict=True)]
        spelled, rows = {}, int(sections["settings"][4])
        stored = sections.get("spellings", np.zeros(0, np.int32))
        ends = [-1, *np.flatnonzero(stored == -1).tolist()]
        for place, (before, end) in enumerate(pairwise(ends)):
            spelled[rows + place] = stored[before + 1 : end].tolist()
        scores, types = sections["piece_scores"].astype(np.float32), sections["piece_types"].astype(np.uint8)
        return cls(pieces, scores, types, spelled)

    def required_ids(self) -> list[int]:
        """Return the ids of control and user-defined tokens, and of the normal ones with the extreme scores."""
        normal = np.flatnonzero(self.types == NORMAL)
        ends = [normal[np.argmin(self.scores[normal])], normal[np.argmax(self.scores[normal])]] if len(normal) else []
        return [int(id) for id in (*np.flatnonzero((self.types != NORMAL) & (self.types != UNUSED)), *ends)]

    def divide(self) -> tuple[list[bytes], list[list[int]], list[int]]:
        """Divide the tokens into buckets by prefix.

        Returns prefixes, none of which begins another; the ids in the bucket of each; and the ids without a bucket.
        """
        looked_up = np.isin(self.types, (NORMAL, USER_DEFINED, UNUSED))
        ids = [id for id in np.flatnonzero(looked_up).tolist() if self.pieces[id]]
        keys, buckets, short = [], [], []
        waiting = [(b"", sorted(ids, key=lambda id: (self.pieces[id], id)))]
        while waiting:
            key, group = waiting.pop()
            if key and len(group) <= MOST_PIECES:
                keys.append(key)
                buckets.append(group)
                continue
            short += [id for id in group if self.pieces[id] == key]
            waiting += reversed(list(self._children(key, group)))
        return keys, buckets, short

    def _children(self, key: bytes, group: Sequence[int]) -> Iterator[tuple[bytes, list[int]]]:
        children: dict[bytes, list[int]] = {}
        for id in group:
            if self.pieces[id] != key:
                children.setdefault(self.pieces[id][: len(key) + 1], []).append(id)
        yield from children.items()

    def content(self, ids: Sequence[int]) -> NDArray[np.uint8]:
        """Return tokens as bytes: number, ids, scores, sizes, numbers of spelled ids, spelled ids, types and texts.

        Numbers are 4 bytes each, types one.
        """
        targets = [self.spelled.get(id, ()) for id in ids]
        columns = (
            np.array([len(ids), *ids], "<u4"),
            np.array([self.scores[id] for id in ids], "<f4"),
            np.array([len(self.pieces[id]) for id in ids], "<u4"),
            np.array([len(one) for one in targets], "<u4"),
            np.array([id for one in targets for id in one], "<u4"),
            np.array([self.types[id] for id in ids], np.uint8),
        )
        texts = b"".join(self.pieces[id] for id in ids)
        return np.frombuffer(b"".join(column.tobytes() for column in columns) + texts, np.uint8)


@dataclass(frozen=True)
class RowPart:
    """A part of the embedding table with one row for each id of a group, 0, or 1 for rows in a second format."""

    number: int
    group: int
    array: NDArray[np.generic]

    @property
    def name(self) -> str:
        return f"table.{self.number}"

    @property
    def numbers(self) -> list[int]:
        """The part's number, group, type and number of columns, as the page reads them."""
        kind = TYPES.index(self.array.dtype.newbyteorder("<"))
        return [self.number, self.group, kind, 1 if self.array.ndim == 1 else self.array.shape[1]]


def _row_parts(sections: Sections) -> Iterator[RowPart]:
    table = int(sections["settings"][7])
    for number in range(ROW_PARTS[table]):
        yield RowPart(number, int(table == MIXED and number == SECOND), sections[f"table.{number}"])


def _first_rows(sections: Sections) -> list[int]:
    """Return the first id of each group, so that no part of a question's own table is empty."""
    mixed = int(sections["settings"][7]) == MIXED
    return [0, int(sections["table.6"][0])] if mixed else [0]


def _records(parts: Sequence[RowPart], group: int, seed: int) -> NDArray[np.uint8]:
    """Return the rows of a group as bytes, with its parts side by side and a check behind each row."""
    arrays = [part.array.reshape(len(part.array), -1) for part in parts if part.group == group]
    if not arrays:
        return np.zeros((0, 1), np.uint8)
    joined = np.concatenate([np.ascontiguousarray(array).view(np.uint8) for array in arrays], axis=1)
    size = joined.shape[1] + CHECK
    checked = (add_check(row.tobytes(), seed, size * number) for number, row in enumerate(joined))
    return np.frombuffer(b"".join(checked), np.uint8).reshape(-1, size)
