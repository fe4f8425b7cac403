"""Reproduce LIR's tables (Yang et al., EMNLP 2021): language information removal in retrieval and classification.

    python benchmarks/papers/sentences.py --data data --output runs/lareqa/text
    python benchmarks/papers/lir.py --table 1,2 --json lir.json

Directions are learned from 10,000 sentences per language, of Wikipedia, news and documentation (the paper: Wiki-40B),
or from NTREX's 1,997 news sentences where a line names it. Vectors are not scaled after removal, as in Equation 1.
Tables 1, 4 and 5 read the rows of lareqa.py on XQuAD-R dev, or on the open half of MLQA-R; the paper's are of all
questions. Each of ours is one run with seed 0.
"""

from dataclasses import replace

import lareqa
from lareqa import LANGUAGES, NEWS, OF_ENCODERS, OF_TRAININGS, OTHERS, RANKS, SENTENCES
from rows import Line, Row, Table, corpora, paper, program

from distill.papers.pair_studies import read_ranks

ALL = ("r=0", *(f"r={rank}" for rank in RANKS))
CLASSIFIED = "r=0 r=1 r=2 r=3 r=5 r=8 r=10 r=12"
CLASSIFICATION = "--task classification={data}/massive/utterances.tsv --split test --no-lir-rescaled"
OF_MASSIVE = f"{SENTENCES} {corpora('{runs}/text', {language: f'{language}.txt' for language in OTHERS})}"
ROWS = (
    *lareqa.ROWS,
    *(
        row
        for name in ("muse", "e5")
        for row in (
            Row(f"classification-{name}", f"evaluate {name} {CLASSIFICATION} {NEWS}"),
            Row(f"classification-{name}-sentences", f"evaluate {name} {CLASSIFICATION} {OF_MASSIVE}"),
        )
    ),
)


def sentences(task):
    """Return the thousands of sentences by language that the directions were learned from."""
    return lambda found: {language: count / 1000 for language, count in found[task]["sentences"].items()}


def of_training(training, read, published=None):
    """Lines of one of LAReQA's trainings, the paper's figures above the first of ours."""
    return tuple(
        Line(label, f"{row}-figures", read, published or {} if number == 0 else {})
        for number, (label, row) in enumerate(OF_TRAININGS[training])
    )


FIVE = "r=0 r=1 r=2 r=3 r=4"


def of_mlqa_r(training, published):
    """Lines of one of LAReQA's trainings on MLQA-R, the paper's figures above the first of ours."""
    lines = of_training(training, read_ranks(), paper(FIVE, published))
    return tuple(replace(line, row=f"{line.row.removesuffix('-figures')}-mlqa-r") for line in lines)


def by_start(language, published):
    """Lines of X-X of a language, the paper's figures above the first of ours."""
    lines = of_training("X-X", read_ranks(language), published)
    return tuple(replace(line, name=line.name.replace("X-X", language)) for line in lines)


def accuracy(languages):
    """Return the mean accuracy over some languages by r, None for all."""

    def read(found):
        [figures] = found["classification"]["encoders"].values()
        rows = {"0": figures["plain"]}
        rows |= {rank: {key: one["accuracy"] for key, one in of.items()} for rank, of in figures["ranks"].items()}
        chosen = languages or tuple(figures["plain"])
        return {f"r={rank}": 100 * sum(of[key] for key in chosen) / len(chosen) for rank, of in rows.items()}

    return read


NO_DATA = "needs the corpus, which is not at hand"
FOURTEEN = ("ar", "de", "el", "es", "fi", "hi", "ja", "ko", "ro", "ru", "th", "tr", "vi", "zh")
TABLES = (
    Table(
        "1",
        "LIR, Table 1: mAP on XQuAD-R",
        ALL,
        (
            *of_training("En-En", read_ranks(), paper(FIVE, "27.8 36.7 36.7 36.5 36.4")),
            *of_training("X-X", read_ranks(), paper(FIVE, "23.3 45.2 45.6 45.9 45.7")),
            *(Line(label, row, read_ranks()) for label, row in OF_ENCODERS),
            *(Line(f"{name}, NTREX", name, read_ranks()) for name in lareqa.PACKAGED),
        ),
    ),
    Table(
        "1-mlqa-r",
        "LIR, Table 1: mAP on the open half of MLQA-R",
        ALL,
        (
            *of_mlqa_r("En-En", "35.7 37.0 36.2 36.3 36.1"),
            *of_mlqa_r("X-X", "26.0 42.4 41.6 41.6 41.4"),
            *(Line(name, f"{name}-mlqa-r", read_ranks()) for name in lareqa.ENCODERS if name != "e5"),
            Line("e5, NTREX", "e5-mlqa-r", read_ranks()),
        ),
        note=lareqa.HALF,
    ),
    Table(
        "sentences",
        "LIR: thousands of sentences by language that the directions are learned from",
        (*LANGUAGES.split(), *OTHERS),
        (
            Line("XQuAD-R", "muse-sentences", sentences("lareqa"), dict.fromkeys(LANGUAGES.split(), 10.0)),
            Line("MASSIVE", "classification-muse-sentences", sentences("classification")),
        ),
    ),
    Table(
        "2",
        "LIR, Table 2: classification, learned in English",
        ALL,
        (
            Line("mBERT, reviews, en", paper=paper(CLASSIFIED, "80.0 80.2 80.5 80.2 80.2 80.2 80.3 80.0"), why=NO_DATA),
            Line("mBERT, reviews, de", paper=paper(CLASSIFIED, "70.4 70.9 70.9 70.8 70.8 71.1 71.0 70.9"), why=NO_DATA),
            Line("mBERT, reviews, fr", paper=paper(CLASSIFIED, "73.1 74.6 75.6 75.4 76.1 75.2 76.0 76.0"), why=NO_DATA),
            Line("mBERT, reviews, ja", paper=paper(CLASSIFIED, "71.7 72.6 73.1 71.8 72.0 70.8 71.2 71.4"), why=NO_DATA),
            *(
                Line(f"{name}, intents, {label}{text}", f"classification-{name}{row}", accuracy(languages))
                for name in ("muse", "e5")
                for text, row in (("", "-sentences"), (", NTREX", ""))
                for label, languages in (
                    ("en", ("en",)),
                    ("de", ("de",)),
                    ("ja", ("ja",)),
                    ("mean of 14 languages", FOURTEEN),
                )
            ),
        ),
        note="The paper's are of Amazon Reviews, two classes; ours of MASSIVE's intents, 60 classes, test.",
    ),
    Table(
        "3",
        "LIR, Table 3: XEVAL, nine tasks in the language that is tested",
        ("en", "de", "es", "fr", "zh"),
        (
            Line("mBERT, r=0", paper=paper("en de es fr zh", "80.8 78.1 78.8 79.1 79.3"), why=NO_DATA),
            Line("mBERT, r=2", paper=paper("en de es fr zh", "80.7 78.5 79.4 79.3 79.4"), why=NO_DATA),
        ),
    ),
    Table(
        "4",
        "LIR, Table 4: mAP on XQuAD-R of trainings without language bias",
        ALL,
        (
            *of_training("X-X-mono", read_ranks(), paper(FIVE, "50.8 50.6 49.8 49.3 48.9")),
            *of_training("X-Y", read_ranks(), paper(FIVE, "62.6 59.5 58.1 57.1 56.5")),
        ),
    ),
    Table(
        "4-mlqa-r",
        "LIR, Table 4: mAP on the open half of MLQA-R of trainings without language bias",
        ALL,
        (*of_mlqa_r("X-X-mono", "48.6 48.8 48.0 47.8 47.4"), *of_mlqa_r("X-Y", "48.5 46.2 45.5 44.8 44.2")),
        note=lareqa.HALF,
    ),
    Table(
        "5",
        "LIR, Table 5: mAP on XQuAD-R by language, X-X",
        ALL,
        tuple(
            line
            for language, values in zip(
                LANGUAGES.split(),
                (
                    "20.5 40.5 40.4 40.4 40.0",
                    "27.5 48.3 49.8 49.7 49.6",
                    "20.9 43.5 43.9 44.1 44.2",
                    "27.3 55.1 55.0 55.3 55.3",
                    "27.6 52.6 52.8 52.7 52.6",
                    "18.6 36.5 36.8 37.5 37.3",
                    "24.9 48.2 49.6 49.6 49.4",
                    "16.8 34.7 35.1 34.9 34.6",
                    "23.8 45.3 45.4 46.3 46.2",
                    "24.8 49.2 48.9 48.9 48.6",
                    "24.7 43.8 43.8 45.3 45.2",
                ),
                strict=True,
            )
            for line in by_start(language, paper(FIVE, values))
        ),
    ),
)

if __name__ == "__main__":
    program(TABLES, ROWS, __doc__, "runs/lareqa")
