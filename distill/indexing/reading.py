"""Find answers in the passages of an index with a reader, or write them with a model that reads all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..reading.examples import Example, Text
from ..reading.reader import Reader
from ..teachers.fusion import FusionWriter
from .answers import Answer

# Of a document that does not say its language.
LANGUAGE = "en"


def read_answers(answers: Iterable[Answer], reader: Reader) -> Iterator[Answer]:
    """Mark in the passages that an index found what a reader takes for the answer, where there is one.

    That is of a score above 0: others keep their best sentence alone.

    Args:
        answers: what `search` returns.
        reader: what `load_reader` returns.

    Returns:
        An iterator of the answers in turn, with the `answer` of its hits.

    Raises:
        EncoderError: where the reader cannot read a passage.
    """
    for answer in answers:
        examples = [_example(answer.question, hit) for hit in answer.hits]
        spans = reader.read(examples)
        pairs = zip(answer.hits, spans, strict=True)
        yield replace(answer, hits=[replace(hit, answer=span.place if span.score > 0 else None) for hit, span in pairs])


def write_generated_answers(answers: Iterable[Answer], writer: FusionWriter) -> Iterator[str]:
    """Yield the text that a model writes to each question from its passages.

    Args:
        answers: The answers with their passages and the titles of their documents.
        writer: The model.

    Yields:
        The texts.
    """
    for answer in answers:
        passages = [(str(hit.fields.get("title") or ""), hit.text) for hit in answer.hits]
        yield writer.write(answer.question, passages)


def _example(question, hit):
    language = str(hit.fields.get("language") or LANGUAGE)
    return Example("", language, question, Text(hit.text, language), None, ())
