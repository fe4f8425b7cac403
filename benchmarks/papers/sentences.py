"""Sentences by language for LIR's directions: 10,000 where the data have so many, what is nearest to Wikipedia first.

    python benchmarks/papers/sentences.py --data data --output runs/lareqa/text

Writes `LANGUAGE.txt`, a sentence a line, and prints how many there are by language and source. The paper takes 10,000
sentences of Wiki-40B in each language, which is not at hand. Paragraphs are cut into sentences; of those of at least
`LEAST` bytes, each once, a source gives all, or as many as are wanting yet, drawn by the seed.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from distill.system.files import write_text
from distill.system.input_files import read_jsonl, read_text
from distill.vocabulary.words.cutting import split_sentences

MOST, LEAST = 10_000, 30
# Of a source with more paragraphs so many are cut.
PARAGRAPHS = 12_000
NEWS = {"ar": "arb", "de": "deu", "el": "ell", "es": "spa", "fi": "fin", "hi": "hin", "ja": "jpn", "ko": "kor"}
NEWS |= {"ro": "ron", "ru": "rus", "th": "tha", "tr": "tur", "vi": "vie", "zh": "zho-CN"}
HELP_IN_HINDI = "libreoffice/en-hi.tsv"
# Files by language: Wikipedia's, then sentences of the web and of news, then of documentation.
SOURCES = {
    "ar": ("wikipedia-other/passages.ar.jsonl",),
    "de": ("sentences-mono/passages.de.jsonl", "ntrex", "docs-parallel/en-de.tsv", "sts-parallel/en-de.tsv"),
    "el": ("sentences-mono/passages.el.jsonl", "ntrex", "docs-parallel/en-el.tsv", "libreoffice/en-el.tsv"),
    "en": ("wikipedia-en/passages.en.1.jsonl",),
    "es": ("sentences-mono/passages.es.jsonl", "ntrex", "docs-parallel/en-es.tsv", "sts-parallel/en-es.tsv"),
    "fi": ("tydiqa-goldp/passages.fi.jsonl", "ntrex"),
    "hi": (
        "wiki-hi-crowd/en-hi.tsv",
        "sentences-mono/passages.hi.jsonl",
        "ntrex",
        "tico19/tico19.tsv",
        "libreoffice/en-hi.tsv",
    ),
    "ja": ("ntrex",),
    "ko": ("tydiqa-goldp/passages.ko.jsonl", "ntrex"),
    "ro": ("sentences-mono/passages.ro.jsonl", "ntrex", "docs-parallel/en-ro.tsv", "sts-parallel/en-ro.tsv"),
    "ru": ("tydiqa-goldp/passages.ru.jsonl", "sentences-mono/passages.ru.jsonl", "ntrex", "docs-parallel/en-ru.tsv"),
    "th": ("iapp-wiki-qa/passages.th.jsonl", "thaigov/passages.th.jsonl"),
    "tr": ("wikipedia-other/passages.tr.jsonl", "tquad-tr/passages.tr.jsonl"),
    "vi": ("wikipedia-other/passages.vi.jsonl",),
    "zh": ("cmrc2018/passages.zh.jsonl", "drcd/passages.zh.jsonl"),
}


def texts_of(path: Path, language: str) -> Iterator[str]:
    """Yield the texts of a source in a language."""
    if path.name == "ntrex":
        yield from read_text(path / f"newstest2019-ref.{NEWS[language]}.txt").splitlines()
    elif path.suffix == ".jsonl":
        yield from (row["context"] for _, row in read_jsonl(path))
    else:
        head, *rows = (line.split("\t") for line in read_text(path).splitlines())
        yield from (row[head.index(language)] for row in rows)


def sentences_from(path: Path, language: str, seen: set[str], random: np.random.Generator) -> list[str]:
    """Return the sentences of a source that are not among those `seen`, in a random order, and add them to these."""
    texts = list(texts_of(path, language))
    texts = [texts[row] for row in random.permutation(len(texts))[:PARAGRAPHS]]
    cut = (" ".join(text[start:end].split()) for text in texts for start, end in split_sentences(text, language))
    new = [sentence for sentence in dict.fromkeys(cut) if len(sentence.encode()) >= LEAST and sentence not in seen]
    seen.update(new)
    return [new[row] for row in random.permutation(len(new))]


def collected(data: Path, language: str, seed: int) -> dict[str, list[str]]:
    """Return the sentences of a language by source, `MOST` in all."""
    random, seen, by_source = np.random.default_rng(seed), set(), {}
    for source in SOURCES[language]:
        if wanting := MOST - sum(map(len, by_source.values())):
            by_source[source] = sentences_from(data / source, language, seen, random)[:wanting]
    return by_source


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--output", type=Path, default=Path("runs/lareqa/text"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for language in SOURCES:
        by_source = collected(options.data, language, options.seed)
        lines = [line for lines in by_source.values() for line in lines]
        write_text(options.output / f"{language}.txt", "\n".join(lines) + "\n")
        parts = ", ".join(f"{len(lines)} of {source.split('/')[0]}" for source, lines in by_source.items())
        print(f"{language} {len(lines)}: {parts}")


if __name__ == "__main__":
    main()
