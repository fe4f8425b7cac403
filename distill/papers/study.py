"""CL-ReLKT on a data set of one's own: checked first, then trained row by row, then written as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..data.dataset import Dataset, digest_texts
from ..data.loading import choose_data
from ..data.readers import find
from ..encoders.catalog.kinds import require_trainable
from ..encoders.catalog.loading import load_keras_encoder
from ..errors import DataError, InputError, TrainingError
from ..settings.assignments import honoured_fields, read_assignments
from ..settings.sections import DataSettings
from ..system.files import write_json, write_text
from ..system.input_files import read_json
from ..system.progress import say
from ..system.types import File, Json
from .choices import AUTHORS, FORMATS
from .cl_relkt import Study, choose_rows, choose_tables
from .formats import to_csv, to_latex, to_markdown
from .rows import Place, Runner, command_line, order_rows, run_quietly, run_row
from .tables import Table, TableFigures, collect_figures

# In the output: what the runs are of, the runs, and the tables.
STUDY, RUNS, TABLES = "study.json", "runs", "tables"


@dataclass(frozen=True)
class TableRequest:
    """The tables to write, and how.

    Attributes:
        tables: The names of the tables.
        rows: The rows to train; empty for all of these tables.
        seeds: The seeds, each of which is a training.
        formats: The formats, names of `FORMATS`.

    Example:
        >>> import distill
        >>> distill.TableRequest(("3",), seeds=(0, 1, 2)).formats
        ('markdown', 'csv', 'latex')
    """

    tables: tuple[str, ...]
    rows: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    formats: tuple[str, ...] = tuple(FORMATS)


def plan_cl_relkt(
    data: DataSettings,
    language: str = "",
    split: str = "",
    base: str = "muse",
    recipe: str = AUTHORS,
    settings: Sequence[str] = (),
) -> Study:
    """Check what CL-ReLKT needs before anything is started.

    Args:
        data: The data set, the language of its documents, and the languages of the questions; none for all.
        language: The teacher's language; empty for English, or for the documents' if nobody asks in English.
        split: The split to measure; empty for test, or for dev if the data has no test.
        base: The encoder that is trained, and that the figures are tested against.
        recipe: The recipe of both stages.
        settings: NAME=VALUE, as `--set` takes them, which override the recipe.

    Returns:
        The study, for `reproduce_cl_relkt`.

    Raises:
        DataError: If the data set cannot be read, has no questions, or has them in one language only.
        EncoderError: If the base is no encoder, has no weights, or cannot be trained.
        ConfigError: If neither stage honours a setting.

    Example:
        >>> import distill
        >>> data = distill.Settings().data
        >>> data.dataset, data.languages = "my-data", ("en", "de")
        >>> study = distill.plan_cl_relkt(data, base="my-encoder", settings=["student.epochs=1"])
        >>> study.language, study.languages, study.split
        ('en', ('en', 'de'), 'dev')
    """
    dataset, languages = choose_data(data, seed=0)
    language = language or ("en" if "en" in languages else data.document_language)
    dataset.require([language])
    if not set(languages) - {language}:
        raise DataError(
            f"{data.dataset}: questions in {language} alone; CL-ReLKT carries a teacher's space from one language to "
            "others, so give questions in a second language too"
        )
    if language not in languages:
        languages = (language, *languages)
    _require_weights(base)
    teaching, learning = _divide(settings)
    split = _choose_split(split, dataset, languages)
    folder = find(data.dataset).resolve()
    places, divided = (str(folder), languages, language, data.document_language), (folder / "splits.json").is_file()
    return Study(*places, split, base, recipe, teaching, learning, divided, digest_texts(dataset))


def _require_weights(base):
    """Raise `EncoderError` for a base that cannot be trained; one of a folder is loaded, as a file may be missing."""
    if require_trainable(base).folder(base) is not None:
        load_keras_encoder(base)


def _choose_split(split, dataset: Dataset, languages):
    """Return the split that is measured. Raises `InputError` for one that the data has not."""
    there = [name for name in ("test", "dev") if dataset.splits.get(name)]
    chosen = split or there[0]
    if chosen not in there:
        raise InputError(f"the data set {dataset.name} has no split {chosen}; it has {', '.join(there)}")
    if empty := [language for language in languages if not dataset.select(language, chosen)]:
        raise DataError(f"{dataset.name}: no question of {chosen} in {', '.join(empty)}")
    return chosen


def _divide(texts):
    """Return the texts that `teach` honours and those that `transfer` does. Raises `ConfigError` for others."""
    by_stage = {stage: honoured_fields(stage) for stage in ("teach", "transfer")}
    for text in texts:
        name = text.partition("=")[0]
        read_assignments([text], next((stage for stage, known in by_stage.items() if name in known), "transfer"))
    return tuple(tuple(text for text in texts if text.partition("=")[0] in known) for known in by_stage.values())


def list_cl_relkt_commands(study: Study, request: TableRequest, output: File) -> list[str]:
    """Return the commands of the wanted rows as a shell takes them.

    Args:
        study: The study that `plan_cl_relkt` returns.
        request: The tables or rows, and the seeds.
        output: The folder that the runs would be in.

    Returns:
        The commands.

    Raises:
        InputError: If a table or a row does not exist.

    Example:
        >>> import distill
        >>> data = distill.Settings().data
        >>> data.dataset = "my-data"
        >>> study = distill.plan_cl_relkt(data, base="my-encoder")
        >>> commands = distill.list_cl_relkt_commands(study, distill.TableRequest(("3",)), "my-tables")
        >>> [command.split()[1] for command in commands]
        ['teach', 'transfer', 'compare', 'compare']
    """
    tables = choose_tables(study, request.tables)
    ordered = order_rows(study.rows, choose_rows(study, request.rows, tables))
    return [command_line(place.arguments(row)) for place in _places(study, request, output) for row in ordered]


def reproduce_cl_relkt(
    study: Study, request: TableRequest, output: File, runner: Runner = run_quietly
) -> dict[str, TableFigures]:
    """Run the rows of CL-ReLKT's tables that have not run yet, and write the tables.

    Args:
        study: The study that `plan_cl_relkt` returns.
        request: The tables or rows, the seeds and the formats.
        output: The folder of the runs and the tables. Runs of the same study that are there are kept.
        runner: Runs a command of `distill`, given as its arguments, and returns its exit code.

    Returns:
        The figures by table.

    Raises:
        InputError: If the output has runs of another study, or a table or a row does not exist.
        TrainingError: If rows failed. The tables of the others are written before.

    Example:
        >>> import distill
        >>> data = distill.Settings().data
        >>> data.dataset = "my-data"
        >>> study = distill.plan_cl_relkt(data, base="my-encoder")
        >>> figures = distill.reproduce_cl_relkt(study, distill.TableRequest(("3",)), "my-tables")
    """
    folder, tables = Path(output), choose_tables(study, request.tables)
    names = choose_rows(study, request.rows, tables)
    _require_same(folder, _describe_study(study))
    if len(request.seeds) > 1 and not study.divided:
        say("the data set has no splits.json, so each seed divides its questions anew; figures vary by that too")
    failed = []
    for place in _places(study, request, folder):
        failed += [place.name(row) for row in order_rows(study.rows, names) if run_row(place, row, runner)]
    figures = {table.name: collect_figures(table, study.rows, _places(study, request, folder)) for table in tables}
    write_tables(folder, study.about, tables, figures, request.formats)
    if failed:
        raise TrainingError(f"{', '.join(failed)}: failed; the same command tries these again and runs nothing twice")
    return figures


def write_tables(
    folder: Path, about: str, tables: Sequence[Table], figures: Mapping[str, TableFigures], formats: Sequence[str]
) -> None:
    """Write the tables in each of the formats, and `tables.json` with all figures. `formats` are names of `FORMATS`."""
    write_json(folder / f"{TABLES}.json", figures)
    texts = {
        "markdown": "\n\n".join([about, *(to_markdown(table, figures[table.name]) for table in tables)]) + "\n",
        "csv": to_csv(tables, figures),
        "latex": "\n\n".join(to_latex(table, figures[table.name], about) for table in tables) + "\n",
    }
    for name in formats:
        write_text(folder / f"{TABLES}{FORMATS[name]}", texts[name])


def _places(study, request, folder):
    return [Place(Path(folder) / RUNS, study.dataset, seed, study.base) for seed in request.seeds]


def _describe_study(study) -> dict[str, Json]:
    """Return what all runs of a folder share."""
    return {
        "data": study.digest,
        **{"languages": list(study.languages), "teacher": study.language, "base": study.base, "recipe": study.recipe},
        **{"split": study.split, "settings": sorted({*study.teaching, *study.learning})},
    }


def _require_same(folder, described):
    """Keep what the runs of the folder are of. Raises `InputError` where it has those of another study."""
    path = folder / STUDY
    if not path.is_file():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder}: not empty, and no study of distill papers; name another --output")
        write_json(path, described)
        return
    before = read_json(path)
    if other := [
        name for name, value in described.items() if not isinstance(before, dict) or before.get(name) != value
    ]:
        raise InputError(
            f"{folder}: its runs are of another study (it differs in {', '.join(other)}); name another --output"
        )
