"""Make a dictionary of Finnish as it is written: forms of words and compounds, with the English of their parts.

    python benchmarks/finnish/forms.py --data data --output materials/fi     # needs wordfreq, simplemma, freedict

Of wordfreq's commonest words those whose lemma, by simplemma, is a head word of Wiktionary or of FreeDict's two
dictionaries (Debian: dict-freedict-fin-eng, dict-freedict-eng-fin); a word of two such parts has the English of both.
"""

import argparse
import gzip
import re
from collections import defaultdict
from pathlib import Path

from materials import commonest, read, write

# Words that are looked up, and translations of each.
WORDS, MOST = 150_000, 3
# What may follow a form: particles, then possessives, which take a case's last letter.
PARTICLES = ("kaan", "kään", "kin", "han", "hän", "ko", "kö", "pa", "pä")
POSSESSIVES = ("nsa", "nsä", "mme", "nne", "ni", "si")
# Letters of a part of a compound, and of its last part.
SHORT, LAST = 4, 4
HEAD = re.compile(r"^(\S.*?) (?:/.*/ )?<\w+>$")
SENSE = re.compile(r"^(?:\d+\. )?(\S.*)$")
# What a dictionary says around a translation.
NOTES = re.compile(r"#\w+|\(.*?\)| \d+\.$|^(?:an?|the|to) ", re.IGNORECASE)


def main():
    options = parse()
    output, dictionary = Path(options.output), defaultdict(lambda: defaultdict(float))
    words = Path(options.data) / "wiktionary-dict" / "fi-en.tsv"
    for word, cell in zip(read(words, "fi"), read(words, "translations"), strict=True):
        for rank, english in enumerate(text for text in cell.split(" | ")[:MOST] if " form of " not in text):
            add(dictionary, word, english, 1 / (1 + rank))
    for word, english, rank in freedict(options.freedict, "fin-eng"):
        add(dictionary, word, english, 1 / (1 + rank))
    for english, word, rank in freedict(options.freedict, "eng-fin"):
        add(dictionary, word, english, 0.7 / (1 + rank))
    meant = {word: best(row) for word, row in dictionary.items() if row}
    rows = [(word, english) for word, _ in commonest(WORDS) if (english := translated(word, meant))]
    write(output / "forms.tsv", "fi\ten", rows)
    write(output / "words.tsv", "", commonest(WORDS))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--freedict", default="/usr/share/dictd", help="the folder of FreeDict's files")
    parser.add_argument("--output", default="materials/fi")
    return parser.parse_args()


def add(dictionary, word, english, weight):
    english = NOTES.sub("", english.strip()).strip()
    if english and len(english.split()) <= MOST:
        dictionary[word.strip().lower()][english] += weight


def freedict(folder, name):
    """Yield `(head word, translation, rank)` of a dictionary of FreeDict.

    The first line of a sense has its translations.
    """
    with gzip.open(Path(folder) / f"freedict-{name}.dict.dz", "rt", encoding="utf-8") as file:
        head, rank, expected = "", 0, False
        for line in file.read().split("\n"):
            if found := HEAD.match(line):
                head, rank, expected = found[1], 0, True
            elif head and (expected or re.match(r"^\d+\. ", line)) and (sense := SENSE.match(line)):
                expected = False
                for text in sense[1].split(","):
                    if text.strip() and not text.strip()[0].isdigit():
                        yield head, text, rank
                        rank += 1


def best(row):
    """Return the translations of most weight. Where dictionaries agree, the more common in English comes first."""
    from wordfreq import zipf_frequency

    def worth(text):
        return row[text] * (0.3 + min(zipf_frequency(word, "en") for word in text.split()) / 6)

    return sorted(row, key=lambda text: (-worth(text), text))[:MOST]


def translated(word, meant):
    """Return the English of a form, separated by ' | ', or of both parts of a compound; None if a part is unknown."""
    for form in stripped(word):
        if base := lemma_in(meant, form):
            return " | ".join(meant[base])
    # The longest last part, which says what a compound is.
    for place in range(SHORT, len(word) - LAST + 1):
        first = lemma_in(meant, word[:place].rstrip("-"))
        lasts = (lemma_in(meant, form) for form in stripped(word[place:].lstrip("-")) if len(form) >= LAST)
        if first and (last := next(filter(None, lasts), None)):
            return f"{meant[first][0]} {meant[last][0]}"
    return None


def lemma_in(meant, word):
    """Return a word's own entry, or that of its lemma."""
    import simplemma

    if word in meant:
        return word
    lemma = simplemma.lemmatize(word, lang="fi").lower() if simplemma.is_known(word, lang="fi") else ""
    return lemma if lemma in meant else None


def stripped(word):
    """Yield the word, and the word without the suffixes that may follow a form."""
    yield word
    for end in PARTICLES:
        if word.endswith(end) and len(word) > len(end) + 3:
            yield word[: -len(end)]
    for end in POSSESSIVES:
        if word.endswith(end) and len(word) > len(end) + 3:
            stem = word[: -len(end)]
            yield from (stem, f"{stem}n", f"{stem}t")


if __name__ == "__main__":
    main()
