"""Bitext retrieval: a sentence's translation should be its nearest neighbour, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import DataError
from ..system.files import usable_path
from ..system.types import File
from .parsing.tsv import read_columns


@dataclass(frozen=True)
class Bitext:
    """Aligned sentences: `sentences[language]` has one per line of the others, and `pivot` is a side of every pair."""

    name: str
    pivot: str
    sentences: dict[str, list[str]]

    @property
    def languages(self) -> tuple[str, ...]:
        """All languages but the pivot."""
        return tuple(language for language in self.sentences if language != self.pivot)

    @property
    def size(self) -> int:
        """The number of pairs per language."""
        return len(self.sentences[self.pivot])


def load_bitext(source: File, languages: Sequence[str] = (), pivot: str = "en") -> Bitext:
    """Read a bitext from a folder of `{lang}.txt`, one sentence per line, or from a `.tsv` with a header of languages.

    Args:
        languages: The languages; by default all files, or all columns with a language code (en, pt-BR, zho_Hans).

    Raises:
        DataError: If sentences are not aligned, with file, line and language.
    """
    path = usable_path(source)
    if not path.exists():
        raise DataError(f"{path}: no such file or folder; expected a folder of {{lang}}.txt or a .tsv")
    columns = read_columns(path, (pivot, *languages))
    chosen = sorted({pivot, *languages}) if languages else sorted(columns)
    missing = [language for language in (pivot, *chosen) if language not in columns]
    if missing or len(chosen) < 2:
        raise DataError(
            f"{path}: no sentences in {missing[0] if missing else f'a language besides {pivot}'}; "
            f"found {', '.join(sorted(columns)) or 'none'}. Use --languages and --document-language"
        )
    return Bitext(
        _name(path.resolve()), pivot, _require_aligned(path, {language: columns[language] for language in chosen})
    )


def _name(path):
    return path.name if path.is_dir() else f"{path.parent.name}/{path.stem}"


def _require_aligned(path, sentences):
    lengths = {language: len(lines) for language, lines in sentences.items()}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{length} lines in {language}" for language, length in lengths.items())
        raise DataError(f"{path}: not line-aligned: {counted}")
    for language, lines in sentences.items():
        blank = next((number for number, line in enumerate(lines, start=1) if not line.strip()), None)
        if blank:
            raise DataError(f"{path}: sentence {blank} in {language} is blank; each line needs one")
    if not all(lengths.values()):
        raise DataError(f"{path}: no sentences in it")
    return sentences
