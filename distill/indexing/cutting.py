"""Cut a document into passages, unless the data gives them."""

from __future__ import annotations

from ..documents.document import Document
from ..words.cutting import Cut as Cut
from ..words.cutting import PassageSpan, cut_text, split_sentences


def cut_document(document: Document, cut: Cut) -> list[PassageSpan]:
    """Return the passages of a document.

    Args:
        document: The document.
        cut: How text is cut, at the ends of sentences.

    Returns:
        The passages.

    Raises:
        InputError: If a language needs a library of the extra `morphology`.
    """
    language = document.language or cut.language
    if document.parts:
        return [_take_part(document.text, part, part.language or language) for part in document.parts]
    return cut_text(document.text, language, cut)


def _take_part(text, part, language):
    places = part.sentences or tuple(split_sentences(text[part.start : part.end], language))
    return PassageSpan(part.start, part.end, places)
