"""A paper on a data set of one's own: checked first, then trained row by row, then written as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..data.contexts import read_contexts
from ..data.corpus import read_corpus
from ..data.dataset import Dataset, digest_texts
from ..data.loading import choose_data, read_dataset
from ..data.pool_readers import can_cut, cut_sentences, has_sentences
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
from .cl_relkt import ClRelkt
from .formats import to_csv, to_latex, to_markdown, to_pairs_csv, wrap
from .pair_studies import Lareqa, Lir, Sentri
from .plan import Study, choose_rows, choose_tables
from .rows import Place, Runner, command_line, order_rows, run_quietly, run_row
from .tables import Table, TableFigures, TablePairs, collect_figures, compare_lines

STUDIES: dict[str, type[Study]] = {"cl-relkt": ClRelkt, "lareqa": Lareqa, "lir": Lir, "sentri": Sentri}
# In the output: what the runs are of, the runs, and sentences that the data has not.
STUDY, RUNS, CUT = "study.json", "runs", "data"


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


def plan_paper(
    paper: str,
    data: DataSettings,
    language: str = "",
    split: str = "",
    base: str = "muse",
    recipe: str = AUTHORS,
    settings: Sequence[str] = (),
    corpus: Sequence[str] = (),
) -> Study:
    """Check what a paper's trainings need before anything is started.

    Args:
        paper: "cl-relkt", "lareqa", "lir" or "sentri".
        data: The data set, the language of its documents, and the languages of the questions; none for all.
        language: The teacher's language; empty for English, or for the documents' if nobody asks in English.
        split: The split to measure; empty for test, or for dev if the data has no test.
        base: The encoder that is trained, and that the figures are tested against.
        recipe: The recipe of both stages of CL-ReLKT; the other papers have one each.
        settings: NAME=VALUE, as `--set` takes them, which override the recipe.
        corpus: Text of each language, LANGUAGE=FILE, that LIR learns from; none for the sentences that are searched.

    Returns:
        The study, for `reproduce_paper`.

    Raises:
        InputError: If there is no such paper.
        DataError: If the data set or the corpus cannot be read, or the data set has no questions, or lacks what the
            paper is about: a second language, sentences in it (LAReQA and LIR), or answers (Sentri).
        EncoderError: If the base is no encoder, or cannot be trained.
        ConfigError: If no stage honours a setting.

    Example:
        >>> import distill
        >>> data = distill.Settings().data
        >>> data.dataset, data.languages = "my-data", ("en", "de")
        >>> study = distill.plan_paper("cl-relkt", data, base="my-encoder", settings=["student.epochs=1"])
        >>> study.language, study.languages, study.split
        ('en', ('en', 'de'), 'dev')
    """
    if paper not in STUDIES:
        raise InputError(f"no paper {paper}; there are {', '.join(STUDIES)}")
    kind = STUDIES[paper]
    dataset, languages = choose_data(data, seed=0)
    language = language or ("en" if "en" in languages else data.document_language)
    dataset.require([language])
    if not set(languages) - {language}:
        raise DataError(
            f"{data.dataset}: questions in {language} alone; {paper} is about several languages, so give "
            "questions in a second language too"
        )
    if language not in languages:
        languages = (language, *languages)
    require_trainable(base)
    read_corpus(corpus)
    divided = _divide(settings, kind.stages)
    split = _choose_split(split, dataset, languages)
    folder = find(data.dataset).resolve()
    places = str(folder), languages, language, data.document_language
    study = kind(*places, split, base, recipe, divided, (folder / "splits.json").is_file(), digest_texts(dataset))
    return _suit(replace(study, corpus=tuple(corpus)), dataset, folder)


def _suit(study, dataset, folder):
    """Return the study with what it needs to know of the data. Raises `DataError` if the data does not suit it."""
    if isinstance(study, Sentri):
        if not any(one.answers for known in dataset.questions.values() for one in known.values()):
            raise DataError(f"{dataset.name}: no question has an answer, by which Sentri finds passages; add answers")
        spoken = {*read_contexts(dataset, folder, study.languages), *dataset.passage_languages}
        return replace(study, spoken=tuple(sorted(spoken)))
    if isinstance(study, Lareqa) and not has_sentences(folder, study.languages):
        if not can_cut(dataset, folder, study.languages):
            raise DataError(
                f"{dataset.name}: LAReQA searches sentences of all languages; give {{lang}}.json with passages "
                f"in each of {', '.join(study.languages)}, or descriptions.jsonl with a line of each of them a passage"
            )
        return replace(study, cut=True)
    return study


def _require_weights(base):
    """Raise `EncoderError` for a base without weights; one of a folder is loaded, as a file may be missing."""
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


def _divide(texts, stages):
    """Return the texts that each of the commands honours. Raises `ConfigError` for others."""
    by_stage = {stage: honoured_fields(stage) for stage in stages}
    for text in texts:
        name = text.partition("=")[0]
        read_assignments([text], next((stage for stage, known in by_stage.items() if name in known), stages[-1]))
    return tuple(tuple(text for text in texts if text.partition("=")[0] in known) for known in by_stage.values())


def list_paper_commands(study: Study, request: TableRequest, output: File) -> list[str]:
    """Return the commands of the wanted rows as a shell takes them.

    Args:
        study: The study that `plan_paper` returns.
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
        >>> study = distill.plan_paper("cl-relkt", data, base="my-encoder")
        >>> commands = distill.list_paper_commands(study, distill.TableRequest(("3",)), "my-tables")
        >>> [command.split()[1] for command in commands]
        ['evaluate', 'teach', 'evaluate', 'transfer', 'evaluate']
    """
    tables = choose_tables(study, request.tables)
    ordered = order_rows(study.rows, choose_rows(study, request.rows, tables))
    return [command_line(place.arguments(row)) for place in _places(study, request, output) for row in ordered]


def reproduce_paper(
    study: Study, request: TableRequest, output: File, runner: Runner = run_quietly
) -> dict[str, TableFigures]:
    """Run the rows of a paper's tables that have not run yet, and write the tables.

    Args:
        study: The study that `plan_paper` returns.
        request: The tables or rows, the seeds and the formats.
        output: The folder of the runs and the tables. Runs of the same study that are there are kept.
        runner: Runs a command of `distill`, given as its arguments, and returns its exit code.

    Returns:
        The figures by table.

    Raises:
        InputError: If the output has runs of another study, or a table or a row does not exist.
        EncoderError: If the base has no weights.
        TrainingError: If rows failed. The tables of the others are written before.

    Example:
        >>> import distill
        >>> data = distill.Settings().data
        >>> data.dataset = "my-data"
        >>> study = distill.plan_paper("cl-relkt", data, base="my-encoder")
        >>> figures = distill.reproduce_paper(study, distill.TableRequest(("3",)), "my-tables")
    """
    folder, tables = Path(output), choose_tables(study, request.tables)
    names = choose_rows(study, request.rows, tables)
    _require_weights(study.base)
    _require_same(folder, _describe_study(study))
    if len(request.seeds) > 1 and not study.divided:
        say("the data set has no splits.json, so each seed divides its questions anew; figures vary by that too")
    if study.cut:
        source = find(study.dataset)
        cut_sentences(read_dataset(source, study.document_language), source, study.languages, folder / CUT)
    failed, places, rows = [], _places(study, request, folder), study.rows
    for place in places:
        failed += [place.name(row) for row in order_rows(rows, names) if run_row(place, row, runner)]
    figures = {table.name: collect_figures(table, rows, places) for table in tables}
    tested = {table.name: pairs for table in tables if (pairs := compare_lines(table, rows, places))}
    write_tables(folder / study.stem, study.about, tables, figures, tested, request.formats)
    if failed:
        raise TrainingError(f"{', '.join(failed)}: failed; the same command tries these again and runs nothing twice")
    return figures


def write_tables(
    stem: Path,
    about: str,
    tables: Sequence[Table],
    figures: Mapping[str, TableFigures],
    pairs: Mapping[str, TablePairs],
    formats: Sequence[str],
) -> None:
    """Write the tables, and the tests of their `pairs`, in each of the formats, and all figures as JSON.

    `formats` are names of `FORMATS`.
    """
    write_json(stem.with_name(f"{stem.name}.json"), {**figures, "pairs": pairs})
    all_of = [(table, figures[table.name], pairs.get(table.name)) for table in tables]
    texts = {
        "markdown": "\n\n".join([wrap(about), *(to_markdown(*one) for one in all_of)]) + "\n",
        "csv": to_csv(tables, figures),
        "latex": "\n\n".join(to_latex(table, of, about, tested) for table, of, tested in all_of) + "\n",
    }
    for name in formats:
        write_text(stem.with_name(f"{stem.name}{FORMATS[name]}"), texts[name])
    of_pairs = stem.with_name(f"{stem.name}-pairs.csv")
    if "csv" in formats and pairs:
        write_text(of_pairs, to_pairs_csv(pairs))
    elif "csv" in formats:
        of_pairs.unlink(missing_ok=True)


def _places(study, request, folder):
    data = str(Path(folder) / CUT) if study.cut else study.dataset
    return [Place(Path(folder) / RUNS, data, seed, study.base) for seed in request.seeds]


def _describe_study(study) -> dict[str, Json]:
    """Return what all runs of a folder share."""
    return {
        "data": study.digest,
        **{"languages": list(study.languages), "teacher": study.language, "base": study.base, "recipe": study.recipe},
        **{"split": study.split, "settings": sorted({text for texts in study.settings for text in texts})},
        # Folders of before there were other papers name none.
        **({} if isinstance(study, ClRelkt) else {"paper": study.paper, "corpus": list(study.corpus)}),
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
