"""Collect questions, short lines and passages in each language, whose own vectors a student learns (`--labelled-text`).

    python benchmarks/transformers/own_texts.py --data data --materials materials --output seen

writes `seen/{lang}.txt`, a text a line: lines of the parallel text of benchmarks/transformers, and passages. These are
paragraphs, or two or three sentences of one source joined. What shares text with an evaluated collection is left out.
"""

import argparse
import random
from itertools import islice
from pathlib import Path

from distill.data.loading import load_dataset
from distill.data.more_questions import find_sharing
from distill.data.parallel import collect_texts, read_parallel
from distill.system.input_files import read_jsonl
from distill.vocabulary.words.cutting import find_sentences_cached

LANGUAGES = ("ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
LINES = ("mkqa-questions/questions.tsv", "mintaka-dev/questions.tsv", "massive/utterances.tsv", "qald/questions.tsv")
LINES += ("rubq/questions.tsv", "xor-question-pairs/ar-en.tsv", "xor-question-pairs/ru-en.tsv", "tico19/tico19.tsv")
LINES += ("ud-pud/pud.tsv", "wikidata-names/names.tsv", "chromium/strings.tsv")
SHORT = ("short/docs.jsonl", "short/hindi.jsonl", "short/help.jsonl", "short/captions.jsonl", "ntrex")
PARAGRAPHS = ("wikipedia-other", "thaigov", "tydiqa-goldp")
SENTENCES = ("sentences-mono", "tydiqa-goldp")
# What encoders are measured on, in the languages of its passages.
EVALUATED = ("iapp-wiki-qa", "cmrc2018", "arcd", "drcd", "tquad-tr")
# Letters that a text and an evaluated one may not have in common, and the least and the most of a passage. A letter of
# Chinese says as much as two or three of the others.
RUN, LEAST, MOST = 50, 200, 640
RUN_ZH, LEAST_ZH, MOST_ZH = 24, 60, 220


def main():
    options = parse()
    data, materials, output = Path(options.data), Path(options.materials), Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    files = [f"{data / name}=1" for name in LINES] + [f"{materials / name}=1" for name in SHORT]
    lines = [collect_texts([source]) for source in read_parallel(files, "en", LANGUAGES)]
    kept_out = evaluated(data)
    for language in LANGUAGES:
        texts = choose(lines, passages(data, materials, language, options.seed), language, kept_out, options)
        (output / f"{language}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="data", help="the folder of the collections")
    parser.add_argument("--materials", default="materials", help="what the scripts before wrote")
    parser.add_argument("--lines", type=int, default=500, help="of a source and a language, at most")
    parser.add_argument("--passages", type=int, default=3000, help="of a language, at most")
    parser.add_argument("--output", default="seen")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def choose(lines, long, language, kept_out, options):
    """Return distinct texts of a language: some of each source's lines, and some of its passages, in a drawn order."""
    draw = random.Random(options.seed)
    texts = [text for source in lines for text in sample(draw, source.get(language, []), options.lines)]
    short, long = clear([texts, long], language, kept_out)
    chosen = [*short, *sample(draw, long, options.passages)]
    print(f"{language}: {len(short)} lines, {len(chosen) - len(short)} of {len(long)} passages")
    draw.shuffle(chosen)
    return chosen


def sample(draw, texts, most):
    return draw.sample(texts, min(most, len(texts)))


def clear(groups, language, kept_out):
    """Return the distinct texts of each group, on one line each, that share no run of letters with evaluated text."""
    groups = [list(dict.fromkeys(" ".join(text.split()) for text in texts)) for texts in groups]
    shared = iter(
        find_sharing([text for texts in groups for text in texts], kept_out, run=RUN_ZH if language == "zh" else RUN)
    )
    return [[text for text in texts if not next(shared) and text] for texts in groups]


def evaluated(data):
    """Return the passages, in any language, and the lines that encoders are measured on."""
    rows = [
        row["context"] for name in EVALUATED for path in (data / name).glob("passages.*.jsonl") for row in read(path)
    ]
    sets = [passage.text for name in ("mlqa-dev-a", "xquad") for passage in load_dataset(data / name).passages]
    flores = [path.read_text(encoding="utf-8").splitlines() for path in (data / "flores").glob("*.tsv")]
    return [*rows, *sets, *(cell for lines in flores for line in lines for cell in line.split("\t"))]


def passages(data, materials, language, seed):
    """Return what is long enough: paragraphs, cut at a sentence's end, and joined sentences."""
    least, most = (LEAST_ZH, MOST_ZH) if language == "zh" else (LEAST, MOST)
    whole = [text for name in PARAGRAPHS for text in contexts(data / name, language) if len(text) >= least]
    joined = [text for name in SENTENCES for text in join(contexts(data / name, language), least, most, seed)]
    for name in ("docs", "captions", "hindi"):
        rows = [row[language] for row in read(materials / "parallel" / f"{name}.jsonl") if language in row]
        joined += join(rows, least, most, seed)
    ntrex = materials / "ntrex" / f"{language}.txt"
    joined += join(ntrex.read_text(encoding="utf-8").splitlines(), least, most, seed) if ntrex.is_file() else []
    return [text for text in (shorten(text, language, most) for text in [*whole, *joined]) if len(text) >= least]


def contexts(folder, language):
    return [row["context"] for path in sorted(folder.glob(f"passages.{language}*.jsonl")) for row in read(path)]


def join(sentences, least, most, seed):
    """Return neighbouring sentences joined, two or three each, where they are short enough."""
    draw, rest = random.Random(seed), iter([one for one in sentences if len(one) < most])
    groups = iter(lambda: " ".join(islice(rest, draw.choice((2, 3)))), "")
    return [text for text in groups if least <= len(text) <= most]


def shorten(text, language, most):
    """Return the sentences of a text that `most` characters hold, the first ones."""
    if len(text) <= most:
        return text
    ends = [end for _, end in find_sentences_cached(text, language) if end <= most]
    return text[: max(ends, default=0)]


def read(path):
    return [row for _, row in read_jsonl(path)]


if __name__ == "__main__":
    main()
