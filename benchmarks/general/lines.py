"""Prepare parallel text of many collections, and sentences to label, for `--parallel` and `--labelled-text`.

    python benchmarks/general/lines.py --data data --output materials

Pairs of English and one other language become `parallel/NAME.jsonl`, objects by language, of each folder in `PAIRS`,
of `wikidata-names` and of `wordnets`; of a cell that holds several words each has a row. Sentences of paragraphs become
`text/{lang}.txt`, a sentence a line. What is a sentence of `mlqa-dev-a` or of FLORES is left out, and so is what is
under the GPL. NTREX and the dictionary are made by `benchmarks/xquad/materials.py`.
"""

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from distill.system.input_files import read_jsonl
from distill.vocabulary.words.cutting import find_sentences_cached

PAIRS = {
    "docs": "docs-parallel",
    "captions": "sts-parallel",
    "strings": "android-strings",
    "hindi": "wiki-hi-crowd",
    "names": "names-translit",
    "chinese": "cc-cedict",
    "help": "libreoffice",
}
# Alternatives of a cell, of which so many are taken.
SEVERAL, MOST = " | ", 2
# Turkish KeNet is under the GPL.
LEFT_OUT = {"wordnets": ("synset", "tr")}
PARAGRAPHS = ("wikipedia-en", "wikipedia-other", "sentences-mono", "tydiqa-goldp", "thaigov", "iapp-wiki-qa")
PARAGRAPHS += ("cmrc2018", "arcd", "drcd", "tquad-tr")
# In el, hi, ro and vi mUSE's vectors are no labels; those of a student that learned them are.
LANGUAGES = ("en", "ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
SHORT, LONG = 20, 400


def main():
    options = parse()
    data, output = Path(options.data), Path(options.output)
    kept_out = evaluated(data)
    for name, rows in parallel(data).items():
        write(output / "parallel" / f"{name}.jsonl", [json.dumps(row, ensure_ascii=False) for row in rows])
        counts = Counter(language for row in rows for language in row)
        print(f"{name}: " + " ".join(f"{language} {number}" for language, number in sorted(counts.items())))
    for language in LANGUAGES:
        lines = sentences(data, language, kept_out)
        random.Random(options.seed).shuffle(lines)
        write(output / "text" / f"{language}.txt", lines[: options.sentences])
        print(f"text {language}: {len(lines[: options.sentences])} of {len(lines)} sentences")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--output", default="materials")
    parser.add_argument("--sentences", type=int, default=120_000, help="of a language, at most")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def parallel(data):
    """Return `{name: [{language: text}]}` with each row once."""
    sources = {name: tables(data / folder) for name, folder in PAIRS.items()}
    sources["aliases"] = tables(data / "wikidata-names", "aliases.*.tsv")
    sources["wordnets"] = table(data / "wordnets" / "synsets.tsv")
    return {
        name: [dict(row) for row in dict.fromkeys(tuple(row.items()) for row in rows)] for name, rows in sources.items()
    }


def tables(folder, names="en-*.tsv"):
    return [row for path in sorted(folder.glob(names)) for row in table(path)]


def table(path):
    """Return the rows of a file headed by languages, `[{language: text}]`.

    Cells with several words give several rows.
    """
    first, *lines = path.read_text(encoding="utf-8").split("\n")
    names, out = first.split("\t"), LEFT_OUT.get(path.parent.name, ())
    rows = [dict(zip(names, line.split("\t"), strict=False)) for line in lines if line]
    return [row for cells in rows for row in alternatives({k: v for k, v in cells.items() if v and k not in out})]


def alternatives(cells):
    """Return one row for each of the first words of the cells. A cell with fewer words gives its first again."""
    words = {language: cell.split(SEVERAL)[:MOST] for language, cell in cells.items()}
    longest = max(map(len, words.values()), default=0)
    rows = [{name: parts[min(place, len(parts) - 1)] for name, parts in words.items()} for place in range(longest)]
    return [row for row in rows if "en" in row and len(row) > 1]


def sentences(data, language, kept_out):
    """Return distinct sentences of a language's paragraphs whose length suits training."""
    texts = (row["context"] for path in files(data, language) for row in read(path))
    cut = (text[start:end].strip() for text in texts for start, end in find_sentences_cached(text, language))
    whole = (" ".join(sentence.split()) for sentence in cut)
    return list(dict.fromkeys(one for one in whole if SHORT <= len(one) <= LONG and one not in kept_out))


def files(data, language):
    return sorted(path for folder in PARAGRAPHS for path in (data / folder).glob(f"passages.{language}*.jsonl"))


def evaluated(data):
    """Return the sentences of the passages and lines that encoders are measured on."""
    documents = read(data / "mlqa-dev-a" / "documents.jsonl")
    passages = [passage["text"] for document in documents for passage in document["passages"]]
    cut = {" ".join(text[start:end].split()) for text in passages for start, end in find_sentences_cached(text, "en")}
    lines = {cell for path in (data / "flores").glob("*.tsv") for cell in path.read_text(encoding="utf-8").split("\t")}
    return cut | lines


def read(path):
    return [row for _, row in read_jsonl(path)]


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
