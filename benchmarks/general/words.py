"""Words and phrases that get a piece each, with their frequencies, as `--add-words` reads them.

    python benchmarks/general/words.py --data data --output materials

`words/{el,hi,ro}.tsv` are the commonest of the package wordfreq (CC BY-SA 4.0). Vietnamese is written in syllables, so
`words/vi.tsv` has its words of several: those of the dictionaries and names that `lines.py` wrote and of
`wikidata-names` which Vietnamese text holds, and pairs of syllables that stand together far oftener than by chance.
"""

import argparse
import json
import math
import re
from collections import Counter
from pathlib import Path

from distill.data.parallel import collect_texts, read_parallel

WORDS = {"hi": 12_000, "el": 5_000, "ro": 5_000}
PHRASES, LONGEST = 8_000, 4
# A pair counts as a word from so many occurrences on, with so much pointwise mutual information.
OFTEN, TOGETHER = 8, 3.0
TEXT = ("data/massive/utterances.tsv", "data/wikidata-names/names.tsv", "ntrex", "parallel/docs.jsonl")
TEXT += ("parallel/strings.jsonl",)
NAMED = ("wiktionary.tsv", "parallel/wordnets.jsonl", "data/wikidata-names/names.tsv")
NAMED += ("data/cldr-names/names.tsv",)


def main():
    options = parse()
    data, output = Path(options.data), Path(options.output)
    words = {language: commonest(language, number) for language, number in WORDS.items()}
    words["vi"] = phrases(vietnamese(data, output), names(data, output))
    for language, rows in words.items():
        path = output / "words" / f"{language}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{word}\t{share:.3e}\n" for word, share in rows), encoding="utf-8")
        print(f"{path}: {len(rows)} words, such as {', '.join(word for word, _ in rows[:5])}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--output", default="materials", help="the folder that lines.py wrote")
    return parser.parse_args()


def commonest(language, number):
    """`[(word, frequency)]`."""
    import wordfreq

    frequencies = wordfreq.get_frequency_dict(language, "best")
    return sorted(frequencies.items(), key=lambda pair: (-pair[1], pair[0]))[:number]


def texts_in(data, output, sources, language="vi"):
    paths = [data / name.removeprefix("data/") if name.startswith("data/") else output / name for name in sources]
    return collect_texts(read_parallel(paths, "en", [language]))[language]


def names(data, output):
    """Words of dictionaries and names of several syllables."""
    return {text.lower() for text in texts_in(data, output, NAMED) if 2 <= len(text.split()) <= LONGEST}


def vietnamese(data, output):
    """The syllables of each text."""
    texts = texts_in(data, output, TEXT)
    for folder in ("wikipedia-other", "sentences-mono"):
        rows = (data / folder / "passages.vi.jsonl").read_text(encoding="utf-8").split("\n")
        texts += [json.loads(row)["context"] for row in rows if row]
    return [re.findall(r"\w+", text.lower()) for text in texts]


def phrases(texts, named):
    """`[(phrase, frequency)]` of texts, lists of syllables."""
    single, counts, pairs = Counter(), Counter(), Counter()
    for syllables in texts:
        single.update(syllables)
        for length in range(2, LONGEST + 1):
            together = [" ".join(syllables[place : place + length]) for place in range(len(syllables) - length + 1)]
            counts.update(phrase for phrase in together if phrase in named)
            pairs.update(together if length == 2 else ())
    total = single.total()
    several = {phrase: count for phrase, count in counts.items() if count > 1}
    several |= {pair: count for pair, count in pairs.items() if count >= OFTEN and is_word(pair, count, single, total)}
    rows = sorted(several.items(), key=lambda item: (-item[1], item[0]))[:PHRASES]
    return [(phrase, count / total) for phrase, count in rows]


def is_word(pair, count, single, total):
    first, second = pair.split()
    return not re.search(r"\d", pair) and math.log(count * total / (single[first] * single[second])) > TOGETHER


if __name__ == "__main__":
    main()
