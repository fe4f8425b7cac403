"""Divide XQuAD into the train, dev and test questions of all figures in this project.

    python benchmarks/xquad/divide.py path/to/xquad data/xquad

The first folder has the files of https://github.com/google-deepmind/xquad, `xquad.{lang}.json`, of 1,190 questions; the
second gets them as `{lang}.json`, with `splits.json`. `ids.txt` beside this script names 833 questions of train and 119
of dev by their ids, in their order; test are the other 238. XQuAD and its ids are of CC BY-SA 4.0.
"""

import argparse
import sys
from pathlib import Path

from distill.errors import DataError, DistillError
from distill.system.files import write_json
from distill.system.input_files import read_json, read_text

IDS = Path(__file__).parent / "ids.txt"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="the folder of xquad.{lang}.json")
    parser.add_argument("output", type=Path, help="the folder that gets {lang}.json and splits.json")
    options = parser.parse_args()
    try:
        divide(options.source, options.output)
    except (DistillError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def divide(source, output):
    """Write the files of each language and the splits; nothing where one has other questions."""
    files = {path.name.split(".")[1]: path for path in sorted(source.glob("xquad.*.json"))}
    if not files:
        raise DataError(f"{source}: there is no xquad.{{lang}}.json; get them from github.com/google-deepmind/xquad")
    known = read_ids(read_text(IDS))
    texts = {language: read_json(path) for language, path in files.items()}
    splits = {language: with_test(known, ids_of(texts[language]), path) for language, path in files.items()}
    output.mkdir(parents=True, exist_ok=True)
    for language, text in texts.items():
        write_json(output / f"{language}.json", text)
    write_json(output / "splits.json", next(iter(splits.values())))
    counts = ", ".join(f"{len(ids)} {split}" for split, ids in next(iter(splits.values())).items())
    print(f"{output}: {len(files)} languages, questions: {counts}")


def ids_of(text):
    """Return the ids of a file's questions, in its order."""
    try:
        return [question["id"] for one in text["data"] for part in one["paragraphs"] for question in part["qas"]]
    except (KeyError, TypeError):
        return []


def with_test(known, ids, path):
    """Return the splits; test holds the questions that neither of the two names."""
    named = {id for split in known.values() for id in split}
    if missing := named - {*ids}:
        raise DataError(f"{path}: {len(missing)} of {len(named)} questions are not there; expected XQuAD as it comes")
    return {**known, "test": [id for id in ids if id not in named]}


def read_ids(text):
    """Read `{split: [id]}` from lines with a split, the beginning of IDs, and their endings, in the lines' order."""
    splits = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        split, first, *rest = line.split()
        splits.setdefault(split, []).extend(first + last for last in rest)
    return splits


if __name__ == "__main__":
    main()
