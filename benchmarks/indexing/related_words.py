"""Compare replacements for a question's words that no passage has: nothing, names, a dictionary, near words.

    python benchmarks/indexing/related_words.py data/xquad:dev data/mlqa-dev-a:all --model multi12-ngram \
        --names data/wikidata-names/names.tsv --dictionary materials/wiktionary.tsv --json related_words.json

P@1 of `distill search --hybrid` by language. Files of names and of words have a column a language; a translation of
several words stands for each of them. p is of paired sign flips by question (exact McNemar within a language) against
the words as they are written, Holm-corrected over the languages of all sets; "all" are all languages together.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import numpy as np
from hybrid import by_language, chosen, indexed, table

from distill.data.loading import read_dataset
from distill.evaluation.paired_comparison import compare_scores
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.lexical import Lexical, list_terms
from distill.search_engine.indexing.related import list_words
from distill.system.files import require_writable, write_json

WRITTEN, COSINE = "as written", "vectors"


def main():
    options = parse()
    require_writable(options.json)
    figures, hits, times = {}, {}, {}
    for source in options.datasets:
        path, _, split = source.partition(":")
        data = read_dataset(path)
        questions = [one for language in data.languages for one in chosen(data, language, split)]
        with tempfile.TemporaryDirectory() as place:
            answers = Answers(indexed(data, options.model, Path(place)), options.model, hybrid=True)
            hits[source], times[source] = ranked(answers, questions, options)
        figures[source] = table(source, hits[source], questions)
        hits[source] = by_language(hits[source], questions)
    tests = {way: tested(hits, way) for way in next(iter(hits.values())) if way != WRITTEN}
    show(tests, times)
    write_json(options.json, {"model": options.model, "p@1": figures, "against as written": tests, "ms": times})


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="+", metavar="FOLDER:SPLIT")
    parser.add_argument("--model", default="multi12-ngram")
    parser.add_argument("--names", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--dictionary", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--json", default="related_words.json")
    return parser.parse_args()


class Listed:
    """A source of related words: those in files of translations, or else those of another source."""

    def __init__(self, paths, words, other=None):
        self.other, self.listed = other, defaultdict(set)
        numbers = {word: number for number, word in enumerate(words)}
        for path in paths:
            with open(path, encoding="utf-8", newline="") as lines:
                for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                    self._add(row, numbers)

    def _add(self, row, numbers):
        known = [numbers[term] for term in list_terms(row.pop("en") or "") if term in numbers]
        for text in row.values() if known else ():
            terms = list_terms(text or "")
            # Of a text of many words it is not known which means which.
            if len(terms) == 1:
                self.listed[terms[0]].update(known)

    def find(self, word):
        listed = self.listed.get(word)
        if listed:
            return [(number, 1.0) for number in sorted(listed)]
        return self.other.find(word) if self.other else []


def ranked(answers, questions, options):
    """Return `({way: bool (questions,)}, {way: ms})`.

    True if the right passage is the first, and the time per question.
    """
    index, words = answers.index, list_words(answers.index.sections)
    both = [*options.names, *options.dictionary]
    cosine = answers.lexical.related
    ways = {WRITTEN: None, COSINE: cosine}
    ways |= {"names": Listed(options.names, words)} if options.names else {}
    ways |= {"dictionary": Listed(options.dictionary, words)} if options.dictionary else {}
    ways |= (
        {"names, dictionary": Listed(both, words), "these, else vectors": Listed(both, words, cosine)} if both else {}
    )
    vectors = answers.encoder.encode([question.text for question in questions], "question")
    gold = np.array([question.passage for question in questions])
    hits = {"no words": np.array([answers.searcher.search(vector, 1).rows[0] for vector in vectors]) == gold}
    times = {}
    for way, related in ways.items():
        lexical, began = Lexical(index.sections, index.passages, related), time.perf_counter()
        shares = [lexical.shares(question.text) for question in questions]
        times[way] = 1000 * (time.perf_counter() - began) / len(questions)
        pairs = zip(vectors, shares, strict=True)
        rows = [answers.searcher.search(vector, 1, shares=share).rows[0] for vector, share in pairs]
        hits[way] = np.array(rows) == gold
    return hits, times


def tested(hits, way):
    tasks = {
        source: {language: (ids, right, ways[WRITTEN][language][1]) for language, (ids, right) in ways[way].items()}
        for source, ways in hits.items()
    }
    return {
        source: {language: asdict(row) for language, row in rows.items()}
        for source, rows in compare_scores(tasks, "p@1").items()
    }


def show(tests, times):
    for way, sources in tests.items():
        for source, rows in sources.items():
            row, worst = rows["all"], min(rows.items(), key=lambda each: each[1]["difference"])
            points = [100 * row[field] for field in ("difference", "low", "high")]
            said = "{:+5.1f} [{:+.1f}, {:+.1f}]".format(*points)
            least = f"least in {worst[0]} {100 * worst[1]['difference']:+.1f}, Holm {worst[1]['p_holm']:.3f}"
            print(
                f"{way:22} {source} all {said}, Holm {row['p_holm']:.4f}; {least}; {times[source].get(way, 0):.2f} ms"
            )


if __name__ == "__main__":
    main()
