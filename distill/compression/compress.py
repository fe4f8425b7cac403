"""`distill compress RUN`: the search over a run's student, what it leaves there, and the page that shows it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..catalog.bundle import find_artefact
from ..catalog.identity import provenance
from ..catalog.kinds import RUN_FILE
from ..catalog.learned import learned_in
from ..catalog.loading import load_keras_encoder, load_teacher
from ..data.corpus import read_corpus
from ..data.dataset import Dataset, texts_digest
from ..data.loading import dataset_of, load_dev
from ..data.parallel import joined, texts_by_language
from ..errors import ConfigError, InputError
from ..pipeline.preparing import chosen_languages, say_shared, student_inputs, unseen_languages
from ..pipeline.resuming import clear
from ..pipeline.second_stage import student_job
from ..pipeline.twins import with_twins
from ..report.run_page import write_report
from ..settings.assignments import refuse_unused
from ..settings.choices import SHAPE_NAMES
from ..settings.renames import with_new_names
from ..settings.sections import BudgetSettings, Settings, Work
from ..settings.store import as_dict, free_of, load_settings
from ..system.backend import require_export_backend, start
from ..system.files import require_writable, write_aside, write_json
from ..system.hashes import digest
from ..system.locking import locked
from ..system.progress import say
from ..system.reading import read_json, read_jsonl
from ..system.types import File, Json, Model
from .budget import Budget, bytes_of

if TYPE_CHECKING:
    from ..students.shape import Shape
    from .rows import Result

FOLDER, TRIALS, RESULT, CHOSEN, SETTINGS = "small", "trials", "search.json", "bundle", "settings.json"


def budget_of(budget: BudgetSettings, max_drop: float) -> Budget:
    """The `Budget`, with the points that a bundle may lose. Raises `ConfigError` for a size that is none."""
    size = bytes_of(budget.max_size) if budget.max_size else None
    return Budget(size, budget.max_ms or None, max_drop)


def is_limited(budget: BudgetSettings) -> bool:
    """Return whether the settings limit size or time. Raises `ConfigError` for a size that is none."""
    limits = budget_of(budget, 0.0)
    return limits.bytes is not None or limits.ms is not None


def is_run(folder: File) -> bool:
    """Return whether a folder is that of a run, finished or not."""
    return (Path(folder) / RUN_FILE).is_file()


def settings_of(folder: File) -> Path:
    """The path of a run's settings. Raises `InputError` where it is no finished run."""
    finished(Path(folder))
    return Path(folder) / RUN_FILE


def compress(folder: File, settings: Settings, output: File | None = None) -> Result:
    """Search, or go on with a search, and return its result.

    `output`, by default `folder/small`, then holds `trials/`, `search.json` and `bundle/`, the chosen one. The run's
    `report.html` shows the search; one elsewhere has a report of its own.
    Raises `InputError` for a folder that is no finished run, where the search was begun with other settings, or where
    `output` holds what no search left there.
    """
    from . import candidates
    from .budget_search import Search
    from .trials import Trials

    require_export_backend("distill compress")
    folder, metrics = Path(folder), finished(Path(folder))
    refuse_unused(settings, "compress", load_settings(folder / RUN_FILE))
    settings = settings.steered()
    data, language, options = settings.data, settings.teacher.language, settings.budget
    page, output = places(folder, output)[0], Path(output or folder / FOLDER)
    rows = [row for _, row in read_jsonl(folder / "log.jsonl")]
    dataset = dataset_of(data, settings.seed, with_lines=settings.learns_lines)
    languages = chosen_languages(dataset, language, data.languages, settings.translation)
    dataset = with_twins(settings.translation, dataset, language, languages)
    inputs = student_inputs(settings, dataset, languages)
    dev = say_shared(load_dev(settings.evaluation.dev_dataset, data.document_language, inputs.learned), dataset)
    corpus = joined(read_corpus(options.corpus), texts_by_language(inputs.lines))
    require_known("the run", languages, metrics["languages"])
    require_known("the search", options.new_languages, languages)
    if others := sorted(set(corpus) - set(languages)):
        say(f"no questions in {', '.join(others)}: that text of the corpus counts for pieces, and is learned from")
    require_search_folder(output)
    require_same(output / TRIALS, depends_on(as_dict(settings), inputs.described or dataset, corpus, dev))
    with locked(output):
        clear(output)
        material = _material(folder, inputs, corpus, options)
        notes = {**provenance(settings), "source": folder.resolve().name, "languages": list(languages)}
        notes |= learned_in(metrics.get("learned", {}))
        model = material.words.student.model
        grid = candidates.grid_of(model)
        trials = Trials(material, settings.export, settings.training, notes, grid, dev)
        shapes = possible(options.shapes, model, grid.shapes)
        budget = budget_of(options, settings.export.max_drop)
        epochs, seconds = settings.student.epochs, seconds_an_epoch(rows)
        result = Search(output / TRIALS, trials, budget, find_artefact(folder), shapes, epochs, seconds).run()
        shutil.rmtree(output / CHOSEN, ignore_errors=True)
        if result.chosen:
            _ship(output / TRIALS, result.chosen, output / CHOSEN)
        write_report(page, metrics, rows, result.as_dict())
        # The last thing: a search that has its result is finished.
        write_json(output / RESULT, result.as_dict())
    return result


def places(folder: File, output: File | None = None) -> tuple[Path, Path]:
    """The paths of the page and of the chosen bundle of a search."""
    return Path(output or folder) / "report.html", Path(output or Path(folder, FOLDER)) / CHOSEN


def _material(folder, inputs, corpus, budget):
    """The run's student, of which candidates are made, and all that they learn."""
    start()
    import keras

    from ..students.vocabulary.vocabularies import Additions, Vocabularies
    from .material import Material

    job = student_job(inputs)
    keras.utils.set_random_seed(job.seed)
    student, teacher = load_keras_encoder(folder), load_teacher(folder / "teacher")
    unseen = unseen_languages(inputs.teacher.base, inputs.languages)
    new = budget.new_languages or [name for name in unseen if name not in inputs.vocabulary.add_languages]
    words = Vocabularies(student, inputs.dataset, inputs.languages, corpus, new, Additions(budget.new_pieces))
    first = load_keras_encoder(job.table_of) if job.settings.trained_weights == "new-rows" else None
    return Material.of(words, job, teacher, first)


def possible(names: Sequence[str], model: Model, shapes: Mapping[str, Shape]) -> list[str]:
    """Those of the shapes that the student can be cut to; the others are said, of all names but another family's."""
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


def finished(folder: Path) -> dict[str, Json]:
    """The metrics of a run that came to its end. Raises `InputError`."""
    path = folder / "metrics.json"
    if not path.is_file():
        raise InputError(
            f"{folder}: no metrics.json in it; give the folder of a finished `distill run`, or an encoder and --output"
        )
    return read_json(path)


def require_known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise `InputError` for languages that are not among those known."""
    if other := [name for name in names if name not in known]:
        raise InputError(f"{what} has no {', '.join(other)}; it has {', '.join(known)}")


def depends_on(
    values: Mapping[str, Json], dataset: Dataset, corpus: Mapping[str, Sequence[str]], dev: Dataset | None = None
) -> dict[str, Json]:
    """The plain values that the trials depend on: of settings, and hashes of texts whatever their files are called.

    `dev` is another data set whose dev questions choose epochs.
    """
    named = {"dev texts": texts_digest(dev)} if dev else {}
    return {**_bound(values), "texts": texts_digest(dataset), "corpus": digest(corpus), **named}


def _bound(values):
    """The settings that no trial may have otherwise than another."""
    free = free_of(Work.COMPRESSION)
    return {name: _without(part, free, name) for name, part in values.items() if name not in free}


def _filled(values):
    """Values with the defaults of settings that they lack."""
    known = _bound(as_dict(Settings()))
    return {name: _above(part, known.get(name)) for name, part in values.items()}


def _above(values, known):
    """Nested values that stand above those known, where there are some of the name."""
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
    """Raise `InputError` where a folder holds what no search left there: `bundle` in it is replaced."""
    if (folder / RUN_FILE).is_file() or not (folder / TRIALS).is_dir():
        require_writable(folder)


def require_same(folder: Path, values: Mapping[str, Json]) -> None:
    """Write what the trials in `folder` depend on; where it is there and another, raise `InputError`."""
    path = folder / SETTINGS
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(path, values)
        return
    # What was begun by an earlier version has more of them, and lacks some, which had their defaults.
    stored = read_json(path)
    before = _filled(_bound(with_new_names(stored, str(path)))) if isinstance(stored, dict) else {}
    other = [key for key, value in values.items() if before.get(key) != value]
    if other:
        raise InputError(f"{folder} was made with other settings ({', '.join(other)}); remove it or repeat its command")


def seconds_an_epoch(rows: Sequence[Mapping[str, Json]]) -> float | None:
    """The seconds of the student's training, from the run's log; None where no epoch is in it."""
    steps = [row for row in rows if row["event"] == "student"]
    epochs = steps[-1]["epoch"] if steps else 0
    return (steps[-1]["seconds"] - steps[0]["seconds"]) / epochs if epochs else None


def _ship(trials, name, folder):
    from .budget_search import bundle_of

    with write_aside(folder) as aside:
        shutil.copytree(bundle_of(trials, name), aside)
