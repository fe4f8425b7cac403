"""The commands that use an encoder: `encode` and `search`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..catalog.kinds import ENCODER_HELP
from ..errors import InputError
from ..settings.choices import SCORES
from .options import document_option, writable

if TYPE_CHECKING:
    from ..system.types import Role


PASSAGE_SCORES = tuple(score for score in SCORES if score != "maxp")


@click.command()
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
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="who encodes")
@click.option("--workers", type=click.IntRange(1, 10_000), help="processes of --engine ray [default: 2]")
@click.option("--ray-address", help="of a Ray cluster [default: $RAY_ADDRESS, else processes of this machine]")
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
    from ..encoding.on_ray import ray_engine
    from ..encoding.text_file import TextFile, rereadable
    from ..system.progress import say

    if engine != "ray" and (workers or ray_address):
        raise InputError("--workers and --ray-address are of --engine ray, which is not given")
    by = ray_engine(model, workers or 2, ray_address) if engine == "ray" else None
    with rereadable(input_path) as path:
        count, dimension = encode_file(TextFile(path), output, model, role, by, restart)
    say(f"{output}: {count} vectors of {dimension}")


@click.command()
@click.argument("question")
@click.option("--model", required=True, help=ENCODER_HELP)
@click.option("--dataset", default="sample", show_default=True, help="whose passages are searched")
@click.option("--document-language", default="en", show_default=True)
@click.option("-k", "--top", type=click.IntRange(1), default=5, show_default=True, help="how many passages")
@click.option(
    "--score",
    type=click.Choice(PASSAGE_SCORES),
    default="vector",
    show_default=True,
    help="of a passage: its vector's, its best sentence's, or both together",
)
@document_option
def search(
    question: str, model: str, dataset: str, document_language: str, top: int, score: str, document_model: str | None
) -> None:
    """Print the passages that are nearest to QUESTION."""
    from ..catalog.loading import load_teacher, with_documents
    from ..data.loading import read_dataset
    from ..report.score_tables import print_hits
    from ..retrieval.search import nearest
    from ..settings.units import kinds_of, named_units

    if not question.strip():
        raise InputError("the question is empty; give a text")
    data = read_dataset(dataset, document_language)
    encoder = with_documents(load_teacher(model), document_model)
    [unit] = named_units(["passage"], [score])
    kinds = kinds_of([unit])
    texts = {kind: data.texts(kind) for kind in kinds}
    print_hits(data, *nearest(encoder, question, texts, data.whole_of(kinds), unit, top))
