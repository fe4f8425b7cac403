"""Train the same static student with and without each ingredient of training, and print one table.

    python benchmarks/ingredients.py --runs runs/ingredients --json ingredients.json
    python benchmarks/ingredients.py --rows "plain;translation" --epochs 4

From the folder that holds data/. A row is one `distill run`, in which a static student of 256 columns learns of muse as
it is or, where the ingredient is of stage 1, of a teacher that was trained of it for three epochs; its flags are those
of `COMMON` and its own. A run that is there is not repeated. P@1 in per cent, means over the languages other than
English: XQuAD dev, which chose the epoch, and half of MLQA's dev questions, about documents that nobody trained on,
both by unit maxp; FLORES dev, a sentence to its English translation.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

NEW = "el,hi,ro,vi"
PARALLEL = ("data/massive/utterances.tsv", "data/tico19/tico19.tsv", "data/mkqa-questions/questions.tsv")
# Languages that mUSE knows and that data/sentences-mono has.
LABELLED = ("ar", "de", "es", "ru", "th", "tr", "zh")
COMMON = (
    *("--dataset", "data/xquad", "--static", "--set", "vocabulary.keep=used"),
    *("--add-languages", NEW, "--set", "student.units=passage", "--set", "student.dev_unit=maxp", "--no-lareqa"),
    *(part for path in PARALLEL for part in ("--parallel", path)),
)
FIXED = ("--teacher-model", "muse")
TRAINED = ("--bm25-epochs", "1", "--online-epochs", "2")
SCORER = ("--scorer", "e5")
TAUGHT = (*TRAINED, *SCORER, "--set", "scorer.stages=teacher")
# A row's flags, and the row that lacks its ingredient.
ROWS = {
    "plain": (FIXED, ""),
    "translation": ((*FIXED, "--objectives", "qq,dd,dq,translation"), "plain"),
    "labelled text": (FIXED, "plain"),
    "table rate": ((*FIXED, "--set", "student.table_learning_rate=5e-3"), "plain"),
    "linear": ((*FIXED, "--set", "student.schedule=linear"), "plain"),
    "warm-up": ((*FIXED, "--set", "student.schedule=linear", "--set", "student.warmup_share=0.1"), "linear"),
    "unigram": ((*FIXED, "--set", "shape.frequencies=unigram"), "plain"),
    "wordfreq": ((*FIXED, "--set", "shape.frequencies=wordfreq"), "plain"),
    "aligner": ((*FIXED, "--aligner", "e5"), "plain"),
    "aligner below 5": ((*FIXED, "--aligner", "e5", "--set", "vocabulary.aligner_below=5"), "aligner"),
    "scorer": ((*FIXED, *SCORER), "plain"),
    "scorer of a tenth": ((*FIXED, *SCORER, "--set", "scorer.weight=0.1"), "plain"),
    "margins": ((*FIXED, *SCORER, "--set", "scorer.margin_weight=1"), "scorer"),
    "teacher": (TRAINED, ""),
    "teacher, scorer": (TAUGHT, "teacher"),
    "teacher, margins": ((*TAUGHT, "--set", "scorer.weight=0", "--set", "scorer.margin_weight=1"), "teacher"),
    "teacher, filter": ((*TAUGHT, "--set", "scorer.weight=0", "--set", "scorer.filter_margin=0.01"), "teacher"),
    "teacher, negatives": ((*TAUGHT, "--set", "scorer.weight=0", "--set", "scorer.negatives=true"), "teacher"),
}
COLUMNS = ("XQuAD dev", "MLQA dev a", "FLORES dev")


def main():
    options = parse()
    rows = {}
    for name in options.rows.split(";"):
        rows[name] = figures(trained(options, name), options.runs)
        Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    show(rows)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", default="runs/ingredients")
    parser.add_argument("--rows", default=";".join(ROWS), help=f"of {'; '.join(ROWS)}, separated by ;")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", default="ingredients.json")
    return parser.parse_args()


def trained(options, name):
    """Train a row's run if it is not there yet, and return its folder."""
    folder = Path(options.runs) / name.replace(", ", "-").replace(" ", "-")
    if not (folder / "metrics.json").is_file():
        flags = [*COMMON, "--epochs", str(options.epochs), "--seed", str(options.seed), *of_row(options, name)]
        resumed = (folder / "config.toml").is_file()
        distill("run", *(["--resume", folder] if resumed else [*flags, "--runs", options.runs, "--name", folder.name]))
    return folder


def of_row(options, name):
    """Return the flags of a row, with the texts that it needs."""
    flags, _ = ROWS[name]
    if name == "labelled text":
        files = [f"{language}={sentences(options, language)}" for language in LABELLED]
        return [*flags, "--labelled-text", ",".join(files)]
    return flags


def sentences(options, language):
    """Return a file of sentences in a language, one text per line."""
    path = Path(options.runs) / "text" / f"{language}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    source = Path(f"data/sentences-mono/passages.{language}.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in source.splitlines()]
    path.write_text("".join(" ".join(row["context"].split()) + "\n" for row in rows), encoding="utf-8")
    return path


def distill(*arguments):
    subprocess.run([sys.executable, "-m", "distill", *map(str, arguments)], check=True)


def figures(folder, runs):
    """Return the figures in per cent by column, and the seconds of the training."""
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    path = Path(runs) / f"{folder.name}.json"
    if not path.is_file():
        tasks = ("--task", "retrieval,bitext=data/flores/dev.tsv", "--unit", "maxp", "--split", "all")
        distill("evaluate", folder, "--dataset", "data/mlqa-dev-a", *tasks, "--json", path)
    measured = json.loads(path.read_text(encoding="utf-8"))
    [units], [bitext] = (measured[task]["encoders"].values() for task in ("retrieval", "bitext"))
    xquad, mlqa = metrics["splits"]["dev"]["encoders"]["student"]["maxp"], units["units"]["maxp"]
    parts = [{language: row["p@1"] for language, row in part.items()} for part in (xquad, mlqa)]
    parts.append({language: row["to"] for language, row in bitext.items() if language in xquad})
    seconds = metrics["timings"]["teacher"] + metrics["timings"]["student"]
    return {**dict(zip(COLUMNS, map(mean, parts), strict=True)), "seconds": seconds}


def mean(by_language):
    return 100 * float(np.mean([value for language, value in by_language.items() if language != "en"]))


def show(rows):
    """Print the table: each row, and its gain over the row that lacks its ingredient."""
    print(f"{'':20}" + "".join(f"{column:>20}" for column in (*COLUMNS, "seconds")))
    for name, row in rows.items():
        less = rows.get(ROWS[name][1])
        cells = [f"{row[key]:.1f}" + (f" ({row[key] - less[key]:+.1f})" if less else "") for key in COLUMNS]
        print(f"{name:20}" + "".join(f"{cell:>20}" for cell in (*cells, f"{row['seconds']:.0f}")))


if __name__ == "__main__":
    main()
