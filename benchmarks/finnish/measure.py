"""Compare an encoder with Finnish with the one that it was made from, in Finnish and in the other languages.

    python benchmarks/finnish/measure.py multi12-ngram with-finnish --data data --materials materials/fi --json fi.json

FLORES, XX -> en by the nearest vector; `mlqa-dev-a` by `passage-sum`, XQuAD dev by `document-sum`. Of TyDi QA's Finnish
questions that were held out (`held.tsv`): how many find their translation among all English questions of XOR-TyDi, and
how many find, among TyDi QA's 3,858 English passages, the one that their translation finds. Few ask what an English
question of TyDi QA asks: `TWINS`, read by hand, which find its gold passage.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from distill.data.loading import read_dataset
from distill.encoders.catalog.loading import load_encoder
from distill.evaluation.evaluate import evaluate
from distill.settings.choices import EVERY

# Those of `multi12-ngram`, and Finnish.
LANGUAGES = ("en", "ar", "de", "el", "es", "fi", "hi", "ro", "ru", "th", "tr", "vi", "zh")
TWINS = {
    "How many turtle species are there?": "How many species of turtle are there?",
    "When was television invented?": "When was television invented?",
    "When was Pixar founded?": "When was Pixar founded?",
    "What was the population of Austria in 2018?": "What is the population of Austria in 2018?",
    "Who is the Mayor of Los Angeles?": "Who is the mayor of Los Angeles?",
    "How large is the Atlantic Ocean?": "How large is Atlantic Ocean?",
    "What was Sara Shepard's first book?": "What was the first book written by Sara Shepard?",
    "What was Australia's GDP in 2018?": "What's Australia's GDP?",
    "What was the population of Turkey in 2018?": "What is the population of Turkey?",
    "What is the definition of an adventure game?": "What is an adventure game?",
    "Who created the Command & Conquer game series?": "Who created the video game Command & Conquer?",
    "How is encryption defined?": "What is encryption?",
    "How many episodes of Game of Thrones are there in total?": "How many episodes does Game of Thrones have?",
    "When was the first computer made?": "When was the first computer invented?",
    "How many different calendars are there?": "How many types of calendars are there?",
}


def main():
    options = parse()
    data, materials = Path(options.data), Path(options.materials)
    results = {}
    for name in options.encoders:
        encoder = load_encoder(name, 2)
        results[name] = {
            "FLORES dev": flores(encoder, data / "flores" / "dev.tsv"),
            "FLORES devtest": flores(encoder, data / "flores" / "devtest.tsv"),
            "mlqa-dev-a passage-sum": retrieval(encoder, data / "mlqa-dev-a", EVERY, "passage-sum"),
            "XQuAD dev document-sum": retrieval(encoder, data / "xquad", "dev", "document-sum"),
            "TyDi fi": tydi(encoder, data, materials),
        }
        for task, figures in results[name].items():
            print(f"{name}, {task}: " + ", ".join(f"{key} {value:.1f}" for key, value in figures.items()), flush=True)
    Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--materials", default="materials/fi", help="the folder that materials.py wrote")
    parser.add_argument("--json", required=True)
    return parser.parse_args()


def flores(encoder, path):
    """Return P@1 in per cent, by language."""
    columns = table(path)
    vectors = {name: encoder.encode(rows, "question") for name, rows in columns.items() if name in LANGUAGES}
    english = vectors.pop("en")
    return {name: first(rows, english, np.arange(len(rows))) for name, rows in vectors.items()}


def retrieval(encoder, folder, split, unit):
    """Return P@1 in per cent, by language."""
    dataset = read_dataset(folder)
    every = dict.fromkeys(id for questions in dataset.questions.values() for id in questions)
    dataset = replace(dataset, splits={**dataset.splits, EVERY: tuple(every)})
    figures = evaluate(encoder, dataset, split, list(dataset.languages), [unit]).table()[unit]
    return {name: 100 * row["p@1"] for name, row in figures.items()}


def tydi(encoder, data, materials):
    """Return the shares of Finnish questions that find their translation and its passage, in per cent."""
    held, rest = table(materials / "held.tsv"), table(materials / "questions.tsv")
    questions, english = (encoder.encode(held[name], "question") for name in ("fi", "en"))
    among = list(dict.fromkeys([*held["en"], *rest["en"]]))
    translations = np.array([among.index(text) for text in held["en"]])
    rows = read(data / "tydiqa-goldp" / "passages.en.jsonl")
    passages = encoder.encode([row["context"] for row in rows], "document")
    same = np.argmax(english @ passages.T, axis=1)
    return {
        "translation": first(questions, encoder.encode(among, "question"), translations),
        "passage of the translation": first(questions, passages, same),
        **twins(encoder, data, rows, passages),
    }


def twins(encoder, data, rows, passages):
    """Return the share of `TWINS` whose gold passage is among the nearest 1 and 10, in Finnish and in English."""
    pairs, places = table(data / "xor-question-pairs" / "fi-en.tsv"), [row["pid"] for row in rows]
    folder = data / "tydiqa-goldp"
    gold = {
        row["question"]: row["pid"] for name in ("dev", "train") for row in read(folder / f"questions.{name}.en.jsonl")
    }
    plain = [text.strip("\u200e\u200f ") for text in pairs["en"]]
    chosen = [place for place, text in enumerate(plain) if text in TWINS]
    answers = np.array([places.index(gold[TWINS[plain[place]]]) for place in chosen])
    figures = {"twins": float(len(chosen))}
    for name in ("fi", "en"):
        scores = encoder.encode([pairs[name][place] for place in chosen], "question") @ passages.T
        ranks = (scores > scores[np.arange(len(chosen)), answers][:, None]).sum(axis=1)
        figures |= {f"twins in {name}, P@1": 100 * np.mean(ranks < 1), f"P@10 ({name})": 100 * np.mean(ranks < 10)}
    return {key: float(value) for key, value in figures.items()}


def first(questions, candidates, gold):
    """Return the share of questions whose nearest candidate is theirs, in per cent."""
    return 100 * float(np.mean(np.argmax(questions @ candidates.T, axis=1) == gold))


def table(path):
    """Return `{column: cells}` of a .tsv."""
    head, *rows = [line.split("\t") for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n")]
    return {name: [row[place] for row in rows] for place, name in enumerate(head)}


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


if __name__ == "__main__":
    main()
