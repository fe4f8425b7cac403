"""Parallel text: sentences in many languages with their translation in the teacher's language, which it labels."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError
from ..system.files import usable_path
from ..system.input_files import read_jsonl
from ..system.progress import say
from ..system.types import File, Integers
from .parsing import NUMBERED, read_columns

# Names in JSON Lines that are languages where none are named.
SPOKEN = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,4})*")


@dataclass(frozen=True)
class Parallel:
    """Pairs `(n,)` of one source: `texts` in `languages`, and `pivots`, their translations in the teacher's language.

    `others` are languages of the source that were not asked for.
    """

    name: str
    weight: float
    texts: tuple[str, ...]
    languages: tuple[str, ...]
    pivots: tuple[str, ...]
    others: tuple[str, ...] = ()


def read_parallel(files: Sequence[File], pivot: str, languages: Sequence[str] = ()) -> list[Parallel]:
    """Read parallel text.

    A cell may be empty. A pair needs text in the teacher's language, which also forms a pair with itself. `files` are
    `FILE` or `FILE=WEIGHT`: a .tsv with a header of languages, .jsonl objects, or a folder of {lang}.txt.
    """
    return [_source(path, weight, pivot, languages) for path, weight in map(parse_weight, files)]


def parse_weight(source: File) -> tuple[Path, float]:
    """Return the path and the weight, by default 1, of `FILE=WEIGHT`, or of an existing file of just that name."""
    path, equals, weight = str(source).rpartition("=")
    if not path or usable_path(source).exists():
        return usable_path(source), 1.0
    try:
        number = float(weight)
    except ValueError:
        return Path(source), 1.0
    if not 0 < number < float("inf"):
        raise InputError(f"{source}: expected a weight above 0, got {weight}")
    return Path(path), number


def _source(path, weight, pivot, languages):
    rows = _read_rows(path, (pivot, *languages))
    wanted = [
        name for name in dict.fromkeys(name for row in rows for name in row) if not languages or name in languages
    ]
    pairs = [
        (row[name], name, row[pivot])
        for row in rows
        if row.get(pivot, "").strip()
        for name in wanted
        if row.get(name, "").strip()
    ]
    if not pairs:
        raise DataError(
            f"{path}: no pair of {pivot}, the teacher's language, and {', '.join(languages) or 'another'}; "
            "expected a .tsv headed by languages, .jsonl objects by language, or a folder of {lang}.txt"
        )
    if lacking := [row for row in rows if not row.get(pivot, "").strip()]:
        spoken = ", ".join(sorted({name for row in lacking for name, text in row.items() if text.strip()})) or "nothing"
        say(
            f"{path}: {len(lacking)} of {len(rows)} rows are left out, as they have no text in {pivot}, the teacher's "
            f"language, but in {spoken}"
        )
    others = {name for row in rows for name, text in row.items() if text.strip()} - {pivot, *wanted}
    texts, names, sources = zip(*pairs, strict=True)
    return Parallel(path.name, weight, texts, names, sources, tuple(sorted(others)))


def _read_rows(path, named):
    """Return the text of each row by language."""
    if path.suffix == ".jsonl":
        rows = [{name: text for name, text in row.items() if isinstance(text, str)} for _, row in read_jsonl(path)]
        return _drop_fields(path, rows, named)
    columns = read_columns(path, named)
    lengths = {name: len(lines) for name, lines in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(
            f"{path}: not line-aligned: " + ", ".join(f"{n} lines in {lang}" for lang, n in lengths.items())
        )
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _drop_fields(path, rows, named):
    """Return the rows without names that are no codes of languages, such as those of an id or a source."""
    names = dict.fromkeys(name for row in rows for name in row)
    if fields := [name for name in names if name not in named and (name == NUMBERED or not SPOKEN.fullmatch(name))]:
        say(f"{path}: left out, as no codes of languages that are asked for: {', '.join(fields)}")
    return [{name: text for name, text in row.items() if name not in fields} for row in rows]


def make_labelled_text(corpus: Mapping[str, Sequence[str]]) -> list[Parallel]:
    """Turn a corpus into a source in which each text is its own pivot; an empty corpus gives none."""
    pairs = [(text, language) for language, texts in corpus.items() for text in dict.fromkeys(texts)]
    if not pairs:
        return []
    texts, languages = zip(*pairs, strict=True)
    return [Parallel("labelled text", 1.0, texts, languages, texts)]


def drop_pivots(source: Parallel, pivot: str) -> Parallel:
    """Leave out the lines that are in the teacher's language themselves."""
    return select_languages(source, set(source.languages) - {pivot})


def select_languages(source: Parallel, languages: Collection[str]) -> Parallel:
    """Keep only the lines in some languages, of which there may be none."""
    kept = [row for row, language in enumerate(source.languages) if language in languages]
    columns = (tuple(column[row] for row in kept) for column in (source.texts, source.languages, source.pivots))
    return Parallel(source.name, source.weight, *columns)


def count_pivots(sources: Sequence[Parallel]) -> int:
    """Count the distinct texts that the teacher labels."""
    return len(list_pivots(sources))


def list_pivots(sources: Sequence[Parallel]) -> list[str]:
    """Return the distinct texts that the teacher labels."""
    return list(dict.fromkeys(pivot for source in sources for pivot in source.pivots))


def collect_texts(sources: Sequence[Parallel]) -> dict[str, list[str]]:
    """Return the distinct texts of all sources by language."""
    texts: dict[str, dict[str, None]] = {}
    for source in sources:
        for text, language in zip(source.texts, source.languages, strict=True):
            texts.setdefault(language, {})[text] = None
    return {language: list(distinct) for language, distinct in texts.items()}


def join_corpora(*corpora: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Join corpora, with each text once per language."""
    languages = dict.fromkeys(language for corpus in corpora for language in corpus)
    return {
        language: list(dict.fromkeys(text for corpus in corpora for text in corpus.get(language, ())))
        for language in languages
    }


def group_pairs(sources: Sequence[Parallel]) -> tuple[Integers, int]:
    """Return the group, of one source and language, of each pair of all sources, and the number of groups."""
    names = [(place, language) for place, source in enumerate(sources) for language in source.languages]
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names], dtype=np.int64), len(known)


def compute_shares(sources: Sequence[Parallel], temperature: float = 2.0) -> NDArray[np.float64]:
    """Compute how often each group of `group_pairs` is drawn.

    A source gets the share of its weight. Within it a language gets that of its number of pairs to the power 1 /
    temperature: proportional at 1, more even above (Devlin et al., 2019; Conneau et al., 2020).
    """
    total, parts = sum(source.weight for source in sources), []
    for source in sources:
        counts = [source.languages.count(language) for language in dict.fromkeys(source.languages)]
        powers = np.array(counts, dtype=np.float64) ** (1 / temperature)
        parts.append(source.weight / total * powers / powers.sum())
    return np.concatenate(parts)
