"""LAReQA's tables (Roy et al., EMNLP 2020) on XQuAD-R: its four trainings, and encoders that are at hand.

    python benchmarks/papers/lareqa.py --table 2,3,4 --json lareqa.json

From the folder that holds data/ with xquad-r and ntrex. The four learn from XQuAD-R's 833 train questions, answer
sentences as positives, without mined negatives and without a filter, from mUSE small; the paper's learn from SQuAD
translated into 11 languages, from mBERT. mAP in per cent, ours of dev, 119 questions a language.
"""

from rows import Line, Row, Table, corpora, of_lareqa, paper, program

LANGUAGES = "ar de el en es hi ru th tr vi zh"
NTREX = {"ar": "arb", "de": "deu", "el": "ell", "es": "spa", "fi": "fin", "hi": "hin", "ja": "jpn", "ko": "kor"}
NTREX |= {"ro": "ron", "ru": "rus", "th": "tha", "tr": "tur", "vi": "vie", "zh": "zho-CN"}
NEWS = {language: f"newstest2019-ref.{code}.txt" for language, code in NTREX.items()}
NEWS = corpora("{data}/ntrex", {"en": "newstest2019-src.eng.txt", **NEWS})
RANKS = (1, 2, 3, 4, 5, 8, 10, 12)
# LIR of other text than the pool's, without scaling what is left: the figures of lir.py, out of the same rows.
TASK = "--task lareqa --dataset {data}/xquad-r --no-lir-rescaled"
TASK += f" --lir-ranks {','.join(map(str, RANKS))} {NEWS}"
EIGHT = "--task lareqa --dataset {data}/xquad-r --languages ar,de,en,es,ru,th,tr,zh"
TRAIN = (
    "--dataset {data}/xquad-r --base muse --set pairs.unit=sentence --set pairs.hard_negatives=0 --set pairs.filters=''"
)
TRAIN += " --bm25-epochs 0 --online-epochs 4 --set teacher.learning_rate=1e-4 --set teacher.unit=passage-sentence"
TRAININGS = {"en-en": "En-En", "x-x": "X-X", "x-x-mono": "X-X-mono", "x-y": "X-Y"}
ENCODERS = ("muse", "released", "released-small", "e5")
ROWS = (
    *(Row(f"{name}-trained", f"teach --recipe lareqa-{name} {TRAIN}") for name in TRAININGS),
    *(Row(name, f"evaluate {{runs}}/{name}-trained-{{seed}} {TASK}", (f"{name}-trained",)) for name in TRAININGS),
    *(Row(name, f"evaluate {name} {TASK}") for name in ENCODERS),
    *(
        Row(f"{name}-eight", f"evaluate {{runs}}/{name}-trained-{{seed}} {EIGHT}", (f"{name}-trained",))
        for name in TRAININGS
    ),
)
MODELS = (*((label, name) for name, label in TRAININGS.items()), *((name, name) for name in ENCODERS))


def lines(read, published, models=MODELS):
    """A line an encoder, those of the paper with its figures, and those of the paper alone."""
    return (
        *(Line(label, name, read, published.get(label, {})) for label, name in models),
        *(Line(label, paper=of, why=WHY[label]) for label, of in published.items() if label in WHY),
    )


WHY = {
    "Translate-Test": "no translator at hand",
    "USE-QA": "its weights are on TF-Hub alone",
}


def precision(found):
    """mAP over all languages and by language."""
    figures = of_lareqa(found)
    return {"all": 100 * figures["map"], **{key: 100 * value for key, value in figures["languages"].items()}}


def removed(found):
    """LAReQA, Table 3's columns."""
    return {key: 100 * value for key, value in of_lareqa(found)["removed"].items()}


def alone(found):
    """mAP in the pool of the question's language."""
    return {key: 100 * value for key, value in of_lareqa(found)["monolingual"].items()}


def by_model(columns, rows):
    """`{line: figures}` of lines of text that begin with the line's name."""
    return {name: paper(columns, values) for name, values in (row.split(maxsplit=1) for row in rows)}


TABLES = (
    Table(
        "2",
        "LAReQA, Table 2: mAP",
        ("all", *LANGUAGES.split()),
        lines(precision, by_model("all", ["En-En 29", "X-X 23", "X-X-mono 52", "X-Y 66", "Translate-Test 72"])),
    ),
    Table(
        "3",
        "LAReQA, Table 3: mAP with one target removed",
        ("rand", "same", "delta"),
        lines(
            removed,
            by_model(
                "rand same delta",
                ["En-En 29 22 24", "X-X 23 15 37", "X-X-mono 52 47 10", "X-Y 65 64 2", "Translate-Test 69 60 13"],
            ),
        ),
        note="-rand, -same and their difference in per cent of -rand.",
    ),
    Table(
        "4",
        "LAReQA, Table 4: mAP in the pool of the question's own language",
        tuple(LANGUAGES.split()),
        lines(
            alone,
            by_model(
                LANGUAGES,
                [
                    "En-En 76 87 78 90 87 76 85 51 77 84 85",
                    "X-X 83 87 84 89 88 83 86 75 84 87 88",
                    "X-X-mono 83 88 85 90 89 84 87 76 85 88 89",
                    "X-Y 75 83 79 85 83 76 82 69 78 80 82",
                    "Translate-Test 83 87 86 90 88 81 86 74 82 84 85",
                ],
            ),
        ),
        mean=tuple(LANGUAGES.split()),
        note="Translated by people, Translate-Test is the column en of each encoder.",
    ),
    Table(
        "5",
        "LAReQA, Table 5: mAP in the 8 languages of USE-QA",
        ("all",),
        lines(
            precision,
            by_model("all", ["En-En 33", "X-X 25", "X-X-mono 55", "X-Y 67", "Translate-Test 73", "USE-QA 51"]),
            tuple((label, f"{name}-eight") for name, label in TRAININGS.items()),
        ),
    ),
)

if __name__ == "__main__":
    program(TABLES, ROWS, __doc__, "runs/lareqa")
