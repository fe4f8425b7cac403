"""Every setting of a run: its default, limits, flag, meaning and what it bears on. `config.toml` holds them all.

The fields' types are classes, `tuple` one of names: `store` and `options` read them at run time.
"""

from dataclasses import dataclass, field
from enum import Flag, auto
from functools import partial
from typing import TypeAlias

from .choices import ALL_UNITS, RANKED, SCORES, SHAPE_NAMES, TABLES, TYPED

OBJECTIVES = ("qq", "dd", "dq")
FILTERS = ("passage", "answer", "parallel")


class Work(Flag):
    """Work that is kept on disk and gone on with; a setting that bears on it may not change meanwhile."""

    RUN = auto()
    # The trials of `distill compress`.
    COMPRESSION = auto()
    # Those of `distill tune`: all of them together, or each, which may have a value of its own.
    STUDY = auto()
    TRIAL = auto()


def _setting(bears_on, default, flag, help, options=None, may_be_empty=False, low=None, high=float("inf")):
    """A field. `options`: for a tuple its parts, each at most once; none of them is allowed where it `may_be_empty`."""
    metadata = {"bears_on": bears_on, "flag": flag, "help": help}
    limits = {"options": options, "may_be_empty": may_be_empty, "low": low, "high": high}
    return field(default=default, metadata={**metadata, **limits})


# The same for all trials of a search.
_common = partial(_setting, Work.RUN | Work.COMPRESSION | Work.STUDY)
# A trial of `distill tune` may have its own.
_learned = partial(_setting, Work.RUN | Work.COMPRESSION | Work.TRIAL)
# `distill tune` does without: it notes the content that is named here, or ends before it is measured.
_untuned = partial(_setting, Work.RUN | Work.COMPRESSION)
# A verdict on figures that stay.
_free = partial(_setting, Work(0))


@dataclass
class DataSettings:
    """The data set that is learned from."""

    dataset: str = _setting(Work.RUN, "sample", "--dataset", "a folder of {lang}.json or documents.jsonl, or 'sample'")
    document_language: str = _common("en", "--document-language", "the language of the documents")
    languages: tuple = _untuned((), "--languages", "question languages, comma-separated (default: all)")
    split_by: str = _common("question", "--split-by", "what a seeded split divides", ("question", "document"))


@dataclass
class TeacherSettings:
    """Stage 1. Values that CL-ReLKT searched: Table 1; epochs: section 3.1 and A.5.1."""

    language: str = _common("en", "--teacher", "the language the teacher learns in, one that the base knows well")
    base: str = _untuned("muse", "--base", "the pretrained encoder to start from")
    model: str = _common("", "--teacher-model", "a teacher that stays as it is, e5 or any encoder; no stage 1 then")
    centre: bool = _common(
        False,
        "--centre/--no-centre",
        "take off the mean of the --teacher-model's vectors, of questions and of documents",
    )
    loss: str = _learned("triplet", "--loss", "the teacher's loss", ("triplet", "contrastive", "softmax"))
    margin: float = _learned(
        0.3,
        "--margin",
        "by how much a negative shall be farther than the positive, in cosine distance",
        low=0.0,
        high=2.0,
    )
    temperature: float = _learned(0.05, "--temperature", "temperature of the contrastive loss", low=1e-4, high=10.0)
    negatives: int = _learned(3, "--negatives", "negatives a question", low=1, high=1000)
    learning_rate: float = _learned(
        1e-4, "--teacher-learning-rate", "Adam's learning rate, by --teacher-schedule", low=0.0, high=1.0
    )
    batch_size: int = _learned(16, "--teacher-batch-size", "questions in a training step", low=1)
    bm25_epochs: int = _learned(3, "--bm25-epochs", "epochs with BM25 negatives", low=0)
    bm25_words: str = _learned(
        "plain", "--bm25-words", "what BM25 compares: words as written, or without inflection", ("plain", "morphology")
    )
    online_epochs: int = _learned(5, "--online-epochs", "epochs with negatives mined from the encoder", low=0)
    unit: str = _common("maxp", "--teacher-unit", "what is ranked to choose the teacher's best epoch on dev", ALL_UNITS)
    train_table: bool = _learned(True, "--teacher-table/--no-teacher-table", "train the embedding table too")
    hard_quota: int = _learned(
        -1,
        "--hard-quota",
        "of --negatives in online epochs so many are hard ones, the rest semi-hard, the nearest of each (-1: no quota)",
        low=-1,
        high=1000,
    )
    questions: str = _common(
        "own", "--teacher-questions", "questions of its triplets: those in its language, or in all", ("own", "all")
    )
    train_unit: str = _common(
        "passage", "--teacher-train-unit", "positives and negatives of its triplets", ("passage", "document")
    )
    positives: str = _learned(
        "gold", "--positives", "in online epochs: the gold passage, or the document's nearest passage", ("gold", "maxp")
    )
    mining: str = _learned(
        "exact",
        "--mining",
        "how online epochs look for negatives: exactly in all passages, or with faiss by an index, for very many",
        ("exact", "faiss"),
    )
    triplets: tuple = _common(
        (),
        "--triplets",
        "more questions with their passages, FILE or FILE=WEIGHT: .tsv, .jsonl, a data set's train or, as DIR:all, all",
    )
    answer_sentences: bool = _common(
        False,
        "--answer-sentences/--no-answer-sentences",
        "the sentence that holds the answer is a positive too, where data has answers",
    )
    allow_weak: bool = _setting(
        # No trial's figures depend on it, but studies that were begun have noted it.
        Work.TRIAL,
        False,
        "--allow-weak-teacher/--no-weak-teacher",
        "go on with a teacher that does not beat its base on dev",
    )
    triplets_an_epoch: int = _learned(
        -1,
        "--triplets-an-epoch",
        "questions of --triplets in an epoch (-1: as many as train questions, 0: all)",
        low=-1,
    )
    schedule: str = _learned(
        "plateau",
        "--teacher-schedule",
        "stage 1's learning rate: halved when dev stalls, or evenly down to none",
        ("plateau", "linear"),
    )
    warmup_share: float = _learned(
        0.0,
        "--teacher-warmup-share",
        "share of stage 1's steps in which the learning rate rises evenly",
        low=0.0,
        high=0.9,
    )


@dataclass
class PairSettings:
    """Stage 1 with `--loss softmax`: pairs of many languages. LAReQA section 4, Sentri section 3."""

    batches: str = _common(
        "en-en",
        "--batches",
        "languages of a batch's questions and passages, en the teacher's",
        ("en-en", "x-en", "x-x", "x-x-mono", "x-y"),
    )
    unit: str = _common(
        "passage", "--pair-unit", "what answers a question: its passage, or the sentence in it", ("passage", "sentence")
    )
    scale: float = _common(20.0, "--scale", "scale of similarities in the softmax, at the start", low=1e-2, high=1e4)
    hard_negatives: int = _common(
        1, "--hard-negatives", "hard negatives a question, beside its batch's passages", low=0, high=1000
    )
    pairs_an_epoch: int = _common(
        0, "--pairs-an-epoch", "pairs drawn in an epoch (0: as many as there are questions)", low=0
    )
    chunk_size: int = _common(
        0, "--chunk-size", "pairs that gradients are computed of at once, by gradient caching (0: the batch)", low=0
    )
    filters: tuple = _common(
        FILTERS,
        "--filters",
        "false negatives left out of a batch: those with the same passage, answer, or parallel passage",
        FILTERS,
        may_be_empty=True,
    )
    filter_margin: float = _common(
        0.0,
        "--filter-margin",
        "also leave out what is nearer than the positive by more than this (0: nothing)",
        low=0.0,
        high=2.0,
    )
    parallel_share: float = _common(
        0.0,
        "--parallel-share",
        "share of a batch that is --parallel text, asking for its translation",
        low=0.0,
        high=0.9,
    )
    encoders: str = _common(
        "single", "--encoders", "one encoder for both, or one of questions and one of passages", ("single", "dual")
    )
    self_train: int = _common(
        0,
        "--self-train",
        "stages that mine pairs with the last stage's encoder, after one of BM25 (0: no mining)",
        low=0,
    )
    self_train_top: int = _common(50, "--self-train-top", "passages a question that are looked at for answers", low=1)
    self_train_negatives: int = _common(
        32,
        "--self-train-negatives",
        "of these, the highest without an answer that are kept as hard negatives, at most",
        low=0,
    )


@dataclass
class StudentSettings:
    """Stage 2, Equation 2 of CL-ReLKT."""

    objectives: tuple = _learned(
        OBJECTIVES,
        "--objectives",
        "parts of the loss: qq, dd, dq of Equation 2, and list, softmax, translation",
        (*OBJECTIVES, "list", "softmax", "translation"),
    )
    beta: float = _learned(1.0, "--beta", "weight of question-question", low=0.0)
    lambda_: float = _learned(1.0, "--lambda", "weight of document-document", low=0.0)
    omega: float = _learned(1.0, "--omega", "weight of document-question", low=0.0)
    list_weight: float = _learned(1.0, "--list-weight", "weight of list, the teacher's ranking", low=0.0)
    list_temperature: float = _learned(
        0.05, "--list-temperature", "temperature of both rankings in list", low=1e-4, high=10.0
    )
    softmax_weight: float = _learned(0.1, "--softmax-weight", "weight of softmax, a question's own document", low=0.0)
    softmax_temperature: float = _learned(0.05, "--softmax-temperature", "temperature of softmax", low=1e-4, high=10.0)
    softmax_among: str = _learned(
        "batch",
        "--softmax-among",
        "documents of softmax: those of the batch, of the first unit, or all, of each unit",
        ("batch", "all"),
    )
    translation_weight: float = _learned(
        0.1, "--translation-weight", "weight of translation, a line's own label among the step's", low=0.0
    )
    translation_temperature: float = _learned(
        0.05, "--translation-temperature", "temperature of translation", low=1e-4, high=10.0
    )
    gamma: float = _learned(100.0, "--gamma", "scale of the whole loss", low=0.0)
    distance: str = _learned("squared_l2", "--distance", "distance between vectors", ("squared_l2", "cosine"))
    learning_rate: float = _learned(
        5e-4, "--student-learning-rate", "Adam's learning rate, at its highest", low=0.0, high=1.0
    )
    table_learning_rate: float = _learned(
        0.0,
        "--table-learning-rate",
        "learning rate of the student's embedding table (0: that of the rest)",
        low=0.0,
        high=1.0,
    )
    schedule: str = _learned(
        "plateau",
        "--schedule",
        "the student's learning rate: halved when dev stalls, or evenly down to none",
        ("plateau", "linear"),
    )
    warmup_share: float = _learned(
        0.0, "--warmup-share", "share of the student's steps in which the learning rate rises evenly", low=0.0, high=0.9
    )
    batch_size: int = _learned(32, "--student-batch-size", "questions in a training step", low=1)
    epochs: int = _learned(10, "--epochs", "epochs of the student, at most", low=0)
    quantised_epochs: int = _learned(
        0, "--quantised-epochs", "how many of the last epochs have weights rounded as in the bundle", low=0
    )
    averaged_epochs: int = _learned(
        0, "--averaged-epochs", "the student is the mean of so many epochs at the end (0: the best on dev)", low=0
    )
    # A search measures its students as they were trained.
    start_share: float = _setting(
        Work.RUN,
        0.0,
        "--start-share",
        "share of the weights it starts from in the student at the end, which keeps more of what the start is good at",
        low=0.0,
        high=1.0,
    )
    patience: int = _learned(4, "--student-patience", "evaluations without a better dev score before it stops", low=1)
    evaluate_every: int = _learned(0, "--evaluate-every", "steps between evaluations (0: once an epoch)", low=0)
    units: tuple = _common(
        ("document", "passage"),
        "--student-units",
        "what Equation 2 calls a document, one or both",
        ("document", "passage"),
    )
    dev_unit: str = _common(
        "document", "--student-dev-unit", "what is ranked to choose the student's best epoch on dev", ALL_UNITS
    )
    document_tokens: int = _learned(
        2048, "--document-tokens", "tokens of documents that dd encodes a step, on average (0: all)", low=0
    )
    train_table: bool = _learned(True, "--student-table/--no-student-table", "train the embedding table too")
    trained_weights: str = _common(
        "all",
        "--trained-weights",
        "all of the student's weights, its table alone, or of that the rows of pieces for new languages or of those "
        "that texts have oftener as people type them",
        ("all", "table", "new-rows", "typed-rows"),
    )
    nested: tuple = _learned((), "--nested", "prefixes of the vectors that shall serve too, such as 64,128,256")
    lines_a_step: int = _learned(
        64, "--lines-a-step", "lines of parallel text, or of a corpus that is labelled, a step", low=0
    )
    typed_share: float = _common(
        0.0,
        "--typed-share",
        "share of questions and of lines of text that are learned as people type them, with typos and the like",
        low=0.0,
        high=1.0,
    )
    typed_kinds: tuple = _common(TYPED, "--typed-kinds", "how people type them", TYPED)
    parallel: tuple = _common(
        (), "--parallel", "parallel text, FILE or FILE=WEIGHT: a .tsv headed by languages, .jsonl, or a folder"
    )
    teacher_samples: bool = _common(
        True,
        "--teacher-samples/--no-teacher-samples",
        "the student learns questions in the teacher's language too, as that of CL-ReLKT does not",
    )
    own_text: bool = _common(
        False,
        "--own-text/--no-own-text",
        "learn from the data set's own parallel.tsv and descriptions.jsonl too",
    )
    labelled_text: tuple = _common(
        (), "--labelled-text", "text in languages that the teacher knows, learned as it gives it: LANGUAGE=FILE"
    )
    # Of a run alone: what it trains is compressed as it is, and a trial starts from its teacher.
    start: str = _setting(
        Work.RUN, "", "--student", "the encoder the student starts from [default: the teacher, of a fixed one --base]"
    )
    parallel_temperature: float = _learned(
        2.0,
        "--parallel-temperature",
        "how evenly languages of parallel text are drawn: 1 by their sizes, more is evener",
        low=1.0,
        high=1e6,
    )


@dataclass
class ScorerSettings:
    """Scores of another encoder as labels, in any space: its ranking of what a step holds. Both stages."""

    encoder: str = _common("", "--scorer", "an encoder whose scores are labels too: e5 or any other, of whatever space")
    stages: tuple = _common(
        ("teacher", "student"), "--scorer-stages", "stages that learn from its scores", ("teacher", "student")
    )
    weight: float = _common(1.0, "--scorer-weight", "weight of its ranking, a cross entropy of softmaxes", low=0.0)
    temperature: float = _common(0.02, "--scorer-temperature", "temperature of its ranking", low=1e-4, high=10.0)
    learner_temperature: float = _common(
        0.05, "--scorer-learner-temperature", "temperature of the ranking that learns from it", low=1e-4, high=10.0
    )
    margin_weight: float = _common(
        0.0, "--scorer-margin-weight", "weight of its margins between positive and negatives, squared error", low=0.0
    )
    filter_margin: float = _common(
        0.0,
        "--scorer-filter-margin",
        "stage 1: no negative is what it finds nearer than the positive by more than this (0: none)",
        low=0.0,
        high=2.0,
    )
    negatives: bool = _common(
        False, "--scorer-negatives/--no-scorer-negatives", "stage 1's online epochs take what it finds nearest"
    )


@dataclass
class VocabularySettings:
    """The student's pieces, and text of its languages that says which."""

    keep: str = _common(
        "all", "--keep-pieces", "all pieces, those that the text uses, or uses twice", ("all", "used", "twice")
    )
    most_pieces: int = _common(0, "--most-pieces", "keep so many pieces, those that are used most (0: all)", low=0)
    add_languages: tuple = _common((), "--add-languages", "languages that get pieces of their own, such as hi,el,vi")
    add_pieces: int = _common(16_000, "--add-pieces", "pieces to learn for --add-languages, at most", low=1)
    add_words: tuple = _setting(
        Work.RUN,
        (),
        "--add-words",
        "files of words of --add-languages that get a piece each: word, tab, frequency; needs --aligner",
    )
    text: tuple = _common((), "--text", "files of text in the languages, a text a line; de=FILE names the language")
    aligner: str = _common(
        "", "--aligner", "an encoder that new rows are made with by meaning: e5, or one of the new languages"
    )
    aligner_below: int = _common(
        0,
        "--aligner-below",
        "make rows by meaning of pieces that occur fewer times in the text too (0: new ones alone)",
        low=0,
    )


@dataclass
class ExportSettings:
    """The exported encoder's precision, and how much of the student it has to keep on dev."""

    precision: str = _common("int8", "--precision", "precision of the dense layers", ("int8", "float32"))
    table: str = _setting(Work.RUN | Work.STUDY, "uint8", "--table", "precision of the embedding table", TABLES)
    min_cosine: float = _free(
        0.0,
        "--min-cosine",
        "least cosine to the student's vectors (0: .995, int4 and int4-pq5 .9, pq4 .8, pq8 .5)",
        low=-1.0,
        high=1.0,
    )
    max_drop: float = _free(1.0, "--max-drop", "points of mean P@1 that the bundle may lose", low=0.0, high=100.0)
    threads: int = _untuned(1, "--threads", "threads of one inference in the gate and the benchmark", low=1, high=1024)


@dataclass
class ShapeSettings:
    """The student's shape, cut out of the teacher; 0 or empty: as the teacher's."""

    static: bool = _common(False, "--static/--no-static", "no convolutions: a sum of piece vectors, the fastest")
    rank: int = _common(0, "--rank", "numbers a row of the table, with a product back to its width", low=0)
    channels: int = _common(0, "--channels", "channels of each n-gram branch", low=0)
    orders: tuple = _common((), "--orders", "n-gram orders, such as 2,3")
    convolutions: int = _common(0, "--convolutions", "convolutions of each branch, 1 or 2", low=0, high=2)
    hidden: int = _common(0, "--hidden", "units of the last network's first layers", low=0)
    inner: int = _common(0, "--inner", "units of its third layer", low=0)
    dimension: int = _common(0, "--dimension", "numbers of a vector, on axes of the teacher's space", low=0)
    frequencies: str = _common(
        "text",
        "--frequencies",
        "by what frequency a static student weighs pieces: in its text, the tokenizer's, or that of words",
        ("text", "unigram", "wordfreq"),
    )
    smoothing: float = _common(
        1e-3, "--smoothing", "a of a static student's weights a / (a + p), p a piece's frequency", low=1e-9, high=1.0
    )


@dataclass
class TrainingSettings:
    """How both stages compute their steps. What is saved, and measured on dev, is float32 whatever the precision."""

    precision: str = _common(
        "float32",
        "--train-precision",
        "precision of the layers over tokens in a training step",
        ("float32", "mixed_bfloat16"),
    )
    jit: bool = _common(False, "--jit/--no-jit", "compile training steps with XLA, for few shapes of batches")
    devices: int = _common(1, "--devices", "devices that share a training step, with KERAS_BACKEND=jax (0: all)", low=0)
    dropout: float = _common(
        0.0, "--dropout", "share of the numbers of the pieces' rows that a training step leaves out", low=0.0, high=0.9
    )


@dataclass
class TranslationSettings:
    """Questions in translation, for train questions without a twin in the teacher's language. CL-ReLKT, section 3.2."""

    file: str = _common(
        "", "--translations", "train questions in the teacher's language, a .jsonl or .tsv of id, text, language"
    )
    translators: tuple = _common(
        (),
        "--translator",
        "translate them with a model that CTranslate2 runs, of all languages or, as LANGUAGE=FOLDER, of one",
    )
    beam: int = _common(0, "--beam", "hypotheses of --translator, 1 is greedy (0: 4)", low=0, high=64)


@dataclass
class EvaluationSettings:
    """Things that are ranked, their scores, and measures of a run beside P@k and MRR.

    The first pair of what is ranked and a score steers both stages in place of `teacher.unit` and `student.dev_unit`.
    """

    ranked: tuple = _setting(Work.RUN, (), "--ranked", "what is ranked: document, passage", RANKED, may_be_empty=True)
    score: tuple = _setting(
        Work.RUN,
        (),
        "--score",
        "how: vector, its own; maxp, its best passage; sentence, its best sentence; sum, of a passage and its sentence",
        SCORES,
        may_be_empty=True,
    )
    lareqa: bool = _untuned(
        True, "--lareqa/--no-lareqa", "language bias by LAReQA's analyses, where the data gives sentence boundaries"
    )
    peers: tuple = _setting(Work.RUN, (), "--peers", "other encoders to measure beside, such as muse,e5")
    dev_dataset: str = _setting(
        Work.RUN | Work.STUDY,
        "",
        "--dev-dataset",
        "another data set, whose dev questions choose epochs in place of its own",
    )


@dataclass
class BudgetSettings:
    """The limits of a compressed bundle's size and time; without a limit on size or time nothing is searched."""

    max_size: str = _setting(Work.RUN, "", "--max-size", "the most a smaller bundle may take on disk, such as 10MB")
    max_ms: float = _setting(
        Work.RUN, 0.0, "--max-ms", "the most milliseconds a question may take it, in the median (0: no limit)", low=0.0
    )
    shapes: tuple = _setting(Work.RUN, SHAPE_NAMES, "--shapes", "shapes of smaller students to train", SHAPE_NAMES)
    new_languages: tuple = _untuned(
        (), "--new-languages", "languages that get new pieces [default: those muse never saw]"
    )
    new_pieces: int = _untuned(12_000, "--new-pieces", "pieces to learn for --new-languages, at most (0: none)", low=0)
    corpus: tuple = _setting(
        Work.RUN, (), "--corpus", "files of text in the languages: its pieces stay, and it is learned from"
    )


@dataclass
class Settings:
    """All of a run. `seed` decides splits, shuffling and negatives, `recipe` says what the others were made of."""

    recipe: str = _free("", "--recipe", "settings to begin with, by name; distill recipes lists them")
    seed: int = _common(0, "--seed", "number by which splits, shuffling and negatives are drawn", low=0, high=2**32 - 1)
    data: DataSettings = field(default_factory=DataSettings)
    teacher: TeacherSettings = field(default_factory=TeacherSettings)
    pairs: PairSettings = field(default_factory=PairSettings)
    student: StudentSettings = field(default_factory=StudentSettings)
    scorer: ScorerSettings = field(default_factory=ScorerSettings)
    vocabulary: VocabularySettings = field(default_factory=VocabularySettings)
    shape: ShapeSettings = field(default_factory=ShapeSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    export: ExportSettings = field(default_factory=ExportSettings)
    translation: TranslationSettings = field(default_factory=TranslationSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)


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
