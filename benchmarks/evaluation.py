"""Measure seconds and memory of every LAReQA analysis, without encoding, on data of XQuAD-R's full size.

    python benchmarks/evaluation.py --json evaluation.json

13,090 questions in 11 languages against 13,014 sentences, the counts of LAReQA's Table 1; vectors of 512 numbers are
made up of a meaning, an offset of the language and noise, so that there is a bias to be seen. Memory is the process's
peak, the vectors and the libraries within it.
"""

import argparse
import resource
import time

import numpy as np

from distill.data.pool import make_pool
from distill.encoders.encoder import normalise_rows
from distill.encoders.removal_fitting import RANKS
from distill.evaluation.paired_comparison import compare_scores
from distill.papers.bias.analyses import PoolVectors, removal_table, split_by_language
from distill.papers.bias.lareqa import rank_pool
from distill.papers.bias.space import identify, project
from distill.system.device import machine
from distill.system.files import require_writable, write_json

SENTENCES = {
    "ar": 1222, "de": 1276, "el": 1234, "en": 1180, "es": 1215, "hi": 1244,
    "ru": 1219, "th": 852, "tr": 1167, "vi": 1209, "zh": 1196,
}  # fmt: skip
QUESTIONS, DIMENSION = 1190, 512
# Lengths of what is random in a vector beside its meaning, of length 1.
OFFSET, NOISE = 0.8, 1.2


def main():
    options = parse()
    require_writable(options.json)
    random = np.random.default_rng(options.seed)
    pool = made_pool(random)
    asked, given = vectors(pool, random)
    other, other_given = vectors(pool, random)
    timed, seconds = {}, {}

    def step(name, work):
        began = time.perf_counter()
        timed[name] = work()
        seconds[name] = round(time.perf_counter() - began, 2)

    step("rank every question, count by language", lambda: rank_pool(asked, given, pool))
    found = timed["rank every question, count by language"]
    step("mAP, one removed, one only, monolingual, shares", found.figures)
    plain = timed["mAP, one removed, one only, monolingual, shares"]
    step("two principal components", lambda: project(asked, given, pool, seed=options.seed))
    step("language identification, 11 classifiers", lambda: identify(asked, given, pool, "en", options.seed))
    samples = split_by_language(given, pool.language_of, pool.languages)
    encoded = PoolVectors(pool, asked, given, samples, "pool")
    step(f"LIR, r = 1 to {max(RANKS)}", lambda: removal_table(encoded, plain.precision))
    step("rank a second encoder", lambda: rank_pool(other, other_given, pool))
    pairs = {"lareqa": paired(pool, found, timed["rank a second encoder"])}
    step("significance of mAP, 10,000 draws", lambda: compare_scores(pairs, "map", seed=options.seed))
    show(seconds, plain, options)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default="evaluation.json")
    return parser.parse_args()


def made_pool(random):
    """Draw a pool in which one sentence per language answers each question."""
    found = {}
    for language, count in SENTENCES.items():
        texts = [""] * count
        asked = [(f"q{id}", "", [int(random.integers(count))]) for id in range(QUESTIONS)]
        found[language] = (texts, texts, asked)
    return make_pool("XQuAD-R's size", found)


def vectors(pool, random):
    """Draw vectors of questions `(q, d)` and candidates `(c, d)`.

    A sentence means what the last question means it answers.
    """
    offsets = OFFSET * directions(random, len(pool.languages))
    meanings = directions(random, QUESTIONS)
    means = directions(random, len(pool.sentences))
    numbers = np.array([int(id[1:]) for id in pool.ids])
    for slot in range(pool.targets.shape[1]):
        means[pool.targets[:, slot]] = meanings[numbers]
    asked = meanings[numbers] + offsets[pool.asked_in] + NOISE * directions(random, len(numbers))
    given = means + offsets[pool.language_of] + NOISE * directions(random, len(means))
    return normalise_rows(asked), normalise_rows(given)


def directions(random, count):
    return normalise_rows(random.normal(size=(count, DIMENSION)).astype(np.float32))


def paired(pool, first, second):
    """Return the input of the significance tests, `{language: (ids, a, b)}`."""
    of = [pool.asked_in == number for number in range(len(pool.languages))]
    ids = np.array(pool.ids)
    return {
        language: (ids[rows].tolist(), first.average_precisions[rows], second.average_precisions[rows])
        for language, rows in zip(pool.languages, of, strict=True)
    }


def show(seconds, plain, options):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    for name, spent in seconds.items():
        print(f"{name:52} {spent:7.2f} s")
    print(f"{'all':52} {sum(seconds.values()):7.2f} s, {memory:.2f} GB at most; {machine()}")
    precision, removed = plain.precision.map, plain.removed
    print(f"mAP {precision:.4f}, -rand {removed.rand:.4f}, -same {removed.same:.4f}")
    note = {"machine": machine(), "seed": options.seed, "gigabytes": memory, "map": precision}
    write_json(options.json, {**note, "seconds": seconds})


if __name__ == "__main__":
    main()
