"""The settings of the two stages, their labels among them."""

from dataclasses import dataclass

from .choices import ALL_UNITS, MOST_WHITENING, TYPED
from .fields import FLAG, MAIN, Names, Work, common, learned, section, setting, untuned

OBJECTIVES = ("qq", "dd", "dq")
FILTERS = ("passage", "answer", "parallel")


@dataclass
class TeacherSettings:
    """Stage 1. Values that CL-ReLKT searched: Table 1; epochs: section 3.1 and A.5.1."""

    language: str = common(
        "en", "--teacher", "Language in which the teacher learns, one that the base knows well.", offer=MAIN
    )
    base: str = untuned("muse", "--base", "Pretrained encoder to start from.", offer=MAIN, names=Names.ENCODER)
    model: str = common(
        "",
        "--teacher-model",
        "Fixed teacher, such as e5 or any encoder. It is not trained, so stage 1 is skipped.",
        offer=MAIN,
        names=Names.ENCODER,
        commands="run",
        instead="it is not trained; give it to distill transfer as --teacher or to distill tune as --teacher-path",
    )
    centre: bool = common(
        False,
        "--centre/--no-centre",
        "Subtract the mean of the fixed teacher's vectors, of questions and of documents.",
        commands="run",
    )
    loss: str = learned(
        "triplet",
        "--loss",
        "Loss of the teacher.",
        ("triplet", "contrastive", "softmax"),
        offer=MAIN,
        only={"softmax": "run teach"},
    )
    margin: float = learned(
        0.3,
        "--margin",
        "Margin of the triplet loss: how much farther than the positive a negative must be, in cosine distance.",
        low=0.0,
        high=2.0,
    )
    temperature: float = learned(0.05, "--temperature", "Temperature of the contrastive loss.", low=1e-4, high=10.0)
    negatives: int = learned(3, "--negatives", "Negatives per question.", low=1, high=1000)
    learning_rate: float = learned(
        1e-4,
        "--teacher-learning-rate",
        "Learning rate of Adam at its highest; teacher.schedule lowers it.",
        low=0.0,
        high=1.0,
    )
    batch_size: int = learned(16, "--teacher-batch-size", "Questions per training step.", low=1)
    bm25_epochs: int = learned(3, "--bm25-epochs", "Epochs with BM25 negatives.", low=0, offer=MAIN)
    bm25_negatives: int = learned(
        0,
        "--bm25-negatives",
        "BM25's negatives per question, its best ones (0: teacher.negatives, drawn from four times as many).",
        low=0,
        high=1000,
    )
    bm25_words: str = learned(
        "plain",
        "--bm25-words",
        "Words that BM25 compares: as they are written (plain) or without inflection (morphology).",
        ("plain", "morphology"),
    )
    online_epochs: int = learned(
        5, "--online-epochs", "Epochs with negatives that are mined with the encoder.", low=0, offer=MAIN
    )
    unit: str = common("maxp", "--teacher-unit", "What is ranked to choose the teacher's best epoch on dev.", ALL_UNITS)
    trained_weights: str = learned(
        "all",
        "--teacher-trained-weights",
        "Weights of the teacher to train: all, the embedding table, or the network without the table.",
        ("all", "table", "network"),
    )
    hard_quota: int = learned(
        -1,
        "--hard-quota",
        "Number of teacher.negatives that are hard in online epochs; the others are semi-hard, and each "
        "is the nearest (-1: no quota).",
        low=-1,
        high=1000,
    )
    questions: str = common(
        "own",
        "--teacher-questions",
        "Questions of the teacher's triplets: those in its own language, in all languages, or in all others.",
        ("own", "all", "others"),
    )
    train_unit: str = common(
        "passage",
        "--teacher-train-unit",
        "Positives and negatives of the teacher's triplets; passage-then-document takes documents only "
        "in online epochs.",
        ("passage", "document", "passage-then-document"),
    )
    positives: str = learned(
        "gold",
        "--positives",
        "Positives: the gold passage; in online epochs the nearest passage of its document (maxp); or each passage "
        "of its document, with a triplet of its own (every-passage).",
        ("gold", "maxp", "every-passage"),
    )
    triplets_apart: bool = learned(
        False,
        "--triplets-apart/--no-triplets-apart",
        "Make a triplet of each negative, so that teacher.batch_size counts triplets and not questions.",
    )
    own_text: bool = common(
        False,
        "--teacher-own-text/--no-teacher-own-text",
        "Let the data set's descriptions.jsonl and the titles of its documents ask too.",
        names=Names.OWN_DESCRIPTIONS,
    )
    triplets: tuple = common(
        (),
        "--triplets",
        "More questions with their passages, FILE or FILE=WEIGHT: a .tsv, a .jsonl, a data set's train "
        "questions (DIR) or all of them (DIR:all).",
        offer=FLAG,
        names=Names.WEIGHTED_FILES,
        card="triplets",
    )
    answer_sentences: bool = common(
        False,
        "--answer-sentences/--no-answer-sentences",
        "Use the sentence that contains the answer as a positive too, if the data has answers.",
    )
    allow_weak: bool = setting(
        # No trial's figures depend on it, but studies that were begun have noted it.
        Work.TRIAL,
        False,
        "--allow-weak-teacher/--no-weak-teacher",
        "Continue with a --teacher-model that is worse on dev than the base.",
        offer=FLAG,
        commands="run tune",
    )
    triplets_an_epoch: int = learned(
        -1,
        "--triplets-an-epoch",
        "Questions of --triplets per epoch (-1: as many as train questions, 0: all).",
        low=-1,
    )
    schedule: str = learned(
        "plateau",
        "--teacher-schedule",
        "Schedule of the teacher's learning rate: halved when dev stalls, or linearly down to zero.",
        ("plateau", "linear"),
    )
    warmup_share: float = learned(
        0.0,
        "--teacher-warmup-share",
        "Share of the teacher's steps in which the learning rate rises linearly.",
        low=0.0,
        high=0.9,
    )


@dataclass
class PairSettings:
    """Stage 1 with `--loss softmax`: pairs of many languages. LAReQA section 4, Sentri section 3."""

    batches: str = common(
        "en-en",
        "--batches",
        "Languages of questions and passages in a batch, where en stands for the teacher's language.",
        ("en-en", "x-en", "x-x", "x-x-mono", "x-y"),
    )
    unit: str = common(
        "passage",
        "--pair-unit",
        "What answers a question: its passage, or the sentence in it.",
        ("passage", "sentence"),
    )
    context: bool = common(
        False,
        "--pair-context/--no-pair-context",
        "Read a sentence with its paragraph as a second segment, by embeddings of segments that are trained.",
        commands="teach",
        instead="a bundle has no place for segments; train by `distill teach`, or leave it out",
    )
    scale: float = common(20.0, "--scale", "Initial scale of the similarities in the softmax.", low=1e-2, high=1e4)
    scale_trained: bool = common(
        True,
        "--scale-trained/--no-scale-trained",
        "Train the scale; without it and with a scale of 1 the similarities are dot products.",
    )
    hard_negatives: int = common(
        1, "--hard-negatives", "Hard negatives per question, beside the passages of the batch.", low=0, high=1000
    )
    pairs_an_epoch: int = common(0, "--pairs-an-epoch", "Pairs per epoch (0: as many as there are questions).", low=0)
    chunk_size: int = common(
        0, "--chunk-size", "Pairs per gradient computation, with gradient caching (0: the whole batch).", low=0
    )
    filters: tuple = common(
        FILTERS,
        "--filters",
        "False negatives to leave out of a batch: those with the same passage, answer or parallel passage.",
        FILTERS,
        may_be_empty=True,
    )
    filter_margin: float = common(
        0.0,
        "--filter-margin",
        "Also leave out negatives that are nearer than the positive by more than this (0: none).",
        low=0.0,
        high=2.0,
    )
    parallel_share: float = common(
        0.0,
        "--parallel-share",
        "Share of a batch that is --parallel text, where a sentence asks for its translation.",
        low=0.0,
        high=0.9,
    )
    encoders: str = common(
        "single",
        "--encoders",
        "One encoder for questions and passages (single), or one for each (dual).",
        ("single", "dual"),
    )
    self_train: int = common(
        0,
        "--self-train",
        "Stages that mine pairs with the encoder of the stage before, after one with BM25 (0: no mining).",
        low=0,
        commands="run",
        instead="a run's folder keeps the stages of self-training; leave it out",
    )
    self_train_always: int = common(
        0,
        "--self-train-always",
        "Number of stages after stage 0 that are trained even if they are no better on dev.",
        low=0,
        commands="run",
    )
    self_train_top: int = common(
        50, "--self-train-top", "Passages per question that are searched for answers.", low=1, commands="run"
    )
    self_train_negatives: tuple = common(
        ("32",),
        "--self-train-negatives",
        "Most hard negatives to keep: the highest of these passages without an answer. A list such as 32,50 has one "
        "number per stage, from BM25's on; the last one holds for the stages that follow.",
        commands="run",
    )

    def negatives_of(self, stage: int) -> int:
        """Return how many hard negatives a `stage` of self-training, from 0 on, keeps of each question."""
        return int(self.self_train_negatives[min(stage, len(self.self_train_negatives) - 1)])


@dataclass
class RankingSettings:
    """`list`: the softmax of the student's scores of documents against that of the teacher's."""

    weight: float = learned(
        1.0,
        "--list-weight",
        "Weight of the list loss, which compares rankings with the teacher's.",
        low=0.0,
    )
    temperature: float = learned(
        0.05,
        "--list-temperature",
        "Temperature of both rankings in the list loss.",
        low=1e-4,
        high=10.0,
    )


@dataclass
class SoftmaxSettings:
    """`softmax`: -log softmax of a question's own document among others."""

    weight: float = learned(
        0.1,
        "--softmax-weight",
        "Weight of the softmax loss over a question's own document.",
        low=0.0,
    )
    temperature: float = learned(
        0.05,
        "--softmax-temperature",
        "Temperature of the softmax loss.",
        low=1e-4,
        high=10.0,
    )
    among: str = learned(
        "batch",
        "--softmax-among",
        "Documents in the softmax loss: those of the batch, in the first unit, or all, in each unit.",
        ("batch", "all"),
    )


@dataclass
class LineSettings:
    """`translation`: -log softmax of a line's own label among those of a step's lines."""

    weight: float = learned(
        0.1,
        "--translation-weight",
        "Weight of the translation loss, which finds a line's own label among those of the step.",
        low=0.0,
    )
    temperature: float = learned(
        0.05,
        "--translation-temperature",
        "Temperature of the translation loss.",
        low=1e-4,
        high=10.0,
    )


@dataclass
class LossSettings:
    """The parts of the student's loss, by their names in `student.objectives`; Equation 2's are weights alone."""

    qq: float = learned(1.0, "--beta", "Weight of the question-question loss.", low=0.0)
    dd: float = learned(1.0, "--lambda", "Weight of the document-document loss.", low=0.0)
    dq: float = learned(1.0, "--omega", "Weight of the document-question loss.", low=0.0)
    list: RankingSettings = section(RankingSettings)
    softmax: SoftmaxSettings = section(SoftmaxSettings)
    translation: LineSettings = section(LineSettings)


@dataclass
class StudentSettings:
    """The settings of stage 2, Equation 2 of CL-ReLKT.

    Example:
        >>> import distill
        >>> distill.StudentSettings(epochs=5).objectives
        ('qq', 'dd', 'dq')
    """

    objectives: tuple = learned(
        OBJECTIVES,
        "--objectives",
        "Parts of the student's loss: qq, dd and dq of Equation 2, list, softmax, translation.",
        (*OBJECTIVES, "list", "softmax", "translation"),
        offer=FLAG,
    )
    losses: LossSettings = section(LossSettings)
    gamma: float = learned(100.0, "--gamma", "Scale of the whole loss.", low=0.0)
    distance: str = learned(
        "squared_l2",
        "--distance",
        "Distance between vectors; whitened is squared_l2 where student.whitening has evened out the teacher's space.",
        ("squared_l2", "cosine", "whitened"),
    )
    whitening: float = learned(
        0.15,
        "--student-whitening",
        "Power of the whitening in student.distance=whitened: 0 leaves the teacher's space as it is, 0.5 gives each "
        "direction the same energy (Diera et al., 2024).",
        low=0.0,
        high=MOST_WHITENING,
    )
    learning_rate: float = learned(
        5e-4,
        "--student-learning-rate",
        "Learning rate of Adam at its highest; student.schedule lowers it.",
        low=0.0,
        high=1.0,
    )
    table_learning_rate: float = learned(
        0.0,
        "--table-learning-rate",
        "Learning rate of the student's embedding table (0: that of the other weights).",
        low=0.0,
        high=1.0,
    )
    schedule: str = learned(
        "plateau",
        "--schedule",
        "Schedule of the student's learning rate: halved when dev stalls, or linearly down to zero.",
        ("plateau", "linear"),
    )
    warmup_share: float = learned(
        0.0,
        "--warmup-share",
        "Share of the student's steps in which the learning rate rises linearly.",
        low=0.0,
        high=0.9,
    )
    batch_size: int = learned(32, "--student-batch-size", "Questions per training step.", low=1)
    epochs: int = learned(10, "--epochs", "Most epochs of the student.", low=0, offer=MAIN)
    quantised_epochs: int = learned(
        0, "--quantised-epochs", "Number of last epochs in which weights are rounded as in the bundle.", low=0
    )
    averaged_epochs: int = learned(
        0, "--averaged-epochs", "Number of last epochs whose mean is the student (0: the best epoch on dev).", low=0
    )
    # A search measures its students as they were trained, by a unit of its own.
    start_share: float = setting(
        Work.RUN,
        0.0,
        "--start-share",
        "Share of the initial weights to mix into the student at the end, which keeps more of what they are good at.",
        low=0.0,
        high=1.0,
        commands="run transfer tune",
    )
    significance: float = setting(
        Work.RUN,
        0.0,
        "--significance",
        "Replace the student's start only if dev MRR rises with a p below this (0: no test).",
        low=0.0,
        high=1.0,
        commands="run transfer tune",
    )
    patience: int = learned(
        4, "--student-patience", "Evaluations without a better dev score before training stops.", low=1
    )
    evaluate_every: int = learned(0, "--evaluate-every", "Steps between evaluations (0: once per epoch).", low=0)
    evaluate_epochs: bool = learned(
        True,
        "--evaluate-epochs/--no-evaluate-epochs",
        "Evaluate at the end of each epoch, beside student.evaluate_every, and not of the last one alone.",
    )
    units: tuple = common(
        ("document", "passage"),
        "--student-units",
        "What Equation 2 calls a document: documents, passages or both.",
        ("document", "passage"),
    )
    dev_unit: str = common(
        "document",
        "--student-dev-unit",
        "What is ranked to choose the student's best epoch on dev.",
        ALL_UNITS,
        commands="run transfer tune",
    )
    document_tokens: int = learned(
        2048, "--document-tokens", "Tokens of documents that dd encodes per step, on average (0: all).", low=0
    )
    train_table: bool = learned(True, "--student-table/--no-student-table", "Train the embedding table too.")
    train_codewords: bool = learned(
        False,
        "--train-codewords/--no-train-codewords",
        "Train the codewords that the start's table is stored in, in quantised epochs.",
    )
    trained_weights: str = common(
        "all",
        "--trained-weights",
        "Weights of the student to train: all, the embedding table, or its embeddings of tokens for new "
        "languages (new-rows) or of tokens that are more frequent in text as people type it "
        "(typed-rows).",
        ("all", "table", "new-rows", "typed-rows"),
    )
    nested: tuple = learned((), "--nested", "Prefixes of the vectors that must work too, such as 64,128,256.")
    lines_a_step: int = learned(
        64, "--lines-a-step", "Lines of parallel text, or of a labelled corpus, per training step.", low=0
    )
    typed_share: float = common(
        0.0,
        "--typed-share",
        "Share of questions and lines that are learned as people type them, with typos and the like.",
        low=0.0,
        high=1.0,
    )
    typed_kinds: tuple = common(TYPED, "--typed-kinds", "Ways of typing that are learned.", TYPED)
    parallel: tuple = common(
        (),
        "--parallel",
        "Parallel text, FILE or FILE=WEIGHT: a .tsv headed by languages, a .jsonl file, or a folder.",
        offer=MAIN,
        names=Names.WEIGHTED_FILES,
        commands="run teach transfer tune compress",
        card="parallel_text",
    )
    teacher_samples: bool = common(
        True,
        "--teacher-samples/--no-teacher-samples",
        "Let the student learn questions in the teacher's language too, unlike CL-ReLKT.",
    )
    own_text: bool = common(
        False,
        "--own-text/--no-own-text",
        "Learn from the data set's own parallel.tsv and descriptions.jsonl too.",
        names=Names.OWN_TEXT,
    )
    labelled_text: tuple = common(
        (),
        "--labelled-text",
        "Text to learn with the teacher's vectors, LANGUAGE=FILE, in languages that the teacher knows.",
        offer=FLAG,
        names=Names.LANGUAGE_FILES,
        card="labelled_text",
    )
    # Of a run alone: what it trains is compressed as it is.
    start: str = setting(
        Work.RUN,
        "",
        "--student",
        "Encoder that the student starts from. [default: the teacher, or --base if the teacher is fixed]",
        offer=MAIN,
        names=Names.ENCODER,
        commands="run",
        instead="a student starts there from its teacher, or from the encoder that distill transfer --start names",
    )
    parallel_temperature: float = learned(
        2.0,
        "--parallel-temperature",
        "How evenly the languages of parallel text are drawn: 1 is by size, and higher is more even.",
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
        "Encoder, in any vector space, whose scores are learned too, such as e5.",
        offer=FLAG,
        names=Names.ENCODER,
    )
    stages: tuple = common(
        ("teacher", "student"), "--scorer-stages", "Stages that learn from its scores.", ("teacher", "student")
    )
    weight: float = common(
        1.0, "--scorer-weight", "Weight of the ranking loss, a cross entropy between softmaxes.", low=0.0
    )
    temperature: float = common(
        0.02, "--scorer-temperature", "Temperature of the scorer's ranking.", low=1e-4, high=10.0
    )
    learner_temperature: float = common(
        0.05, "--scorer-learner-temperature", "Temperature of the ranking that learns from it.", low=1e-4, high=10.0
    )
    margin_weight: float = common(
        0.0,
        "--scorer-margin-weight",
        "Weight of the squared error between its margins of positives and negatives and ours.",
        low=0.0,
    )
    filter_margin: float = common(
        0.0,
        "--scorer-filter-margin",
        "Stage 1: leave out negatives that it ranks nearer than the positive by more than this (0: none).",
        low=0.0,
        high=2.0,
    )
    negatives: bool = common(
        False,
        "--scorer-negatives/--no-scorer-negatives",
        "Let online epochs of stage 1 take the negatives that it ranks nearest.",
    )
