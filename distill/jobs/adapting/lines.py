"""Parallel text, or text alone, as a data set: held-out lines ask, and the others are what a student learns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...data.dataset import Dataset, Passage, Question, normalise
from ...data.parallel import Parallel
from ...errors import DataError
from .queries import write_queries, write_rows

# The file of the text that the teacher labels itself, in the folder of the lines.
TEXT = "text.jsonl"
# Of a language's lines the share that is dev's, and as much is test's: so many at most, and of each kind at least.
SHARE, MOST, FEWEST = 0.1, 400, 5
# A language of fewer lines than these is not split.
LEAST = 4 * FEWEST
# Lines that ask for their other half are among the longest of so many.
LONGEST = 4
SPLITS = ("dev", "test")


@dataclass(frozen=True)
class HeldLines:
    """Held-out lines as a data set without train questions, and the `sources` and `labelled` text without them.

    `given` is the number of lines by language that there were; a line that is there twice counts twice.
    """

    dataset: Dataset
    sources: tuple[Parallel, ...]
    labelled: tuple[Parallel, ...]
    given: Mapping[str, int] = field(default_factory=dict)

    @property
    def learned(self) -> Mapping[str, int]:
        """The number of lines by language that are left to learn."""
        return _count(self.sources, self.labelled)


@dataclass
class _Held:
    """The passages and questions that are held out so far, and their normalised texts."""

    passages: list[Passage] = field(default_factory=list)
    questions: dict[str, dict[str, Question]] = field(default_factory=dict)
    splits: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in SPLITS})
    texts: set[str] = field(default_factory=set)

    def add(self, split: str, passage: str, language: str, asking: Mapping[str, str], whole: Sequence[str]) -> None:
        """Hold out a passage with its questions."""
        row = len(self.passages)
        self.passages.append(Passage(f"{row}/0", passage, row, (), language))
        for name, text in asking.items():
            self.questions.setdefault(name, {})[str(row)] = Question(str(row), name, text, row)
        self.splits[split].append(str(row))
        self.texts.update(map(normalise, whole))


def hold_out_lines(sources: Sequence[Parallel], labelled: Sequence[Parallel], pivot: str, seed: int = 0) -> HeldLines:
    """Hold lines out of parallel text, and of text without translations, for dev and test.

    A line of parallel text is a question for its translation in the pivot. The first half of a line in the pivot, or in
    a language without translations, is a question for its second half. Held-out lines are not learned. Where there are
    translations, half of a split's lines ask for them and half by halves: both kinds take rows from every language.
    Returns the held-out lines as a data set with an empty split train, and the other lines. Raises `DataError` if a
    language has too few lines.
    """
    rng, held = np.random.default_rng(seed), _Held()
    _hold_translations(held, _by_pivot(sources, pivot), rng)
    for language, texts in _texts_alone(sources, labelled, pivot, held).items():
        _hold_halves(held, language, texts, pivot, rng)
    splits = {"train": (), **{name: tuple(ids) for name, ids in held.splits.items()}}
    titles = tuple(f"line {number}" for number in range(1, len(held.passages) + 1))
    dataset = Dataset("lines", pivot, titles, tuple(held.passages), held.questions, splits)
    left = _without(sources, held.texts), _without(labelled, held.texts)
    return HeldLines(dataset, *left, _count(sources, labelled))


def _count(sources, labelled) -> dict[str, int]:
    return dict(Counter(language for source in (*sources, *labelled) for language in source.languages))


def _by_pivot(sources, pivot) -> dict[str, dict[str, str]]:
    """Return the first translation into each language by the text in the pivot."""
    lines: dict[str, dict[str, str]] = {}
    for source in sources:
        for text, language, of in zip(source.texts, source.languages, source.pivots, strict=True):
            if language != pivot:
                lines.setdefault(of, {}).setdefault(language, text)
    return lines


def _hold_translations(held, lines, rng):
    """Hold out lines until each language has its share in each split."""
    counts = Counter(language for row in lines.values() for language in row)
    shares = {language: _share(language, count, 2) for language, count in counts.items()}
    wanted = {split: dict(shares) for split in SPLITS}
    pivots = list(lines)
    for number in rng.permutation(len(pivots)).tolist():
        asking = lines[pivots[number]]
        # A line that another one translates too would ask for both at once.
        if not held.texts.isdisjoint(map(normalise, (pivots[number], *asking.values()))):
            continue
        split = next((name for name in SPLITS if any(wanted[name][language] > 0 for language in asking)), None)
        if split:
            held.add(split, pivots[number], "", asking, [pivots[number], *asking.values()])
            wanted[split].update({language: wanted[split][language] - 1 for language in asking})


def _share(language, count, kinds):
    """Return the number of lines of a split and of one of so many kinds. Raises `DataError` for too few lines."""
    if count < LEAST:
        raise DataError(
            f"{count} lines of text in {language}, expected {LEAST} or more, as some are held out to choose and to "
            "measure by; give more, or leave the language out with --languages"
        )
    return max(FEWEST, min(MOST, round(SHARE * count)) // kinds)


def _texts_alone(sources, labelled, pivot, held) -> dict[str, list[str]]:
    """Return by language the lines without translations: the pivot's, and labelled text in other languages."""
    texts = {pivot: dict.fromkeys(text for source in sources for text in source.pivots)}
    for source in labelled:
        for text, language in zip(source.texts, source.languages, strict=True):
            if language == pivot or language not in held.questions:
                texts.setdefault(language, {})[text] = None
    free = {language: [text for text in of if normalise(text) not in held.texts] for language, of in texts.items()}
    return {language: of for language, of in free.items() if of or language == pivot}


def _hold_halves(held, language, texts, pivot, rng):
    """Hold out halves of lines, drawn from the longest ones, because short ones say too little."""
    halves = {text: both for text in texts if (both := _halve_line(text))}
    # The pivot comes first: what is held out by now are translations of its lines.
    share = _share(language, len(halves), 2 if language == pivot and held.questions else 1)
    texts = sorted(halves, key=len, reverse=True)[: max(2 * share, len(halves) // LONGEST)]
    # A second half that several lines share has no one answer.
    first_of = {halves[texts[number]][1]: texts[number] for number in rng.permutation(len(texts)).tolist()}
    for place, text in enumerate([*first_of.values()][: 2 * share]):
        first, second = halves[text]
        held.add(SPLITS[place % 2], second, "" if language == pivot else language, {language: first}, [text])


def _halve_line(text) -> tuple[str, str] | None:
    """Return both halves of a line, by words or else by characters, or None if it has only one."""
    parts, blank = (text.split(), " ") if " " in text else (list(text), "")
    if len(parts) < 2:
        return None
    middle = len(parts) // 2
    return blank.join(parts[:middle]), blank.join(parts[middle:])


def _without(sources, texts) -> tuple[Parallel, ...]:
    """Drop pairs of which either side is held out. Raises `DataError` if nothing is left."""
    kept = []
    for source in sources:
        rows = [
            row
            for row in zip(source.texts, source.languages, source.pivots, strict=True)
            if not {normalise(row[0]), normalise(row[2])} & texts
        ]
        if rows:
            kept.append(Parallel(source.name, source.weight, *map(tuple, zip(*rows, strict=True))))
    if sources and not kept:
        raise DataError("nothing is left to learn once lines are held out; give more text")
    return tuple(kept)


def write_lines(held: HeldLines, folder: Path) -> None:
    """Write the held-out lines as a data set to a new folder, and the other lines beside them."""
    write_queries(held.dataset, folder)
    for name, source in zip(_names(held), held.sources, strict=True):
        write_rows(folder / name, _rows(source, held.dataset.document_language))
    texts = [
        {"text": text, "language": language}
        for source in held.labelled
        for text, language in zip(source.texts, source.languages, strict=True)
    ]
    if texts:
        write_rows(folder / TEXT, texts)


def named_lines(held: HeldLines, folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values of `student.parallel` and `student.labelled_text` for lines of `write_lines` in a folder."""
    names = zip(_names(held), held.sources, strict=True)
    parallel = tuple(f"{folder / name}={source.weight:g}" for name, source in names)
    return parallel, (str(folder / TEXT),) if held.labelled else ()


def _names(held) -> list[str]:
    """Return the name of each source's file."""
    return [f"{number}.{Path(source.name).stem}.jsonl" for number, source in enumerate(held.sources, start=1)]


def _rows(source, pivot) -> list[dict[str, str]]:
    """Return the rows of a source by language, with all translations of a text in one row."""
    rows: dict[str, list[dict[str, str]]] = {}
    for text, language, of in zip(source.texts, source.languages, source.pivots, strict=True):
        of_pivot = rows.setdefault(of, [{pivot: of}])
        if language != pivot:
            row = next((row for row in of_pivot if language not in row), None)
            if row is None:
                of_pivot.append(row := {pivot: of})
            row[language] = text
    return [row for of_pivot in rows.values() for row in of_pivot]
