r"""Tables of this folder's README.md out of what `evaluate` and `compare --task reading --json` wrote.

python benchmarks/reading/table.py reading.json --compared passage.json document.json \
    --docs benchmarks/reading/README.md
"""

import argparse
import json
import re
from pathlib import Path

import numpy as np

from distill.system.files import write_text

MARKS = ("<!-- reading -->", "<!-- /reading -->")
SENTENCE = "gold, best sentence"


def main():
    options = parse()
    encoders = json.loads(Path(options.file).read_text(encoding="utf-8"))["reading"]["encoders"]
    parts = [table(encoders)]
    parts += [tests(json.loads(Path(file).read_text(encoding="utf-8"))) for file in options.compared]
    text = "\n\n".join(parts)
    print(text)
    if options.docs:
        page, (start, end) = Path(options.docs), MARKS
        pattern = re.compile(f"{start}.*?{end}", re.DOTALL)
        write_text(page, pattern.sub(f"{start}\n\n{text}\n\n{end}", page.read_text(encoding="utf-8")))


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="of distill evaluate")
    parser.add_argument("--compared", nargs="*", default=[], help="of distill compare")
    parser.add_argument("--docs", help="a page that holds the tables")
    return parser.parse_args()


def table(encoders):
    """Return the table of F1 and exact match: first the results of each encoder, then answers in gold passages."""
    parts = {name: of["parts"] for name, of in encoders.items()}
    languages = list(next(iter(parts.values()))["gold"])
    rows = [(f"{part} of {short(name)}", of[part]) for part in ("document", "passage") for name, of in parts.items()]
    sentences = [(f"best sentence by {short(name)}", of[SENTENCE]) for name, of in parts.items()]
    gold = ("gold passage", next(iter(parts.values()))["gold"])
    lines = [f"| | | {' | '.join(languages)} | mean |", "|---" * (len(languages) + 3) + "|"]
    lines += [line("f1", name, of, languages) for name, of in (*rows, *sentences, gold)]
    lines += [line("em", name, of, languages) for name, of in (*rows, gold)]
    return "\n".join(lines)


def line(metric, name, of, languages):
    cells = [100 * of[language][metric] for language in languages]
    return f"| {metric.upper()} | {name} | " + " | ".join(f"{cell:.1f}" for cell in [*cells, np.mean(cells)]) + " |"


def tests(compared):
    """Describe the tests of what two encoders find, over all questions, and the languages that differ by themselves."""
    a, b = (short(compared[side]) for side in "ab")
    [unit] = [part for part in compared["metrics"]["f1"] if not part.startswith("gold")]
    lines = [f"| {unit} | {a} | {b} | difference (95 %) | p, Holm | languages |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(test(metric, compared["metrics"][metric][unit]) for metric in ("f1", "em"))])


def test(metric, by_language):
    row = by_language["all"]
    bounds = f"{100 * row['difference']:+.1f} ({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"
    languages = [name for name, of in by_language.items() if name != "all" and of["significant"]]
    cells = [f"{100 * row['a']:.1f}", f"{100 * row['b']:.1f}", bounds, f"{row['p_holm']:.4f}", ", ".join(languages)]
    return f"| {metric.upper()} | " + " | ".join(cells) + " |"


def short(name):
    """Return a folder's last part, or a name."""
    return f"`{Path(name).name}`"


if __name__ == "__main__":
    main()
