"""The tables of README.md and docs that hold figures of the encoders that ship, from docs/figures.json.

    python benchmarks/figures.py                               # write the tables of all pages anew
    python benchmarks/figures.py --scores mlqa evaluate.json   # take new scores from `distill evaluate --json` first

A table lies between the lines "<!-- figures: NAME -->" and "<!-- end -->" of a page; NAME is one of `TABLES`.
"""

import argparse
import json
import re
import textwrap
from pathlib import Path

from distill.system.files import write_json

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures.json"
PUBLISHED = ROOT / "benchmarks" / "mteb" / "published.json"
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
# What `distill evaluate` calls an encoder that has another name here.
NAMES = {"muse": "mUSE-small", "e5": "e5-small, 4 bits"}
# The peers of README.md.
KNOWN = (
    "potion-multilingual-128M",
    "static-similarity-mrl-multilingual-v1",
    "multilingual-e5-small",
    "bekko-embedding-v1-a8m",
)
LANGUAGES = ("en", "ar", "de", "es", "hi", "vi", "zh")


def pages():
    """Return the pages that may hold tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_figures():
    """Return the content of docs/figures.json."""
    return json.loads(FIGURES.read_text(encoding="utf-8"))


def encoder_label(figures, name):
    """Return an encoder's name as a cell: those that ship are code, as a user types them."""
    return f"`{name}`" if figures["encoders"].get(name, {}).get("shipped") else name


def score_text(value):
    """Return a score as a cell: a whole number is one that was rounded when it was noted."""
    return "" if value is None else str(value)


def table(head, rows):
    """Return the lines of a Markdown table."""
    return "\n".join(f"|{'|'.join(map(str, row))}|" for row in [head, ["---"] * len(head), *rows]) + "\n"


def wrapped(text, indent=""):
    """Return a text in lines of at most 140 characters."""
    return textwrap.fill(text, 140, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def conditions(measured):
    """Return the sentences that say how figures were measured, and the command."""
    text = (
        f"{measured['metric']}. Data: {measured['data']}. Split: {measured['split']}. Unit: {measured['unit']}. "
        f"Seed {measured['seed']}, one run. Machine: {measured['machine']}. {measured.get('note', '')}"
    )
    return f"{wrapped(text)}\n\n```\n{measured['command']}\n```\n"


def scores_of(figures, name, columns=None):
    """Return the table of a set of scores, a row per encoder, with the size of each encoder."""
    values = figures["scores"][name]["values"]
    columns = columns or max((list(row) for row in values.values()), key=len)
    rows = [
        [encoder_label(figures, encoder), size_text(figures, encoder), *(score_text(row.get(one)) for one in columns)]
        for encoder, row in values.items()
    ]
    return table(["encoder", "MB", *columns], rows)


def size_text(figures, encoder):
    """Return the megabytes of an encoder, or an empty cell."""
    return score_text(figures["encoders"].get(encoder, {}).get("megabytes"))


def write_scores(figures, name):
    """Return a table of scores with the conditions under it."""
    return f"{scores_of(figures, name)}\n{conditions(figures['scores'][name])}"


def write_readme(figures):
    """Return the table of README.md: our own task and mteb's, with the peers that people know."""
    columns, theirs = [*LANGUAGES, "mean of 6"], ["en", "mean of 6"]
    mteb = figures["scores"]["mteb"]["values"]
    rows = [
        [
            encoder_label(figures, encoder),
            size_text(figures, encoder),
            *map(score_text, [*map(row.get, columns), *map(mteb.get(encoder, {}).get, theirs)]),
        ]
        for encoder, row in figures["scores"]["mlqa"]["values"].items()
    ]
    others = [
        [f"{name}, published by MTEB", megabytes, *[""] * len(columns), english, mean]
        for name, megabytes, english, mean, published in peers(figures)
        if published and name in KNOWN
    ]
    return table(["encoder", "MB", *columns, *(f"MTEB: {one}" for one in theirs)], rows + others)


def milliseconds_of(figures, encoder):
    """Return the milliseconds of the first run that timed an encoder."""
    return next((run["milliseconds"][encoder] for run in figures["times"] if encoder in run["milliseconds"]), None)


def points(figures):
    """Return `(encoder, megabytes, milliseconds, mean P@1 of six languages, P@1 in English)` of all that were timed."""
    scores = figures["scores"]["mlqa"]["values"]
    return [
        (name, of["megabytes"], milliseconds_of(figures, name), scores[name]["mean of 6"], scores[name]["en"])
        for name, of in figures["encoders"].items()
    ]


def write_front(figures):
    """Return the table of size, time and quality."""
    rows = [
        [encoder_label(figures, name), *map(score_text, (megabytes, milliseconds, english, others))]
        for name, megabytes, milliseconds, others, english in points(figures)
    ]
    return table(["encoder", "MB", "ms per question", "P@1 en", "P@1, mean of 6"], rows)


def write_times(figures):
    """Return the milliseconds of all runs, a row per encoder and a column per run."""
    runs = figures["times"]
    rows = [
        [encoder_label(figures, name), *(score_text(run["milliseconds"].get(name)) for run in runs)]
        for name in figures["encoders"]
    ]
    notes = "\n".join(
        wrapped(f"{number}. {run['what']}; {run['threads']} thread; {run['machine']}; `{run['command']}`", "   ")
        for number, run in enumerate(runs, 1)
    )
    return f"{table(['ms per question', *range(1, len(runs) + 1)], rows)}\n{notes}\n"


def peers(figures):
    """Return `(encoder, megabytes, P@1 in English, mean of six, whether it is published)` under mteb's protocol."""
    ours = figures["scores"]["mteb"]["values"]
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))["encoders"]
    return [
        *(
            (name, figures["encoders"][name]["megabytes"], row["en"], row["mean of 6"], False)
            for name, row in ours.items()
        ),
        *(
            (name, row["mb"], row["mlqa_validation_en"], row["mlqa_validation"], True)
            for name, row in published.items()
        ),
    ]


def write_peers(figures):
    """Return the table of encoders of other projects, with published figures marked and conditions under it."""
    rows = [
        [encoder_label(figures, name), megabytes, english, others, "published" if other else "ours"]
        for name, megabytes, english, others, other in peers(figures)
    ]
    source = wrapped(f"Published rows: {json.loads(PUBLISHED.read_text(encoding='utf-8'))['source']}.")
    rows = table(["encoder", "MB", "P@1 en", "P@1, mean of 6", "measured by"], rows)
    return f"{rows}\n{source}\n\n{conditions(figures['scores']['mteb'])}"


TABLES = {
    "readme": write_readme,
    "front": write_front,
    "times": write_times,
    "mteb": write_peers,
    **{
        name: lambda figures, name=name: write_scores(figures, name)
        for name in ("mlqa", "sample", "xquad", "flores", "lareqa", "default-run", "score-kinds", "typed")
    },
}


def fill(page, figures):
    """Return the text of a page with its tables written anew."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{TABLES[block[2]](figures)}\n{block[3]}", page)


def take_scores(figures, name, evaluated):
    """Put the scores of one unit that `distill evaluate --json` wrote into a set."""
    measured = figures["scores"][name]
    for encoder, of in evaluated["retrieval"]["encoders"].items():
        by_language = of["units"][measured["unit"]]
        scores = {language: round(100 * of["p@1"], 1) for language, of in by_language.items()}
        row = measured["values"].setdefault(NAMES.get(encoder, encoder), {})
        for column in list(row) or scores:
            if column in scores:
                row[column] = scores[column]
            elif column.startswith("mean of") and "that" not in column:
                row[column] = round(mean_of(by_language, column, row), 1)


def mean_of(by_language, column, row):
    """Return the mean of the languages between a column `mean of N` and the mean before it, without English."""
    columns = list(row)
    before = columns[: columns.index(column)]
    start = max((number for number, one in enumerate(before) if one.startswith("mean")), default=-1) + 1
    count = int(column.split()[-1])
    languages = [one for one in before[start:] if one != "en" or len(before[start:]) == count]
    return 100 * sum(by_language[one]["p@1"] for one in languages) / len(languages)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scores", nargs=2, metavar=("SET", "JSON"), help="take scores of a set from this file first")
    options = parser.parse_args()
    figures = read_figures()
    if options.scores:
        name, path = options.scores
        take_scores(figures, name, json.loads(Path(path).read_text(encoding="utf-8")))
        write_json(FIGURES, figures)
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (filled := fill(text, figures)) != text:
            page.write_text(filled, encoding="utf-8")


if __name__ == "__main__":
    main()
