"""Every setting of a run: its default, limits, flag, meaning and what it bears on. `config.toml` holds them all.

The fields' types are classes, `tuple` one of names: `store` and `options` read them at run time.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from .choices import RANKED, SCORES, SHAPE_NAMES, TABLES
from .fields import FLAG, MAIN, Names, Work, common, free, section, setting, untuned
from .stages import PairSettings as PairSettings
from .stages import ScorerSettings as ScorerSettings
from .stages import StudentSettings as StudentSettings
from .stages import TeacherSettings as TeacherSettings
from .units import named_units


@dataclass
class DataSettings:
    """The data set that is learned from."""

    dataset: str = setting(
        Work.RUN,
        "sample",
        "--dataset",
        "a folder of {lang}.json or documents.jsonl, or 'sample'",
        offer=MAIN,
        names=Names.DATASET,
    )
    document_language: str = common("en", "--document-language", "the language of the documents", offer=MAIN)
    languages: tuple = untuned((), "--languages", "question languages, comma-separated (default: all)", offer=MAIN)
    split_by: str = common("question", "--split-by", "what a seeded split divides", ("question", "document"))


@dataclass
class VocabularySettings:
    """The student's pieces, and text of its languages that says which."""

    keep: str = common(
        "all", "--keep-pieces", "all pieces, those that the text uses, or uses twice", ("all", "used", "twice")
    )
    most_pieces: int = common(0, "--most-pieces", "keep so many pieces, those that are used most (0: all)", low=0)
    add_languages: tuple = common(
        (), "--add-languages", "languages that get pieces of their own, such as hi,el,vi", offer=MAIN
    )
    add_pieces: int = common(16_000, "--add-pieces", "pieces to learn for --add-languages, at most", low=1)
    add_words: tuple = setting(
        Work.RUN,
        (),
        "--add-words",
        "files of words of --add-languages that get a piece each: word, tab, frequency; needs --aligner",
        names=Names.FILES,
    )
    text: tuple = common(
        (),
        "--text",
        "files of text in the languages, a text a line; de=FILE names the language",
        offer=FLAG,
        names=Names.LANGUAGE_FILES,
    )
    aligner: str = common(
        "",
        "--aligner",
        "an encoder that new rows are made with by meaning: e5, or one of the new languages",
        offer=FLAG,
        names=Names.ENCODER,
    )
    aligner_below: int = common(
        0,
        "--aligner-below",
        "make rows by meaning of pieces that occur fewer times in the text too (0: new ones alone)",
        low=0,
    )


@dataclass
class ExportSettings:
    """The exported encoder's precision, and how much of the student it has to keep on dev."""

    precision: str = common(
        "int8",
        "--precision",
        "precision of the dense layers; int4: in a bundle, those of a transformer that lose least by it",
        ("int8", "float32", "int4"),
        commands="run transfer tune compress export",
    )
    table: str = setting(
        Work.RUN | Work.STUDY,
        "uint8",
        "--table",
        "precision of the embedding table",
        TABLES,
        offer=MAIN,
        commands="run transfer tune export",
    )
    min_cosine: float = free(
        0.0,
        "--min-cosine",
        "least cosine to the student's vectors (0: .995, int4, int4-pq5 and int4-pq3 .9, pq4 .8, pq8 .5)",
        low=-1.0,
        high=1.0,
        commands="run tune compress export",
    )
    max_drop: float = free(
        1.0,
        "--max-drop",
        "points of mean P@1 that the bundle may lose",
        low=0.0,
        high=100.0,
        offer=FLAG,
        commands="run tune compress export",
    )
    threads: int = untuned(
        1,
        "--threads",
        "threads of one inference in the gate and the benchmark",
        low=1,
        high=1024,
        commands="run tune compress export",
    )


@dataclass
class ShapeSettings:
    """The student's shape, cut out of the teacher; 0 or empty: as the teacher's."""

    static: bool = common(
        False, "--static/--no-static", "no convolutions: a sum of piece vectors, the fastest", offer=FLAG
    )
    rank: int = common(0, "--rank", "numbers a row of the table, with a product back to its width", low=0)
    channels: int = common(0, "--channels", "channels of each n-gram branch", low=0)
    orders: tuple = common((), "--orders", "n-gram orders, such as 2,3")
    convolutions: int = common(0, "--convolutions", "convolutions of each branch, 1 or 2", low=0, high=2)
    hidden: int = common(0, "--hidden", "units of the last network's first layers", low=0)
    inner: int = common(0, "--inner", "units of its third layer, or of a transformer's feed-forward networks", low=0)
    depth: int = common(0, "--layers", "layers of a transformer, those without which its vectors change most", low=0)
    dimension: int = common(0, "--dimension", "numbers of a vector, on axes of the teacher's space", low=0)
    frequencies: str = common(
        "text",
        "--frequencies",
        "by what frequency a static student weighs pieces: in its text, the tokenizer's, or that of words",
        ("text", "unigram", "wordfreq"),
    )
    smoothing: float = common(
        1e-3, "--smoothing", "a of a static student's weights a / (a + p), p a piece's frequency", low=1e-9, high=1.0
    )


@dataclass
class TrainingSettings:
    """How both stages compute their steps. What is saved, and measured on dev, is float32 whatever the precision."""

    precision: str = common(
        "float32",
        "--train-precision",
        "precision of the layers over tokens in a training step; mixed: the one of 16 bits that the device has",
        ("float32", "mixed_bfloat16", "mixed_float16", "mixed"),
    )
    jit: bool = common(False, "--jit/--no-jit", "compile training steps with XLA, for few shapes of batches")
    devices: int = common(
        1,
        "--devices",
        "devices that share a training step, with KERAS_BACKEND=jax (0: all)",
        low=0,
        offer=FLAG,
        commands="run teach transfer tune",
    )
    dropout: float = common(
        0.0, "--dropout", "share of the numbers of the pieces' rows that a training step leaves out", low=0.0, high=0.9
    )


@dataclass
class TranslationSettings:
    """Questions in translation, for train questions without a twin in the teacher's language. CL-ReLKT, section 3.2."""

    file: str = common(
        "",
        "--translations",
        "train questions in the teacher's language, a .jsonl or .tsv of id, text, language",
        offer=FLAG,
        names=Names.FILE,
        card="translations",
    )
    translators: tuple = common(
        (),
        "--translator",
        "translate them with a model that CTranslate2 runs, of all languages or, as LANGUAGE=FOLDER, of one",
        names=Names.TRANSLATORS,
    )
    beam: int = common(0, "--beam", "hypotheses of translation.translators, 1 is greedy (0: 4)", low=0, high=64)


@dataclass
class EvaluationSettings:
    """Things that are ranked, their scores, and measures of a run beside P@k and MRR.

    The first pair of what is ranked and a score steers both stages in place of `teacher.unit` and `student.dev_unit`.
    """

    ranked: tuple = setting(
        Work.RUN,
        (),
        "--ranked",
        "what is ranked: document, passage",
        RANKED,
        may_be_empty=True,
        offer=FLAG,
        commands="run teach transfer tune evaluate compare",
    )
    score: tuple = setting(
        Work.RUN,
        (),
        "--score",
        "how: vector, its own; maxp, its best passage; sentence, its best sentence; sum, of a passage and its sentence",
        SCORES,
        may_be_empty=True,
        offer=FLAG,
        commands="run teach transfer tune evaluate compare",
    )
    lareqa: bool = untuned(
        True,
        "--lareqa/--no-lareqa",
        "language bias by LAReQA's analyses, where the data gives sentence boundaries",
        offer=FLAG,
    )
    peers: tuple = setting(
        Work.RUN, (), "--peers", "other encoders to measure beside, such as muse,e5", offer=FLAG, names=Names.ENCODERS
    )
    dev_dataset: str = setting(
        Work.RUN | Work.COMPRESSION | Work.STUDY,
        "",
        "--dev-dataset",
        "another data set, whose dev questions choose epochs in place of its own",
        offer=FLAG,
        names=Names.DATASET,
        commands="run teach transfer tune compress",
    )


@dataclass
class BudgetSettings:
    """The limits of a compressed bundle's size and time; without a limit on size or time nothing is searched."""

    max_size: str = setting(
        Work.RUN, "", "--max-size", "the most a smaller bundle may take on disk, such as 10MB", offer=MAIN
    )
    max_ms: float = setting(
        Work.RUN,
        0.0,
        "--max-ms",
        "the most milliseconds a question may take it, in the median (0: no limit)",
        low=0.0,
        offer=MAIN,
    )
    shapes: tuple = setting(Work.RUN, SHAPE_NAMES, "--shapes", "shapes of smaller students to train", SHAPE_NAMES)
    new_languages: tuple = untuned(
        (), "--new-languages", "languages that get new pieces [default: those muse never saw]"
    )
    new_pieces: int = untuned(
        12_000, "--new-pieces", "pieces to learn for budget.new_languages, at most (0: none)", low=0
    )
    corpus: tuple = setting(
        Work.RUN,
        (),
        "--corpus",
        "files of text in the languages: its pieces stay, and it is learned from",
        offer=FLAG,
        names=Names.LANGUAGE_FILES,
    )


@dataclass
class Settings:
    """All of a run. `seed` decides splits, shuffling and negatives, `recipe` says what the others were made of."""

    recipe: str = free(
        "",
        "--recipe",
        "settings to begin with, by name; distill recipes lists them",
        offer=MAIN,
        commands="run teach transfer tune",
    )
    seed: int = common(
        0,
        "--seed",
        "number by which splits, shuffling and negatives are drawn",
        low=0,
        high=2**32 - 1,
        offer=MAIN,
        commands="run teach transfer tune prune reduce export evaluate compare answers read-train lir-fit",
    )
    data: DataSettings = section(
        DataSettings,
        "Data",
        "run teach transfer tune compress prune reduce export evaluate compare answers read-train read-export",
    )
    teacher: TeacherSettings = section(TeacherSettings, "Teacher (stage 1)", "run teach tune")
    pairs: PairSettings = section(PairSettings, "Teacher by pairs of many languages (--loss softmax)", "run teach")
    student: StudentSettings = section(StudentSettings, "Student (stage 2)", "run transfer tune compress")
    scorer: ScorerSettings = section(
        ScorerSettings, "Scores of another encoder (--scorer)", "run teach transfer", refused="tune"
    )
    vocabulary: VocabularySettings = section(
        VocabularySettings,
        "The student's pieces",
        "run tune",
        refused="transfer",
        instead="a student starts there with the pieces of its start; change these before, with distill prune or "
        "distill add-language",
    )
    shape: ShapeSettings = section(
        ShapeSettings,
        "The student's shape",
        "run tune reduce",
        refused="transfer",
        instead="a student starts there in the shape of its start; change it with distill reduce before",
    )
    training: TrainingSettings = section(TrainingSettings, "How steps are computed", "run teach transfer tune compress")
    export: ExportSettings = section(ExportSettings, "Bundle", "run tune compress export")
    translation: TranslationSettings = section(
        TranslationSettings, "Questions in translation", "run teach transfer tune"
    )
    evaluation: EvaluationSettings = section(EvaluationSettings, "What is measured", "run tune")
    budget: BudgetSettings = section(BudgetSettings, "A bundle within a budget", "run tune compress")

    @property
    def learns_lines(self) -> bool:
        """True where a fixed teacher labels lines of text, which then are enough to learn from."""
        return bool(self.teacher.model and (self.student.parallel or self.student.labelled_text))

    def steered(self) -> "Settings":
        """Return the settings with both stages steered by the first unit that --ranked and --score name, if any."""
        if not (units := named_units(self.evaluation.ranked, self.evaluation.score)):
            return self
        teacher, student = replace(self.teacher, unit=units[0]), replace(self.student, dev_unit=units[0])
        return replace(self, teacher=teacher, student=student)


Section: TypeAlias = (
    Settings
    | DataSettings
    | TeacherSettings
    | PairSettings
    | StudentSettings
    | ScorerSettings
    | VocabularySettings
    | ShapeSettings
    | TrainingSettings
    | ExportSettings
    | TranslationSettings
    | EvaluationSettings
    | BudgetSettings
)
Value: TypeAlias = str | int | float | bool | tuple[str, ...]
