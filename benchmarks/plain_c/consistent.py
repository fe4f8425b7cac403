"""Make files of sections that are well-formed but wrong: the sizes in an entry agree with each other.

    distill export multi12-static --format c --output c
    distill index --model multi12-static --documents distill/data/sample/documents.jsonl --output kb
    python benchmarks/plain_c/consistent.py --files kb/index.bin c/encoder.bin --encoder c/encoder.bin --count 100000

Sections have no columns, other shapes, types, names and places, and numbers in them are those at which something
breaks; offsets and bytes are computed of that. `fuzz.c`, built with gcc's sanitizers, opens and uses each file; with
`--python` the index is opened and searched by Python, and whatever it raises but an error of distill's ends the run.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from distill.errors import DistillError
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.index_file import Index
from distill.search_engine.indexing.lexical import Lexical
from distill.search_engine.indexing.searching import Rescorer, Searcher
from distill.system.sections import ALIGNMENT, ENTRY, HEAD, MAGIC, TYPES, VERSION

SANITIZERS = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Sections whose count of rows was once taken for one of bytes.
ZERO_COLUMNS = {"encoder.bin": ("pieces", "charsmap"), "index.bin": ("card", "text", "documents")}
EDGES = (0, 1, -1, 2, 7, 127, 128, 255, 2**16, 2**31 - 1, -(2**31), 2**32 - 1, 2**63, 2**64 - 1)
REALS = (0.0, -1.0, 1e30, -1e30, 3e38, 1e-45, float("nan"), float("inf"), -float("inf"))
JSON = (None, True, -1, 0, 1, 2**64, 1.5, float("nan"), "", "sum", "vector", "a\0b", [], {}, "9" * 400)
LARGEST = 2**24
QUESTION = "Where does the Danube end?"


@dataclass(frozen=True)
class Section:
    """An entry of a file and its content."""

    name: bytes
    type: int
    dimensions: int
    rows: int
    columns: int
    content: bytes

    def shaped(self, rows: int, columns: int | None = None, type: int | None = None) -> Section:
        """Return it with as many bytes as its shape and type need, of its own content again and again.

        As it is where these are more than `LARGEST`.
        """
        type = self.type if type is None else type
        size = rows * (1 if columns is None else columns) * TYPES[type].itemsize
        if size > LARGEST:
            return self
        content = (self.content or b"\0") * (-(-size // max(len(self.content), 1)))
        shape = {"dimensions": 1 if columns is None else 2, "rows": rows, "columns": 1 if columns is None else columns}
        return replace(self, type=type, content=content[:size], **shape)


def sections_of(content: bytes) -> list[Section]:
    """Return the sections of a file that is right."""
    count = int(np.frombuffer(content[: HEAD.itemsize], dtype=HEAD)[0]["count"])
    sections = []
    for entry in np.frombuffer(content, dtype=ENTRY, count=count, offset=HEAD.itemsize):
        fields = [int(entry[name]) for name in ("type", "dimensions", "rows", "columns")]
        start, size = int(entry["offset"]), int(entry["bytes"])
        sections.append(Section(bytes(entry["name"]), *fields, content[start : start + size]))
    return sections


def file_of(sections: Sequence[Section]) -> bytes:
    """Return a file of sections, each where it has to be."""
    end = HEAD.itemsize + len(sections) * ENTRY.itemsize
    entries, parts = [], []
    for section in sections:
        padding = -end % ALIGNMENT
        start, end = end + padding, end + padding + len(section.content)
        parts += [bytes(padding), section.content]
        shape = (section.type, section.dimensions, section.rows, section.columns)
        entries.append((section.name, *shape, start, len(section.content)))
    head = np.array((MAGIC, VERSION, len(sections)), dtype=HEAD).tobytes()
    return b"".join([head, np.array(entries, dtype=ENTRY).tobytes(), *parts])


def without_columns(content: bytes, name: str, rows: int | None = None) -> bytes:
    """Return the file with the section of a name last, of its bytes as rows, and of no columns."""
    sections = sections_of(content)
    (one,) = (section for section in sections if section.name == name.encode())
    empty = replace(one, dimensions=2, rows=len(one.content) if rows is None else rows, columns=0, content=b"")
    return file_of([*(section for section in sections if section is not one), empty])


def mutated(content: bytes, draw: random.Random) -> bytes:
    """Return the file with one to three changes."""
    sections = sections_of(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        draw.choice(CHANGES)(sections, draw)
    return file_of(sections)


def _one(change: Callable[[Section, random.Random], Section]):
    """Make a change of all sections from a change of one."""

    def changed(sections: list[Section], draw: random.Random) -> None:
        if sections:
            place = draw.randrange(len(sections))
            sections[place] = change(sections[place], draw)

    return changed


def _no_columns(one, draw):
    rows = draw.choice((one.rows, len(one.content), 1, 0, 40))
    return replace(one, dimensions=2, rows=rows, columns=0, content=b"")


def _no_rows(one, draw):
    columns = draw.choice((one.columns, 0, 1, 2**20, 2**31, 2**62))
    return replace(one, dimensions=2, rows=0, columns=columns, content=b"")


def _other_shape(one, draw):
    count = one.rows * one.columns
    divisors = [number for number in (1, 2, 3, 4, 8, 64) if count % number == 0]
    columns = draw.choice([None, count, *divisors])
    return one.shaped(count // (columns or 1) if columns or not count else count, columns)


def _other_rows(one, draw):
    rows = max(0, one.rows + draw.choice((-1, 1, -2, 3, -one.rows // 2, one.rows)))
    return one.shaped(rows, None if one.dimensions == 1 else one.columns)


def _other_columns(one, draw):
    return one.shaped(one.rows, max(1, one.columns + draw.choice((-1, 1, 2))))


def _other_type(one, draw):
    """Give a section another type, with the same shape or the same bytes."""
    kind = draw.randrange(len(TYPES))
    columns = None if one.dimensions == 1 else one.columns
    if draw.random() < 0.5:
        return one.shaped(one.rows, columns, kind)
    rows = len(one.content) // ((columns or 1) * TYPES[kind].itemsize) if columns != 0 else 0
    return one.shaped(rows, columns, kind)


def _other_numbers(one, draw):
    numbers = np.frombuffer(one.content, dtype=TYPES[one.type]).copy()
    for _ in range(draw.choice((1, 1, 2, 8)) if len(numbers) else 0):
        place = draw.choice((0, len(numbers) - 1, draw.randrange(len(numbers))))
        if numbers.dtype.kind == "f":
            numbers[place] = draw.choice(REALS)
        else:
            near = int(numbers[draw.randrange(len(numbers))]) + draw.choice((-1, 0, 1))
            number = draw.choice((draw.choice(EDGES), near, len(numbers), draw.getrandbits(64)))
            numbers[place] = np.array([number % 2**64], dtype=np.uint64).astype(numbers.dtype)[0]
    return replace(one, content=numbers.tobytes())


def _rows_in_another_order(one, draw):
    size = len(one.content) // one.rows if one.rows else 0
    rows = [one.content[row * size : (row + 1) * size] for row in range(one.rows if size else 0)]
    draw.shuffle(rows)
    return replace(one, content=b"".join(rows)) if size else one


def _other_name(one, draw):
    return replace(one, name=draw.choice((b"", b"other", one.name[:-1], (one.name + b"2")[:24], b"\xff\n", b"a" * 24)))


def _names_exchanged(sections, draw):
    if len(sections) > 1:
        one, other = draw.sample(range(len(sections)), 2)
        names = sections[other].name, sections[one].name
        sections[one], sections[other] = (
            replace(sections[place], name=name) for place, name in zip((one, other), names, strict=True)
        )


def _another_content(sections, draw):
    if sections:
        one, other = draw.randrange(len(sections)), draw.choice(sections)
        sections[one] = replace(other, name=sections[one].name)


def _moved(sections, draw):
    if sections:
        section = sections.pop(draw.randrange(len(sections)))
        sections.insert(draw.choice((0, len(sections))), section)


def _gone(sections, draw):
    if sections:
        sections.pop(draw.randrange(len(sections)))


def _twice(sections, draw):
    if sections:
        sections.append(draw.choice(sections))


def _no_columns_at_the_end(sections, draw):
    if sections:
        sections.append(_no_columns(sections.pop(draw.randrange(len(sections))), draw))


def _other_lengths(sections, draw):
    """Give all sections with the same number of rows more or fewer, and change the card to match."""
    if not sections:
        return
    rows, more = draw.choice(sections).rows, draw.choice((-1, 1, 2))
    for place, section in enumerate(sections):
        if section.rows in (rows, rows + 1) and section.name != b"card" and section.rows + more >= 0:
            sections[place] = section.shaped(section.rows + more, None if section.dimensions == 1 else section.columns)
    _change_card(
        sections, lambda card: {name: value + more if value == rows else value for name, value in card.items()}
    )


def _another_card(sections, draw):
    def change(card):
        name = draw.choice([*card, "other"])
        value = draw.choice((*JSON, *card.values()))
        return draw.choice(({**card, name: value}, {one: card[one] for one in card if one != name}, [card], value))

    _change_card(sections, change)


def _change_card(sections, change):
    for place, section in enumerate(sections):
        if section.name == b"card":
            try:
                card = json.loads(section.content)
            except ValueError:
                continue
            if isinstance(card, dict):
                content = json.dumps(change(card)).encode()
                sections[place] = replace(section, type=0, dimensions=1, rows=len(content), columns=1, content=content)


CHANGES = (
    *map(_one, (_no_columns, _no_rows, _other_shape, _other_rows, _other_columns, _other_type, _other_numbers)),
    *map(_one, (_other_numbers, _other_numbers, _rows_in_another_order, _other_name)),
    *(_names_exchanged, _another_content, _moved, _gone, _twice, _no_columns_at_the_end, _other_lengths),
    *(_another_card, _another_card),
)


def streamed(contents: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """Yield `count` files that are mutated, of all in turn, for the standard input of fuzz.c: bytes, and so many."""
    draw = random.Random(seed)
    for number in range(count):
        file = mutated(contents[number % len(contents)], draw)
        yield np.uint64(len(file)).tobytes() + file


def given(fuzz: Path, encoder: Path, files: Iterator[bytes]) -> tuple[int, str, str]:
    """Give files to the program: its exit code, what it printed, and what the sanitizers say."""
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as wrong:
        with subprocess.Popen([fuzz, encoder], stdin=subprocess.PIPE, stdout=said, stderr=wrong) as process:
            assert process.stdin is not None
            try:
                for file in files:
                    process.stdin.write(file)
                process.stdin.close()
            except BrokenPipeError:
                pass
            code = process.wait()
        said.seek(0)
        wrong.seek(0)
        return code, said.read(), wrong.read()


def outcome(folder: Path, encoder, vector) -> str:
    """Open the index in a folder by Python and ask it all that it knows: "answered", or the name of distill's error."""
    try:
        index = Index(folder)
        answers = Answers.__new__(Answers)
        answers.index = index
        for score in ("vector", "sentence", "sum") if index.has_sentences else ("vector",):
            again = Rescorer(index, encoder, score) if index.scored_again else None
            shares = Lexical(index.sections, index.passages).shares(QUESTION) if index.has_words else None
            nearest = Searcher(index, score, again).search(vector, 3, None, shares)
            rows = zip(nearest.rows.tolist(), nearest.scores.tolist(), nearest.sentences.tolist(), strict=True)
            json.dumps([answers.hit(*row).as_dict() for row in rows])
        index.mask({"id": "1"}) if index.documents else None
        index.rows_of("1", [b"a"], [[(0, 1)]])
    except DistillError as error:
        return type(error).__name__
    return "answered"


def outcomes(contents: Sequence[bytes], encoder, count: int, seed: int) -> Counter[str]:
    """Return how often Python said what of `count` mutated indexes; raises what is no error of distill's."""
    draw, said = random.Random(seed), Counter()
    [vector] = encoder.encode([QUESTION], "question")
    with tempfile.TemporaryDirectory() as name:
        for number in range(count):
            # Written anew and not in its place, as what is mapped may not change.
            path = Path(name) / str(number) / "index.bin"
            path.parent.mkdir()
            path.write_bytes(mutated(contents[number % len(contents)], draw))
            said[outcome(path.parent, encoder, vector)] += 1
            path.unlink()
            path.parent.rmdir()
    return said


def main() -> None:
    """Print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", nargs="+", type=Path, required=True, help="encoder.bin and index.bin to change")
    parser.add_argument("--encoder", type=Path, help="encoder.bin that indexes are opened with")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", metavar="MODEL", help="index.bin by Python, with this encoder, and not by C")
    options = parser.parse_args()
    contents, begin = [path.read_bytes() for path in options.files], time.perf_counter()
    if options.python:
        from distill.encoders.catalog.loading import load_encoder

        print(dict(outcomes(contents, load_encoder(options.python), options.count, options.seed)))
    else:
        import program

        with tempfile.TemporaryDirectory() as name:
            files = streamed(contents, options.count, options.seed)
            fuzz = program.compiled(["gcc"], Path(name) / "fuzz", *SANITIZERS, str(program.FUZZ))
            code, said, wrong = given(fuzz, options.encoder, files)
        print(f"exit {code}: {said.strip()}\n{wrong[:4000]}")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
