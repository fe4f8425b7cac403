"""Join the words of a question with its vector: P@1 of an encoder, of BM25, and of ways to combine them.

    python benchmarks/indexing/hybrid.py data/xquad:dev data/mlqa-dev-a:all --json hybrid.json

Each data set's passages are put into an index with words, which are found as they are written (`related_words.py` has
those of other languages). `hybrid` is what `distill search --hybrid` ranks by; the
weight and BM25's k1 were chosen on XQuAD dev. p is of paired sign flips by question (exact McNemar within a language),
Holm-corrected over the languages of all sets; "all" are all languages together, the translations of a question
flipped together.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from distill.data.loading import read_dataset
from distill.evaluation.paired_comparison import compare_scores
from distill.retrieval.bm25 import bm25_ranks
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.lexical import Lexical
from distill.search_engine.indexing.searching import WEIGHT
from distill.system.files import require_writable, write_json

# Of reciprocal rank fusion: its constant (Cormack et al., 2009), and the ranks of either list that count.
CONSTANT, DEPTH = 60, 100
# Share of a question's idf that some passage has to have, for BM25 to be joined by rank.
LEAST = 0.3
WEIGHTS = (2, 4, 6, 8, 10, 12, 16)


def main():
    options = parse()
    require_writable(options.json)
    figures, hits = {}, {}
    for source in options.datasets:
        path, _, split = source.partition(":")
        data = read_dataset(path)
        questions = [one for language in data.languages for one in chosen(data, language, split)]
        with tempfile.TemporaryDirectory() as place:
            folder = indexed(data, options.model, Path(place))
            hits[source] = ranked(Answers(folder, options.model, hybrid=True), questions)
        hits[source] |= by_bm25s(data, questions)
        figures[source] = table(source, hits[source], questions)
        hits[source] = by_language(hits[source], questions)
    tests = {name: tested(hits, name) for name in ("encoder", "rrf", "bm25", "bm25, morphology")}
    show(tests)
    write_json(options.json, {"p@1": figures, "hybrid against": tests})


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+", metavar="FOLDER:SPLIT")
    parser.add_argument("--model", default="multi12-ngram")
    parser.add_argument("--json", default="hybrid.json")
    return parser.parse_args()


def chosen(data, language, split):
    """Return the questions of a split in a fixed order; "all" returns those of a data set without splits, too."""
    return list(data.questions[language].values()) if split == "all" else data.select(language, split)


def indexed(data, model, place):
    """Return the folder of an index of the data set's passages, in their order."""
    documents, folder = place / "documents.jsonl", place / "kb"
    parts = [[] for _ in data.titles]
    for passage in data.passages:
        parts[passage.document].append({"id": passage.id, "text": passage.text})
    rows = [{"id": f"data-{n}", "title": data.titles[n], "passages": part} for n, part in enumerate(parts)]
    documents.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    build_index(folder, IndexChange([documents]), model, IndexSettings(hybrid=True))
    return folder


def ranked(answers, questions):
    """Return `{way: bool (questions,)}`, True if the right passage is the first."""
    vectors = answers.encoder.encode([question.text for question in questions], "question")
    index = answers.index
    written = Lexical(index.sections, index.passages)
    once = Lexical(
        {**index.sections, "bm25.weights": np.full_like(index.sections["bm25.weights"], 255)}, index.passages
    )
    lexicals = written, once
    rows = [ways(answers, lexicals, question.text, vector) for question, vector in zip(questions, vectors, strict=True)]
    gold = np.array([question.passage for question in questions])
    return {name: np.array([row[name] for row in rows]) == gold for name in rows[0]}


def ways(answers, lexicals, text, vector):
    """Return `{way: its first row}` of a question; the second of the `lexicals` counts a word once."""
    written, once = lexicals
    searcher, shares = answers.searcher, written.shares(text)
    nearest = searcher.search(vector, DEPTH)
    by_words = np.lexsort((np.arange(len(shares)), -shares))[:DEPTH]
    by_words = by_words[shares[by_words] > 0]
    joined = fused(nearest.rows, by_words)
    enough = once.shares(text).max(initial=0) > LEAST
    first = {
        "encoder": nearest.rows[0],
        "bm25": by_words[0] if len(by_words) else -1,
        "rrf": joined,
        f"rrf where over {LEAST:g} of idf is known": joined if enough else nearest.rows[0],
        "hybrid": searcher.search(vector, 1, shares=shares).rows[0],
    }
    others = (weight for weight in WEIGHTS if weight != WEIGHT)
    # `search` multiplies by WEIGHT.
    return first | {
        f"weight {weight}": searcher.search(vector, 1, shares=shares * np.float32(weight / WEIGHT)).rows[0]
        for weight in others
    }


def fused(rows, others):
    """Return the first row by reciprocal ranks; the encoder decides between equal ones."""
    scores = {}
    for ranking in (rows, others):
        for rank, row in enumerate(ranking.tolist(), start=1):
            scores[row] = scores.get(row, 0) + 1 / (CONSTANT + rank)
    return max(scores, key=scores.get)


def by_bm25s(data, questions):
    """Rank by BM25 as `distill evaluate` does: without stop words, and stemmed."""
    gold = np.array([question.passage for question in questions])
    texts = [question.text for question in questions]
    return {
        f"bm25, {words}": bm25_ranks(texts, data.passage_texts, gold, "en", words) == 1
        for words in ("plain", "morphology")
    }


def by_language(hits, questions):
    """Return `{way: {language: (ids, float (q,))}}`."""
    languages = np.array([question.language for question in questions])
    ids = np.array([question.id for question in questions])
    return {
        name: {
            str(language): (ids[languages == language], right[languages == language].astype(float))
            for language in np.unique(languages)
        }
        for name, right in hits.items()
    }


def table(source, hits, questions):
    """Print P@1 in per cent by way and language, and return it."""
    languages = np.array([question.language for question in questions])
    known = sorted(set(languages.tolist()))
    print(f"{source:34} {' '.join(f'{language:>5}' for language in known)}   all")
    figures = {}
    for name, right in hits.items():
        of = {language: 100 * float(right[languages == language].mean()) for language in known}
        figures[name] = {**of, "all": 100 * float(right.mean())}
        print(f"{name:34} {' '.join(f'{value:5.1f}' for value in figures[name].values())}")
    return figures


def tested(hits, name):
    tasks = {
        source: {language: (ids, right, ways[name][language][1]) for language, (ids, right) in ways["hybrid"].items()}
        for source, ways in hits.items()
    }
    compared = compare_scores(tasks, "p@1")
    return {source: {language: asdict(row) for language, row in rows.items()} for source, rows in compared.items()}


def show(tests):
    for name, sources in tests.items():
        for source, rows in sources.items():
            for language in ("en", "all"):
                row = rows[language]
                points = [100 * row[field] for field in ("difference", "low", "high")]
                said = "{:+5.1f} [{:+.1f}, {:+.1f}]".format(*points)
                probability = f"p {row['p']:.4f}, Holm {row['p_holm']:.4f}"
                print(f"hybrid - {name:16} {source} {language:4} {said}, {probability}, {row['test']}")


if __name__ == "__main__":
    main()
