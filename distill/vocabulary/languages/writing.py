"""The script that a language is written in, and lines in another script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...students.vocabulary.fertility import SHARED, find_script

LATIN = "Latn"
# ISO 15924 codes of the languages that are not written in Latin letters, or not in these alone.
CODES = {
    "Arab": "ar arb arz ary fa pes prs ur ps sd ug ckb",
    "Armn": "hy",
    "Beng": "bn as",
    "Cyrl": "ru uk be bg mk kk ky mn tg tt ba cv sr",
    "Deva": "hi mr ne sa mai bho",
    "Ethi": "am ti",
    "Geor": "ka",
    "Grek": "el",
    "Gujr": "gu",
    "Guru": "pa",
    "Hang": "ko",
    "Hani": "zh ja ko",
    "Hebr": "he yi",
    "Hira": "ja",
    "Kana": "ja",
    "Khmr": "km",
    "Knda": "kn",
    "Laoo": "lo",
    "Latn": "sr",
    "Mlym": "ml",
    "Mymr": "my",
    "Orya": "or",
    "Sinh": "si",
    "Taml": "ta",
    "Telu": "te",
    "Thai": "th",
    "Tibt": "bo dz",
}
# Codes of ISO 15924 that stand for other scripts of characters.
SEVERAL = {"Hans": {"Hani"}, "Hant": {"Hani"}, "Jpan": {"Hani", "Hira", "Kana"}, "Kore": {"Hang", "Hani"}}


@dataclass(frozen=True)
class ForeignText:
    """The places of texts that are kept, and the number of others by script, most frequent first."""

    kept: list[int]
    counts: dict[str, int]

    @property
    def told(self) -> str:
        """The counts in words."""
        return ", ".join(f"{count} in {code}" for code, count in self.counts.items())


def scripts_of_language(language: str) -> frozenset[str]:
    """Return the ISO 15924 codes that a language is written in: that of its code, as in sr-Cyrl, or its usual ones."""
    base, *parts = language.replace("_", "-").split("-")
    if named := [part for part in parts if len(part) == 4 and part.isalpha()]:
        return frozenset(code for part in named for code in SEVERAL.get(part.capitalize(), {part.capitalize()}))
    return frozenset(code for code, names in CODES.items() if base.lower() in names.split()) or frozenset({LATIN})


def find_foreign(texts: Sequence[str], language: str) -> ForeignText:
    """Find texts in another script than a language's; return the kept places, and the counts of the others."""
    scripts, kept, counts = scripts_of_language(language), [], Counter[str]()
    for place, text in enumerate(texts):
        code = main_script(text)
        if code is None or code in scripts:
            kept.append(place)
        else:
            counts[code] += 1
    return ForeignText(kept, dict(counts.most_common()))


def main_script(text: str) -> str | None:
    """Return the ISO 15924 code of most letters of a text, or None without letters."""
    counts = Counter(find_script(sign) for sign in text)
    letters = {code: count for code, count in counts.items() if code not in SHARED}
    return max(letters, key=lambda code: letters[code]) if letters else None
