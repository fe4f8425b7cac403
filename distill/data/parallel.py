"""Parallel text: sentences in many languages with their translation in the teacher's, which it labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError
from ..system.files import usable_path
from ..system.reading import read_jsonl
from ..system.types import File, Integers
from .parsing.tsv import columns_of


@dataclass(frozen=True)
class Parallel:
    """Pairs `(n,)` of one source: `texts` in `languages`, and `pivots`, the same in the teacher's language.

    Of `others` the source has lines too, which were not asked for.
    """

    name: str
    weight: float
    texts: tuple[str, ...]
    languages: tuple[str, ...]
    pivots: tuple[str, ...]
    others: tuple[str, ...] = ()


def read_parallel(files: Sequence[File], pivot: str, languages: Sequence[str] = ()) -> list[Parallel]:
    """`[Parallel]` of `FILE` or `FILE=WEIGHT`: a .tsv headed by languages, .jsonl objects, or a folder of {lang}.txt.

    A cell may be empty; a pair needs the `pivot`, the teacher's language, whose own text is a pair with itself.
    `languages`, where given, are those that are taken. Raises `DataError` for a source without a pair.
    """
    return [_source(path, weight, pivot, languages) for path, weight in map(weighted, files)]


def weighted(source: File) -> tuple[Path, float]:
    """The path and the weight of `FILE=WEIGHT`, 1 without; a file of just that name is a path. Raises `InputError`."""
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
    rows = _rows(path, (pivot, *languages))
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
    others = {name for row in rows for name, text in row.items() if text.strip()} - {pivot, *wanted}
    texts, names, sources = zip(*pairs, strict=True)
    return Parallel(path.name, weight, texts, names, sources, tuple(sorted(others)))


def _rows(path, named):
    """`[{language: text}]`."""
    if path.suffix == ".jsonl":
        return [{name: text for name, text in row.items() if isinstance(text, str)} for _, row in read_jsonl(path)]
    columns = columns_of(path, named)
    lengths = {name: len(lines) for name, lines in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(
            f"{path}: not line-aligned: " + ", ".join(f"{n} lines in {lang}" for lang, n in lengths.items())
        )
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def labelled_text(corpus: Mapping[str, Sequence[str]]) -> list[Parallel]:
    """A corpus `{language: [text]}` as one source of which each text is its own pivot; none without texts."""
    pairs = [(text, language) for language, texts in corpus.items() for text in dict.fromkeys(texts)]
    if not pairs:
        return []
    texts, languages = zip(*pairs, strict=True)
    return [Parallel("labelled text", 1.0, texts, languages, texts)]


def without_pivots(source: Parallel, pivot: str) -> Parallel:
    """A `Parallel` without the lines that are in the language `pivot` themselves."""
    return in_languages(source, set(source.languages) - {pivot})


def in_languages(source: Parallel, languages: Collection[str]) -> Parallel:
    """A `Parallel` with the lines in these languages alone, of which there may be none."""
    kept = [row for row, language in enumerate(source.languages) if language in languages]
    columns = (tuple(column[row] for row in kept) for column in (source.texts, source.languages, source.pivots))
    return Parallel(source.name, source.weight, *columns)


def pivots(sources: Sequence[Parallel]) -> int:
    """How many distinct texts the teacher labels."""
    return len(pivots_of(sources))


def pivots_of(sources: Sequence[Parallel]) -> list[str]:
    """The distinct texts that the teacher labels."""
    return list(dict.fromkeys(pivot for source in sources for pivot in source.pivots))


def texts_by_language(sources: Sequence[Parallel]) -> dict[str, list[str]]:
    """`{language: [text]}` of all sources, each text once."""
    texts: dict[str, dict[str, None]] = {}
    for source in sources:
        for text, language in zip(source.texts, source.languages, strict=True):
            texts.setdefault(language, {})[text] = None
    return {language: list(distinct) for language, distinct in texts.items()}


def joined(*corpora: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """`{language: [text]}` of several, each text once."""
    languages = dict.fromkeys(language for corpus in corpora for language in corpus)
    return {
        language: list(dict.fromkeys(text for corpus in corpora for text in corpus.get(language, ())))
        for language in languages
    }


def groups_of(sources: Sequence[Parallel]) -> tuple[Integers, int]:
    """int `(n,)`: which group a pair of all the sources together is in, one a source and language; and their number."""
    names = [(place, language) for place, source in enumerate(sources) for language in source.languages]
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names], dtype=np.int64), len(known)


def shares(sources: Sequence[Parallel], temperature: float = 2.0) -> NDArray[np.float64]:
    """float `(groups,)`: how often each group of `groups_of` is drawn.

    A source has the share of its weight, and within it a language that of its number of pairs to the power
    1 / temperature: as they are at 1, nearer to all alike above (Devlin et al., 2019; Conneau et al., 2020).
    """
    total, parts = sum(source.weight for source in sources), []
    for source in sources:
        counts = [source.languages.count(language) for language in dict.fromkeys(source.languages)]
        powers = np.array(counts, dtype=np.float64) ** (1 / temperature)
        parts.append(source.weight / total * powers / powers.sum())
    return np.concatenate(parts)
