"""`distill read` as a function: a reader trained, exported and asked, and answers that a model writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..catalog.identity import locate_encoder, weights_fingerprint
from ..catalog.readers import load_features, load_reader, load_writer
from ..data.dataset import Dataset
from ..indexing.answers import Answers
from ..indexing.reading import write_generated_answers
from ..reading.examples import gold_examples
from ..reading.lines import read_bare_questions, read_questions, write_answers, write_predictions
from ..reading.stored import ReaderCard, read_card, read_standard, save_reader
from ..system.backend import start
from ..system.files import require_writable
from ..system.progress import say, task
from ..system.types import File
from ..teachers.fusion import TEMPLATE

if TYPE_CHECKING:
    from ..reading.exporting import ExportedReader
    from ..reading.files import ReaderSource
    from ..reading.learning import TrainedReader
    from ..reading.training import ReaderOptions


def train_reader(
    encoder: str,
    output: File,
    sources: Sequence[ReaderSource],
    dataset: Dataset,
    languages: Sequence[str] = (),
    course: ReaderOptions | None = None,
) -> TrainedReader:
    """Train a reader, which finds the answer within a passage, on an encoder's own pieces.

    Questions of all languages are read in the documents' passages, and in those of their own language where the data
    has them.

    Args:
        encoder: an encoder with weights of ours.
        output: the folder that is made.
        sources: folders of questions with passages, with the split that is taken and how often in an epoch.
        dataset: whose dev questions choose the epoch.
        languages: those of the dev questions; empty for all.
        course: epochs, learning rate and seed; None for the usual ones.

    Returns:
        The trained network with its scores on dev.

    Raises:
        DataError: where no question has an answer in its passage.
        EncoderError: where `encoder` names no encoder with weights of ours.
    """
    start()
    from ..reading.learning import train_on_sources
    from ..reading.training import ReaderOptions

    require_writable(output)
    chosen, course = tuple(languages) or dataset.languages, course or ReaderOptions()
    dataset.require(chosen)
    dev, eyes, language = gold_examples(dataset, "dev", chosen), load_features(encoder), dataset.document_language
    learned = train_on_sources(eyes, sources, dev, language, course)
    folders = tuple(str(source.folder) for source in sources)
    card = ReaderCard(
        locate_encoder(encoder), weights_fingerprint(encoder), language, learned.best, folders, course.seed
    )
    save_reader(output, learned.network, eyes.standard, card)
    if not learned.has_improved:
        say("no epoch was better on dev than the untrained start, which is what is saved; give more with --data")
    return learned


def apply_reader(reader: File, questions: File, output: File) -> int:
    """Write the answers of a reader, a line a question, with its place and its score.

    Args:
        reader: the folder of `train_reader`, or `hf:NAME`, a question-answering model.
        questions: {"id", "question", "passage"} lines, with "language" and "passage_language" where they are not en.
        output: the `.jsonl` that is made.

    Returns:
        How many questions were answered.

    Raises:
        DataError: naming the line that is wrong.
        EncoderError: where `reader` names no reader, or its encoder is another one now.
    """
    examples = read_questions(questions)
    loaded = load_reader(reader)
    with task(f"answers of {loaded.name}", len(examples)) as advance:
        answers = loaded.read(examples, advance)
    write_answers(output, examples, answers)
    return len(answers)


def generate_answers(
    model: str,
    index: File,
    questions: File,
    output: File,
    k: int = 100,
    hybrid: bool = False,
    template: str | None = None,
) -> int:
    """Write the answers that a text-to-text model makes out of the passages that an index finds.

    Args:
        model: `hf:NAME` or a folder; it encodes each passage by itself and reads them all at once.
        index: the folder of `build_index`.
        questions: {"id", "question"} lines, with "language" where it is not en.
        output: the `.jsonl` that is made.
        k: passages that are read.
        hybrid: passages with the question's words stand higher.
        template: what the model reads, with {question}, {title} and {passage} in a text; None for FiD's.

    Returns:
        How many answers were written.

    Raises:
        DataError: naming the line that is wrong, or for an index that is none.
        EncoderError: where `model` names no such model.
        InputError: for a template without its parts.
    """
    read = read_bare_questions(questions)
    answers = Answers(index, hybrid=hybrid).answers((one.text for one in read), k)
    writer = load_writer(model, template or TEMPLATE)
    predictions = []
    with task(f"answers of {writer.name}", len(read)) as advance:
        for prediction in write_generated_answers(answers, writer):
            predictions.append(prediction)
            advance()
    write_predictions(output, read, predictions)
    return len(predictions)


def export_reader(reader: File, output: File, dataset: Dataset, languages: Sequence[str] = ()) -> ExportedReader:
    """Write a reader as a flatbuffer, which answers without TensorFlow, checked on dev questions.

    Args:
        reader: the folder of `train_reader`.
        output: the folder that is made.
        dataset: whose dev questions it is compared on.
        languages: those of the questions; empty for all.

    Returns:
        The flatbuffer's bytes, and to how many questions it gives the same answer.

    Raises:
        ExportError: where too few answers are the same.
        DataError: where no dev question has an answer, or for a language that the data set lacks.
    """
    start()
    from ..reading.exporting import write_flatbuffer

    card, chosen = read_card(reader), tuple(languages) or dataset.languages
    dataset.require(chosen)
    examples = [one for rows in gold_examples(dataset, "dev", chosen).values() for one in rows]
    return write_flatbuffer(reader, output, load_features(card.encoder, read_standard(reader)), examples)
