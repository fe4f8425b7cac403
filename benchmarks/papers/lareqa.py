"""Reproduce LAReQA's tables (Roy et al., EMNLP 2020) on XQuAD-R: its four trainings, and encoders at hand.

    python benchmarks/papers/sentences.py --data data --output runs/lareqa/text
    python benchmarks/papers/lareqa.py --table 2,3,4 --json lareqa.json

mAP in per cent on XQuAD-R dev, 119 questions per language; the paper's are of all 1,190, or of MLQA-R. The four
trainings learn answer sentences of 833 train questions, without mined negatives and without a filter: 5,000 steps of 64
pairs with warm-up and linear decay, and dev chooses among 21 evaluations. They start from mUSE small at a rate of 1e-4,
trained by Keras on JAX on an NVIDIA H100, or from three layers of E5 small at 1e-5, the paper's rate. The paper's four
learn SQuAD in 11 languages, from mBERT, for 100,000 steps of 32 times 64 pairs. Each of ours is one run with seed 0,
and no two are tested against each other.
"""

from rows import Line, Row, Table, corpora, paper, program

from distill.papers.pair_studies import TRAININGS, read_identification, read_removal, train_pairs
from distill.papers.rows import read_lareqa

LANGUAGES = "ar de el en es hi ru th tr vi zh"
OTHERS = ("fi", "ja", "ko", "ro")
NTREX = {"ar": "arb", "de": "deu", "el": "ell", "es": "spa", "fi": "fin", "hi": "hin", "ja": "jpn", "ko": "kor"}
NTREX |= {"ro": "ron", "ru": "rus", "th": "tha", "tr": "tur", "vi": "vie", "zh": "zho-CN"}
NEWS_OF = {language: f"newstest2019-ref.{code}.txt" for language, code in NTREX.items()}
NEWS_OF = {"en": "newstest2019-src.eng.txt", **NEWS_OF}
NEWS = corpora("{data}/ntrex", NEWS_OF)
SENTENCES = corpora("{runs}/text", {language: f"{language}.txt" for language in LANGUAGES.split()})
RANKS = (1, 2, 3, 4, 5, 8, 10, 12)
# LIR of other text than the pool's, without scaling what is left: the figures of lir.py, out of the same rows.
LIR = f"--no-lir-rescaled --lir-ranks {','.join(map(str, RANKS))}"
TASK = f"--task lareqa --dataset {{data}}/xquad-r {LIR} {SENTENCES}"
TASK_OF_NEWS = f"--task lareqa --dataset {{data}}/xquad-r {LIR} {NEWS}"
# All the questions of the open half of MLQA-R are asked: none is trained on, and none chose an encoder.
SEVEN = "ar de en es hi vi zh"
MLQA_R = f"--task lareqa --dataset {{data}}/mlqa-r-a --split all {LIR}"
MLQA_R_OF_NEWS = f"{MLQA_R} {corpora('{data}/ntrex', {language: NEWS_OF[language] for language in SEVEN.split()})}"
MLQA_R += f" {corpora('{runs}/text', {language: f'{language}.txt' for language in SEVEN.split()})}"
EIGHT = "--task lareqa --dataset {data}/xquad-r --languages ar,de,en,es,ru,th,tr,zh"
PAIRS = "--dataset {data}/xquad-r --set training.precision=mixed_bfloat16"
# What they start from: the name of their rows, what their lines say behind the training, flags, and the row that
# makes it.
STARTS = (
    ("muse", "", "--base muse --set teacher.learning_rate=1e-4", ()),
    ("layers", ", E5, 3 layers", "--base {runs}/e5-three-{seed} --set teacher.learning_rate=1e-5", ("e5-three",)),
)
ENCODERS, PACKAGED = ("muse", "multi12-ngram", "multi12-static", "e5"), ("muse", "e5")


ROWS = (
    Row("e5-three", "reduce e5 --layers 3 --dataset {data}/xquad"),
    *(row for start, _, flags, after in STARTS for row in train_pairs(f"{start}-", f"{PAIRS} {flags}", TASK, after)),
    *(
        Row(f"{start}-{name}-{end}", f"evaluate {{runs}}/{start}-{name}-{{seed}} {task}", (f"{start}-{name}",))
        for start, *_ in STARTS
        for name in TRAININGS
        for end, task in (("eight", EIGHT), ("mlqa-r", MLQA_R))
    ),
    *(Row(name, f"evaluate {name} {TASK_OF_NEWS}") for name in PACKAGED),
    *(Row(f"{name}-sentences", f"evaluate {name} {TASK}") for name in ENCODERS),
    *(Row(f"{name}-eight", f"evaluate {name} {EIGHT}") for name in ENCODERS),
    *(Row(f"{name}-mlqa-r", f"evaluate {name} {MLQA_R}") for name in ENCODERS if name != "e5"),
    # NTREX has a fifth of the sentences, and E5 takes longest.
    Row("e5-mlqa-r", f"evaluate e5 {MLQA_R_OF_NEWS}"),
)
# Lines by the label of the paper's training, of each start.
OF_TRAININGS = {
    label: tuple((f"{label}{called}", f"{start}-{name}") for start, called, _, _ in STARTS)
    for name, label in TRAININGS.items()
}
OF_ENCODERS = tuple((name, f"{name}-sentences") for name in ENCODERS)
# mAP does not depend on the text of LIR, and what a package holds stays as it is.
AT_HAND = tuple((name, name if name in PACKAGED else row) for name, row in OF_ENCODERS)


def of_trainings(read, published, rows="{}-figures"):
    """Lines of each training, the paper's figures above the first of ours."""
    return tuple(
        Line(label, rows.format(row), read, published.get(training, {}) if number == 0 else {})
        for training, lines in OF_TRAININGS.items()
        for number, (label, row) in enumerate(lines)
    )


def lines(read, published, encoders=AT_HAND, rows="{}-figures"):
    """A line an encoder, those of the paper with its figures, and those of the paper alone."""
    return (
        *of_trainings(read, published, rows),
        *(Line(label, row, read) for label, row in encoders),
        *(Line(label, paper=of, why=WHY[label]) for label, of in published.items() if label in WHY),
    )


HALF = (
    "The paper's are of all 4,199 questions of MLQA's dev set, in 7 languages. Ours are of the 2,186 that are open, "
    "among all 20,534 sentences, and nothing is trained on them. Encoders that were trained here are not kept."
)
WHY = {
    "Translate-Test": "no translator at hand",
    "USE-QA": "its weights are on TF-Hub alone",
}


def read_precision(found):
    """Return mAP over all languages and by language."""
    figures = read_lareqa(found)
    return {"all": 100 * figures["map"], **{key: 100 * value for key, value in figures["languages"].items()}}


def read_own_pool(found):
    """Return mAP in the pool of the question's language."""
    return {key: 100 * value for key, value in read_lareqa(found)["monolingual"].items()}


def told(found):
    """Return how often English is told from Chinese."""
    return {"accuracy": read_identification(found)["zh"]}


def by_model(columns, rows):
    """Return `{line: figures}` of lines of text that begin with the line's name."""
    return {name: paper(columns, values) for name, values in (row.split(maxsplit=1) for row in rows)}


IDENTIFIED = ("En-En 97.7", "X-X 99.2", "X-X-mono 87.5", "X-Y 54.0")
TABLES = (
    Table(
        "2",
        "LAReQA, Table 2: mAP",
        ("all", *LANGUAGES.split()),
        lines(read_precision, by_model("all", ["En-En 29", "X-X 23", "X-X-mono 52", "X-Y 66", "Translate-Test 72"])),
    ),
    Table(
        "2-mlqa-r",
        "LAReQA, Table 2: mAP on the open half of MLQA-R",
        ("all", *SEVEN.split()),
        lines(
            read_precision,
            by_model("all", ["En-En 36", "X-X 26", "X-X-mono 49", "X-Y 49", "Translate-Test 58"]),
            encoders=tuple((name, f"{name}-mlqa-r") for name in ENCODERS),
            rows="{}-mlqa-r",
        ),
        note=HALF,
    ),
    Table(
        "3",
        "LAReQA, Table 3: mAP with one target removed",
        ("rand", "same", "delta"),
        lines(
            read_removal,
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
            read_own_pool,
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
            read_precision,
            by_model("all", ["En-En 33", "X-X 25", "X-X-mono 55", "X-Y 67", "Translate-Test 73", "USE-QA 51"]),
            encoders=tuple((name, f"{name}-eight") for name in ENCODERS),
            rows="{}-eight",
        ),
    ),
    Table(
        "5.4",
        "LAReQA, section 5.4: language identified",
        ("accuracy",),
        lines(told, by_model("accuracy", IDENTIFIED), OF_ENCODERS),
        note="Logistic regression on vectors of questions and candidates in English and Chinese, a third held out.",
    ),
)

if __name__ == "__main__":
    program(TABLES, ROWS, __doc__, "runs/lareqa")
