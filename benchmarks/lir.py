"""Measure language information removal, by language and shared, on bitext retrieval: accuracy of the nearest sentence.

    python benchmarks/lir.py muse runs/xquad12 --bitext path/to/flores/dev.tsv --corpus path/to/text

`--corpus` is a folder of <language>.txt, what directions are learned from. Two pools: the English sentences alone, and
those of all languages, where the nearest sentence but the query itself has to be a translation, in whatever language.
"""

import argparse
from pathlib import Path

import numpy as np

from distill.data.corpus import read_corpus, sample_texts
from distill.data.pairs import load_bitext
from distill.encoders.catalog.loading import load_encoder
from distill.encoders.encoder import normalise_rows
from distill.encoders.language_removal import LanguageRemoval
from distill.system.files import require_writable, write_json
from distill.system.progress import task

RANKS = (1, 2, 3, 4)


def main():
    options = parse()
    require_writable(options.json)
    bitext = load_bitext(options.bitext, options.languages.split(","), "en")
    corpus = read_corpus([Path(options.corpus) / f"{language}.txt" for language in bitext.sentences])
    found = {model: measured(load_encoder(model), bitext, corpus) for model in options.models}
    print(f"{'accuracy, %: mean of all languages but en':46} {'':20} English pool   all languages")
    for model, rows in found.items():
        for name, (alone, together) in rows.items():
            print(f"{model:46} {name:20} {100 * alone:12.1f} {100 * together:15.1f}")
    write_json(options.json, found)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--bitext", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--languages", default="ar,de,el,es,hi,ro,ru,th,tr,vi,zh")
    parser.add_argument("--json", default="lir.json")
    return parser.parse_args()


def measured(encoder, bitext, corpus):
    """Return `{variant: (accuracy in the English pool, in the pool of all languages)}`."""
    texts = {language: sample_texts(lines, 10_000, 0) for language, lines in corpus.items()}
    with task(
        f"encode for {encoder.name}", bitext.size * len(bitext.sentences) + sum(map(len, texts.values()))
    ) as step:
        vectors = {language: encoder.encode(lines, "question", step) for language, lines in bitext.sentences.items()}
        samples = {language: encoder.encode(lines, "document", step) for language, lines in texts.items()}
    removal = LanguageRemoval.fit(samples, max(RANKS))
    found = {"none": accuracies(vectors)}
    for rank in RANKS:
        own = {language: removal.remove(rows, language, rank) for language, rows in vectors.items()}
        found[f"by language, {rank}"] = accuracies(own)
    for rank in RANKS:
        found[f"shared, {rank} a language"] = accuracies(through(vectors, removal.shared_matrix(rank)))
    found |= {"shared, pooled": accuracies(without(vectors, pooled(samples)))}
    return found | {"shared, means": accuracies(without(vectors, between(samples)))}


def through(vectors, matrix):
    return {language: normalise_rows(rows @ matrix) for language, rows in vectors.items()}


def without(vectors, basis):
    """Remove what lies along the orthonormal rows of `basis`."""
    return through(vectors, np.eye(basis.shape[1]) - basis.T @ basis)


def pooled(samples):
    """Return as many leading directions of all samples as there are languages. Each language has the same weight."""
    squares = sum(rows.T.astype(np.float64) @ rows / len(rows) for rows in samples.values())
    return np.linalg.eigh(squares)[1][:, ::-1].T[: len(samples)]


def between(samples):
    """Return the directions between the means of the languages, one fewer than languages."""
    means = np.stack([rows.mean(axis=0, dtype=np.float64) for rows in samples.values()])
    return np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][:-1]


def accuracies(vectors):
    """Return the accuracy in the English pool and in that of all languages, averaged over all query languages but
    English.
    """
    languages = list(vectors)
    count, every = len(vectors["en"]), np.concatenate(list(vectors.values())).astype(np.float32)
    alone, together = [], []
    for place, language in enumerate(languages):
        if language == "en":
            continue
        nearest = (vectors[language] @ vectors["en"].T).argmax(axis=1)
        alone.append(np.mean(nearest == np.arange(count)))
        scores = vectors[language] @ every.T
        scores[np.arange(count), place * count + np.arange(count)] = -np.inf
        together.append(np.mean(scores.argmax(axis=1) % count == np.arange(count)))
    return float(np.mean(alone)), float(np.mean(together))


if __name__ == "__main__":
    main()
