"""Each recipe trained on the same small budget, in one table: P@1 by language, mAP on XQuAD-R, language bias, time.

    python benchmarks/recipes/recipes.py --runs runs/recipes --json recipes.json
    python benchmarks/recipes/recipes.py --runs runs/recipes --recipes x-x,en-en

From the folder that holds data/ and materials/. A recipe is `distill run --config benchmarks/recipes/NAME.toml`; its
figures are those of what stage 1 trained, on dev, for CL-ReLKT of its student. A run that is there is not repeated.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# In the order of LAReQA's Table 2 first, so that neighbours are the paper's.
RECIPES = (
    "x-x",
    "en-en",
    "x-x-mono",
    "x-y",
    "x-y-unfiltered",
    "x-y-dual",
    "x-y-parallel",
    "x-en",
    "self-training",
    "relkt",
)
SUPPORTED, UNSEEN = ("ar", "de", "es", "ru", "th", "tr", "zh"), ("el", "hi", "vi")


def main():
    options = parse()
    names = options.recipes.split(",")
    found = {name: metrics(options, name) for name in ("base", *names)}
    rows = {"base": figures(found["base"], "student")}
    rows.update({name: figures(found[name], trained(name)) for name in names})
    show(rows)
    tests = neighbours(options, names)
    show_tests(tests)
    if options.json:
        Path(options.json).write_text(json.dumps({"rows": rows, "mcnemar": tests}, indent=1), encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", default="runs/recipes")
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--json")
    return parser.parse_args()


def trained(name):
    """Which of a run's encoders the recipe is about."""
    return "student" if name == "relkt" else "teacher"


def metrics(options, name):
    """What the run of a recipe measured, made where it is not there yet."""
    path = Path(options.runs) / name / "metrics.json"
    if not path.is_file():
        command = [sys.executable, "-m", "distill", "run", "--config", HERE / f"{name}.toml"]
        subprocess.run([*command, "--runs", options.runs, "--name", name], check=True)
    return json.loads(path.read_text(encoding="utf-8"))


def figures(found, name):
    """Percentages on dev and seconds of training."""
    units, bias = found["splits"]["dev"]["encoders"][name], found["lareqa"]["encoders"][name]
    table = {}
    for unit in ("maxp", "document"):
        of = {language: 100 * row["p@1"] for language, row in units[unit].items()}
        table[unit] = {**of, "7": mean(of, SUPPORTED), "3": mean(of, UNSEEN)}
    table["map"] = 100 * bias["map"]
    table["rand"], table["same"] = (100 * bias["removed"][kind] for kind in ("rand", "same"))
    table["seconds"] = found["timings"]["teacher"] + (found["timings"]["student"] if name == "student" else 0)
    return {**table, **found.get("size", {}).get("teacher", {})}


def mean(of, languages):
    return float(np.mean([of[language] for language in languages]))


def show(rows):
    heads = ("en", *SUPPORTED, "mean 7", *UNSEEN, "mean 3", "document 7", "mAP", "-rand", "-same", "params", "s")
    print("P@1 by unit maxp, document means, mAP on XQuAD-R: %, dev")
    print(f"{'':16}" + "".join(f"{head:>11}" for head in heads))
    for name, row in rows.items():
        maxp = row["maxp"]
        values = [maxp["en"], *(maxp[key] for key in (*SUPPORTED, "7", *UNSEEN, "3")), row["document"]["7"]]
        values += [row["map"], row["rand"], row["same"]]
        size = f"{row['parameters'] / 1e6:10.1f}M" if "parameters" in row else f"{'':11}"
        print(f"{name:16}" + "".join(f"{value:11.1f}" for value in values) + f"{size}{row['seconds']:11.0f}")


def neighbours(options, names):
    """P@1 of each recipe against the one before it, maxp: McNemar's by language, random signs by question over all."""
    from distill.backend import start
    from distill.data import load_dataset

    start()
    data = load_dataset("data/xquad-r")
    right = {name: right_of(data, Path(options.runs) / name / trained(name)) for name in names}
    return {f"{b} against {a}": tested(right[b], right[a]) for a, b in zip(names, names[1:], strict=False)}


def right_of(data, folder):
    """`{language: (question ids, 1 where the first document is right)}`."""
    from distill.evaluation import evaluate
    from distill.loading import load_encoder

    ranks = evaluate(load_encoder(str(folder)), data, "dev", data.languages, ("maxp",)).ranks["maxp"]
    ids = {language: np.array([question.id for question in data.select(language, "dev")]) for language in ranks}
    return {language: (ids[language], (of == 1).astype(float)) for language, of in ranks.items()}


def tested(a, b):
    from distill.paired import compare_scores

    pairs = {language: (a[language][0], a[language][1], b[language][1]) for language in a}
    return compare_scores({"dev": pairs}, "p@1")["dev"]


def show_tests(tests):
    print(
        "\nP@1, maxp, all languages: difference, its 95 % interval, p by random signs a question; McNemar by language"
    )
    for names, rows in tests.items():
        row = rows["all"]
        differ = [language for language, of in rows.items() if of["significant"] and language != "all"]
        print(
            f"{names:34}{100 * row['difference']:+6.1f} ({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"
            f"  p {row['p']:.4f}  {', '.join(differ) or 'no language by itself'}"
        )


if __name__ == "__main__":
    main()
