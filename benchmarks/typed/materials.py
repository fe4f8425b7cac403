"""Collect text and words for token aliases from the collections in `data/`.

    python benchmarks/typed/materials.py --data data --materials materials --output typed     # needs wordfreq

writes `typed/text/{lang}.txt`, questions first, and `typed/words/{lang}.tsv` for the languages that people type in
Latin letters too, the commonest words of wordfreq.
"""

import argparse
import random
from pathlib import Path

from distill.data.parallel import collect_texts, read_parallel
from distill.vocabulary.typed.kinds import ROMANISERS

LANGUAGES = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
# Of questions all are taken, of the others what is left of the lines of a language.
QUESTIONS = ("mkqa-questions/questions.tsv", "mintaka-dev/questions.tsv", "qald/questions.tsv", "rubq/questions.tsv")
QUESTIONS += ("xor-question-pairs/ar-en.tsv", "xor-question-pairs/ru-en.tsv")
OTHERS = ("tico19/tico19.tsv", "ud-pud/pud.tsv", "wikidata-names/names.tsv", "massive/utterances.tsv")
MADE = ("ntrex", "parallel/docs.jsonl", "parallel/captions.jsonl", "parallel/hindi.jsonl")
SHORTEST, LONGEST = 3, 299


def main():
    options = parse()
    texts = lines_of(Path(options.data), Path(options.materials), options.lines)
    folder = Path(options.output)
    for language, lines in texts.items():
        write(folder / "text" / f"{language}.txt", lines)
    for language in ROMANISERS:
        write(folder / "words" / f"{language}.tsv", words_of(language, options.words))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--materials", default="materials", help="the folder that benchmarks/general wrote")
    parser.add_argument("--output", default="typed", help="a folder to write")
    parser.add_argument("--lines", type=int, default=25_000, help="of a language; English has all of its text too")
    parser.add_argument("--words", type=int, default=15_000, help="words of a language")
    return parser.parse_args()


def lines_of(data, materials, count):
    """Return `{language: texts}`: questions first, then a draw of other text."""
    groups = [[data / name for name in QUESTIONS]]
    groups.append([data / name for name in OTHERS] + [materials / name for name in MADE])
    parts = [[collect_texts(read_parallel([path], "en", read_in(path))) for path in group] for group in groups]
    plain = {language: lines_in(materials / "text" / f"{language}.txt") for language in LANGUAGES}
    for language, lines in plain.items():
        parts[1].append({language: lines[: 2 * count]})
    texts = {language: joined(language, parts)[:count] for language in LANGUAGES}
    return {**texts, "en": texts["en"] + plain["en"]}


def read_in(path):
    return [path.stem[:2], "en"] if path.stem.endswith("-en") else LANGUAGES


def joined(language, parts):
    draw, lines = random.Random(0), {}
    for part in parts:
        texts = [text for source in part for text in source.get(language, ())]
        draw.shuffle(texts)
        lines |= dict.fromkeys(" ".join(text.split()) for text in texts if SHORTEST <= len(text) <= LONGEST)
    return list(lines)


def words_of(language, count):
    """Return the most frequent words, one line each with its frequency."""
    import wordfreq

    frequencies = sorted(wordfreq.get_frequency_dict(language, "best").items(), key=lambda row: (-row[1], row[0]))
    return [f"{word}\t{share:.3e}" for word, share in frequencies if any(map(str.isalpha, word))][:count]


def lines_in(path):
    return path.read_text(encoding="utf-8").split("\n")


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path}: {len(lines)} lines")


if __name__ == "__main__":
    main()
