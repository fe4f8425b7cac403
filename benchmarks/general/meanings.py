"""Collect the English meanings of words in their written forms for `distill add-words`.

    python benchmarks/general/meanings.py --data data --output materials     # needs wordfreq and simplemma

Of wordfreq's commonest words those that are, or whose lemma is by simplemma, an entry of Wiktionary, a wordnet,
Wikidata's, CLDR's or GeoNames' names: `meant/{el,es,hi,ro,tr}.tsv`, with their frequencies in `meant/words.*.tsv`.
A form is there as people type it without its accents too, a third as often. What is under the GPL is left out.
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path

from distill.vocabulary.typed.kinds import add_noise, has_kind

LANGUAGES = ("el", "es", "hi", "ro", "tr")
# Words that are looked up, translations of each, and words of one.
WORDS, MOST = 150_000, 3
ARTICLES = {"el": r"^(?:ο|η|το|οι|τα) ", "es": r"^(?:el|la|los|las|un|una) ", "ro": r"^(?:a|un|o) "}
NOTES = re.compile(r"#\w+|\(.*?\)| \d+\.$|^(?:an?|the|to) ", re.IGNORECASE)
# Turkish KeNet is under the GPL.
LEFT_OUT = {("wordnets/synsets.tsv", "tr")}
NAMES = ("wikidata-names/names.tsv", "cldr-names/names.tsv", "place-names/geonames.tsv")
# How much a source counts beside the first translation of Wiktionary, and how often a word is typed without accents.
WORDNET, NAME, BARE = 0.4, 0.3, 0.3


def main():
    options = parse()
    data, output = Path(options.data), Path(options.output) / "meant"
    output.mkdir(parents=True, exist_ok=True)
    for language in options.languages.split(","):
        words = commonest(language)
        meant = {word: best(row) for word, row in dictionary(data, language).items()}
        forms = {word: meant[base] for word in words if (base := lemma_in(meant, word, language))}
        bare = without_accents(forms, words, language)
        shares = {**words, **{word: words[form] * BARE for word, form in bare.items()}}
        every = {**forms, **{word: forms[form] for word, form in bare.items()}}
        write(output / f"{language}.tsv", f"{language}\ten", [(word, " | ".join(row)) for word, row in every.items()])
        rows = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
        write(output / f"words.{language}.tsv", "", [(word, f"{share:.3e}") for word, share in rows])


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--output", default="materials")
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    return parser.parse_args()


def dictionary(data, language):
    """Return `{word: {translation: weight}}`."""
    entries = defaultdict(lambda: defaultdict(float))
    for name, weight in ((f"wiktionary-dict/en-{language}.tsv", 1.0), ("wordnets/synsets.tsv", WORDNET)):
        for row in () if (name, language) in LEFT_OUT else rows(data / name):
            for place, word in enumerate(row.get(language, row.get("translations", "")).split(" | ")):
                for rank, english in enumerate(row["en"].split(" | ")):
                    add(entries, language, word, english, weight / (1 + place) / (1 + rank))
    for name in NAMES:
        for row in rows(data / name):
            add(entries, language, row.get(language, ""), row["en"], NAME)
    return entries


def rows(path):
    """Return `[{column: cell}]` of a .tsv."""
    first, *lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [dict(zip(first.split("\t"), line.split("\t"), strict=False)) for line in lines]


def add(entries, language, word, english, weight):
    word = re.sub(r"\(.*?\)", "", word).strip().rstrip("!?.;,").lower()
    word, english = re.sub(ARTICLES.get(language, "^$"), "", word), NOTES.sub("", english.strip()).strip()
    if word and " " not in word and english and len(english.split()) <= MOST:
        entries[word][english] += weight


def best(row):
    """Return the translations of most weight. Where sources agree, the more common in English comes first."""
    from wordfreq import zipf_frequency

    def worth(text):
        return row[text] * (0.3 + min(zipf_frequency(word, "en") for word in text.split()) / 6)

    return sorted(row, key=lambda text: (-worth(text), text))[:MOST]


def commonest(language):
    """Return `{word: share}`, the most frequent first."""
    import wordfreq

    shares = sorted(wordfreq.get_frequency_dict(language, "best").items(), key=lambda pair: (-pair[1], pair[0]))
    return dict([pair for pair in shares if any(map(str.isalpha, pair[0]))][:WORDS])


def lemma_in(meant, word, language):
    """Return a word's own entry, or that of its lemma."""
    import simplemma

    if word in meant:
        return word
    lemma = simplemma.lemmatize(word, lang=language).lower() if simplemma.is_known(word, lang=language) else ""
    return lemma if lemma in meant else None


def without_accents(forms, words, language):
    """Return `{noisy: form}` of forms that change without accents and then are no other word."""
    bare = {}
    if has_kind(language, "no-accents"):
        for form in forms:
            word = add_noise(form, language, "no-accents", 0)
            if word not in words and word not in forms:
                bare.setdefault(word, form)
    return bare


def write(path, first, lines):
    body = "".join("\t".join(line) + "\n" for line in lines)
    path.write_text((f"{first}\n" if first else "") + body, encoding="utf-8")
    print(f"{path}: {len(lines)} lines")


if __name__ == "__main__":
    main()
