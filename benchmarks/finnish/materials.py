"""Prepare the Finnish of the collections in `data/` for `distill add-language`.

    python benchmarks/finnish/materials.py --data data --output materials/fi     # needs wordfreq

`ntrex.tsv`, `questions.tsv` (XOR-TyDi's, without the last `HELD`, which are `held.tsv`), `dictionary.tsv` of
Wiktionary's head words, `text.txt`, the sentences of TyDi QA's Finnish passages, and `words.tsv`, the commonest of
wordfreq with their frequencies. Nothing of FLORES is in them.
"""

import argparse
import json
from pathlib import Path

from distill.vocabulary.words.cutting import find_sentences_cached

WORDS, HELD = 40_000, 500


def main():
    options = parse()
    data, output = Path(options.data), Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    held_out = {cell for path in (data / "flores").glob("*.tsv") for cell in read(path, "fi")}
    english, finnish = (lines(data / "ntrex" / f"newstest2019-{name}.txt") for name in ("src.eng", "ref.fin"))
    write(output / "ntrex.tsv", "en\tfi", zip(english, finnish, strict=True))
    questions = list(
        zip(*(read(data / "xor-question-pairs" / "fi-en.tsv", name) for name in ("en", "fi")), strict=True)
    )
    write(output / "questions.tsv", "en\tfi", questions[:-HELD])
    write(output / "held.tsv", "en\tfi", questions[-HELD:])
    words = data / "wiktionary-dict" / "fi-en.tsv"
    write(output / "dictionary.tsv", "fi\ten", zip(read(words, "fi"), read(words, "translations"), strict=True))
    passages = [json.loads(line)["context"] for line in lines(data / "tydiqa-goldp" / "passages.fi.jsonl")]
    cut = [" ".join(text[start:end].split()) for text in passages for start, end in find_sentences_cached(text, "fi")]
    write(output / "text.txt", "", ((one,) for one in dict.fromkeys(cut) if one and one not in held_out))
    write(output / "words.tsv", "", commonest())


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--output", default="materials/fi")
    return parser.parse_args()


def commonest(most=WORDS):
    """Return the most frequent words, `[(word, frequency)]`."""
    import wordfreq

    frequencies = sorted(wordfreq.get_frequency_dict("fi", "best").items(), key=lambda pair: (-pair[1], pair[0]))
    return [(word, f"{share:.3e}") for word, share in frequencies if any(map(str.isalpha, word))][:most]


def read(path, column):
    """Return the cells of a column of a .tsv."""
    first, *rows = [line.split("\t") for line in lines(path)]
    return [row[first.index(column)] for row in rows]


def lines(path):
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def write(path, first, rows):
    body = "".join("\t".join(row) + "\n" for row in rows)
    path.write_text((f"{first}\n" if first else "") + body, encoding="utf-8")
    print(f"{path}: {body.count(chr(10))} lines")


if __name__ == "__main__":
    main()
