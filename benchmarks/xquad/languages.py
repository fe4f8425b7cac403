"""Which languages use each piece of `released`, counted in open text: `languages.npz`, and the card that names it.

    python benchmarks/xquad/languages.py --data data --bundle distill/released

A piece is a language's where its text has it `--least` times or more. Text is parallel text, sentences, paragraphs and
dictionaries, of licences that an encoder which ships may be made with; none is text that encoders are evaluated on.
"""

import argparse
import json
import shutil
from dataclasses import asdict
from pathlib import Path

from distill.encoders.tokenizer import Tokenizer
from distill.export.card import stored_files
from distill.export.languages import CARD_KEY, FILE, piece_languages, write_languages
from distill.system.files import write_json
from distill.system.reading import read_jsonl, read_text

TABLES = ("massive", "mkqa-questions", "mintaka-dev", "qald", "rubq", "tico19", "xor-question-pairs", "docs-parallel")
TABLES += (
    "sts-parallel",
    "ud-pud",
    "wiki-hi-crowd",
    "android-strings",
    "wiktionary-dict",
    "cc-cedict",
    "wikidata-names",
)
PASSAGES = ("sentences-mono", "wikipedia-other", "wikipedia-en", "tydiqa-goldp", "thaigov", "iapp-wiki-qa", "cmrc2018")
PASSAGES += ("arcd", "drcd", "tquad-tr")
NEWS = {"arb": "ar", "deu": "de", "ell": "el", "eng": "en", "hin": "hi", "ron": "ro", "rus": "ru", "spa": "es"}
NEWS |= {"tha": "th", "tur": "tr", "vie": "vi", "zho-CN": "zh"}
CARD = "card.json"


def main():
    options = parse()
    bundle = Path(options.bundle)
    card = json.loads((bundle / CARD).read_text(encoding="utf-8"))
    texts = texts_of(Path(options.data), card["languages"])
    pieces = piece_languages(Tokenizer.load(bundle / "tokenizer.model"), texts, options.least)
    write_languages(bundle, pieces)
    for name, column in zip(pieces.languages, pieces.used.T, strict=True):
        print(f"{name}: {len(texts[name])} texts, {column.sum()} pieces")
    print(f"{pieces.used.any(axis=1).sum()} of {len(pieces.used)} pieces, {(bundle / FILE).stat().st_size} bytes")
    write_card(bundle, card, list(pieces.languages))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="the folder with massive, ntrex, sentences-mono, …")
    parser.add_argument("--bundle", default="distill/released")
    parser.add_argument("--least", type=int, default=2, help="uses that make a piece a language's")
    return parser.parse_args()


def texts_of(data, languages):
    """`{language: [text]}`."""
    texts = {language: [] for language in languages}
    for language, lines in [*tables(data), *passages(data), *news(data)]:
        if language in texts:
            texts[language] += lines
    return texts


def tables(data):
    """`(language, lines)` of .tsv files headed by languages; of a dictionary the file's name has both."""
    for path in sorted(path for folder in TABLES for path in (data / folder).glob("*.tsv")):
        head, *rows = [line.split("\t") for line in read_text(path).split("\n") if line]
        names = path.stem.split("-") if "translations" in head else head
        for place, name in enumerate(names):
            yield name, [row[place] for row in rows if len(row) > place]


def passages(data):
    """`(language, lines)` of .jsonl files whose names have the language."""
    for path in sorted(path for folder in PASSAGES for path in (data / folder).glob("*.jsonl")):
        rows = [row for _, row in read_jsonl(path)]
        language = next(part for part in reversed(path.stem.split(".")) if len(part) == 2)
        keys = ("context", "title", "question")
        yield language, [row[key] for row in rows for key in keys if isinstance(row.get(key), str)]


def news(data):
    """`(language, lines)` of NTREX."""
    for path in sorted((data / "ntrex").glob("*.txt")):
        yield NEWS.get(path.stem.split(".")[1], ""), read_text(path).split("\n")


def write_card(bundle, card, languages):
    """Write `card.json` anew, with today's `encode.py`, and the sizes of the files that it lists."""
    shutil.copyfile(Path(__file__).resolve().parents[2] / "export" / "encode.py", bundle / "encode.py")
    listed = {*card["files"], FILE}
    files = {name: asdict(file) for name, file in stored_files(bundle).items() if name in listed}
    card = {**card, "bytes": sum(file["bytes"] for file in files.values()), "files": files}
    write_json(bundle / CARD, {**card, CARD_KEY: {"languages": languages}})


if __name__ == "__main__":
    main()
