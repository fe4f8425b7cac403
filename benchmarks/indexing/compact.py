"""Measure the bytes of an index against P@1: fewer bits, fewer axes, and rescoring of the best passages by their text.

    distill index --model multi12-ngram --documents data/wikipedia-en/passages.en.*.jsonl --output kb --compact
    python benchmarks/indexing/compact.py kb --questions data/mlqa-dev-a --work vectors --json compact.json

The questions' own passages are put among those of the index, which are distractors. The table is computed in NumPy, of
float32 vectors that are encoded once and kept in --work; "again N" sorts the best N by these, which is what encoding
their text again gives. Axes are the first ones, or the first principal components turned at random, so that each has
its share. At last the product itself: a copy of the index to which the questions' passages are added.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from distill.data.loading import read_dataset
from distill.encoders.catalog.loading import load_encoder
from distill.retrieval.codes import WHOLE, packed_width, quantise_to_bits, unpack
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import IndexChange, build_index
from distill.search_engine.indexing.index_file import FILE, Index
from distill.search_engine.indexing.searching import Searcher
from distill.system.files import require_writable, write_json
from distill.system.progress import task

KINDS = ("passage", "sentence")
# Axes, bits of a number, and which axes.
VARIANTS = (
    *((None, bits, "all") for bits in (32, 8, 4, 2, 1)),
    (256, 8, "first"),
    *((256, bits, "components") for bits in (4, 2, 1)),
    (128, 2, "components"),
)
AGAIN = (0, 10, 20, 50)
BLOCK, FITTED = 8000, 50_000


def main():
    options = parse()
    require_writable(options.json)
    index, encoder = Index(options.index), load_encoder(options.model)
    data = read_dataset(options.questions)
    questions = [one for known in data.questions.values() for one in known.values()]
    asked = encoder.encode([question.text for question in questions], "question")
    sets = [of_index(index), (data.passage_texts, data.sentences.texts, data.sentences.passage_of)]
    vectors = [
        vectors_of(encoder, texts, Path(options.work), name)
        for name, texts in zip(("index", "questions"), sets, strict=True)
    ]
    both = {kind: np.concatenate([part[kind] for part in vectors]) for kind in KINDS}
    count = index.passages
    starts = np.concatenate(
        [index.array("sentence_starts").astype(np.int64)[:-1], starts_of(sets[1]) + len(sets[0][1])]
    )
    gold = np.array([question.passage + count for question in questions])
    languages = np.array([question.language for question in questions])
    figures = {"load": os.getloadavg(), "table": [], "index": sizes(index)}
    for axes, bits, how in VARIANTS:
        row = {"axes": axes or index.axes, "bits": bits, "which": how}
        row |= measured(row, asked, both, starts, gold, languages)
        row["mb"] = round((index_bytes(index) + of_vectors(row, index)) / 1e6, 1)
        figures["table"].append(row)
        print(shown(row), flush=True)
    figures["product"] = product(options, data, questions, gold, languages)
    print(json.dumps(figures["product"]))
    write_json(options.json, figures)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index", help="a compact index of other documents")
    parser.add_argument("--questions", required=True, help="a data set's folder with documents.jsonl")
    parser.add_argument("--model", default="multi12-ngram")
    parser.add_argument("--work", default="vectors", help="where vectors are kept")
    parser.add_argument("--json", default="compact.json")
    return parser.parse_args()


def of_index(index):
    """Return the texts of passages and of sentences, and the passage of each."""
    passages = [index.text(row) for row in range(index.passages)]
    bounds = [index.bounds(row).tolist() for row in range(index.passages)]
    sentences = [text[a:b].decode() for text, pairs in zip(passages, bounds, strict=True) for a, b in pairs]
    passage_of = np.repeat(np.arange(len(passages)), [len(pairs) for pairs in bounds])
    return [text.decode() for text in passages], sentences, passage_of


def starts_of(texts):
    return np.flatnonzero(np.diff(texts[2], prepend=-1))


def vectors_of(encoder, texts, folder, name):
    """Return `{kind: float32 (n, d)}`, cached in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {}
    for kind, part in zip(KINDS, texts[:2], strict=True):
        path = folder / f"{name}.{kind}.npy"
        if not path.exists():
            with task(f"encode {path.stem}", len(part)) as advance:
                np.save(path, encoder.encode(part, "document", advance))
        arrays[kind] = np.load(path)
        if len(arrays[kind]) != len(part):
            raise SystemExit(f"{path}: {len(arrays[kind])} vectors of {len(part)} texts; remove it")
    return arrays


def measured(row, asked, vectors, starts, gold, languages):
    """Return P@1 in per cent by the number of rescored passages: all languages, English, and the mean of the others."""
    turn = turned(row, vectors)
    stored = {kind: decoded(part, turn, row["bits"]) for kind, part in vectors.items()}
    best = nearest(asked if turn is None else asked @ turn, stored, starts, max(AGAIN))
    exact = scored(asked, vectors, starts, best)
    figures = {}
    for count in AGAIN:
        first = best[:, 0] if not count else best[np.arange(len(best)), exact[:, :count].argmax(axis=1)]
        figures[f"again {count}"] = by_language(first == gold, languages)
    return figures


def by_language(right, languages):
    others = [right[languages == language].mean() for language in sorted(set(languages.tolist()) - {"en"})]
    every = {"all": right.mean(), "en": right[languages == "en"].mean(), "others": np.mean(others)}
    return {name: round(100 * float(value), 2) for name, value in every.items()}


def turned(row, vectors):
    """Return the axes to keep, columns `(d, axes)`; None for all. Subtracting a mean would shift all scores alike."""
    dimension = vectors["passage"].shape[1]
    if row["which"] == "all":
        return None
    if row["which"] == "first":
        return np.eye(dimension, row["axes"], dtype=np.float32)
    random = np.random.default_rng(0)
    sample = np.concatenate(
        [part[random.choice(len(part), min(len(part), FITTED // 2), False)] for part in vectors.values()]
    )
    components = np.linalg.eigh(np.cov(sample.T))[1][:, ::-1][:, : row["axes"]]
    rotation, _ = np.linalg.qr(random.standard_normal((row["axes"], row["axes"])))
    return (components @ rotation).astype(np.float32)


def decoded(vectors, turn, bits):
    """Return rows as an index with so many bits stores them, float32."""
    kept = np.empty((len(vectors), vectors.shape[1] if turn is None else turn.shape[1]), dtype=np.float32)
    for at in range(0, len(vectors), BLOCK):
        part = vectors[at : at + BLOCK] if turn is None else vectors[at : at + BLOCK] @ turn
        if bits < 32:
            codes, scales = quantise_to_bits(part, bits)
            part = (codes if bits == WHOLE else unpack(codes, bits, part.shape[1])) * scales[:, None]
        kept[at : at + BLOCK] = part
    return kept


def nearest(asked, vectors, starts, k):
    """Return the rows of the best k passages of each question, int `(q, k)`."""
    ends = np.append(starts, len(vectors["sentence"]))
    rows, values = [], []
    for at in range(0, len(starts), BLOCK):
        end = min(at + BLOCK, len(starts))
        scores = asked @ vectors["sentence"][ends[at] : ends[end]].T
        scores = np.maximum.reduceat(scores, ends[at:end] - ends[at], axis=1) + asked @ vectors["passage"][at:end].T
        best = np.argpartition(-scores, min(k, end - at) - 1, axis=1)[:, :k]
        rows.append(best + at)
        values.append(np.take_along_axis(scores, best, axis=1))
    rows, values = np.concatenate(rows, axis=1), np.concatenate(values, axis=1)
    return np.take_along_axis(rows, np.argsort(-values, axis=1, kind="stable")[:, :k], axis=1)


def scored(asked, vectors, starts, rows):
    """Score chosen rows by vectors in float32."""
    ends = np.append(starts, len(vectors["sentence"]))
    return np.array(
        [
            [
                vectors["passage"][row] @ one + (vectors["sentence"][ends[row] : ends[row + 1]] @ one).max()
                for row in part
            ]
            for one, part in zip(asked, rows, strict=True)
        ]
    )


def sizes(index):
    """Return the bytes of the index's file and of its sections."""
    return {"file": (index.path).stat().st_size, **{name: array.nbytes for name, array in index.sections.items()}}


def index_bytes(index):
    """Return the bytes of everything but the vectors, with deflated text."""
    return sizes(index)["file"] - sum(index.array(f"{kind}_vectors").nbytes for kind in KINDS)


def of_vectors(row, index):
    rows = sum(len(index.array(f"{kind}_vectors")) for kind in KINDS)
    matrix = 4 * row["axes"] * index.axes if row["which"] == "components" else 0
    return rows * packed_width(row["axes"], row["bits"]) + matrix


def product(options, data, questions, gold, languages):
    """Return P@1, and milliseconds per question including its encoding, by the first pass and by the second."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "kb"
        shutil.copytree(options.index, folder)
        build_index(folder, IndexChange([Path(options.questions) / "documents.jsonl"]), options.model)
        answers = Answers(folder, options.model)
        first = Searcher(answers.index)
        figures = {"mb": round(Path(options.index, FILE).stat().st_size / 1e6, 1), "load": os.getloadavg()}
        for name, searcher in (("first pass", first), ("again", answers.searcher)):
            rows, times = [], []
            for question in questions:
                begin = time.perf_counter()
                [vector] = answers.encoder.encode([question.text], "question")
                rows.append(searcher.search(vector, 5).rows[0])
                times.append(1000 * (time.perf_counter() - begin))
            ms = {"ms": round(float(np.median(times)), 1), "p95": round(float(np.percentile(times, 95)), 1)}
            figures[name] = {**by_language(np.array(rows) == gold, languages), **ms}
    return figures


def shown(row):
    again = "   ".join(
        f"{name} {of['all']:.2f} (en {of['en']:.1f}, others {of['others']:.1f})"
        for name, of in row.items()
        if name.startswith("again")
    )
    return f"{row['axes']:4} {row['which']:10} x {row['bits']:2} bits {row['mb']:6.1f} MB   {again}"


if __name__ == "__main__":
    main()
