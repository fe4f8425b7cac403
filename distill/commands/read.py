"""`distill read`: readers, which find the answer within a passage."""

from __future__ import annotations

from collections.abc import Callable

import click

from ..catalog.kinds import ENCODER_HELP
from ..settings.sections import Value
from .shared.options import Command, FiniteRange, folder_option, settings_from, settings_options, writable
from .shared.setting_options import SettingsCommand


def lines_options(lines: str) -> Callable[[Command], Command]:
    """The files of a command that answers questions: what the lines of the one are, and the other."""

    file = click.Path(dir_okay=False)

    def decorate(command: Command) -> Command:
        command = click.option("--output", required=True, type=file, callback=writable, help=".jsonl")(command)
        return click.option("--input", "input_path", required=True, type=file, help=lines)(command)

    return decorate


@click.group()
def read() -> None:
    """The span of a passage that answers a question: a small reader on an encoder's own pieces."""


@read.command(cls=SettingsCommand)
@click.option("--encoder", required=True, help=f"{ENCODER_HELP}; one with weights of ours")
@settings_options("read-train")
@click.option(
    "--data",
    "more",
    multiple=True,
    metavar="[SPLIT:]FOLDER[=WEIGHT]",
    help="more questions with passages, of a split [default: train], so many times an epoch [default: 1]",
)
@click.option("--weight", type=FiniteRange(0, min_open=True), default=1.0, show_default=True, help="of --dataset")
@click.option("--epochs", type=click.IntRange(1), default=3, show_default=True)
@click.option("--learning-rate", type=FiniteRange(0, min_open=True), default=1e-3, show_default=True)
@click.option(
    "--unanswered",
    type=click.Choice(("drawn", "retrieved")),
    default="drawn",
    show_default=True,
    help="the passages that do not answer: drawn, or those that ENCODER finds first",
)
@folder_option("folder for the reader")
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
    """Train a reader on --dataset's train questions and --data; its dev questions choose the epoch.

    Questions of all languages are read in the documents' passages, and in those of their own language where the data
    has them.
    """
    from ..system.backend import start

    start()
    from ..data.loading import chosen_data
    from ..jobs.readers import train_reader
    from ..reading.files import TRAIN, ReaderSource
    from ..reading.training import ReaderOptions
    from ..system.progress import say

    settings = settings_from(values)
    data = settings.data
    dataset, languages = chosen_data(data, settings.seed)
    sources = [ReaderSource(data.dataset, TRAIN, weight), *map(ReaderSource.of, more)]
    course = ReaderOptions(epochs, learning_rate, seed=settings.seed, retrieved=unanswered == "retrieved")
    learned = train_reader(encoder, output, sources, dataset, languages, course)
    say(f"reader: {output}, dev F1 {100 * learned.best['f1']:.1f}, exact match {100 * learned.best['em']:.1f}")


@read.command()
@click.argument("reader", metavar="READER")
@lines_options('{"id", "question", "passage"} lines; "language" and "passage_language" where they are not en')
def apply(reader: str, input_path: str, output: str) -> None:
    """The answers of READER, as distill answers takes them: a line a question, with its place and its score.

    READER is the folder of distill read train, or hf:NAME, a question-answering model.
    """
    from ..jobs.readers import apply_reader
    from ..system.progress import say

    say(f"{output}: {apply_reader(reader, input_path, output)} answers")


@read.command()
@click.argument("writer", metavar="MODEL")
@click.option("--index", "folder", required=True, type=click.Path(file_okay=False), help="a folder of distill index")
@lines_options('{"id", "question"} lines; "language" where it is not en')
@click.option("-k", "--top", type=click.IntRange(1), default=100, show_default=True, help="passages that are read")
@click.option("--hybrid", is_flag=True, help="passages with the question's words stand higher")
@click.option("--template", help="what MODEL reads: {question}, {title}, {passage} in a text [default: FiD's]")
def write(writer: str, folder: str, input_path: str, output: str, top: int, hybrid: bool, template: str | None) -> None:
    """The answers that MODEL writes, in whatever language it has learned to, out of the passages that an index finds.

    MODEL is a text-to-text model that was trained so, mT5 or another, hf:NAME or a folder: it encodes each passage by
    itself and reads them all at once. distill answers measures what comes.
    """
    from ..jobs.readers import generate_answers
    from ..system.progress import say

    count = generate_answers(writer, folder, input_path, output, top, hybrid, template)
    say(f"{output}: {count} answers")


@read.command(cls=SettingsCommand)
@click.argument("reader", metavar="READER")
@settings_options("read-export")
@folder_option("folder for the exported reader")
def export(reader: str, output: str, **values: Value | None) -> None:
    """READER as a flatbuffer, reader.tflite, that answers without TensorFlow, checked on --dataset's dev questions."""
    from ..data.loading import chosen_data
    from ..jobs.readers import export_reader
    from ..system.progress import say

    settings = settings_from(values)
    dataset, languages = chosen_data(settings.data, settings.seed)
    done = export_reader(reader, output, dataset, languages)
    say(f"reader: {output}, {done.size / 1e6:.1f} MB, the same answer to {done.same} of {done.questions} questions")
