"""What more vectors of a passage bring: a table of P@1 and bytes.

    python benchmarks/indexing/more_vectors.py data/mlqa-dev-a --model multi12-transformer --json more_vectors.json

P@1 over all passages of all questions of a data set, by products of the encoder's own vectors, in float32. The heading
is the title of the passage's document.
"""

from __future__ import annotations

import argparse

import numpy as np

from distill.data.loading import read_dataset
from distill.encoders.catalog.loading import load_encoder
from distill.system.files import require_writable, write_json


def main():
    options = parse()
    require_writable(options.json)
    data, encoder = read_dataset(options.dataset), load_encoder(options.model)
    texts, starts = texts_of(data)
    vectors = {name: encoder.encode(part, "document") for name, part in texts.items()}
    figures = {}
    for language in data.languages:
        questions = list(data.questions[language].values())
        queries = encoder.encode([question.text for question in questions], "question")
        gold = np.array([question.passage for question in questions])
        for way, scores in ways({name: queries @ part.T for name, part in vectors.items()}, starts).items():
            figures.setdefault(way, {})[language] = 100 * float((scores.argmax(axis=1) == gold).mean())
    show(figures, len(vectors["passage"]), {name: len(part) for name, part in vectors.items()})
    write_json(options.json, {"model": options.model, "p@1": figures})


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", metavar="FOLDER")
    parser.add_argument("--model", default="multi12-ngram")
    parser.add_argument("--json", default="more_vectors.json")
    return parser.parse_args()


def texts_of(data):
    """Return `({kind: texts}, {kind: the first text of each passage})`; a "pair" has two adjacent sentences."""
    titles = [data.titles[passage.document] for passage in data.passages]
    sentences, passage_of = data.sentences.texts, data.sentences.passage_of
    own = [[] for _ in titles]
    for passage, text in zip(passage_of.tolist(), sentences, strict=True):
        own[passage].append(text)
    pairs = [[f"{one} {other}" for one, other in zip(part, part[1:], strict=False)] or part for part in own]
    texts = {
        "passage": data.passage_texts,
        "passage, heading": [f"{title}. {text}" for title, text in zip(titles, data.passage_texts, strict=True)],
        "sentence": sentences,
        "sentence, heading": [f"{titles[n]}. {text}" for n, text in zip(passage_of.tolist(), sentences, strict=True)],
        "pair": [text for part in pairs for text in part],
    }
    of_sentences, of_pairs = (np.cumsum([0, *map(len, parts)])[:-1] for parts in (own, pairs))
    return texts, {"sentence": of_sentences, "sentence, heading": of_sentences, "pair": of_pairs}


def ways(products, starts):
    """Return `{way: scores (q, passages)}` of products by kind of text."""
    best = {name: np.maximum.reduceat(products[name], begin, axis=1) for name, begin in starts.items()}
    passage, one, two = products["passage"], best["sentence"], second(products["sentence"], starts["sentence"])
    return {
        "vector": passage,
        "sentence": one,
        "sum": passage + one,
        "best two sentences": one + two,
        "sum and second sentence": passage + one + two,
        "sum and half of the second": passage + one + two / 2,
        "sentence with heading": best["sentence, heading"],
        "passage, sentence with heading": passage + best["sentence, heading"],
        "passage with heading, sentence": products["passage, heading"] + one,
        "two in a row": best["pair"],
        "sum and two in a row": passage + one + best["pair"],
        "half of the passage, sentence": passage / 2 + one,
    }


def second(products, starts):
    """Return the score of the second best sentence of each passage, or of its only one."""
    parts = np.split(products, starts[1:], axis=1)
    return np.stack([np.sort(part, axis=1)[:, -min(2, part.shape[1])] for part in parts], axis=1)


def show(figures, passages, counts):
    print(", ".join(f"{count / passages:.1f} of kind {name}" for name, count in counts.items()), "a passage")
    for way, rows in figures.items():
        others = [value for language, value in rows.items() if language != "en"]
        print(f"{way:32} en {rows['en']:.1f}  mean of the others {np.mean(others):.1f}")


if __name__ == "__main__":
    main()
