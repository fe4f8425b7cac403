"""LAReQA's candidates with their paragraph beside them, by encoders that read one text: mAP on XQuAD-R.

    python benchmarks/papers/context.py multi12-ngram muse --dataset data/xquad-r

The paper's encoders read a sentence and the paragraph around it, told apart by segment ids (section 3). Here the vector
of a sentence is its own, the sum of its own and of its paragraph's, at unit length, or that of both as one text.
"""

import argparse
from collections.abc import Mapping, Sequence

import numpy as np

from distill.data.pool import Pool
from distill.data.pool_readers import load_pool
from distill.encoders.catalog.loading import load_encoder
from distill.encoders.encoder import Encoder
from distill.papers.bias.lareqa import mean_average_precision
from distill.system.files import write_json
from distill.system.types import Floats

WAYS = ("sentence", "sum", "one text")


def distinct(encoder: Encoder, texts: Sequence[str]) -> Floats:
    """Return the vectors `(n, d)` of texts, each distinct one encoded once."""
    once = list(dict.fromkeys(texts))
    rows = {text: row for row, text in enumerate(once)}
    return encoder.encode(once, "document")[[rows[text] for text in texts]]


def candidates(encoder: Encoder, pool: Pool) -> Mapping[str, Floats]:
    """Return the vectors of the pool's sentences by each of the `WAYS`, `(c, d)`."""
    alone, around = encoder.encode(pool.sentences, "document"), distinct(encoder, pool.contexts)
    both = alone + around
    joined = [f"{sentence} {context}" for sentence, context in zip(pool.sentences, pool.contexts, strict=True)]
    summed = both / np.linalg.norm(both, axis=1, keepdims=True)
    return dict(zip(WAYS, (alone, summed, encoder.encode(joined, "document")), strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--dataset", default="data/xquad-r")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--json")
    options = parser.parse_args()
    pool, figures = load_pool(options.dataset, (), options.split), {}
    for name in options.encoders:
        encoder = load_encoder(name)
        questions, vectors = encoder.encode(pool.questions, "question"), candidates(encoder, pool)
        figures[name] = {way: 100 * mean_average_precision(questions, vectors[way], pool).map for way in WAYS}
        print(name, ", ".join(f"{way} {value:.1f}" for way, value in figures[name].items()), flush=True)
    if options.json:
        write_json(options.json, figures)


if __name__ == "__main__":
    main()
