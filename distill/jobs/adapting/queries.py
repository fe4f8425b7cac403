"""Queries that documents ask about themselves: headings, and sentences taken out of their passages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...data.corpus import Collection
from ...data.dataset import Dataset, Passage, Question
from ...errors import DataError
from ...system.files import write_json, write_text
from ...system.types import Booleans, Json

# Of all documents the shares that choose and that prove, each at most so many of them.
SHARES, MOST_DOCUMENTS = {"dev": 0.1, "test": 0.2}, 400
# Passages among which held-out queries are asked: a pool that is encoded in seconds.
MOST_PASSAGES = 2000
FEWEST_QUERIES = 20


@dataclass(frozen=True)
class HeldOut:
    """The held-out part of a collection: a data set with queries, and bool `rows`, true for its passages."""

    dataset: Dataset
    rows: Booleans

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the queries, the documents' own first."""
        first = self.dataset.document_language
        return tuple(sorted(self.dataset.questions, key=lambda language: (language != first, language)))


def hold_out(collection: Collection, seed: int = 0) -> HeldOut:
    """Hold out whole documents, those of one title together, with a heading and a sentence of each passage as queries.

    A heading is a query if no other document has it. A sentence is taken out of its passage: inverse cloze, Lee et al.
    (2019), Latent retrieval for weakly supervised open domain question answering, section 4. Up to `MOST_PASSAGES`
    other passages join the pool. Raises `DataError` if there are too few queries.
    """
    rng = np.random.default_rng(seed)
    split_of = _draw_splits(collection, rng)
    passages = list(collection.dataset.passages)
    queries: dict[str, list[Question]] = {name: [] for name in SHARES}
    first = _find_unique_headings(collection)
    held = np.array([split in SHARES for split in split_of])
    for row in np.flatnonzero(held).tolist():
        split, language = split_of[row], collection.dataset.passage_languages[row]
        if row in first:
            queries[split].append(Question(f"heading {row}", language, collection.headings[row], row))
        if len(collection.dataset.sentence_places(row)) > 1:
            sentence, passages[row] = take_sentence_out(collection.dataset, row, rng)
            queries[split].append(Question(f"sentence {row}", language, sentence, row))
    return HeldOut(_make_pool(collection, passages, queries, held, rng), held)


def _find_unique_headings(collection) -> set[int]:
    """Return the first passage of each heading that only one document has."""
    rows: dict[str, int] = {}
    for row, heading in enumerate(collection.headings):
        rows.setdefault(heading, row)
    headings = {*zip(collection.headings, collection.dataset.document_of.tolist(), strict=True)}
    counts = Counter(heading for heading, _ in headings)
    return {row for heading, row in rows.items() if heading and counts[heading] == 1}


def _draw_splits(collection, rng) -> list[str]:
    groups = collection.groups
    order = rng.permutation(groups.max() + 1)
    of_group, first = np.full(len(order), "train", dtype=object), 0
    for split, share in SHARES.items():
        count = min(MOST_DOCUMENTS, round(share * len(order)))
        of_group[order[first : first + count]] = split
        first += count
    return [str(of_group[group]) for group in groups]


def take_sentence_out(dataset: Dataset, row: int, rng: np.random.Generator) -> tuple[str, Passage]:
    passage, places = dataset.passages[row], dataset.sentence_places(row)
    chosen = int(rng.integers(len(places)))
    texts = [passage.text[start:end] for start, end in places]
    rest = " ".join(text for number, text in enumerate(texts) if number != chosen)
    return texts[chosen], replace(passage, text=rest, sentences=())


def _make_pool(collection, passages, queries, held, rng) -> Dataset:
    """Return the data set of the held-out passages and others, with the queries of languages that have enough."""
    others = rng.permutation(np.flatnonzero(~held))[: max(0, MOST_PASSAGES - int(held.sum()))]
    rows = np.sort(np.concatenate([np.flatnonzero(held), others]))
    place = {int(row): number for number, row in enumerate(rows)}
    documents = np.unique(collection.dataset.document_of[rows])
    chosen = [replace(passages[row], document=int(np.searchsorted(documents, passages[row].document))) for row in rows]
    by_language: dict[str, dict[str, Question]] = {}
    splits = {name: tuple(query.id for query in of) for name, of in queries.items()}
    for query in (query for of in queries.values() for query in of):
        by_language.setdefault(query.language, {})[query.id] = replace(query, passage=place[query.passage])
    by_language = {language: of for language, of in by_language.items() if _enough(of, splits)}
    if not by_language:
        counts = ", ".join(f"{len(ids)} in {split}" for split, ids in splits.items())
        raise DataError(
            f"{collection.dataset.name}: too few queries can be made of it, {counts}, expected {FEWEST_QUERIES} in "
            "each; give more documents, with titles and of several sentences"
        )
    known = {id for of in by_language.values() for id in of}
    splits = {name: tuple(id for id in ids if id in known) for name, ids in splits.items()}
    return replace(
        collection.dataset,
        titles=tuple(collection.dataset.titles[document] for document in documents),
        passages=tuple(chosen),
        questions=by_language,
        splits=splits,
    )


def _enough(queries, splits):
    return all(sum(id in queries for id in splits[split]) >= FEWEST_QUERIES for split in SHARES)


def write_queries(dataset: Dataset, folder: Path) -> None:
    """Write a data set in the form that `--dataset` reads."""
    folder.mkdir()
    of_document: list[list[Passage]] = [[] for _ in dataset.titles]
    for passage in dataset.passages:
        of_document[passage.document].append(passage)
    names = [f"{passage.document}/{of_document[passage.document].index(passage)}" for passage in dataset.passages]
    rows = [
        {"id": str(number), "title": title, "passages": [_as_row(passage) for passage in of]}
        for number, (title, of) in enumerate(zip(dataset.titles, of_document, strict=True))
    ]
    lines = [
        {"id": query.id, "language": language, "text": query.text, "passage": names[query.passage]}
        for language, queries in dataset.questions.items()
        for query in queries.values()
    ]
    write_rows(folder / "documents.jsonl", rows)
    write_rows(folder / "questions.jsonl", lines)
    write_json(folder / "splits.json", {split: list(ids) for split, ids in dataset.splits.items()})


def _as_row(passage):
    return {"text": passage.text, **({"language": passage.language} if passage.language else {})}


def write_rows(path: Path, rows: Sequence[Mapping[str, Json]]) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
