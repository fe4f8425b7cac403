"""`distill read`: commands for readers, which find the answer in a passage."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import click

from ..encoders.catalog.kinds import ENCODER_HELP
from ..settings.sections import Value
from .shared.command import group
from .shared.help import option
from .shared.options import (
    Command,
    FiniteRange,
    folder_option,
    require_writable_path,
    settings_options,
    take_settings,
    translator_option,
)


def add_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds options in their order."""
    return lambda function: reduce(lambda inner, one: one(inner), reversed(options), function)


def input_option(lines: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--input`, whose lines hold what `lines` says."""
    return option("--input", "input_path", panel="files", required=True, type=click.Path(dir_okay=False), help=lines)


def lines_options(lines: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--input`, whose lines hold what `lines` says, and `--output`."""
    output = option(
        "--output",
        panel="files",
        required=True,
        type=click.Path(dir_okay=False),
        callback=require_writable_path,
        help="The .jsonl file of the answers.",
    )
    return add_options(input_option(lines), output)


def passage_options(top: int) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of passages that a model reads, by default `top` of them."""
    folder, count = click.Path(file_okay=False), click.IntRange(1)
    index = "Retrieve passages from this folder, which distill index wrote."
    template = "The text that MODEL reads, with {question}, {title} and {passage}. [default: FiD's]"
    return add_options(
        option("--index", "folder", panel="index", required=True, type=folder, help=index),
        option("--hybrid", panel="index", is_flag=True, help="Rank passages by the words of the question too."),
        option("-k", "--top", panel="index", type=count, default=top, help="Number of passages to read per question."),
        option("--template", panel="encoder", help=template),
    )


def steps_options(learning_rate: float) -> Callable[[Command], Command]:
    """Return a decorator that adds `--epochs` and `--learning-rate`."""
    count, rate = click.IntRange(1), FiniteRange(0, min_open=True)
    return add_options(
        option("--epochs", panel="training", type=count, default=3, help="Number of epochs."),
        option("--learning-rate", panel="training", type=rate, default=learning_rate, help="Learning rate."),
    )


@group(
    examples=[
        "distill read train --encoder multi12-ngram --output reader",
        "distill read apply reader --input questions.jsonl --output answers.jsonl",
    ]
)
def read() -> None:
    """Find or write the answer to a question in a passage.

    A reader is a small network that uses the tokens of an encoder and marks the span that answers.
    """


@read.command(
    examples=[
        "distill read train --encoder multi12-ngram --output reader",
        "distill read train --encoder multi12-ngram --dataset my-data --data more-data=0.5 --output reader",
    ]
)
@option("--encoder", panel="encoder", required=True, help=f"The encoder, one that can be trained: {ENCODER_HELP}.")
@settings_options("read-train")
@option(
    "--data",
    "more",
    panel="data",
    multiple=True,
    metavar="[SPLIT:]FOLDER[=WEIGHT]",
    help="Another data set, its split [default: train] and how often an epoch uses it [default: 1]. May be repeated.",
)
@option(
    "--weight", panel="data", type=FiniteRange(0, min_open=True), default=1.0, help="How often an epoch uses --dataset."
)
@steps_options(1e-3)
@option(
    "--unanswered",
    panel="training",
    type=click.Choice(("drawn", "retrieved")),
    default="drawn",
    help="Passages without an answer: drawn at random, or those that the encoder retrieves first.",
)
@folder_option("Folder of the reader.")
def train(
    encoder: str,
    more: tuple[str, ...],
    weight: float,
    epochs: int,
    learning_rate: float,
    unanswered: str,
    output: str,
    **values: Value | None,
) -> None:
    """Train a reader.

    It learns from the train questions of --dataset and from --data; the dev questions choose the epoch. Questions of
    all languages are read in the documents' language, and in their own if the data has passages in it.
    """
    from ..system.backend import start

    start()
    from ..data.loading import choose_data
    from ..papers.reading.files import TRAIN, ReaderSource
    from ..papers.reading.training import ReaderOptions
    from ..papers.reading_jobs import train_reader
    from ..system.progress import say

    settings = take_settings(values)
    data = settings.data
    dataset, languages = choose_data(data, settings.seed)
    sources = [ReaderSource(data.dataset, TRAIN, weight), *map(ReaderSource.of, more)]
    options = ReaderOptions(epochs, learning_rate, seed=settings.seed, retrieved=unanswered == "retrieved")
    learned = train_reader(encoder, output, sources, dataset, languages, options)
    say(f"reader: {output}, dev F1 {100 * learned.best['f1']:.1f}, exact match {100 * learned.best['em']:.1f}")


@read.command(examples=["distill read apply reader --input questions.jsonl --output answers.jsonl"])
@click.argument("reader", metavar="READER")
@lines_options(
    'A .jsonl file with {"id", "question", "passage"} on each line, and "language" and "passage_language" if they are '
    "not English."
)
@translator_option("Translate each answer into the language of its question.")
def apply(reader: str, input_path: str, output: str, translators: tuple[str, ...]) -> None:
    """Find the answers to questions in their passages.

    READER is a folder of distill read train, or hf:NAME, a question-answering model. The output has one line per
    question with the answer, its place in the passage and its score; distill answers takes it.
    """
    from ..papers.reading_jobs import apply_reader
    from ..system.progress import say

    say(f"{output}: {apply_reader(reader, input_path, output, translators)} answers")


@read.command(examples=["distill read write hf:MODEL --index kb --input questions.jsonl --output answers.jsonl"])
@click.argument("writer", metavar="MODEL")
@passage_options(100)
@lines_options('A .jsonl file with {"id", "question"} on each line, and "language" if it is not English.')
def write(writer: str, folder: str, input_path: str, output: str, top: int, hybrid: bool, template: str | None) -> None:
    """Write answers from retrieved passages with a text-to-text model.

    MODEL is hf:NAME or a folder of a model such as mT5 that was trained to answer so. It encodes each passage by itself
    and decodes from all of them at once. distill answers scores the output.
    """
    from ..papers.reading_jobs import generate_answers
    from ..system.progress import say

    count = generate_answers(writer, folder, input_path, output, top, hybrid, template)
    say(f"{output}: {count} answers")


@read.command(
    "train-writer", examples=["distill read train-writer hf:MODEL --index kb --input questions.jsonl --output writer"]
)
@click.argument("writer", metavar="MODEL")
@passage_options(50)
@steps_options(1e-4)
@settings_options("read-train-writer")
@input_option('A .jsonl file with {"id", "question", "answers"} on each line, and "language" if it is not English.')
@folder_option("Folder of the trained model.")
def train_writer(
    writer: str,
    folder: str,
    input_path: str,
    output: str,
    top: int,
    hybrid: bool,
    template: str | None,
    epochs: int,
    learning_rate: float,
    **values: Value | None,
) -> None:
    """Train a text-to-text model to write answers from retrieved passages.

    MODEL is hf:NAME or a folder of a model such as mT5. It learns the first answer of each question from the passages
    that the index ranks first, as MFiD does. distill read write takes the folder that is written.
    """
    from ..papers.reading_jobs import TEMPLATE, WriterOptions
    from ..papers.reading_jobs import train_writer as train
    from ..system.progress import say

    seed = take_settings(values).seed
    options = WriterOptions(top, hybrid, template or TEMPLATE, epochs, learning_rate, seed)
    loss = train(writer, folder, input_path, output, options)
    say(f"writer: {output}, mean loss of the last epoch {loss:.3f}")


@read.command(examples=["distill read export reader --output reader-tflite"])
@click.argument("reader", metavar="READER")
@settings_options("read-export")
@folder_option("Folder of the exported reader.")
def export(reader: str, output: str, **values: Value | None) -> None:
    """Export a reader to TFLite.

    The file reader.tflite answers without TensorFlow. It is checked on the dev questions of --dataset.
    """
    from ..data.loading import choose_data
    from ..papers.reading_jobs import export_reader
    from ..system.progress import say

    settings = take_settings(values)
    dataset, languages = choose_data(settings.data, settings.seed)
    done = export_reader(reader, output, dataset, languages)
    say(f"reader: {output}, {done.size / 1e6:.1f} MB, the same answer to {done.same} of {done.questions} questions")
