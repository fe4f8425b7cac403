"""Rules on settings that exclude each other or need each other.

The limits of a single one are in its field of `sections`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING

from ..errors import ConfigError
from .choices import combine_units
from .stages import LossSettings, PairSettings, ScorerSettings, StudentSettings, TeacherSettings

if TYPE_CHECKING:
    from .sections import BudgetSettings, EvaluationSettings, VocabularySettings


def _check_triplets(teacher):
    if teacher.triplets and teacher.model:
        raise ConfigError("teacher.triplets: a fixed teacher is not trained; leave --triplets or --teacher-model out")
    if teacher.answer_sentences and teacher.model:
        raise ConfigError("teacher.answer_sentences: a fixed teacher is not trained; leave this or --teacher-model out")


def _check_translations(translation):
    if translation.file and translation.translators:
        raise ConfigError(
            "translation.file: translations come from this file or from translation.translators; give one of them"
        )
    if translation.beam and not translation.translators:
        raise ConfigError("translation.beam: it needs translation.translators, which is not given; leave it out")


def _check_quota(teacher):
    if teacher.hard_quota > teacher.negatives:
        name, got = "teacher.hard_quota", teacher.hard_quota
        raise ConfigError(f"{name}: expected at most teacher.negatives, which is {teacher.negatives}, got {got}")
    if teacher.hard_quota >= 0 and teacher.positives == "maxp":
        raise ConfigError("teacher.hard_quota: it does not go with teacher.positives = maxp; leave one out")


def _check_of_triplets(teacher):
    """Refuse settings of triplets beside pairs."""
    values = {"hard_quota": -1, "questions": "own", "train_unit": "passage", "triplets_apart": False}
    values |= {"bm25_negatives": 0}
    for name in (name for name, default in values.items() if getattr(teacher, name) != default):
        # A fixed teacher is not trained, whatever a recipe holds; an option that asks for training is refused before.
        if teacher.loss == "softmax" and not teacher.model:
            raise ConfigError(f"teacher.{name}: it is of triplets, and --loss softmax learns from none; leave one out")
    if teacher.train_unit != "passage" and (teacher.positives == "maxp" or teacher.answer_sentences):
        raise ConfigError(
            "teacher.train_unit: a whole document has no best passage or sentence; leave teacher.positives and "
            "teacher.answer_sentences out"
        )


def _check_quantised(student, export):
    name, quantised, epochs = "student.quantised_epochs", student.quantised_epochs, student.epochs
    # Without an epoch there is none to round, so `--epochs 0` is accepted with every recipe.
    if epochs and quantised > epochs:
        raise ConfigError(f"{name}: expected at most student.epochs, which is {epochs}, got {quantised}")
    if quantised and export.precision == "float32" and not _is_rounded(export.table):
        raise ConfigError(
            f"{name}: nothing is rounded in {export.precision} with a table in {export.table}; "
            "give 0, or another export.precision or export.table"
        )
    if student.start_share and quantised and export.precision == "int4":
        raise ConfigError(
            "student.start_share: quantised epochs in int4 put the units of layers in another order than the start, "
            "so that the mean of both is neither; leave it out, or set student.quantised_epochs to 0"
        )


def _is_rounded(table):
    from ..export.weights.codecs import CODECS

    return CODECS[table].rounds


def _check_pairs(teacher, pairs):
    if teacher.model and teacher.loss == "softmax":
        raise ConfigError("teacher.loss: a fixed teacher is not trained; leave --loss or --teacher-model out")
    if teacher.loss == "softmax":
        return
    for item in fields(pairs):
        if getattr(pairs, item.name) != item.default:
            raise ConfigError(f"pairs.{item.name}: only --loss softmax uses it; give that too, or leave it out")


def _check_sentences(teacher, pairs):
    """Refuse settings that look for passages beside pairs of sentences."""
    if pairs.unit != "sentence":
        if pairs.context:
            raise ConfigError("pairs.context: it is the paragraph of a sentence; give pairs.unit = sentence too")
        return
    for name, given in (("hard_negatives", pairs.hard_negatives), ("self_train", pairs.self_train)):
        if given:
            raise ConfigError(f"pairs.unit: pairs.{name} looks for passages; set it to 0 beside pairs.unit = sentence")
    if teacher.answer_sentences:
        raise ConfigError("pairs.unit: all answers are sentences already; leave teacher.answer_sentences out")


def _check_share(pairs, student, teacher):
    if not pairs.parallel_share:
        return
    if not student.parallel:
        raise ConfigError("pairs.parallel_share: there is no parallel text; name some with --parallel")
    if pairs.batches not in ("x-en", "x-y"):
        raise ConfigError(f"pairs.parallel_share: batches of {pairs.batches} hold no translations; take x-en or x-y")
    if not 0 < round(teacher.batch_size * pairs.parallel_share) < teacher.batch_size:
        raise ConfigError(
            f"pairs.parallel_share: {pairs.parallel_share} of a batch of {teacher.batch_size} leaves no room for pairs "
            "or for lines; take another share, or a larger teacher.batch_size"
        )


def _check_dropout(training, pairs):
    if training.dropout and pairs.chunk_size:
        raise ConfigError(
            "training.dropout: pairs.chunk_size computes vectors twice, and dropout would change them in between; "
            "leave one of both out"
        )


def _check_averaged(student):
    if student.epochs and student.averaged_epochs > student.epochs:
        name, got = "student.averaged_epochs", student.averaged_epochs
        raise ConfigError(f"{name}: expected at most student.epochs, which is {student.epochs}, got {got}")


def _check_scorer(scorer, teacher):
    for item in fields(scorer):
        if not scorer.encoder and getattr(scorer, item.name) != item.default:
            raise ConfigError(f"scorer.{item.name}: it needs an encoder that scores; name one with --scorer")
    if scorer.encoder and scorer.stages == ("teacher",) and teacher.model:
        raise ConfigError("scorer.stages: a fixed teacher is not trained; leave this or --teacher-model out")


def _check_table_rate(student):
    name = "student.table_learning_rate"
    if student.table_learning_rate and not student.train_table:
        raise ConfigError(f"{name}: student.train_table = false leaves the table as it is; leave one of them out")
    if student.table_learning_rate and not student.learning_rate:
        raise ConfigError(f"{name}: it is a multiple of student.learning_rate, which is 0; give that too")


def _check_codewords(student):
    name = "student.train_codewords"
    if student.train_codewords and student.train_table:
        raise ConfigError(
            f"{name}: rows that move by themselves have other codewords; add --set student.train_table=false"
        )
    if student.train_codewords and student.quantised_epochs < student.epochs:
        raise ConfigError(
            f"{name}: codewords are trained while they are rounded; set student.quantised_epochs to "
            f"student.epochs, which is {student.epochs}"
        )


def _check_trained(student, vocabulary):
    if student.trained_weights == "new-rows" and not vocabulary.add_languages:
        raise ConfigError("student.trained_weights: there are no new rows; name languages with --add-languages")
    if student.trained_weights == "typed-rows" and not student.typed_share:
        raise ConfigError(
            "student.trained_weights: no text is learned as people type it; set student.typed_share above 0"
        )
    if student.trained_weights != "all" and not student.train_table:
        raise ConfigError(
            "student.train_table: false leaves nothing to train, as student.trained_weights names rows of the table"
        )


def _check_translation(student):
    if "translation" not in student.objectives:
        return
    if not (student.parallel or student.labelled_text):
        raise ConfigError(
            "student.objectives: translation ranks lines of text, and there are none; name some with --parallel or "
            "--labelled-text, or leave it out"
        )
    if student.lines_a_step < 2:
        raise ConfigError(
            "student.lines_a_step: translation ranks the lines of a step, expected 2 or more, "
            f"got {student.lines_a_step}"
        )


def _check_self_training(pairs):
    if pairs.self_train_always > pairs.self_train:
        name, got = "pairs.self_train_always", pairs.self_train_always
        raise ConfigError(f"{name}: expected at most pairs.self_train, which is {pairs.self_train}, got {got}")
    counts = pairs.self_train_negatives
    if not counts or not all(count.isdecimal() and len(count) < 10 for count in counts):
        raise ConfigError(
            "pairs.self_train_negatives: expected whole numbers such as 32 or, one for each stage, 32,50, "
            f"got {','.join(counts) or 'none'}"
        )


def _check_numbers(student, shape):
    parse_numbers(student.nested, "student.nested")
    parse_numbers(shape.orders, "shape.orders")


def _check_units(evaluation):
    combine_units(evaluation.ranked, evaluation.score)


def _check_words(words):
    if words.add_words and not (words.add_languages and words.aligner):
        raise ConfigError("vocabulary.add_words: they need --add-languages, and --aligner for their rows")
    if words.aligner_below and not words.aligner:
        raise ConfigError("vocabulary.aligner_below: nothing aligns; name an encoder with --aligner, or leave it out")


def _check_centre(teacher):
    if teacher.centre and not teacher.model:
        raise ConfigError("teacher.centre: only a fixed teacher is centred; name one with --teacher-model")


# The settings that apply to a fixed teacher; all others describe training.
OF_FIXED = ("language", "base", "model", "centre", "unit", "allow_weak")


def require_trained(named: Iterable[str], teacher: TeacherSettings) -> None:
    """Refuse options of teacher training beside a fixed teacher.

    A recipe or a config may hold such settings: one that trains a teacher may be used with a teacher that is there.
    """
    for name in named if teacher.model else ():
        section, _, key = name.partition(".")
        if section == "teacher" and key not in OF_FIXED and getattr(teacher, key):
            raise ConfigError(f"{name}: a fixed teacher is not trained; leave this or --teacher-model out")


def require_judged(
    named: Iterable[str], teacher: TeacherSettings, student: StudentSettings, evaluation: EvaluationSettings
) -> None:
    """Refuse a unit that is named to choose epochs where what is ranked, and how it is scored, names another."""
    units, given = combine_units(evaluation.ranked, evaluation.score), {*named}
    for name, unit in (("teacher.unit", teacher.unit), ("student.dev_unit", student.dev_unit)):
        if units and name in given and unit != units[0]:
            raise ConfigError(
                f"{name}: epochs are chosen by {units[0]}, as evaluation.ranked and evaluation.score say, here or in "
                f"the recipe, and not by {unit}; give these, such as --ranked document --score maxp, or leave it out"
            )


def require_effect(
    named: Collection[str],
    teacher: TeacherSettings,
    student: StudentSettings,
    evaluation: EvaluationSettings,
    vocabulary: VocabularySettings,
    pairs: PairSettings,
    scorer: ScorerSettings,
    searched: bool = False,
) -> None:
    """Refuse settings that are named although others leave them nothing to do, unless these are `searched`."""
    require_trained(named, teacher)
    require_judged(named, teacher, student, evaluation)
    losses = [item.name for item in fields(LossSettings)]
    users = {f"student.losses.{one}": (one in student.objectives, f"{one} in student.objectives") for one in losses}
    by_distance = not {"qq", "dd", "dq"}.isdisjoint(student.objectives), "qq, dd or dq in student.objectives"
    judges = "teacher" in scorer.stages and not teacher.model, "a teacher that is trained and learns from the scorer"
    mines = pairs.self_train > 0, "pairs.self_train above 0"
    users |= {
        **dict.fromkeys(("student.distance", "student.nested"), by_distance),
        **dict.fromkeys(("scorer.filter_margin", "scorer.negatives"), judges),
        **dict.fromkeys(("pairs.self_train_top", "pairs.self_train_negatives"), mines),
        "student.document_tokens": ("dd" in student.objectives, "dd in student.objectives"),
        "student.patience": (not student.averaged_epochs, "student.averaged_epochs = 0"),
        "teacher.negatives": (teacher.loss != "softmax", "triplets, as pairs have pairs.hard_negatives"),
        "vocabulary.aligner": (
            bool(vocabulary.add_languages or vocabulary.aligner_below),
            "--add-languages or vocabulary.aligner_below above 0",
        ),
        "student.whitening": (student.distance == "whitened", "student.distance = whitened"),
        "student.typed_kinds": (student.typed_share > 0, "student.typed_share above 0"),
        "teacher.temperature": (teacher.loss == "contrastive", "--loss contrastive"),
        "teacher.triplets_an_epoch": (bool(teacher.triplets), "--triplets"),
        "vocabulary.add_pieces": (bool(vocabulary.add_languages), "--add-languages"),
    }
    parts = {"teacher": teacher, "student": student, "vocabulary": vocabulary, "pairs": pairs, "scorer": scorer}
    for name in () if searched else named:
        is_used, user = users.get(".".join(name.split(".")[:3]), (True, ""))
        section, _, key = name.partition(".")
        if not is_used and attrgetter(key)(parts[section]) != attrgetter(key)(type(parts[section])()):
            raise ConfigError(f"{name}: nothing uses it without {user}; give that too, or leave it out")


def require_limit(named: Iterable[str], budget: BudgetSettings) -> None:
    """Refuse settings of a run's smaller bundle that are named although no limit has one searched for."""
    if budget.max_size or budget.max_ms:
        return
    for name in named:
        section, _, key = name.partition(".")
        if section == "budget" and getattr(budget, key) != getattr(type(budget)(), key):
            raise ConfigError(f"{name}: nothing uses it without --max-size or --max-ms; give one too, or leave it out")


def parse_numbers(names: Sequence[str], setting: str) -> tuple[int, ...]:
    """Read distinct whole numbers above zero."""
    if not all(name.isdecimal() and len(name) < 10 and int(name) > 0 for name in names) or len(set(names)) < len(names):
        raise ConfigError(f"{setting}: expected different whole numbers such as 64,128,256, got {','.join(names)}")
    return tuple(int(name) for name in names)


# Each rule raises `ConfigError` if settings of these sections exclude each other.
RULES: tuple[tuple[Callable[..., None], tuple[str, ...]], ...] = (
    (_check_numbers, ("student", "shape")),
    (_check_quantised, ("student", "export")),
    (_check_averaged, ("student",)),
    (_check_translation, ("student",)),
    (_check_table_rate, ("student",)),
    (_check_codewords, ("student",)),
    (_check_trained, ("student", "vocabulary")),
    (_check_scorer, ("scorer", "teacher")),
    (_check_triplets, ("teacher",)),
    (_check_quota, ("teacher",)),
    (_check_of_triplets, ("teacher",)),
    (_check_translations, ("translation",)),
    (_check_pairs, ("teacher", "pairs")),
    (_check_self_training, ("pairs",)),
    (_check_sentences, ("teacher", "pairs")),
    (_check_share, ("pairs", "student", "teacher")),
    (_check_dropout, ("training", "pairs")),
    (_check_units, ("evaluation",)),
    (_check_words, ("vocabulary",)),
    (_check_centre, ("teacher",)),
)
