"""The commands that train, `run` and its stages `teach` and `transfer`, `init` before a run and `report` after it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..encoders.catalog.kinds import ENCODER_HELP, RUN_FILE
from ..errors import InputError, escape_controls
from ..settings.choices import CHECKPOINT_SECONDS
from ..settings.recipe import DEFAULT, read_toml
from ..settings.rules import require_limit
from ..settings.sections import Value
from .shared.command import command
from .shared.help import option
from .shared.options import (
    FiniteRange,
    config_option,
    corpus_option,
    folder_option,
    id_field_option,
    json_option,
    list_given_settings,
    require_writable_path,
    settings_options,
    take_settings,
    text_field_option,
    title_field_option,
    write_figures,
)

if TYPE_CHECKING:
    from ..system.types import File

ORDER = 'Flags override --config, and a config overrides the recipe that it names at its head (recipe = "NAME").'
# The recipe of a run on text without questions, and the settings that name text.
OF_TEXT, TEXTS = "own-teacher", ("student.parallel", "student.labelled_text", "vocabulary.text")
# Settings that bear on what --documents does.
ADAPTED = ("seed", "data.document_language", "teacher.base", "student.parallel")


@command(
    epilog=f"{ORDER} Without --config and --recipe the recipe is {DEFAULT}.",
    examples=[
        "distill run",
        "distill run --recipe small --dataset my-data --languages de,es --max-size 5MB",
        "distill run --documents manual.md faq.csv",
        "distill run --resume runs/sample-en",
    ],
)
@settings_options("run", recipe=DEFAULT)
@config_option
@option("--name", panel="files", main=True, help="Name of the run's folder. [default: data set and teacher's language]")
@option("--runs", panel="files", type=click.Path(file_okay=False), default="runs", help="Folder that holds the runs.")
@option(
    "--resume",
    panel="files",
    main=True,
    type=click.Path(file_okay=False),
    help="Continue the interrupted run in this folder.",
)
@option(
    "--output", panel="files", type=click.Path(file_okay=False), help="Folder of the run, instead of --name in --runs."
)
@option(
    "--checkpoint-seconds",
    panel="files",
    type=FiniteRange(0),
    default=CHECKPOINT_SECONDS,
    help="Seconds between two checkpoints within an epoch. Each epoch ends with one too.",
)
@json_option
@option(
    "--documents",
    panel="documents",
    main=True,
    multiple=True,
    type=click.Path(),
    metavar="FILE...",
    help="Adapt --base to documents without questions: .jsonl, .csv, .tsv, .txt, .md, .html, .pdf or .docx files, or "
    "folders of them.",
)
@click.argument("more", nargs=-1, type=click.Path(), metavar="")
def run(
    config: str | None,
    name: str | None,
    runs: str,
    resume: str | None,
    documents: tuple[str, ...],
    output: str | None,
    more: tuple[str, ...],
    checkpoint_seconds: float,
    json_path: str | None,
    **values: Value | None,
) -> None:
    """Train an encoder on your data, export it and report on it.

    A run trains a teacher and a student, measures both, exports a bundle, times it and writes a report. With a limit of
    size or time it searches for a smaller bundle too. With --documents it needs no questions: the base learns from the
    documents' own headings and sentences. With --teacher-model, text such as --parallel, and no --dataset, a student
    learns the vectors that the teacher gives to lines of text.
    """
    from ..jobs import run as job
    from ..jobs.adapting.without_questions import first_text
    from ..jobs.pipeline.resuming import find_settings
    from ..system.backend import require_export_backend

    if documents:
        require_export_backend("distill run --documents")
        return _adapt((*documents, *more), (output, name, runs), (config, resume), values, json_path)
    if more:
        raise InputError(f"{more[0]}: no option takes it; documents are named with --documents")
    _require_one_folder(output, name, runs, resume)
    named = named_settings(values, config)
    alone = not resume and learns_text_alone(named)
    file = config or (find_settings(resume) if resume is not None else None)
    given = list_given_settings(values)
    settings = take_settings(values, file, OF_TEXT if alone else DEFAULT)
    require_limit(given, settings.budget)
    if alone:
        settings.data.dataset = first_text(settings.student, settings.vocabulary.text).stem
    folder = Path(resume or _folder((output, name, runs), settings.data, settings.teacher))
    show = partial(_print_run, folder=folder, json_path=json_path)
    with print_resume_command(folder):
        if alone:
            metrics = job.learn_text(settings, folder, named, checkpoint_seconds, show)
        else:
            metrics = job.run(settings, folder, resume is not None, checkpoint_seconds, show)
    _write_figures(metrics, folder, json_path, settings.budget)


def _require_one_folder(output, name, runs, resume):
    """Raise `InputError` for options that name several folders of a run."""
    if output and (name or resume):
        raise InputError(f"--output {output} names the run's folder, as --name and --resume do; give one of them")
    if resume and name and (Path(runs) / name).resolve() != Path(resume).resolve():
        raise InputError(f"--resume {resume} is another folder than --name {name} in {runs}; leave --name out")


def _print_run(metrics, folder, json_path):
    """Print what a run came to, unless standard output is for JSON."""
    from ..report.run_tables import print_run

    if json_path != "-":
        print_run(metrics, folder)


def _write_figures(metrics, folder, json_path, budget):
    """Print a search for a smaller bundle if there was one, and write all figures as JSON if they are asked for."""
    from ..jobs.compression.compress import is_limited, output_paths
    from ..jobs.pipeline.finished_runs import SEARCH
    from ..report.run_tables import print_search
    from ..system.input_files import read_json

    search = read_json(folder / SEARCH) if is_limited(budget) else None
    figures = {**metrics, "search": search} if search else metrics
    write_figures(json_path, figures, lambda: print_search(search, *output_paths(folder)) if search else None)


def _adapt(documents, place, others, values, json_path):
    """Adapt the encoder `--base` to documents, in a run's folder."""
    from ..jobs.adapting.adapt import adapt_to_documents

    needless = [name for name in list_given_settings(values) if name not in ADAPTED]
    if needless or any(others):
        named = needless[0] if needless else "--config" if others[0] else "--resume"
        raise InputError(
            f"{named}: --documents goes with --base, --parallel, --document-language, --seed, --name and --runs alone; "
            "leave it out, or give a --dataset with questions"
        )
    settings = take_settings(values, recipe=DEFAULT)
    settings.data.dataset = Path(documents[0]).stem
    folder = Path(_folder(place, settings.data, settings.teacher))
    base, text, language = settings.teacher.base, settings.student.parallel, settings.data.document_language
    metrics = adapt_to_documents(documents, folder, base, text, language, settings.seed)
    _print_run(metrics, folder, json_path)
    _write_figures(metrics, folder, json_path, settings.budget)


@contextmanager
def print_resume_command(folder: File) -> Iterator[None]:
    """Print the command that resumes a run if it is interrupted meanwhile."""
    try:
        yield
    except BrokenPipeError:
        raise  # nobody reads the tables any more
    except (KeyboardInterrupt, OSError, MemoryError):
        if (Path(folder) / RUN_FILE).is_file():
            # Not by the progress's console, which may hold a line that was broken off and would say it again.
            command = f"distill run --resume {shlex.quote(str(folder))}"
            click.echo(escape_controls(f"stopped; go on with: {command}"), err=True)
        raise


def named_settings(values: Mapping[str, Value | None], config: str | None = None) -> set[str]:
    """Return the names of the settings that a command, or its config, gives."""
    stored = read_toml(config) if config else {}
    return {*list_given_settings(values), *(f"{section}.{key}" for section in stored for key in _keys(stored[section]))}


def learns_text_alone(named: Set[str]) -> bool:
    """Return whether these settings name a teacher and text for it, and no data set."""
    return "teacher.model" in named and not named.isdisjoint(TEXTS) and "data.dataset" not in named


def _keys(section):
    return section if isinstance(section, dict) else ()


def _folder(place, data, teacher):
    """The folder of a new run, whose `place` is `--output`, `--name` and `--runs`."""
    output, name, runs = place
    if output:
        return Path(output)
    return _named_folder(runs, name) if name else _free_folder(runs, data, teacher)


def _named_folder(runs, name):
    from ..system.files import usable_path

    root, folder = os.path.abspath(runs), usable_path(Path(runs) / name)
    if Path(root) not in Path(os.path.abspath(folder)).parents:
        raise InputError(f"--name {name}: expected the name of a folder in {runs}; name another place with --runs")
    return folder


def _free_folder(runs, data, teacher):
    stem = f"{Path(data.dataset).resolve().name}-{teacher.language}"
    names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, 10**6))
    return next(Path(runs) / name for name in names if not (Path(runs) / name).exists())


@command(
    epilog=ORDER,
    examples=[
        "distill teach --dataset my-data --teacher en --output teacher",
        "distill teach --dataset my-data --loss softmax --set pairs.batches=x-y --output teacher",
    ],
)
@settings_options("teach")
@config_option
@folder_option("Folder of the teacher.")
def teach(config: str | None, output: str, **values: Value | None) -> None:
    """Train a teacher only (stage 1 of a run).

    It learns in one language, or with --loss softmax from pairs in many. Its folder gets log.jsonl, with the dev score
    of each evaluation.
    """
    from ..encoders.catalog.loading import load_keras_encoder
    from ..jobs.pipeline.preparing import read_inputs
    from ..settings.assignments import refuse_unused
    from ..system.backend import join_processes
    from ..system.progress import say

    settings = take_settings(values, config)
    refuse_unused(settings, "teach")
    with join_processes(settings.training.processes, output) as folder:
        inputs = read_inputs(settings)
        base = load_keras_encoder(inputs.teacher.base)
        from ..jobs.pipeline.first_stage import teacher_job
        from ..training.log import LOG, read_outcome
        from ..training.session import Session

        session = Session(options=settings.training, dev=inputs.dev, scorer=inputs.scorer_of("teacher"))
        teacher_job(inputs).train(base, session).save(folder)
        session.log.save(Path(folder) / LOG)
        if outcome := read_outcome(session.log.of("teacher")):
            say(outcome.describe("stage 1"))
        say(f"teacher: {folder}")


@command(
    epilog="Flags override the recipe.",
    examples=[
        "distill transfer --teacher e5 --start multi12-static --dataset my-data --output student",
        "distill transfer --teacher runs/my-run --parallel en-de.tsv --output student",
    ],
)
@option("--teacher", "teacher_path", panel="teacher", main=True, required=True, help=f"The teacher: {ENCODER_HELP}.")
@option("--teacher-language", panel="teacher", main=True, default="en", help="Language in which the teacher is asked.")
@option(
    "--centre/--no-centre",
    panel="teacher",
    default=False,
    help="Subtract the mean of the teacher's vectors, of questions and of documents.",
)
@option("--start", "start_path", panel="student", main=True, help="Encoder to start from. [default: the teacher]")
@settings_options("transfer")
@corpus_option("More text to learn from, with the vectors of --labels.")
@option(
    "--labels", panel="student", main=True, help="Encoder in the teacher's space that gives the vectors of --corpus."
)
@folder_option("Folder of the student.")
def transfer(
    teacher_path: str,
    teacher_language: str,
    centre: bool,
    start_path: str | None,
    corpus: tuple[str, ...],
    labels: str | None,
    output: str,
    **values: Value | None,
) -> None:
    """Train a student towards a fixed teacher only (stage 2 of a run).

    If the start has another vector space, it gets a map into the teacher's. The student is saved in float32;
    --table and --set export.precision=int8 set what its quantised epochs round weights to. Its folder gets log.jsonl,
    with the dev score of each evaluation.
    """
    from ..data.corpus import read_corpus
    from ..jobs.pipeline.second_stage import TeacherSource, transfer_alone
    from ..system.backend import join_processes
    from ..system.progress import say
    from ..training.log import LOG, RunLog, read_outcome

    _require_one_labeller(labels, corpus, teacher_path if centre else None)
    settings, texts = take_settings(values), read_corpus(corpus)
    student = settings.student
    if labels and (student.parallel or student.labelled_text or student.own_text):
        raise InputError(
            "--labels and --parallel, --labelled-text or student.own_text are two sources of labels; give one of them"
        )
    teaching = TeacherSource(teacher_path, teacher_language, start_path or "", centre, texts, labels or "")
    log = RunLog()
    with join_processes(settings.training.processes, output) as folder:
        transfer_alone(settings, teaching, log).save(folder)
        log.save(Path(folder) / LOG)
        if outcome := read_outcome(log.of("student")):
            say(outcome.describe("stage 2"))
        say(f"student: {folder}")


def _require_one_labeller(labels, corpus, centred):
    """Raise `InputError` for labels without a corpus, or by another encoder than the teacher that is `centred`."""
    if centred and labels not in (None, centred):
        raise InputError(
            "--centre is of the teacher's vectors; give --labels the teacher too, or leave one of them out"
        )
    if bool(corpus) != bool(labels):
        raise InputError("--corpus and --labels belong together; give both or none")


@command(examples=["distill init my-data", "distill init my-data --documents articles --questions questions.csv"])
@click.argument("folder", type=click.Path(file_okay=False))
@option("--document-language", panel="data", default="en", help="Language of the documents.")
@option(
    "--documents",
    panel="data",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="Make the data set of these files, or folders of them, as distill index reads them; can be repeated.",
)
@option(
    "--questions",
    panel="data",
    type=click.Path(dir_okay=False),
    help="With --documents: a .csv, .tsv or .jsonl file with a question, its language and its document in each row.",
)
@text_field_option
@title_field_option
@id_field_option
@option("--overwrite", panel="files", is_flag=True, help="Replace an existing distill.toml.")
def init(
    folder: str,
    document_language: str,
    documents: tuple[str, ...],
    questions: str | None,
    text_field: str | None,
    title_field: str | None,
    id_field: str | None,
    overwrite: bool,
) -> None:
    """Check your own data, and write a config for it.

    FOLDER holds a data set: {lang}.json files in SQuAD's form, or documents.jsonl and questions.jsonl. It may hold
    splits.json, descriptions.jsonl and parallel text (.tsv or .jsonl) too. --documents and --questions make it of files
    that you have. The command reports what there is and what is missing, and writes FOLDER/distill.toml. For text
    without questions it names the command that learns it.
    """
    from ..jobs.pipeline.own_data import TextAlone, init_config

    if any((documents, questions, text_field, title_field, id_field)):
        _write_dataset((documents, questions), folder, document_language, (text_field, title_field, id_field))
    config = init_config(folder, document_language, overwrite)
    if isinstance(config, TextAlone):
        return click.echo("\n".join(map(escape_controls, [*config.there, f"no questions; next: {config.command}"])))
    lines = [*config.there, *(f"missing: {line}" for line in config.missing)]
    lines.append(f"{config.path}: written; next: {config.command}")
    click.echo("\n".join(map(escape_controls, lines)))


def _write_dataset(given, folder, language, fields):
    """Write the files of a data set from documents and a table of questions, and print what was left out."""
    from ..search_engine.documents.collection import write_dataset
    from ..search_engine.documents.records import Columns

    documents, questions = given
    if not documents or not questions:
        raise InputError("--documents and --questions make a data set together, with their fields; give both or none")
    notes = write_dataset(documents, questions, folder, language, Columns(*fields))
    click.echo("\n".join(map(escape_controls, notes)))


@command(
    examples=["distill report runs/sample-en", "distill report runs/sample-en runs/sample-de --output compared.html"]
)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(file_okay=False))
@option(
    "--output",
    panel="files",
    type=click.Path(dir_okay=False),
    callback=require_writable_path,
    help="The page. [default: RUN/report.html]",
)
def report(runs: tuple[str, ...], output: str | None) -> None:
    """Write a run's report, or compare several runs on one page.

    The page is made from metrics.json, log.jsonl and small/search.json in the folder of each RUN. Several runs need
    --output.
    """
    from ..jobs.pipeline.finished_runs import report_runs
    from ..system.progress import say

    say(f"report: {report_runs(runs, output)}")
