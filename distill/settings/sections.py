"""All settings of a run: default, limits, flag, meaning and what each bears on. `config.toml` holds them all.

The fields' types are classes, `tuple` one of names: `store` and `options` read them at run time.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from .choices import RANKED, SCORES, SHAPE_NAMES, TABLES, combine_units
from .fields import FLAG, MAIN, Names, Work, common, free, section, setting, untuned
from .stages import PairSettings as PairSettings
from .stages import ScorerSettings as ScorerSettings
from .stages import StudentSettings as StudentSettings
from .stages import TeacherSettings as TeacherSettings


@dataclass
class DataSettings:
    """The data set."""

    dataset: str = setting(
        Work.RUN,
        "sample",
        "--dataset",
        "Data set: a folder of {lang}.json or documents.jsonl, or 'sample'.",
        offer=MAIN,
        names=Names.DATASET,
    )
    document_language: str = common("en", "--document-language", "Language of the documents.", offer=MAIN)
    languages: tuple = untuned((), "--languages", "Question languages, comma-separated. Empty means all.", offer=MAIN)
    split_by: str = common("question", "--split-by", "What a seeded split divides.", ("question", "document"))


@dataclass
class VocabularySettings:
    """The student's tokens, and the text that they are chosen by."""

    keep: str = common(
        "all",
        "--keep-pieces",
        "Tokens to keep: all, those that the text uses, or those that it uses at least twice.",
        ("all", "used", "twice"),
    )
    most_pieces: int = common(0, "--most-pieces", "Most tokens to keep, the most frequent ones (0: no limit).", low=0)
    add_languages: tuple = common(
        (), "--add-languages", "Languages that get tokens of their own, such as hi,el,vi.", offer=MAIN
    )
    add_pieces: int = common(16_000, "--add-pieces", "Most tokens to learn for --add-languages.", low=1)
    add_words: tuple = setting(
        Work.RUN,
        (),
        "--add-words",
        "Files of words in --add-languages that each get a token: a word, a tab and its frequency per "
        "line. They need --aligner.",
        names=Names.FILES,
    )
    text: tuple = common(
        (),
        "--text",
        "Files of text in the languages, one text per line; de=FILE names the language.",
        offer=FLAG,
        names=Names.LANGUAGE_FILES,
    )
    aligner: str = common(
        "",
        "--aligner",
        "Encoder that initialises the embeddings of new tokens by meaning: e5, or one that knows the new languages.",
        offer=FLAG,
        names=Names.ENCODER,
    )
    aligner_below: int = common(
        0,
        "--aligner-below",
        "Also initialise by meaning the embeddings of tokens that occur fewer times in the text than "
        "this (0: only new tokens).",
        low=0,
    )


@dataclass
class ExportSettings:
    """The precision of the exported encoder, and how much of the student's quality it has to keep on dev.

    Example:
        >>> import distill
        >>> settings = distill.ExportSettings(max_drop=2.0)
        >>> settings.precision, settings.table
        ('int8', 'uint8')
    """

    precision: str = common(
        "int8",
        "--precision",
        "Precision of the dense layers. int4 is for bundles of transformers and takes the layers that "
        "lose least by it.",
        ("int8", "float32", "int4"),
        commands="run transfer tune compress export",
    )
    table: str = setting(
        Work.RUN | Work.STUDY,
        "uint8",
        "--table",
        "Precision of the embedding table.",
        TABLES,
        offer=MAIN,
        commands="run transfer tune export",
    )
    min_cosine: float = free(
        0.0,
        "--min-cosine",
        "Least cosine to the student's vectors (0: .995; .9 for int4, int4-pq5 and int4-pq3, .8 for pq4, .5 for pq8).",
        low=-1.0,
        high=1.0,
        commands="run tune compress export",
    )
    max_drop: float = free(
        1.0,
        "--max-drop",
        "Most points of mean P@1 that the bundle may lose.",
        low=0.0,
        high=100.0,
        offer=FLAG,
        commands="run tune compress export",
    )
    threads: int = untuned(
        1,
        "--threads",
        "Threads per inference when the bundle is checked and timed.",
        low=1,
        high=1024,
        commands="run tune compress export",
    )


@dataclass
class ShapeSettings:
    """The student's shape, which is cut out of the teacher's; 0 or empty keeps the teacher's."""

    static: bool = common(
        False,
        "--static/--no-static",
        "Use no convolutions: the student sums the vectors of tokens, which is fastest.",
        offer=FLAG,
    )
    rank: int = common(
        0,
        "--rank",
        "Numbers per embedding in the table, which a product maps back to its width (0: unchanged, 256 if static).",
        low=0,
    )
    channels: int = common(0, "--channels", "Channels of each n-gram branch (0: unchanged).", low=0)
    orders: tuple = common((), "--orders", "N-gram orders, such as 2,3.")
    convolutions: int = common(0, "--convolutions", "Convolutions per branch, 1 or 2 (0: unchanged).", low=0, high=2)
    hidden: int = common(
        0, "--hidden", "Units of the first dense layers after the pooling (0: unchanged, 256 if static).", low=0
    )
    inner: int = common(
        0,
        "--inner",
        "Units of the third dense layer after the pooling, or of a transformer's feed-forward networks (0: unchanged).",
        low=0,
    )
    depth: int = common(
        0, "--layers", "Layers of a transformer to keep, the ones that change its vectors most (0: all).", low=0
    )
    dimension: int = common(
        0, "--dimension", "Dimensions of a vector, along axes of the teacher's space (0: unchanged).", low=0
    )
    frequencies: str = common(
        "text",
        "--frequencies",
        "Frequencies by which a static student weighs tokens: in its text, from the tokenizer, or of words.",
        ("text", "unigram", "wordfreq"),
    )
    smoothing: float = common(
        1e-3,
        "--smoothing",
        "The a in a static student's weights a / (a + p), where p is the frequency of a token.",
        low=1e-9,
        high=1.0,
    )


@dataclass
class TrainingSettings:
    """The computation of training steps in both stages; what is saved and measured on dev is always float32."""

    precision: str = common(
        "float32",
        "--train-precision",
        "Precision of the layers over tokens in a training step; mixed takes the 16-bit type of the device.",
        ("float32", "mixed_bfloat16", "mixed_float16", "mixed"),
    )
    jit: bool = common(False, "--jit/--no-jit", "Compile training steps with XLA; batches then have few shapes.")
    devices: int = common(
        1,
        "--devices",
        "Devices of a process that share a training step, with KERAS_BACKEND=jax (0: all).",
        low=0,
        commands="run teach transfer tune",
    )
    processes: int = common(
        1,
        "--processes",
        "Processes that share a training step, with KERAS_BACKEND=jax (0: all that were started).",
        low=0,
        commands="teach transfer",
    )
    dropout: float = common(
        0.0,
        "--dropout",
        "Share of the numbers that a training step leaves out: of token embeddings, and of a transformer's layers.",
        low=0.0,
        high=0.9,
    )


@dataclass
class TranslationSettings:
    """Translations of train questions that the data lacks in the teacher's language (CL-ReLKT, section 3.2)."""

    file: str = common(
        "",
        "--translations",
        "Train questions in the teacher's language: a .jsonl or .tsv file with id, text and language.",
        offer=FLAG,
        names=Names.FILE,
        card="translations",
    )
    translators: tuple = common(
        (),
        "--translator",
        "Translate train questions with a model for CTranslate2: FOLDER for all languages, LANGUAGE=FOLDER for one.",
        names=Names.TRANSLATORS,
    )
    beam: int = common(0, "--beam", "Number of hypotheses of the translator; 1 is greedy (0: 4).", low=0, high=64)


@dataclass
class EvaluationSettings:
    """The things that a run ranks, how it scores them, and what it measures beside P@k and MRR.

    The first pair of a rank and a score chooses the epochs of both stages, in place of `teacher.unit` and
    `student.dev_unit`.
    """

    ranked: tuple = setting(
        Work.RUN,
        (),
        "--ranked",
        "What is ranked: document, passage.",
        RANKED,
        may_be_empty=True,
        offer=FLAG,
        commands="run teach transfer tune evaluate compare",
    )
    score: tuple = setting(
        Work.RUN,
        (),
        "--score",
        "How it is scored: vector by its own vector, maxp by its best passage, sentence by its best "
        "sentence, sum by passage and sentence.",
        SCORES,
        may_be_empty=True,
        offer=FLAG,
        commands="run teach transfer tune evaluate compare",
    )
    lareqa: bool = untuned(
        True,
        "--lareqa/--no-lareqa",
        "Measure language bias by LAReQA's analyses if the data has sentence boundaries.",
        offer=FLAG,
    )
    peers: tuple = setting(
        Work.RUN,
        (),
        "--peers",
        "Other encoders to measure beside it, such as muse,e5.",
        offer=FLAG,
        names=Names.ENCODERS,
    )
    dev_dataset: str = setting(
        Work.RUN | Work.COMPRESSION | Work.STUDY,
        "",
        "--dev-dataset",
        "Another data set, whose dev questions choose the epochs or check an artefact.",
        offer=FLAG,
        names=Names.DATASET,
        commands="run teach transfer tune compress export",
    )


@dataclass
class BudgetSettings:
    """Limits of size and time for a smaller bundle; without one of them no bundle is searched for."""

    max_size: str = setting(
        Work.RUN, "", "--max-size", "Most disk space for a smaller bundle, such as 10MB.", offer=MAIN
    )
    max_ms: float = setting(
        Work.RUN,
        0.0,
        "--max-ms",
        "Most milliseconds per question for a smaller bundle, in the median (0: no limit).",
        low=0.0,
        offer=MAIN,
    )
    shapes: tuple = setting(Work.RUN, SHAPE_NAMES, "--shapes", "Shapes of smaller students to train.", SHAPE_NAMES)
    new_languages: tuple = untuned(
        (), "--new-languages", "Languages that get new tokens. [default: those that muse does not know]"
    )
    new_pieces: int = untuned(12_000, "--new-pieces", "Most tokens to learn for new languages (0: none).", low=0)
    corpus: tuple = setting(
        Work.RUN,
        (),
        "--corpus",
        "Files of text in the languages. Smaller bundles keep its tokens and learn from it.",
        offer=FLAG,
        names=Names.LANGUAGE_FILES,
    )


@dataclass
class Settings:
    """All settings of a run. `seed` decides splits, shuffling and negatives; `recipe` names the recipe of the others.

    Example:
        >>> import distill
        >>> settings = distill.Settings()
        >>> settings.data.languages, settings.student.epochs = ("de", "ru"), 5
        >>> settings.student.learning_rate
        0.0005
    """

    recipe: str = free(
        "",
        "--recipe",
        "Recipe to begin with; distill recipes lists them.",
        offer=MAIN,
        commands="run teach transfer tune",
    )
    seed: int = common(
        0,
        "--seed",
        "Seed of splits, shuffling, negatives and other random draws.",
        low=0,
        high=2**32 - 1,
        offer=MAIN,
        commands="run teach transfer tune prune reduce export evaluate compare answers read-train lir-fit "
        "read-train-writer",
    )
    data: DataSettings = section(
        DataSettings,
        "Data",
        "run teach transfer tune compress prune reduce export evaluate compare answers read-train read-export",
    )
    teacher: TeacherSettings = section(TeacherSettings, "Teacher (stage 1)", "run teach tune")
    pairs: PairSettings = section(PairSettings, "Teacher from pairs (--loss softmax)", "run teach")
    student: StudentSettings = section(StudentSettings, "Student (stage 2)", "run transfer tune compress")
    scorer: ScorerSettings = section(
        ScorerSettings, "Scorer, another encoder (--scorer)", "run teach transfer", refused="tune"
    )
    vocabulary: VocabularySettings = section(
        VocabularySettings,
        "Student's vocabulary",
        "run tune",
        refused="transfer",
        instead="its student keeps the tokens that it starts with; change them before with distill prune or "
        "distill add-language",
    )
    shape: ShapeSettings = section(
        ShapeSettings,
        "Student's shape",
        "run tune reduce",
        refused="transfer",
        instead="its student keeps the shape that it starts with; change it before with distill reduce",
    )
    training: TrainingSettings = section(TrainingSettings, "Training steps", "run teach transfer tune compress")
    export: ExportSettings = section(ExportSettings, "Bundle", "run tune compress export")
    translation: TranslationSettings = section(TranslationSettings, "Translated questions", "run teach transfer tune")
    evaluation: EvaluationSettings = section(EvaluationSettings, "Evaluation", "run tune")
    budget: BudgetSettings = section(BudgetSettings, "Budget for a smaller bundle", "run tune compress")

    @property
    def learns_lines(self) -> bool:
        """True where a fixed teacher labels lines of text, which then are enough to learn from."""
        return bool(self.teacher.model and (self.student.parallel or self.student.labelled_text))

    def with_dev_units(self) -> "Settings":
        """Return settings whose stages both choose epochs by the first unit that --ranked and --score name, if any."""
        if not (units := combine_units(self.evaluation.ranked, self.evaluation.score)):
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
