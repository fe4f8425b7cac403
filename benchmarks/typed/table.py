"""Tables of this folder's README.md out of what `distill evaluate --typed all --json` wrote, by data set and encoder.

python benchmarks/typed/table.py mlqa-*.json xquad-*.json --docs benchmarks/typed/README.md --json typed.json
"""

import argparse
import json
import re
from pathlib import Path

import numpy as np

from distill.system.files import write_json

ORDER = ("muse", "plain", "multi12-ngram", "multi12-static", "e5")
BY_LANGUAGE = "multi12-ngram"
MARKS = ("<!-- typed -->", "<!-- /typed -->")


def main():
    options = parse()
    figures = {}
    for path in options.files:
        part = json.loads(Path(path).read_text(encoding="utf-8"))["retrieval"]
        for name, rows in part["encoders"].items():
            figures.setdefault(part["name"], {})[name] = scores(rows)
    parts = [[losses(name, encoders), *by_language(name, encoders)] for name, encoders in figures.items()]
    text = "\n\n".join(table for tables in parts for table in tables)
    print(text)
    if options.json:
        write_json(options.json, figures)
    if options.docs:
        page = Path(options.docs)
        start, end = MARKS
        pattern = re.compile(f"{start}.*?{end}", re.DOTALL)
        page.write_text(pattern.sub(f"{start}\n\n{text}\n\n{end}", page.read_text(encoding="utf-8")), encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--docs", help="a page that holds the tables")
    parser.add_argument("--json", help="a file for the figures")
    return parser.parse_args()


def scores(rows):
    """Return `{kind: {language: P@1 in per cent}}`, "as they are" among the kinds."""
    kinds = {"as they are": rows["units"], **rows["typed"]}
    return {
        kind: {language: 100 * each["p@1"] for language, each in next(iter(units.values())).items()}
        for kind, units in kinds.items()
    }


def lost(kinds, kind):
    return [kinds["as they are"][language] - score for language, score in kinds[kind].items()]


def losses(name, encoders):
    kinds = list(next(iter(encoders.values())))[1:]
    lines = [f"| {name}: points lost | as they are | {' | '.join(kinds)} | all |", "|---" * (3 + len(kinds)) + "|"]
    for encoder in sorted(encoders, key=ORDER.index):
        each = encoders[encoder]
        cells = [float(np.mean([*each["as they are"].values()])), *(float(np.mean(lost(each, kind))) for kind in kinds)]
        cells.append(float(np.mean([value for kind in kinds for value in lost(each, kind)])))
        lines.append(f"| `{encoder}` | {' | '.join(f'{round(cell, 1) + 0.0:.1f}' for cell in cells)} |")
    return "\n".join(lines)


def by_language(name, encoders):
    if BY_LANGUAGE not in encoders:
        return
    kinds = encoders[BY_LANGUAGE]
    languages = list(kinds["as they are"])
    lines = [f"| {name}, `{BY_LANGUAGE}` | {' | '.join(languages)} |", "|---" * (1 + len(languages)) + "|"]
    for kind, row in kinds.items():
        cells = [f"{row[language]:.1f}" if language in row else "" for language in languages]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    yield "\n".join(lines)


if __name__ == "__main__":
    main()
