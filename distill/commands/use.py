"""The commands that use an encoder: `encode`, `search` and `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..catalog.kinds import ENCODER_HELP, READER_HELP
from ..errors import InputError
from ..serving.limits import Limits
from ..settings.choices import PASSAGE_SCORES
from .shared.options import Command, FiniteRange, writable
from .shared.panels import PanelCommand
from .shared.reporting import ReportingCommand
from .shared.retired import ASKED

if TYPE_CHECKING:
    from ..encoding.encode_file import Engine
    from ..system.types import Role


def engine_options(command: Command) -> Command:
    """Add the options `--engine`, `--workers` and `--ray-address`, which `engine_of` takes."""
    options = (
        click.option(
            "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="who encodes"
        ),
        click.option("--workers", type=click.IntRange(1, 10_000), help="processes of --engine ray [default: 2]"),
        click.option("--ray-address", help="of a Ray cluster [default: $RAY_ADDRESS, else processes of this machine]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


def engine_of(model: str, engine: str, workers: int | None, address: str | None) -> Engine | None:
    """Return the engine that the options name, None for this process. Raises `InputError` where they do not fit."""
    from ..encoding.on_ray import ray_engine

    if engine != "ray" and (workers or address):
        raise InputError("--workers and --ray-address are of --engine ray, which is not given")
    return ray_engine(model, workers or 2, address) if engine == "ray" else None


@click.command(cls=ReportingCommand)
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
@click.option("--restart", is_flag=True, help="leave what a stopped command wrote, and begin anew")
@engine_options
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
    """Vectors of the texts in a JSON Lines file, of any size.

    Texts are read, and vectors written, block by block; the same command goes on with what a stopped one wrote.
    """
    from ..encoding.encode_file import encode_file
    from ..system.progress import say

    by = engine_of(model, engine, workers, ray_address)
    count, dimension = encode_file(input_path, output, model, role, by, restart)
    say(f"{output}: {count} vectors of {dimension}")


def _index(context, parameter, folder):
    """The folder of an index, without which what makes one is said."""
    if not folder:
        raise click.UsageError(f"Missing option '--index': {ASKED}", ctx=context)
    return folder


@click.command(cls=PanelCommand)
@click.argument("question")
@click.option(
    "--index",
    "folder",
    type=click.Path(file_okay=False),
    callback=_index,
    help="the folder of distill index that is searched  [required]",
)
@click.option("--model", help=f"{ENCODER_HELP} [default: the index's own]")
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="documents alone whose field has that value")
@click.option(
    "--threshold",
    type=FiniteRange(0, 1),
    help="nothing is found where the first passage answers with less probability [default: the card's, as a remark]",
)
@click.option("--hybrid", is_flag=True, help="passages with the question's words stand higher; repeats are folded")
@click.option("--json", "as_json", is_flag=True, help="print an object a question, a line each")
@click.option("-k", "--top", type=click.IntRange(1), default=5, show_default=True, help="how many passages")
@click.option(
    "--score",
    type=click.Choice(PASSAGE_SCORES),
    help="of a passage: its vector's, its best sentence's, or both together [default: the index's own]",
)
@click.option("--reader", "marked_by", help=f"marks the answer in each passage: {READER_HELP}")
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
    """Print the passages of an index that are nearest to QUESTION.

    QUESTION may be -, for questions on standard input, a line each.
    """
    if not question.strip():
        raise InputError("the question is empty; give a text")
    answers = _read(_answers(folder, question, model, score, top, where, hybrid, threshold), marked_by)
    _print_answers(answers, question == "-", threshold is not None, as_json)


def _answers(folder, question, model, score, top, where, hybrid, threshold):
    from ..indexing.answers import search as search_index

    for one in where:
        if not one.partition("=")[0] or "=" not in one:
            raise InputError(f"--where: expected a field and its value, such as lang=en, got {one!r}")
    fields = [(name, value) for name, _, value in (one.partition("=") for one in where)]
    questions = _lines() if question == "-" else [question]
    return search_index(folder, questions, top, model, score, hybrid, fields, threshold)


def _read(answers, reader):
    if not reader:
        return answers
    from ..catalog.readers import load_reader
    from ..indexing.reading import read_answers

    return read_answers(answers, load_reader(reader))


def _print_answers(answers, many, strict, as_json):
    from .shared.printing import print_answers, print_json

    if as_json:
        print_json(answers)
    else:
        print_answers(answers, many, strict)


def _lines():
    from ..system.reading import stdin_lines

    return (line.strip() for line in stdin_lines() if line.strip())


@click.command()
@click.argument("model")
@click.option("--index", "folder", type=click.Path(file_okay=False), help="a folder of distill index, for /v1/search")
@click.option("--host", default="127.0.0.1", show_default=True, help="the address that it listens on")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: one that is free")
@click.option("--name", help="what clients call the model [default: as its folder is called]")
@click.option(
    "--token-file", type=click.Path(dir_okay=False), help="tokens, a line each [default: $DISTILL_TOKEN, else none]"
)
@click.option(
    "--allowed-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="a further name that requests may be sent to [default: on 127.0.0.1 localhost alone, elsewhere any]",
)
@click.option(
    "--cors-origin",
    "pages",
    multiple=True,
    metavar="URL",
    help="the origin of web pages that may use it from a browser, such as http://localhost:4200",
)
@click.option(
    "--max-texts", type=click.IntRange(1, 100_000), default=Limits.texts, show_default=True, help="of a request"
)
@click.option(
    "--max-characters",
    type=click.IntRange(1, 10_000_000),
    default=Limits.characters,
    show_default=True,
    help="of a text",
)
@click.option(
    "--max-pieces",
    type=click.IntRange(1, 10_000_000),
    default=Limits.pieces,
    show_default=True,
    help="of a text, as the encoder cuts it",
)
@click.option(
    "--max-body", type=click.IntRange(1000, 10**9), default=Limits.body, show_default=True, help="bytes of a request"
)
@click.option(
    "--max-waiting",
    type=click.IntRange(1, 10**7),
    default=Limits.waiting,
    show_default=True,
    help="texts that wait, of all requests",
)
@click.option(
    "--timeout",
    type=FiniteRange(0.1, 3600),
    default=Limits.seconds,
    show_default=True,
    help="seconds of a request",
)
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
    """Serve MODEL over HTTP: /v1/embeddings, as OpenAI's clients speak it, and /v1/search over an index.

    MODEL is as for the other commands: a run folder, a bundle, released, … SIGTERM or Ctrl-C stops it.
    """
    from ..serving.start import serve_model

    limits = Limits(max_texts, max_characters, max_body, max_waiting, timeout, max_pieces)
    serve_model(model, folder, (host, port), name, token_file, limits, hosts, pages)
