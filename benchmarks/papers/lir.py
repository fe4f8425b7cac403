"""LIR's tables (Yang et al., EMNLP 2021): language information removed from answers' retrieval and classification.

    python benchmarks/papers/lir.py --table 1,2 --json lir.json

From the folder that holds data/ with xquad-r, massive and ntrex. The directions are learned from NTREX, 1,997 news
sentences a language (the paper: 10,000 of Wiki-40B), and what is left of a vector is not scaled, as in Equation 1.
Tables 1, 4 and 5 read the rows of lareqa.py, in its folder of runs; of XQuAD-R dev, the paper's of all questions.
"""

import lareqa
from lareqa import LANGUAGES, NEWS, RANKS
from rows import Line, Row, Table, of_lareqa, paper, program

ALL = ("r=0", *(f"r={rank}" for rank in RANKS))
CLASSIFIED = "r=0 r=1 r=2 r=3 r=5 r=8 r=10 r=12"
CLASSIFICATION = "--task classification={data}/massive/utterances.tsv --split test --no-lir-rescaled"
ROWS = (
    *lareqa.ROWS,
    Row("classification-muse", f"evaluate muse {CLASSIFICATION} {NEWS}"),
    Row("classification-e5", f"evaluate e5 {CLASSIFICATION} {NEWS}"),
)


def by_rank(found):
    """mAP over all languages by r."""
    return {f"r={rank}": 100 * row["map"] for rank, row in of_lareqa(found)["lir"]["ranks"].items()}


def of_language(language):
    """The same of the questions in a language."""

    def read(found):
        ranks = of_lareqa(found)["lir"]["ranks"]
        return {f"r={rank}": 100 * row["languages"][language] for rank, row in ranks.items()}

    return read


def accuracy(languages):
    """The mean accuracy over some languages by r, None for all."""

    def read(found):
        [figures] = found["classification"]["encoders"].values()
        rows = {"0": figures["plain"]}
        rows |= {rank: {key: one["accuracy"] for key, one in of.items()} for rank, of in figures["ranks"].items()}
        chosen = languages or tuple(figures["plain"])
        return {f"r={rank}": 100 * sum(of[key] for key in chosen) / len(chosen) for rank, of in rows.items()}

    return read


FIVE = "r=0 r=1 r=2 r=3 r=4"
NO_DATA = "needs the corpus, which is not at hand"
OTHERS = ("ar", "de", "el", "es", "fi", "hi", "ja", "ko", "ro", "ru", "th", "tr", "vi", "zh")
TABLES = (
    Table(
        "1",
        "LIR, Table 1: mAP on XQuAD-R",
        ALL,
        (
            Line("En-En", "en-en", by_rank, paper(FIVE, "27.8 36.7 36.7 36.5 36.4")),
            Line("X-X", "x-x", by_rank, paper(FIVE, "23.3 45.2 45.6 45.9 45.7")),
            *(Line(name, name, by_rank) for name in lareqa.ENCODERS),
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
                Line(f"{name}, intents, {label}", f"classification-{name}", accuracy(languages))
                for name in ("muse", "e5")
                for label, languages in (
                    ("en", ("en",)),
                    ("de", ("de",)),
                    ("ja", ("ja",)),
                    ("mean of 14 others", OTHERS),
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
            Line("X-X-mono", "x-x-mono", by_rank, paper(FIVE, "50.8 50.6 49.8 49.3 48.9")),
            Line("X-Y", "x-y", by_rank, paper(FIVE, "62.6 59.5 58.1 57.1 56.5")),
        ),
    ),
    Table(
        "5",
        "LIR, Table 5: mAP on XQuAD-R by language, X-X",
        ALL,
        tuple(
            Line(language, "x-x", of_language(language), paper(FIVE, values))
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
        ),
    ),
)

if __name__ == "__main__":
    program(TABLES, ROWS, __doc__, "runs/lareqa")
