"""The commands that use an encoder: `encode`, `search` and `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..encoders.catalog.kinds import ENCODER_HELP, READER_HELP
from ..errors import InputError
from ..search_engine.serving.limits import Limits
from ..settings.choices import PASSAGE_SCORES
from .shared.command import command
from .shared.help import count_option, option
from .shared.options import Command, FiniteRange, asker_option, hybrid_option, require_writable_path

if TYPE_CHECKING:
    from ..encoders.files.encode_file import Engine
    from ..system.types import Role


def add_engine_options(function: Command) -> Command:
    """Add the options `--engine`, `--workers` and `--ray-address`, which `choose_engine` takes."""
    options = (
        option(
            "--engine",
            panel="engine",
            type=click.Choice(["local", "ray"]),
            default="local",
            help="Encode in this process, or in several processes with Ray.",
        ),
        count_option(
            "--workers", panel="engine", most=10_000, help="Number of processes for --engine ray. [default: 2]"
        ),
        option(
            "--ray-address",
            panel="engine",
            help="Address of a Ray cluster. [default: $RAY_ADDRESS, else processes on this machine]",
        ),
    )
    for one in reversed(options):
        function = one(function)
    return function


def choose_engine(model: str | None, engine: str, workers: int | None, address: str | None) -> Engine | None:
    """Return the engine that the options name, or None for this process.

    Args:
        model: the encoder, as a user names it, or None.
        engine: "local" or "ray".
        workers: the number of Ray's processes, None for the default.
        address: the address of a Ray cluster, None for the default.
    """
    from ..encoders.files.on_ray import ray_engine

    if engine != "ray" and (workers or address):
        raise InputError("--workers and --ray-address are of --engine ray, which is not given")
    if engine == "ray" and not model:
        raise InputError("--engine ray loads the encoder in each process; name it by --model")
    return ray_engine(str(model), workers or 2, address) if engine == "ray" else None


# What to do where no index is named.
MAKE_INDEX = (
    "make it with distill index --model MODEL --documents FILE… --output KB, then ask distill search --index KB"
)


@command(examples=["distill encode --model multi12-ngram --role question --input texts.jsonl --output vectors.npy"])
@option("--model", panel="encoder", required=True, help=f"The encoder: {ENCODER_HELP}.")
@option(
    "--role",
    panel="encoder",
    required=True,
    type=click.Choice(["question", "document"]),
    help="What the texts are: some encoders encode questions and documents differently.",
)
@option(
    "--input",
    "input_path",
    panel="files",
    required=True,
    type=click.Path(dir_okay=False),
    help='A JSON Lines file with {"id", "text"} on each line.',
)
@option(
    "--output",
    panel="files",
    required=True,
    type=click.Path(dir_okay=False),
    callback=require_writable_path,
    help="The .npy file of the vectors: float32, shape (texts, dimensions), unit length, in the order of the texts.",
)
@option("--restart", panel="files", is_flag=True, help="Discard what an interrupted command wrote and start again.")
@add_engine_options
def encode(
    model: str,
    role: Role,
    input_path: str,
    output: str,
    restart: bool,
    engine: str,
    workers: int | None,
    ray_address: str | None,
) -> None:
    """Write the vectors of the texts in a file of any size.

    The texts are encoded block by block. If the command is interrupted, run it again: it continues where it stopped.
    """
    from ..encoders.files.encode_file import encode_file
    from ..system.progress import say

    by = choose_engine(model, engine, workers, ray_address)
    count, dimension = encode_file(input_path, output, model, role, by, restart)
    say(f"{output}: {count} vectors of {dimension}")


def _index(context, parameter, folder):
    """Return the folder of an index; without one the error says how to make one."""
    if not folder:
        raise click.UsageError(f"Missing option '--index': {MAKE_INDEX}", ctx=context)
    return folder


@command(
    quiet=True,
    examples=[
        'distill search --index kb "Where does the Nile end?"',
        'distill search --index kb --hybrid --top 3 --json "cuándo nació Marie Curie"',
        "distill search --index kb - < questions.txt",
    ],
)
@click.argument("question")
@option(
    "--index",
    "folder",
    panel="index",
    type=click.Path(file_okay=False),
    callback=_index,
    help="Search this folder, which distill index wrote. [required]",
)
@option(
    "--where",
    panel="index",
    multiple=True,
    metavar="NAME=VALUE",
    help="Search only documents whose field is this value, or a list that has it. Repeat it to require several.",
)
@hybrid_option
@asker_option
@option(
    "--score",
    panel="encoder",
    type=click.Choice(PASSAGE_SCORES),
    help="Score a passage by its own vector, by its best sentence, or by the sum of both. [default: as the index says]",
)
@count_option("-k", "--top", panel="hits", default=5, help="Number of passages.")
@option(
    "--threshold",
    panel="hits",
    type=FiniteRange(0, 1),
    help="Show nothing if the first passage answers with a lower probability. [default: the encoder's own threshold, "
    "which only adds a remark]",
)
@option("--reader", "marked_by", panel="hits", help=f"Mark the answer in each passage with a reader: {READER_HELP}.")
@option("--json", "as_json", panel="hits", is_flag=True, help="Print one JSON object per question, each on a line.")
def search(
    question: str,
    folder: str,
    model: str | None,
    where: tuple[str, ...],
    threshold: float | None,
    hybrid: bool,
    as_json: bool,
    top: int,
    score: str | None,
    marked_by: str | None,
) -> None:
    """Print the passages of an index that answer a question.

    With - as QUESTION the questions are read from standard input, one per line.
    """
    if not question.strip():
        raise InputError("the question is empty; give a text")
    answers = _read(_answers(folder, question, model, score, top, where, hybrid, threshold), marked_by)
    _print_answers(answers, question == "-", threshold is not None, as_json)


def _answers(folder, question, model, score, top, where, hybrid, threshold):
    from ..search_engine.indexing.answers import search as search_index

    for one in where:
        if not one.partition("=")[0] or "=" not in one:
            raise InputError(f"--where: expected a field and its value, such as lang=en, got {one!r}")
    fields = [(name, value) for name, _, value in (one.partition("=") for one in where)]
    questions = _lines() if question == "-" else [question]
    return search_index(folder, questions, top, model, score, hybrid, fields, threshold)


def _read(answers, reader):
    if not reader:
        return answers
    from ..papers.reading.load_reader import load_reader
    from ..papers.written_answers import read_answers

    return read_answers(answers, load_reader(reader))


def _print_answers(answers, many, strict, as_json):
    from .shared.printing import print_answers, print_json

    if as_json:
        print_json(answers)
    else:
        print_answers(answers, many, strict)


def _lines():
    from ..system.input_files import stdin_lines
    from ..system.text import drop_soft_hyphens

    return (line.strip() for line in stdin_lines() if drop_soft_hyphens(line).strip())


def _add_request_limits(function):
    """Add the options of the limits of a request, with the defaults of `Limits`."""
    for flag, kind, default, help in (
        ("--timeout", FiniteRange(0.1, 3600), Limits.seconds, "Most seconds per request."),
        (
            "--max-waiting",
            click.IntRange(1, 10**7),
            Limits.waiting,
            "Most texts waiting to be encoded, over all requests.",
        ),
        ("--max-body", click.IntRange(1000, 10**9), Limits.body, "Most bytes per request."),
        ("--max-pieces", click.IntRange(1, 10_000_000), Limits.pieces, "Most tokens per text."),
        ("--max-characters", click.IntRange(1, 10_000_000), Limits.characters, "Most characters per text."),
        ("--max-texts", click.IntRange(1, 100_000), Limits.texts, "Most texts per request."),
    ):
        function = option(flag, panel="limits", type=kind, default=default, help=help)(function)
    return function


@command(
    quiet=True,
    examples=[
        "distill serve multi12-transformer --index kb",
        "distill serve runs/my-run --port 8080 --token-file tokens.txt",
    ],
)
@click.argument("model")
@option(
    "--index",
    "folder",
    panel="index",
    type=click.Path(file_okay=False),
    help="Answer /v1/search from this folder, which distill index wrote.",
)
@option("--host", panel="server", default="127.0.0.1", help="Address to listen on.")
@count_option(
    "--port", panel="server", least=0, most=65535, default=8000, help="Port to listen on; 0 takes a free one."
)
@option("--name", panel="server", help="Name of the model for clients. [default: the name of its folder]")
@option(
    "--token-file",
    panel="server",
    type=click.Path(dir_okay=False),
    help="File of the tokens that clients may use, one per line. [default: $DISTILL_TOKEN, else no token]",
)
@option(
    "--allowed-host",
    "hosts",
    panel="server",
    multiple=True,
    metavar="NAME",
    help="Another host name that requests may be sent to. May be repeated. [default: on 127.0.0.1 only localhost, "
    "elsewhere any]",
)
@option(
    "--cors-origin",
    "pages",
    panel="server",
    multiple=True,
    metavar="URL",
    help="Origin of web pages that may send requests, such as http://localhost:4200. May be repeated.",
)
@_add_request_limits
def serve(
    model: str,
    folder: str | None,
    host: str,
    port: int,
    name: str | None,
    token_file: str | None,
    hosts: tuple[str, ...],
    pages: tuple[str, ...],
    max_texts: int,
    max_characters: int,
    max_pieces: int,
    max_body: int,
    max_waiting: int,
    timeout: float,
) -> None:
    """Serve an encoder, and an index, over HTTP.

    MODEL is any encoder, such as multi12-ngram, a run's folder or a bundle. Clients of OpenAI's API can use
    /v1/embeddings; /v1/search searches the index. Ctrl-C or SIGTERM stops the server.
    """
    from ..search_engine.serving.start import serve_model

    limits = Limits(max_texts, max_characters, max_body, max_waiting, timeout, max_pieces)
    serve_model(model, folder, (host, port), name, token_file, limits, hosts, pages)
