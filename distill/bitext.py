"""Bitext retrieval: the translation of a sentence is to be its nearest neighbour, in both directions."""

import re
from dataclasses import dataclass

import numpy as np

from .encoder import require_finite
from .errors import DataError
from .files import named, read_text, require_inside
from .metrics import precision_at
from .retrieval import unit_ranks

# A column of numbers and hardly ever Indonesian: a language only where it is named.
NUMBER = "id"
# Columns of a table that are languages where none are named: codes as FLORES and NTREX write them.
CODE = re.compile(r"[a-z]{2}([-_][A-Za-z]{2,4})?|[a-z]{3}[-_][A-Z][a-z]{3}")


@dataclass(frozen=True)
class Bitext:
    """`sentences[language]` `(n,)`, line-aligned, and the language on one side of every pair."""

    name: str
    pivot: str
    sentences: dict

    @property
    def languages(self):
        """All but the pivot."""
        return tuple(language for language in self.sentences if language != self.pivot)

    @property
    def size(self):
        return len(self.sentences[self.pivot])


def load_bitext(source, languages=(), pivot="en"):
    """A `Bitext` of a folder of `{lang}.txt`, a sentence a line, or of a `.tsv` with a header of languages.

    Without `languages` all files, or all columns that are headed by a language's code (en, pt-BR, zho_Hans).
    Raises `DataError` naming file, line and language where the sentences do not align.
    """
    path = named(source)
    if not path.exists():
        raise DataError(f"{path}: no such file or folder; expected a folder of {{lang}}.txt or a .tsv")
    columns = columns_of(path, (pivot, *languages))
    chosen = sorted({pivot, *languages}) if languages else sorted(columns)
    missing = [language for language in (pivot, *chosen) if language not in columns]
    if missing or len(chosen) < 2:
        raise DataError(
            f"{path}: no sentences in {missing[0] if missing else f'a language besides {pivot}'}; "
            f"found {', '.join(sorted(columns)) or 'none'}. Use --languages and --document-language"
        )
    return Bitext(_name(path.resolve()), pivot, _aligned(path, {language: columns[language] for language in chosen}))


def columns_of(path, named=()):
    """`{language: [line]}` of a folder of `{lang}.txt`, or of a .tsv: the columns `named` or headed by a code."""
    return _from_files(path) if path.is_dir() else read_table(path, named)


def _name(path):
    return path.name if path.is_dir() else f"{path.parent.name}/{path.stem}"


def _from_files(folder):
    require_inside(folder, "*.txt")
    return {path.stem: _lines(path) for path in sorted(folder.glob("*.txt"))}


def read_table(path, named):
    """`{column: [cell]}` of a .tsv: the columns `named` or headed by a code. Raises `DataError` with the line."""
    head, *rows = [line.split("\t") for line in _lines(path)] or [[]]
    if twice := [name for name in dict.fromkeys(head) if head.count(name) > 1]:
        raise DataError(f"{path}: the column {twice[0]} is there twice; name each once")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(head):
            raise DataError(f"{path}, line {number}: expected {len(head)} columns as in the first line, got {len(row)}")
    kept = [place for place, name in enumerate(head) if name in named or (CODE.fullmatch(name) and name != NUMBER)]
    return {head[place]: [row[place] for row in rows] for place in kept}


def _lines(path):
    lines = read_text(path).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _aligned(path, sentences):
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


def retrieve(encoder, bitext, progress=None):
    """`{"to": {language: int (n,)}, "from": …}`: the rank of each sentence's translation among all, ties against it.

    `to`: from a language to the pivot; `from`: from the pivot to it. Raises `EncoderError` for vectors that are no
    numbers.
    """
    vectors = {
        language: require_finite(encoder.encode(lines, "question", progress), encoder)
        for language, lines in bitext.sentences.items()
    }
    pivot, right = vectors.pop(bitext.pivot), np.arange(bitext.size)
    return {
        "to": {language: unit_ranks(found, pivot, right, right, "passage") for language, found in vectors.items()},
        "from": {language: unit_ranks(pivot, found, right, right, "passage") for language, found in vectors.items()},
    }


def accuracies(ranks):
    """`{language: {"to": share of translations found first, "from": …}}` of what `retrieve` gives."""
    return {
        language: {way: precision_at(found[language], 1) for way, found in ranks.items()} for language in ranks["to"]
    }
