"""Read and check the inputs of a run before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...data.contexts import PARALLEL, add_descriptions, add_titles
from ...data.corpora import find_corpus_reader
from ...data.corpus import read_corpus, read_words
from ...data.dataset import Dataset
from ...data.loading import load_dev, load_settings_data
from ...data.more_questions import load_triplets, warn_of_shared
from ...data.parallel import Parallel, collect_texts, make_labelled_text, read_parallel
from ...data.pool import Pool
from ...data.pool_readers import has_sentences, load_pool
from ...data.readers import find
from ...encoders.catalog.bundle import CARD_FILE, find_artefact, find_shipped
from ...encoders.catalog.identity import describe_training
from ...encoders.catalog.kinds import RUN_FILE, require_kind, require_trainable
from ...encoders.catalog.provenance import Sources, describe_learned, hash_run_files
from ...encoders.catalog.setting_files import named_paths
from ...errors import DataError, InputError
from ...export.weights.precision import Precision
from ...report.charts import ENCODERS
from ...settings.assignments import refuse_unused
from ...settings.choices import CHECKPOINT_SECONDS, EVERY
from ...settings.sections import ScorerSettings, Settings, TrainingSettings, TranslationSettings
from ...settings.store import check_settings, format_config, load_settings
from ...system.files import ASIDE, LOCK, require_free, require_writable
from ...system.input_files import read_json
from ...system.progress import say
from ...system.types import File
from ...vocabulary.typed.kinds import require_kinds
from .fixed_teacher import load_fixed_teacher
from .inputs import (
    Inputs,
    add_translated_questions,
    needed_question_languages,
    require_learnable,
    splits_to_measure,
)
from .resuming import STUDENT, hash_sources, is_finished, require_resumable, require_same_data
from .run import Provenance, Run, read_timings

# The folder of held-out lines in that of a run without questions, which is there before the run begins.
LINES = "lines"

if TYPE_CHECKING:
    from ...training.session import Scorer


def prepare(settings: Settings, folder: File, resume: bool = False, seconds: float = CHECKPOINT_SECONDS) -> Run:
    """Read and check everything that can be wrong before anything is written.

    With `resume` the folder holds a stopped run of the same settings. `seconds` pass between checkpoints within an
    epoch.
    """
    refuse_unused(settings, "run")
    settings, folder = settings.with_dev_units(), Path(folder)
    config = format_config(settings)
    if resume:
        require_resumable(config, folder)
        require_free(folder)
    training = drop_spent_devices(settings.training, folder) if resume else settings.training
    if training.devices != 1:
        from ...training.devices import require_devices

        require_devices(training)
    inputs, named = read_inputs(settings), named_paths(settings)
    sources = hash_sources(named, settings.teacher.model, inputs.fixed)
    if resume:
        require_same_data(folder, inputs.dataset.files, sources)
    else:
        require_new(folder, settings.data.dataset)
    if settings.evaluation.lareqa:
        inputs = replace(inputs, pool=load_lareqa_pool(settings.data.dataset, inputs.dataset, inputs.languages))
    described = inputs.described
    if described is None and inputs.titled is not None:
        described = add_descriptions(inputs.dataset, find(settings.data.dataset))
    of = Sources(inputs.dataset, inputs.languages, named, inputs.student_lines, described)
    learned = describe_learned(of, settings.teacher, settings.student, settings.evaluation.dev_dataset)
    return Run(
        inputs,
        folder,
        Provenance(config, describe_training(settings), learned, sources, *hash_run_files(inputs.dataset, named)),
        shape=settings.shape,
        training=training,
        export=settings.export,
        evaluation=settings.evaluation,
        resumed=resume,
        seconds=seconds,
        timings=read_timings(folder) if resume else {},
    )


def drop_spent_devices(training: TrainingSettings, folder: Path) -> TrainingSettings:
    """Return the settings that the rest of a run computes with: after the student no step is for several devices."""
    return replace(training, devices=1) if (folder / STUDENT).is_dir() else training


def require_new(folder: Path, data: File = "") -> None:
    """Raise `InputError` if a run's folder is not empty, is in use, or cannot be written.

    The lines that were held out for the run may be there, if they are its `data`.
    """
    with_lines = Path(data) == folder / LINES
    require_empty(folder, with_lines)
    if (folder / LOCK).is_file():
        require_free(folder)
    elif not with_lines:
        require_writable(folder)


def require_empty(folder: Path, with_lines: bool = False) -> None:
    """Raise `InputError` if a run's folder holds anything but the remains of a run that wrote nothing."""
    there = list(folder.iterdir()) if folder.is_dir() else [folder] * folder.exists()
    expected = (LOCK, LINES) if with_lines else (LOCK,)
    if [path for path in there if path.name not in expected and not ASIDE.fullmatch(path.name)]:
        stopped = (folder / RUN_FILE).is_file() and not is_finished(load_settings(folder / RUN_FILE).budget, folder)
        hint = f"; or go on with it: --resume {folder}" if stopped else ""
        raise InputError(f"{folder} is there already; choose another --name or remove it{hint}")


def read_inputs(settings: Settings) -> Inputs:
    """Read and check everything that a teacher and a student learn from. Raises `InputError`."""
    from .first_stage import collect_answering_passages, collect_pairs, require_lines

    settings = check_settings(settings).with_dev_units()
    data, teacher, student, vocabulary = settings.data, settings.teacher, settings.student, settings.vocabulary
    dataset = load_settings_data(data, settings.seed, (teacher.language,), with_lines=settings.learns_lines)
    languages = choose_languages(dataset, teacher.language, data.languages, settings.translation)
    dataset = add_translated_questions(settings.translation, dataset, teacher.language, languages)
    for source in filter(None, (teacher.base, student.start)):
        require_trainable(source)
    require_peers(settings.evaluation.peers)
    require_kinds(languages, student.typed_kinds if student.typed_share else ())
    text = read_corpus(vocabulary.text)
    inputs = read_student_inputs(settings, dataset, languages)
    require_text(vocabulary.add_languages, languages, {*text, *collect_texts(inputs.lines)})
    # A teacher that is trained needs some in its language.
    needed = () if teacher.model else (teacher.language,)
    dev = load_dev(settings.evaluation.dev_dataset, data.document_language, inputs.learned, needed)
    dev = say_shared(dev, dataset)
    triplets = load_triplets(teacher.triplets, dataset, teacher.language, settings.seed, data.split_by, dev)
    fixed = load_fixed_teacher(teacher.model) if teacher.model else None
    require_lines(settings.pairs.parallel_share, teacher.language, inputs.sources)
    asking = inputs.titled or dataset
    pairs = collect_pairs(data, teacher, settings.pairs, asking, languages)
    answered = collect_answering_passages(settings.pairs.self_train, data.dataset, asking, languages, pairs)
    inputs = replace(inputs, fixed=fixed, triplets=triplets, pairs=pairs, answered=answered)
    return replace(inputs, text=text, dev=dev, words=read_words(vocabulary.add_words))


def read_student_inputs(settings: Settings, dataset: Dataset, languages: tuple[str, ...]) -> Inputs:
    """Read everything that stage 2 learns from, for a run or for a search over its student."""
    inputs = Inputs(
        dataset,
        languages,
        settings.seed,
        teacher=settings.teacher,
        pairing=settings.pairs,
        student=settings.student,
        vocabulary=settings.vocabulary,
        precision=Precision(settings.export.precision, settings.export.table),
    )
    inputs = require_learnable(add_texts(inputs, settings.data.dataset))
    return replace(inputs, scorer=load_scorer(settings.scorer))


def add_texts(inputs: Inputs, source: str) -> Inputs:
    """Add the text that the student learns besides the questions."""
    from .first_stage import question_languages

    teacher, student, languages = inputs.teacher, inputs.student, inputs.languages
    # A teacher that learned pairs knows the languages that they are in.
    by_pairs = teacher.loss == "softmax" and not teacher.model
    known = question_languages(inputs.pairing.batches, teacher.language, languages) if by_pairs else ()
    folder = find(source) if student.own_text or teacher.own_text else None
    described = add_descriptions(inputs.dataset, folder) if folder else None
    beside = [str(folder / PARALLEL)] if folder and student.own_text and (folder / PARALLEL).is_file() else []
    sources = read_parallel([*student.parallel, *beside], teacher.language, languages)
    if others := sorted({language for source in sources for language in source.others}):
        say(f"parallel text in {', '.join(others)} is left out: there are no questions in these languages")
    return replace(
        inputs,
        sources=sources,
        labelled=read_labelled(student.labelled_text, teacher.model or teacher.base, known),
        described=described if student.own_text else None,
        titled=add_titles(described) if described and teacher.own_text else None,
    )


def load_scorer(options: ScorerSettings) -> Scorer | None:
    """Load the encoder whose scores are labels, or return None if the settings name none. Raises `EncoderError`."""
    from ...training.session import Scorer

    return Scorer(load_fixed_teacher(options.encoder), options) if options.encoder else None


def require_peers(peers: Sequence[str]) -> None:
    """Raise `InputError` for a peer named as one of the run's own encoders, `EncoderError` for an unknown one."""
    for peer in peers:
        if peer in ENCODERS:
            raise InputError(f"--peers: {peer} is the name of an encoder of the run; name a folder as ./{peer}")
        require_kind(peer)


def say_shared(dev: Dataset | None, dataset: Dataset) -> Dataset | None:
    """Say what a data set whose dev questions choose epochs shares with the run's own, and return it."""
    if dev is not None:
        warn_of_shared(dataset.name, dataset.passage_texts, dev)
    return dev


def read_labelled(files: Sequence[str], teacher: str, learned: Sequence[str] = ()) -> list[Parallel]:
    corpus = read_corpus(files)
    if unknown := [name for name in find_unseen_languages(teacher, list(corpus)) if name not in learned]:
        raise InputError(
            f"--labelled-text: {', '.join(unknown)}: {teacher} was not trained on it, so its vectors are no labels; "
            "give translations with --parallel, or another teacher"
        )
    return make_labelled_text(corpus)


def require_text(added: Sequence[str], languages: Sequence[str], written: Collection[str]) -> None:
    """Check the languages that get new tokens."""
    for language in added:
        if language not in languages:
            raise InputError(f"--add-languages: no questions in {language}; the run has {', '.join(languages)}")
        if language not in written:
            raise InputError(f"--add-languages: no text in {language}; give some with --text or --parallel")


def load_lareqa_pool(source: File, dataset: Dataset, languages: Sequence[str]) -> Pool | None:
    """Load the pool of sentences that language bias is measured on, if the data has sentence boundaries."""
    folder = find(source)
    # A released corpus's pool has other questions than its data set, and so other splits.
    another = (folder / "documents.jsonl").is_file() or find_corpus_reader(folder)
    if another or not has_sentences(folder, languages):
        return None
    split = splits_to_measure(dataset)[-1]
    try:
        return load_pool(folder, languages, EVERY).select(dataset.splits[split])
    except DataError as error:
        raise DataError(f"{error}; mend it, or leave language bias out with --no-lareqa") from error


def choose_languages(
    dataset: Dataset, language: str, requested: Sequence[str], translation: TranslationSettings
) -> tuple[str, ...]:
    """Choose the languages of a run, the teacher's first, whose questions may all be translations."""
    requested = requested or dataset.languages
    translated = {language} - set(needed_question_languages(translation, language))
    dataset.require([one for one in (language, *requested) if one not in translated])
    return tuple(dict.fromkeys([language, *sorted(requested)]))


def find_unseen_languages(base: str, languages: Sequence[str]) -> list[str]:
    """Return the languages that a base was not trained on, as far as its name tells."""
    from ...teachers.muse import LANGUAGES

    if find_shipped(base):
        known = read_json(find_artefact(base) / CARD_FILE)["languages"]
    else:
        known = LANGUAGES if base == "muse" else languages
    return [language for language in languages if language not in known]
