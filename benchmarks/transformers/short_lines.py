"""Select short lines of parallel text, evenly by language, so that most tokens of a step are those of questions.

    python benchmarks/general/lines.py --data data --output materials
    python benchmarks/transformers/short_lines.py --materials materials

writes `short/NAME.jsonl` beside `parallel/NAME.jsonl`, of each language at most `--most` lines that are no longer than
`--characters` in both languages. A step costs by its tokens, and what is asked is short.
"""

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from distill.system.input_files import read_jsonl

NAMES = ("docs", "help", "hindi", "captions")


def main():
    options = parse()
    folder = Path(options.materials)
    (folder / "short").mkdir(exist_ok=True)
    for name in NAMES:
        rows = [row for _, row in read_jsonl(folder / "parallel" / f"{name}.jsonl")]
        random.Random(options.seed).shuffle(rows)
        kept, counts = short(rows, options.characters, options.most)
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
        (folder / "short" / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{name}: " + " ".join(f"{language} {number}" for language, number in sorted(counts.items())))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--materials", default="materials")
    parser.add_argument("--characters", type=int, default=130)
    parser.add_argument("--most", type=int, default=2200, help="lines of a language in a file")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def short(rows, characters, most):
    """Return the rows that are short in all languages, and their number for each language but English."""
    kept, counts = [], Counter()
    for row in rows:
        others = [language for language in row if language != "en"]
        if max(map(len, row.values())) <= characters and all(counts[language] < most for language in others):
            kept.append(row)
            counts.update(others)
    return kept, counts


if __name__ == "__main__":
    main()
