"""Train, export and apply a reader, and have a model write answers: `distill read` as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.dataset import Dataset
from ..encoders.catalog.identity import locate_encoder, weights_fingerprint
from ..errors import DataError
from ..evaluation.translators import is_served, load_translators, parse_folders
from ..search_engine.indexing.answers import Answers
from ..system.backend import start
from ..system.files import require_writable
from ..system.progress import say, task
from ..system.types import File
from ..teachers.fusion import TEMPLATE, WrittenExample
from .reading.examples import Example, gold_examples
from .reading.lines import read_bare_questions, read_questions, write_answers, write_predictions
from .reading.load_reader import load_features, load_reader, load_writer
from .reading.reader import Answer
from .reading.reader_folder import ReaderCard, read_card, read_standard, save_reader
from .written_answers import list_passages, write_generated_answers

if TYPE_CHECKING:
    from .reading.exporting import ExportedReader
    from .reading.files import ReaderSource
    from .reading.learning import TrainedReader
    from .reading.training import ReaderOptions


def train_reader(
    encoder: str,
    output: File,
    sources: Sequence[ReaderSource],
    dataset: Dataset,
    languages: Sequence[str] = (),
    options: ReaderOptions | None = None,
) -> TrainedReader:
    """Train a reader, which finds the answer within a passage, on the tokens of an encoder.

    Questions of all languages are read in the passages of the documents, and in passages of their own language if the
    data has them.

    Args:
        encoder: The encoder, with weights of distill's own.
        output: The folder to make.
        sources: Folders of questions with passages, each with the split to take and how often to take it in an epoch.
        dataset: The data set whose dev questions choose the epoch.
        languages: The languages of the dev questions; empty for all.
        options: The epochs, the learning rate and the seed; None for the defaults.

    Returns:
        The trained network and its scores on dev.

    Raises:
        DataError: If no question has an answer in its passage.
        EncoderError: If `encoder` names no encoder with weights of distill's own.

    Example:
        >>> import distill
        >>> data, sources = distill.load_dataset("my-data"), [distill.ReaderSource("my-data")]
        >>> options = distill.ReaderOptions(epochs=1)
        >>> trained = distill.train_reader("my-encoder", "my-reader", sources, data, options=options)
        >>> sorted(trained.best)
        ['em', 'f1']
    """
    start()
    from .reading.learning import train_on_sources
    from .reading.training import ReaderOptions

    require_writable(output)
    chosen, options = tuple(languages) or dataset.languages, options or ReaderOptions()
    dataset.require(chosen)
    dev, features, language = gold_examples(dataset, "dev", chosen), load_features(encoder), dataset.document_language
    learned = train_on_sources(features, sources, dev, language, options)
    folders = tuple(str(source.folder) for source in sources)
    card = ReaderCard(
        locate_encoder(encoder), weights_fingerprint(encoder), language, learned.best, folders, options.seed
    )
    save_reader(output, learned.network, features.standard, card)
    if not learned.has_improved:
        say("no epoch was better on dev than the untrained start, which is what is saved; give more with --data")
    return learned


def apply_reader(reader: File, questions: File, output: File, translators: Sequence[File] = ()) -> int:
    """Write the answers of a reader, one line per question, each with its place and its score.

    With translators an answer is written in the language of its question, as by Sorokin et al. (2022), section 4.2.

    Args:
        reader: The folder of `train_reader`, or `hf:NAME` for a question-answering model.
        questions: A file of {"id", "question", "passage"} lines, with "language" and "passage_language" if not English.
        output: The `.jsonl` file to make.
        translators: `[LANGUAGE=]FOLDER` of models that CTranslate2 runs, for questions in that language or in any.

    Returns:
        The number of questions.

    Raises:
        DataError: If a line is wrong. The message names it.
        EncoderError: If `reader` names no reader, or if its encoder has changed.

    Example:
        >>> import distill, pathlib
        >>> line = '{"id": "1", "question": "Where does it end?", "passage": "The Danube ends in the Black Sea."}'
        >>> _ = pathlib.Path("questions.jsonl").write_text(line)
        >>> distill.apply_reader("my-reader", "questions.jsonl", "answers.jsonl")
        1
    """
    examples, folders = read_questions(questions), parse_folders(translators)
    loaded = load_reader(reader)
    with task(f"answers of {loaded.name}", len(examples)) as advance:
        answers = loaded.read(examples, advance)
    write_answers(output, examples, translate_answers(examples, answers, folders))
    return len(answers)


def translate_answers(
    examples: Sequence[Example], answers: Sequence[Answer], folders: Mapping[str | None, Path]
) -> list[Answer]:
    """Translate the texts of answers into their questions' languages, as far as `folders` have a translator of one."""
    translated = list(answers)
    for language in dict.fromkeys(one.language for one in examples):
        foreign = [n for n, one in enumerate(examples) if one.language == language and one.passage.language != language]
        if not foreign or not is_served(language, folders):
            continue
        loaded = load_translators([folders.get(language) or folders[None]], target=language)
        for origin in dict.fromkeys(examples[n].passage.language for n in foreign):
            places = [n for n in foreign if examples[n].passage.language == origin and answers[n].text]
            texts = loaded.translate([answers[n].text for n in places], origin)
            for n, text in zip(places, texts, strict=True):
                translated[n] = replace(answers[n], text=text)
    return translated


def generate_answers(
    model: str,
    index: File,
    questions: File,
    output: File,
    k: int = 100,
    hybrid: bool = False,
    template: str | None = None,
) -> int:
    """Write the answers that a text-to-text model generates from the passages that an index finds.

    Args:
        model: `hf:NAME` or a folder. The model encodes each passage separately and reads them all at once.
        index: The folder of `build_index`.
        questions: A file of {"id", "question"} lines, with "language" if not English.
        output: The `.jsonl` file to make.
        k: The number of passages per question.
        hybrid: If True, passages that hold the words of the question rank higher.
        template: The input of the model, with {question}, {title} and {passage} in a text; None for that of FiD.

    Returns:
        The number of answers.

    Raises:
        DataError: If a line is wrong, which the message names, or if the folder holds no index.
        EncoderError: If `model` names no such model.
        InputError: If the template lacks a part.

    Example:
        >>> import distill
        >>> count = distill.generate_answers("hf:NAME", "my-index", "questions.jsonl", "answers.jsonl", k=10)
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


@dataclass(frozen=True)
class WriterOptions:
    """How a writer learns: passages per question, whether their words count too, the model's input, and the steps.

    Example:
        >>> import distill
        >>> distill.WriterOptions(epochs=2).top
        50
    """

    top: int = 50
    hybrid: bool = False
    template: str = TEMPLATE
    epochs: int = 3
    learning_rate: float = 1e-4
    seed: int = 0


def train_writer(model: str, index: File, questions: File, output: File, options: WriterOptions) -> float:
    """Train a text-to-text model to write answers from the passages that an index finds.

    Sorokin et al. (2022), Sentri, section 3.4: MFiD learns from the 50 passages that the retriever ranks first.

    Args:
        model: `hf:NAME` or a folder, such as an mT5.
        index: The folder of `build_index`.
        questions: A file of {"id", "question", "answers"} lines, of which the first answer is learned.
        output: The folder to make, a `model` for `generate_answers`.
        options: The options.

    Returns:
        The mean loss of the last epoch.

    Raises:
        DataError: If a line is wrong, which the message names, or if no question has an answer.
        TrainingError: If a loss is not a number.

    Example:
        >>> import distill
        >>> options = distill.WriterOptions(top=50)
        >>> loss = distill.train_writer("hf:NAME", "my-index", "questions.jsonl", "writer", options)
    """
    require_writable(output)
    read = [one for one in read_bare_questions(questions) if one.answers]
    if not read:
        raise DataError(
            f'{questions}: no question has an answer to learn; expected {{"id", "question", "answers"}} lines'
        )
    retrieved = Answers(index, hybrid=options.hybrid).answers((one.text for one in read), options.top)
    pairs = zip(read, map(list_passages, retrieved), strict=True)
    examples = [WrittenExample(one.text, passages, one.answers[0]) for one, passages in pairs if passages]
    writer = load_writer(model, options.template)
    with task(f"answers that {writer.name} learns", options.epochs * len(examples)) as advance:
        losses = writer.train(examples, options.epochs, options.learning_rate, options.seed, advance)
    writer.save(output)
    return losses[-1]


def export_reader(reader: File, output: File, dataset: Dataset, languages: Sequence[str] = ()) -> ExportedReader:
    """Write a reader as a flatbuffer that answers without TensorFlow, and check it on dev questions.

    Args:
        reader: The folder of `train_reader`.
        output: The folder to make.
        dataset: The data set on whose dev questions the two are compared.
        languages: The languages of the questions; empty for all.

    Returns:
        The bytes of the flatbuffer, and the number of questions to which it gives the same answer.

    Raises:
        ExportError: If too few answers are the same.
        DataError: If no dev question has an answer, or if the data set lacks a language.

    Example:
        >>> import distill
        >>> exported = distill.export_reader("my-reader", "my-reader-lite", distill.load_dataset("my-data"))
    """
    start()
    from .reading.exporting import write_flatbuffer

    card, chosen = read_card(reader), tuple(languages) or dataset.languages
    dataset.require(chosen)
    examples = [one for rows in gold_examples(dataset, "dev", chosen).values() for one in rows]
    return write_flatbuffer(reader, output, load_features(card.encoder, read_standard(reader)), examples)
