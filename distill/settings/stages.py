"""The settings of the two stages, their labels among them."""

from dataclasses import dataclass

from .choices import ALL_UNITS, TYPED
from .fields import FLAG, MAIN, Names, Work, common, learned, section, setting, untuned

OBJECTIVES = ("qq", "dd", "dq")
FILTERS = ("passage", "answer", "parallel")


@dataclass
class TeacherSettings:
    """Stage 1. Values that CL-ReLKT searched: Table 1; epochs: section 3.1 and A.5.1."""

    language: str = common(
        "en", "--teacher", "the language the teacher learns in, one that the base knows well", offer=MAIN
    )
    base: str = untuned("muse", "--base", "the pretrained encoder to start from", offer=MAIN, names=Names.ENCODER)
    model: str = common(
        "",
        "--teacher-model",
        "a teacher that stays as it is, e5 or any encoder; no stage 1 then",
        offer=MAIN,
        names=Names.ENCODER,
        commands="run",
        instead="it is not trained; give it to distill transfer as --teacher, or to distill tune as --teacher-path",
    )
    centre: bool = common(
        False,
        "--centre/--no-centre",
        "take off the mean of the --teacher-model's vectors, of questions and of documents",
        commands="run",
    )
    loss: str = learned(
        "triplet",
        "--loss",
        "the teacher's loss",
        ("triplet", "contrastive", "softmax"),
        offer=MAIN,
        only={"softmax": "run teach"},
    )
    margin: float = learned(
        0.3,
        "--margin",
        "by how much a negative shall be farther than the positive, in cosine distance",
        low=0.0,
        high=2.0,
    )
    temperature: float = learned(0.05, "--temperature", "temperature of the contrastive loss", low=1e-4, high=10.0)
    negatives: int = learned(3, "--negatives", "negatives a question", low=1, high=1000)
    learning_rate: float = learned(
        1e-4, "--teacher-learning-rate", "Adam's learning rate, by teacher.schedule", low=0.0, high=1.0
    )
    batch_size: int = learned(16, "--teacher-batch-size", "questions in a training step", low=1)
    bm25_epochs: int = learned(3, "--bm25-epochs", "epochs with BM25 negatives", low=0, offer=MAIN)
    bm25_words: str = learned(
        "plain", "--bm25-words", "what BM25 compares: words as written, or without inflection", ("plain", "morphology")
    )
    online_epochs: int = learned(
        5, "--online-epochs", "epochs with negatives mined from the encoder", low=0, offer=MAIN
    )
    unit: str = common("maxp", "--teacher-unit", "what is ranked to choose the teacher's best epoch on dev", ALL_UNITS)
    train_table: bool = learned(True, "--teacher-table/--no-teacher-table", "train the embedding table too")
    hard_quota: int = learned(
        -1,
        "--hard-quota",
        "how many of teacher.negatives in online epochs are hard, the rest semi-hard, each the nearest (-1: no quota)",
        low=-1,
        high=1000,
    )
    questions: str = common(
        "own", "--teacher-questions", "questions of its triplets: those in its language, or in all", ("own", "all")
    )
    train_unit: str = common(
        "passage",
        "--teacher-train-unit",
        "positives and negatives of its triplets; passage-then-document: documents in online epochs alone",
        ("passage", "document", "passage-then-document"),
    )
    positives: str = learned(
        "gold", "--positives", "in online epochs: the gold passage, or the document's nearest passage", ("gold", "maxp")
    )
    triplets: tuple = common(
        (),
        "--triplets",
        "more questions with their passages, FILE or FILE=WEIGHT: .tsv, .jsonl, a data set's train or, as DIR:all, all",
        offer=FLAG,
        names=Names.WEIGHTED_FILES,
        card="triplets",
    )
    answer_sentences: bool = common(
        False,
        "--answer-sentences/--no-answer-sentences",
        "the sentence that holds the answer is a positive too, where data has answers",
    )
    allow_weak: bool = setting(
        # No trial's figures depend on it, but studies that were begun have noted it.
        Work.TRIAL,
        False,
        "--allow-weak-teacher/--no-weak-teacher",
        "go on with a teacher that does not beat its base on dev, or a --teacher-model that is worse",
        offer=FLAG,
        commands="run tune",
    )
    triplets_an_epoch: int = learned(
        -1,
        "--triplets-an-epoch",
        "questions of --triplets in an epoch (-1: as many as train questions, 0: all)",
        low=-1,
    )
    schedule: str = learned(
        "plateau",
        "--teacher-schedule",
        "stage 1's learning rate: halved when dev stalls, or evenly down to none",
        ("plateau", "linear"),
    )
    warmup_share: float = learned(
        0.0,
        "--teacher-warmup-share",
        "share of stage 1's steps in which the learning rate rises evenly",
        low=0.0,
        high=0.9,
    )


@dataclass
class PairSettings:
    """Stage 1 with `--loss softmax`: pairs of many languages. LAReQA section 4, Sentri section 3."""

    batches: str = common(
        "en-en",
        "--batches",
        "languages of a batch's questions and passages, en the teacher's",
        ("en-en", "x-en", "x-x", "x-x-mono", "x-y"),
    )
    unit: str = common(
        "passage", "--pair-unit", "what answers a question: its passage, or the sentence in it", ("passage", "sentence")
    )
    scale: float = common(20.0, "--scale", "scale of similarities in the softmax, at the start", low=1e-2, high=1e4)
    hard_negatives: int = common(
        1, "--hard-negatives", "hard negatives a question, beside its batch's passages", low=0, high=1000
    )
    pairs_an_epoch: int = common(
        0, "--pairs-an-epoch", "pairs drawn in an epoch (0: as many as there are questions)", low=0
    )
    chunk_size: int = common(
        0, "--chunk-size", "pairs that gradients are computed of at once, by gradient caching (0: the batch)", low=0
    )
    filters: tuple = common(
        FILTERS,
        "--filters",
        "false negatives left out of a batch: those with the same passage, answer, or parallel passage",
        FILTERS,
        may_be_empty=True,
    )
    filter_margin: float = common(
        0.0,
        "--filter-margin",
        "also leave out what is nearer than the positive by more than this (0: nothing)",
        low=0.0,
        high=2.0,
    )
    parallel_share: float = common(
        0.0,
        "--parallel-share",
        "share of a batch that is --parallel text, asking for its translation",
        low=0.0,
        high=0.9,
    )
    encoders: str = common(
        "single", "--encoders", "one encoder for both, or one of questions and one of passages", ("single", "dual")
    )
    self_train: int = common(
        0,
        "--self-train",
        "stages that mine pairs with the last stage's encoder, after one of BM25 (0: no mining)",
        low=0,
        commands="run",
        instead="a run's folder keeps the stages of self-training; leave it out",
    )
    self_train_always: int = common(
        0,
        "--self-train-always",
        "of these stages, the first that are trained even after one that is no better on dev",
        low=0,
        commands="run",
    )
    self_train_top: int = common(
        50, "--self-train-top", "passages a question that are looked at for answers", low=1, commands="run"
    )
    self_train_negatives: tuple = common(
        ("32",),
        "--self-train-negatives",
        "of these, the highest without an answer that are kept as hard negatives, at most; 32,50 is a number for each "
        "stage from BM25's on, the last one for those that follow",
        commands="run",
    )

    def negatives_of(self, stage: int) -> int:
        """Return how many hard negatives a `stage` of self-training, from 0 on, keeps of each question."""
        return int(self.self_train_negatives[min(stage, len(self.self_train_negatives) - 1)])


@dataclass
class RankingSettings:
    """`list`: the softmax of the student's scores of documents against that of the teacher's."""

    weight: float = learned(
        1.0, "--list-weight", "weight of list, the teacher's ranking", low=0.0, was="student.list_weight"
    )
    temperature: float = learned(
        0.05,
        "--list-temperature",
        "temperature of both rankings in list",
        low=1e-4,
        high=10.0,
        was="student.list_temperature",
    )


@dataclass
class SoftmaxSettings:
    """`softmax`: -log softmax of a question's own document among others."""

    weight: float = learned(
        0.1,
        "--softmax-weight",
        "weight of softmax, a question's own document",
        low=0.0,
        was="student.softmax_weight",
    )
    temperature: float = learned(
        0.05,
        "--softmax-temperature",
        "temperature of softmax",
        low=1e-4,
        high=10.0,
        was="student.softmax_temperature",
    )
    among: str = learned(
        "batch",
        "--softmax-among",
        "documents of softmax: those of the batch, of the first unit, or all, of each unit",
        ("batch", "all"),
        was="student.softmax_among",
    )


@dataclass
class LineSettings:
    """`translation`: -log softmax of a line's own label among those of a step's lines."""

    weight: float = learned(
        0.1,
        "--translation-weight",
        "weight of translation, a line's own label among the step's",
        low=0.0,
        was="student.translation_weight",
    )
    temperature: float = learned(
        0.05,
        "--translation-temperature",
        "temperature of translation",
        low=1e-4,
        high=10.0,
        was="student.translation_temperature",
    )


@dataclass
class LossSettings:
    """The parts of the student's loss, by their names in `student.objectives`; Equation 2's are weights alone."""

    qq: float = learned(1.0, "--beta", "weight of question-question", low=0.0, was="student.beta")
    dd: float = learned(1.0, "--lambda", "weight of document-document", low=0.0, was="student.lambda")
    dq: float = learned(1.0, "--omega", "weight of document-question", low=0.0, was="student.omega")
    list: RankingSettings = section(RankingSettings)
    softmax: SoftmaxSettings = section(SoftmaxSettings)
    translation: LineSettings = section(LineSettings)


@dataclass
class StudentSettings:
    """Stage 2, Equation 2 of CL-ReLKT."""

    objectives: tuple = learned(
        OBJECTIVES,
        "--objectives",
        "parts of the loss: qq, dd, dq of Equation 2, and list, softmax, translation",
        (*OBJECTIVES, "list", "softmax", "translation"),
        offer=FLAG,
    )
    losses: LossSettings = section(LossSettings)
    gamma: float = learned(100.0, "--gamma", "scale of the whole loss", low=0.0)
    distance: str = learned("squared_l2", "--distance", "distance between vectors", ("squared_l2", "cosine"))
    learning_rate: float = learned(
        5e-4, "--student-learning-rate", "Adam's learning rate, at its highest", low=0.0, high=1.0
    )
    table_learning_rate: float = learned(
        0.0,
        "--table-learning-rate",
        "learning rate of the student's embedding table (0: that of the rest)",
        low=0.0,
        high=1.0,
    )
    schedule: str = learned(
        "plateau",
        "--schedule",
        "the student's learning rate: halved when dev stalls, or evenly down to none",
        ("plateau", "linear"),
    )
    warmup_share: float = learned(
        0.0, "--warmup-share", "share of the student's steps in which the learning rate rises evenly", low=0.0, high=0.9
    )
    batch_size: int = learned(32, "--student-batch-size", "questions in a training step", low=1)
    epochs: int = learned(10, "--epochs", "epochs of the student, at most", low=0, offer=MAIN)
    quantised_epochs: int = learned(
        0, "--quantised-epochs", "how many of the last epochs have weights rounded as in the bundle", low=0
    )
    averaged_epochs: int = learned(
        0, "--averaged-epochs", "the student is the mean of so many epochs at the end (0: the best on dev)", low=0
    )
    # A search measures its students as they were trained.
    start_share: float = setting(
        Work.RUN,
        0.0,
        "--start-share",
        "share of the weights it starts from in the student at the end, which keeps more of what the start is good at",
        low=0.0,
        high=1.0,
    )
    significance: float = setting(
        Work.RUN,
        0.0,
        "--significance",
        "a student replaces what it starts from only where dev's MRR rises with a p below this (0: no test)",
        low=0.0,
        high=1.0,
    )
    patience: int = learned(4, "--student-patience", "evaluations without a better dev score before it stops", low=1)
    evaluate_every: int = learned(0, "--evaluate-every", "steps between evaluations (0: once an epoch)", low=0)
    units: tuple = common(
        ("document", "passage"),
        "--student-units",
        "what Equation 2 calls a document, one or both",
        ("document", "passage"),
    )
    dev_unit: str = common(
        "document", "--student-dev-unit", "what is ranked to choose the student's best epoch on dev", ALL_UNITS
    )
    document_tokens: int = learned(
        2048, "--document-tokens", "tokens of documents that dd encodes a step, on average (0: all)", low=0
    )
    train_table: bool = learned(True, "--student-table/--no-student-table", "train the embedding table too")
    trained_weights: str = common(
        "all",
        "--trained-weights",
        "all of the student's weights, its table alone, or of that the rows of pieces for new languages or of those "
        "that texts have oftener as people type them",
        ("all", "table", "new-rows", "typed-rows"),
    )
    nested: tuple = learned((), "--nested", "prefixes of the vectors that shall serve too, such as 64,128,256")
    lines_a_step: int = learned(
        64, "--lines-a-step", "lines of parallel text, or of a corpus that is labelled, a step", low=0
    )
    typed_share: float = common(
        0.0,
        "--typed-share",
        "share of questions and of lines of text that are learned as people type them, with typos and the like",
        low=0.0,
        high=1.0,
    )
    typed_kinds: tuple = common(TYPED, "--typed-kinds", "how people type them", TYPED)
    parallel: tuple = common(
        (),
        "--parallel",
        "parallel text, FILE or FILE=WEIGHT: a .tsv headed by languages, .jsonl, or a folder",
        offer=MAIN,
        names=Names.WEIGHTED_FILES,
        commands="run teach transfer tune compress",
        card="parallel_text",
    )
    teacher_samples: bool = common(
        True,
        "--teacher-samples/--no-teacher-samples",
        "the student learns questions in the teacher's language too, as that of CL-ReLKT does not",
    )
    own_text: bool = common(
        False,
        "--own-text/--no-own-text",
        "learn from the data set's own parallel.tsv and descriptions.jsonl too",
        offer=FLAG,
        names=Names.OWN_TEXT,
    )
    labelled_text: tuple = common(
        (),
        "--labelled-text",
        "text in languages that the teacher knows, learned as it gives it: LANGUAGE=FILE",
        offer=FLAG,
        names=Names.LANGUAGE_FILES,
        card="labelled_text",
    )
    # Of a run alone: what it trains is compressed as it is.
    start: str = setting(
        Work.RUN,
        "",
        "--student",
        "the encoder the student starts from [default: the teacher, of a fixed one --base]",
        offer=MAIN,
        names=Names.ENCODER,
        commands="run",
        instead="a student starts there from its teacher, or from the encoder that distill transfer --start names",
    )
    parallel_temperature: float = learned(
        2.0,
        "--parallel-temperature",
        "how evenly languages of parallel text are drawn: 1 by their sizes, more is evener",
        low=1.0,
        high=1e6,
        commands="run teach transfer tune compress",
    )


@dataclass
class ScorerSettings:
    """Scores of another encoder as labels, in any space: its ranking of what a step holds. Both stages."""

    encoder: str = common(
        "",
        "--scorer",
        "an encoder whose scores are labels too: e5 or any other, of whatever space",
        offer=FLAG,
        names=Names.ENCODER,
    )
    stages: tuple = common(
        ("teacher", "student"), "--scorer-stages", "stages that learn from its scores", ("teacher", "student")
    )
    weight: float = common(1.0, "--scorer-weight", "weight of its ranking, a cross entropy of softmaxes", low=0.0)
    temperature: float = common(0.02, "--scorer-temperature", "temperature of its ranking", low=1e-4, high=10.0)
    learner_temperature: float = common(
        0.05, "--scorer-learner-temperature", "temperature of the ranking that learns from it", low=1e-4, high=10.0
    )
    margin_weight: float = common(
        0.0, "--scorer-margin-weight", "weight of its margins between positive and negatives, squared error", low=0.0
    )
    filter_margin: float = common(
        0.0,
        "--scorer-filter-margin",
        "stage 1: no negative is what it finds nearer than the positive by more than this (0: none)",
        low=0.0,
        high=2.0,
    )
    negatives: bool = common(
        False, "--scorer-negatives/--no-scorer-negatives", "stage 1's online epochs take what it finds nearest"
    )
