"""Reproduce Sentri's ablations (Sorokin et al., Findings of NAACL 2022) on XQuAD-R: filter, encoder, translations.

    python benchmarks/papers/sentences.py --data data --output runs/sentri/text
    python benchmarks/papers/sentri.py --json sentri.json

R@2kt and R@5kt in per cent, mean of the languages of XQuAD-R dev, whose 240 passages have 30,000 words. Each row trains
on what BM25 finds (stage 0), then both of the paper's stages, in 11 languages: batches of 16, up to 50 hard negatives,
40 epochs, warm-up and linear decay, dropout of .1. They start from a static encoder of E5 small at 1e-4, or from three
of its layers at 1e-5 with 800 pairs per epoch (the paper: XLM-R at 1e-5). Rows of "64 at 1e-3" are older: English
passages, a static encoder of mUSE, batches of 64, up to 6 epochs. The paper's learns Natural Questions, TriviaQA and
nine Wikipedias. Each of ours is one run with seed 0, and no two are tested against each other in these tables.
"""

from lareqa import SENTENCES
from rows import Line, Row, Table, paper, program

from distill.papers.pair_studies import ABLATIONS, STAGES, train_itself
from distill.papers.rows import read_lareqa

DATA = "--dataset {data}/xquad-r"
STATIC = f"{DATA} --base {{runs}}/static-{{seed}} --set teacher.learning_rate=1e-4"
LAYERS = f"{DATA} --base {{runs}}/e5-three-{{seed}} --set pairs.pairs_an_epoch=800"
LAYERS += " --set training.precision=mixed_bfloat16"
# Older rows: English passages, batches of 64 for up to six epochs, and no schedule.
BRIEF_FLAGS = f"{DATA} --base {{runs}}/start-{{seed}} --set pairs.self_train=3"
BRIEF_FLAGS += " --set pairs.batches=x-en --set pairs.pairs_an_epoch=4096"
BRIEF_FLAGS += " --set pairs.self_train_always=0 --set pairs.self_train_top=50 --set pairs.self_train_negatives=32"
BRIEF_FLAGS += " --bm25-epochs 2 --online-epochs 4 --set teacher.batch_size=64 --set teacher.learning_rate=1e-3"
BRIEF_FLAGS += " --set teacher.schedule=plateau --set teacher.warmup_share=0 --set training.dropout=0"
USED_BY = "--task lareqa={data}/xquad-r"
EVALUATE = "--dataset {data}/xquad-r --unit passage --metric p@1,r@2kt,r@5kt"
ROWS = (
    # The pieces that 10,000 sentences of each language use most.
    Row("pieces", f"prune e5 --dataset {{data}}/xquad-r {SENTENCES} --most 60000"),
    Row("static", "reduce {runs}/pieces-{seed} --static --frequencies wordfreq --dataset {data}/xquad-r", ("pieces",)),
    Row("e5-three", "reduce e5 --layers 3 --dataset {data}/xquad"),
    *train_itself("static-", STATIC, EVALUATE, ("static",)),
    *(row for row in train_itself("layers-", LAYERS, EVALUATE, ("e5-three",)) if row.name.startswith("layers-sentri")),
    *(
        Row(f"{start}-untrained", f"evaluate {{runs}}/{start}-{{seed}} {EVALUATE}", (start,))
        for start in ("static", "e5-three")
    ),
    *(
        Row(f"{name}-usage", f"evaluate {{runs}}/{name}-{{seed}}/self-training/stage-2/encoder {USED_BY}", (name,))
        for name in ("static-sentri", "layers-sentri")
    ),
    Row("e5-usage", f"evaluate e5 {USED_BY}"),
    Row("start", "reduce muse --static --frequencies wordfreq --dataset {data}/xquad-r"),
    *train_itself("", BRIEF_FLAGS, EVALUATE, ("start",)),
    *(Row(f"{name}-kept", f"evaluate {{runs}}/{name}-{{seed}}/teacher {EVALUATE}", (name,)) for name in ABLATIONS),
    Row("untrained", f"evaluate {{runs}}/start-{{seed}} {EVALUATE}", ("start",)),
    Row("bm25", f"evaluate bm25-morphology {EVALUATE}"),
)
PAPER = "MKQA:R@2kt XOR:R@2kt MKQA:R@5kt XOR:R@5kt"
LANGUAGES = "ar de el en es hi ru th tr vi zh"


def read_recalls(found):
    """Return means over languages."""
    [figures] = found["retrieval"]["encoders"].values()
    rows = {"P@1": [row["p@1"] for row in figures["units"]["passage"].values()]}
    rows |= {f"R@{name[2:]}": [row["recall"] for row in of.values()] for name, of in figures["recall"].items()}
    return {head: 100 * sum(values) / len(values) for head, values in rows.items()}


def read_shares(language):
    """Return the languages of the first 100 sentences, by the question's language."""
    return lambda found: {key: 100 * value for key, value in read_lareqa(found)["share"][language].items()}


FIGURES = {
    "sentri": "53.3 51.0 60.3 60.8",
    "unfiltered": "52.1 49.3 60.1 60.3",
    "dual": "45.3 45.4 52.9 53.9",
    "english": "41.5 30.8 45.8 42.3",
}
BRIEF = ", 64 at 1e-3"
# The paper's Table 7, by the language that asks.
USED, USAGE = (
    "ar bn fi ja ko ru te en",
    {
        "ar": "80.6 0.2 0.1 7.1 0.2 1.2 0.0 10.5",
        "bn": "0.3 89.8 0.1 4.8 0.2 0.8 0.1 3.7",
        "fi": "0.8 1.4 52.9 7.4 0.3 2.1 0.1 34.6",
        "ja": "0.8 3.7 0.2 77.5 1.1 1.7 0.2 14.5",
        "ko": "0.0 0.0 0.0 0.7 97.6 0.1 0.0 1.4",
        "ru": "0.9 0.8 0.3 8.7 0.3 74.5 0.0 14.2",
        "te": "0.2 8.3 0.0 3.8 0.4 0.4 75.5 11.2",
    },
)
CANNOT = "needs XOR-TyDi, MKQA and Wikipedia, which are not at hand"


def usage():
    """Lines of Table 7: ours by the encoder and the language that asks, the paper's above the first of ours."""
    of_paper = {language: paper(USED, values) for language, values in USAGE.items()}
    ours = {"": "static-sentri-usage", ", E5, 3 layers": "layers-sentri-usage", ", E5 untrained": "e5-usage"}
    for language in LANGUAGES.split():
        for number, (label, row) in enumerate(ours.items()):
            published = of_paper.get(language, {}) if number == 0 else {}
            yield Line(f"{language}{label}", row, read_shares(language), published)
    for language in (language for language in USAGE if language not in LANGUAGES.split()):
        yield Line(language, paper=of_paper[language], why="XQuAD-R has no questions in it")


TABLES = (
    Table(
        "6",
        "Sentri, Table 6: ablations of the retriever",
        (*PAPER.split(), "P@1", "R@2kt", "R@5kt"),
        (
            Line("BM25 by normal forms, without training", "bm25", read_recalls),
            Line("static start, untrained", "static-untrained", read_recalls),
            *(
                Line(
                    f"{label}, stage {stage}", f"static-{name}-stage-{stage}", read_recalls, paper(PAPER, FIGURES[name])
                )
                if stage == STAGES[-1]
                else Line(f"{label}, stage {stage}", f"static-{name}-stage-{stage}", read_recalls)
                for stage in reversed(STAGES)
                for name, (label, _) in ABLATIONS.items()
            ),
            Line("E5, 3 layers, untrained", "e5-three-untrained", read_recalls),
            *(
                Line(f"Sentri, E5, 3 layers, stage {stage}", f"layers-sentri-stage-{stage}", read_recalls)
                for stage in reversed(STAGES)
            ),
            Line(f"start, untrained{BRIEF}", "untrained", read_recalls),
            *(Line(f"{label}{BRIEF}", f"{name}-kept", read_recalls) for name, (label, _) in ABLATIONS.items()),
            *(
                Line(f"{label}, stage {stage}{BRIEF}", f"{name}-stage-{stage}", read_recalls)
                for stage in STAGES[:2]
                for name, (label, _) in ABLATIONS.items()
            ),
        ),
        note="The paper's are of stage 2, on the dev questions of MKQA and XOR-TyDi. Lines of 64 at 1e-3 without a "
        "stage are of the stage that dev kept. Two encoders have twice the parameters, the paper's as many.",
    ),
    Table(
        "7",
        "Sentri, Table 7: languages of the first 100 sentences",
        (*LANGUAGES.split(), "bn", "fi", "ja", "ko", "te"),
        tuple(usage()),
        note="The paper's are of the first 100 passages of eight Wikipedias; ours of XQuAD-R's sentences, which are "
        "the same in all languages, by the encoder of stage 2.",
    ),
    Table("1", "Sentri, Table 1: XOR-Retrieve", ("R@2kt",), (Line("Sentri", paper={}, why=CANNOT),)),
    Table("2", "Sentri, Table 2: XOR-Full", ("F1",), (Line("Sentri + MFiD", paper={}, why=CANNOT),)),
)

if __name__ == "__main__":
    program(TABLES, ROWS, __doc__, "runs/sentri")
