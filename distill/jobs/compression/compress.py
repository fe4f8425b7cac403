"""The work of `distill compress RUN`: the search over a run's student, its results, and the page that shows them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...data.corpus import read_corpus
from ...data.dataset import Dataset, digest_texts
from ...data.loading import load_dev, load_settings_data
from ...data.parallel import collect_texts, join_corpora
from ...encoders.catalog.bundle import find_artefact
from ...encoders.catalog.identity import describe_training
from ...encoders.catalog.kinds import RUN_FILE
from ...encoders.catalog.loading import load_keras_encoder, load_teacher
from ...encoders.catalog.provenance import read_learned
from ...errors import ConfigError, InputError
from ...report.run_page import write_report
from ...settings.assignments import refuse_unused
from ...settings.choices import SHAPE_NAMES
from ...settings.sections import BudgetSettings, Settings, Work
from ...settings.store import as_dict, list_free, load_settings
from ...system.backend import require_export_backend, start
from ...system.files import lock_folder, require_writable, write_aside, write_json
from ...system.hashes import digest
from ...system.input_files import read_json, read_jsonl
from ...system.progress import say
from ...system.types import File, Json, Model
from ..pipeline.inputs import add_translated_questions
from ..pipeline.preparing import choose_languages, find_unseen_languages, read_student_inputs, say_shared
from ..pipeline.resuming import clear_unfinished
from ..pipeline.second_stage import student_job
from .budget import Budget, parse_bytes

if TYPE_CHECKING:
    from ...students.shape import Shape
    from .rows import SearchResult

FOLDER, TRIALS, RESULT, CHOSEN, SETTINGS = "small", "trials", "search.json", "bundle", "settings.json"


def read_budget(budget: BudgetSettings, max_drop: float) -> Budget:
    """Return the limits of a search, with `max_drop` points of mean P@1; raise `ConfigError` for an unreadable size."""
    size = parse_bytes(budget.max_size) if budget.max_size else None
    return Budget(size, budget.max_ms or None, max_drop)


def is_limited(budget: BudgetSettings) -> bool:
    """Return True if the settings limit size or time. Raises `ConfigError` if the size cannot be read."""
    limits = read_budget(budget, 0.0)
    return limits.bytes is not None or limits.ms is not None


def is_run(folder: File) -> bool:
    """Return True if a folder is that of a run, finished or not."""
    return (Path(folder) / RUN_FILE).is_file()


def settings_of(folder: File) -> Path:
    """Return the path of a run's settings. Raises `InputError` if it is no finished run."""
    require_finished(Path(folder))
    return Path(folder) / RUN_FILE


def compress(folder: File, settings: Settings, output: File | None = None) -> SearchResult:
    """Search for smaller encoders, or continue a search, and return its result.

    The output folder then holds `trials/`, `search.json` and the chosen bundle in `bundle/`. The `report.html` of the
    run shows the search; a search in another folder has a report of its own.

    Args:
        folder: Folder of a finished run.
        settings: The settings of the search.
        output: Folder of the search; None for `folder/small`.

    Returns:
        The result of the search.

    Raises:
        InputError: If the folder is no finished run, the search was begun with other settings, or `output` holds other
            files.

    Example:
        >>> import distill
        >>> settings = distill.Settings()
        >>> settings.data.dataset, settings.budget.max_size = "my-data", "8MB"
        >>> result = distill.compress("my-run", settings)
    """
    from . import candidates
    from .budget_search import Search
    from .trials import Trials

    require_export_backend("distill compress")
    folder, metrics = Path(folder), require_finished(Path(folder))
    settings = settings.with_dev_units()
    refuse_unused(settings, "compress", load_settings(folder / RUN_FILE))
    data, language, options = settings.data, settings.teacher.language, settings.budget
    page, output = output_paths(folder, output)[0], Path(output or folder / FOLDER)
    rows = [row for _, row in read_jsonl(folder / "log.jsonl")]
    dataset = load_settings_data(data, settings.seed, (language,), with_lines=settings.learns_lines)
    languages = choose_languages(dataset, language, data.languages, settings.translation)
    dataset = add_translated_questions(settings.translation, dataset, language, languages)
    inputs = read_student_inputs(settings, dataset, languages)
    dev = say_shared(load_dev(settings.evaluation.dev_dataset, data.document_language, inputs.learned), dataset)
    corpus = join_corpora(read_corpus(options.corpus), collect_texts(inputs.lines))
    require_known("the run", languages, metrics["languages"])
    require_known("the search", options.new_languages, languages)
    if others := sorted(set(corpus) - set(languages)):
        say(
            f"no questions in {', '.join(others)}: the corpus in these languages counts for the tokens that are kept, "
            "and is learned from"
        )
    require_search_folder(output)
    require_same_inputs(output / TRIALS, search_inputs(as_dict(settings), inputs.described or dataset, corpus, dev))
    with lock_folder(output):
        clear_unfinished(output)
        material = _material(folder, inputs, corpus, options)
        notes = {**describe_training(settings), "source": folder.resolve().name, "languages": list(languages)}
        notes |= read_learned(metrics.get("learned", {}))
        model = material.words.student.model
        grid = candidates.choose_grid(model)
        trials = Trials(material, settings.export, settings.training, notes, grid, dev)
        shapes = possible_shapes(options.shapes, model, grid.shapes)
        budget = read_budget(options, settings.export.max_drop)
        epochs, seconds = settings.student.epochs, seconds_an_epoch(rows)
        result = Search(output / TRIALS, trials, budget, find_artefact(folder), shapes, epochs, seconds).run()
        shutil.rmtree(output / CHOSEN, ignore_errors=True)
        if result.chosen:
            _ship(output / TRIALS, result.chosen, output / CHOSEN)
        write_report(page, metrics, rows, result.as_dict())
        # The result is written last, as it marks a search as finished.
        write_json(output / RESULT, result.as_dict())
    return result


def output_paths(folder: File, output: File | None = None) -> tuple[Path, Path]:
    """Return the paths of the page and of the chosen bundle of a search."""
    return Path(output or folder) / "report.html", Path(output or Path(folder, FOLDER)) / CHOSEN


def _material(folder, inputs, corpus, budget):
    """Return the run's student, from which candidates are made, and everything that they learn from."""
    start()
    import keras

    from ...students.vocabulary.vocabularies import Additions, Vocabularies
    from .candidates import Material

    job = student_job(inputs)
    keras.utils.set_random_seed(job.seed)
    student, teacher = load_keras_encoder(folder), load_teacher(folder / "teacher")
    unseen = find_unseen_languages(inputs.teacher.base, inputs.languages)
    new = budget.new_languages or [name for name in unseen if name not in inputs.vocabulary.add_languages]
    words = Vocabularies(student, inputs.dataset, inputs.languages, corpus, new, Additions(budget.new_pieces))
    first = load_keras_encoder(job.table_of) if job.settings.trained_weights == "new-rows" else None
    return Material.of(words, job, teacher, first)


def possible_shapes(names: Sequence[str], model: Model, shapes: Mapping[str, Shape]) -> list[str]:
    """Return the shapes that a student can be cut to; a message explains the others, but those of another family."""
    kept = []
    for name in names:
        if name not in shapes:
            if tuple(names) != SHAPE_NAMES:
                say(f"{name}: left out: a shape of another family of networks")
            continue
        try:
            shapes[name].check(model)
            kept.append(name)
        except ConfigError as error:
            say(f"{name}: left out: {error}")
    return kept


def require_finished(folder: Path) -> dict[str, Json]:
    """Return the metrics of a finished run. Raises `InputError` for another folder."""
    path = folder / "metrics.json"
    if not path.is_file():
        raise InputError(
            f"{folder}: the folder has no metrics.json; give the folder of a finished `distill run`, or an encoder and "
            "--output"
        )
    return read_json(path)


def require_known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise `InputError` if languages are not among those known."""
    if other := [name for name in names if name not in known]:
        raise InputError(f"{what} has no {', '.join(other)}; it has {', '.join(known)}")


def search_inputs(
    values: Mapping[str, Json], dataset: Dataset, corpus: Mapping[str, Sequence[str]], dev: Dataset | None = None
) -> dict[str, Json]:
    """Return the plain values that trials depend on: settings, and hashes of texts whatever their files are called."""
    named = {"dev texts": digest_texts(dev)} if dev else {}
    return {**_bound(values), "texts": digest_texts(dataset), "corpus": digest(corpus), **named}


def _bound(values):
    """Return the settings that must be the same for all trials."""
    free = list_free(Work.COMPRESSION)
    return {name: _without(part, free, name) for name, part in values.items() if name not in free}


def _fill_defaults(values):
    """Return values, with the defaults of settings that they lack."""
    known = _bound(as_dict(Settings()))
    return {name: _above(part, known.get(name)) for name, part in values.items()}


def _above(values, known):
    """Merge nested values over known ones of the same name."""
    if not isinstance(values, dict) or not isinstance(known, dict):
        return values
    missing = {name: part for name, part in known.items() if name not in values}
    return {**missing, **{name: _above(part, known.get(name)) for name, part in values.items()}}


def _without(part, names, section):
    if not isinstance(part, dict):
        return part
    return {
        key: _without(value, names, f"{section}.{key}")
        for key, value in part.items()
        if f"{section}.{key}" not in names
    }


def require_search_folder(folder: Path) -> None:
    """Raise `InputError` if a folder holds files of no search, as its `bundle` would be replaced."""
    if (folder / RUN_FILE).is_file() or not (folder / TRIALS / SETTINGS).is_file():
        require_writable(folder)


def require_same_inputs(folder: Path, values: Mapping[str, Json]) -> None:
    """Write what the trials in a folder depend on, from `search_inputs`, or compare it with what is there."""
    path = folder / SETTINGS
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, values)
        return
    stored = read_json(path)
    before = _fill_defaults(_bound(stored)) if isinstance(stored, dict) else {}
    other = [key for key, value in values.items() if before.get(key) != value]
    if other:
        raise InputError(f"{folder} was made with other settings ({', '.join(other)}); remove it or repeat its command")


def seconds_an_epoch(rows: Sequence[Mapping[str, Json]]) -> float | None:
    """Return the seconds per epoch of the student's training from the run's log; None if the log has no epoch."""
    steps = [row for row in rows if row["event"] == "student"]
    epochs = steps[-1]["epoch"] if steps else 0
    return (steps[-1]["seconds"] - steps[0]["seconds"]) / epochs if epochs else None


def _ship(trials, name, folder):
    from .budget_search import bundle_path

    with write_aside(folder) as aside:
        shutil.copytree(bundle_path(trials, name), aside)
