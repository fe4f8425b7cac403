"""Find answers in the passages of an index with a reader, or write them with a model that reads all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..search_engine.indexing.answers import Answer
from ..teachers.fusion import FusionWriter
from .reading.examples import Example, Text
from .reading.reader import Reader

# Of a document that does not say its language.
LANGUAGE = "en"


def read_answers(answers: Iterable[Answer], reader: Reader) -> Iterator[Answer]:
    """Mark the answers that a reader finds in the passages of `search`.

    An answer counts if its score is above 0. Other passages keep only their best sentence.

    Args:
        answers: The result of `search`.
        reader: The result of `load_reader`.

    Returns:
        An iterator of the same answers in turn, whose hits have an `answer`, the place of the text, or None.

    Raises:
        EncoderError: If the reader cannot read a passage.

    Example:
        >>> import distill
        >>> answers = distill.search("my-index", "Where does the Danube end?")
        >>> [answer] = distill.read_answers(answers, distill.load_reader("my-reader"))
        >>> answer.hits[0].text
        'The Danube ends in the Black Sea.'
    """
    for answer in answers:
        examples = [_example(answer.question, hit) for hit in answer.hits]
        spans = reader.read(examples)
        pairs = zip(answer.hits, spans, strict=True)
        yield replace(answer, hits=[replace(hit, answer=span.place if span.score > 0 else None) for hit, span in pairs])


def write_generated_answers(answers: Iterable[Answer], writer: FusionWriter) -> Iterator[str]:
    """Yield the text that a model writes to each question from its passages."""
    for answer in answers:
        yield writer.write(answer.question, list_passages(answer))


def list_passages(answer: Answer) -> list[tuple[str, str]]:
    """Return the passages of an answer, each with its title."""
    return [(str(hit.fields.get("title") or ""), hit.text) for hit in answer.hits]


def _example(question, hit):
    language = str(hit.fields.get("language") or LANGUAGE)
    return Example("", language, question, Text(hit.text, language), None, ())
