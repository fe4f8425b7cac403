"""Answers within the passages of an index: what a reader finds in each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..reading.examples import Example, Text
from ..reading.reader import Reader
from .answers import Answer

# Of a document that does not say its language.
LANGUAGE = "en"


def read_answers(answers: Iterable[Answer], reader: Reader) -> Iterator[Answer]:
    """Yield each answer with the place in its passages that the reader takes for it, where there is one.

    That is of a score above 0: others keep their best sentence alone.
    """
    for answer in answers:
        examples = [_example(answer.question, hit) for hit in answer.hits]
        spans = reader.read(examples)
        pairs = zip(answer.hits, spans, strict=True)
        yield replace(answer, hits=[replace(hit, answer=span.place if span.score > 0 else None) for hit, span in pairs])


def _example(question, hit):
    language = str(hit.fields.get("language") or LANGUAGE)
    return Example("", language, question, Text(hit.text, language), None, ())
