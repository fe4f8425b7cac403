"""Train each recipe on the same small budget: P@1 by language, mAP on XQuAD-R, language bias, and time.

    python benchmarks/recipes/recipes.py --runs runs/recipes --json recipes.json
    python benchmarks/recipes/recipes.py --runs runs/recipes --recipes x-x,en-en

From the folder that holds data/ and materials/. A recipe is `distill run --config benchmarks/recipes/NAME.toml`; its
figures are those of what stage 1 trained, on dev, for CL-ReLKT of its student. A run that is there is not repeated.
"""

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
# What is compared: LAReQA's four in the order of its Table 2, then each recipe and the one that lacks its ingredient.
NEIGHBOURS = (
    ("en-en", "x-x"),
    ("x-x-mono", "en-en"),
    ("x-y", "x-x-mono"),
    ("x-y", "x-y-unfiltered"),
    ("x-y", "x-y-dual"),
    ("x-y-parallel", "x-y"),
    ("x-en", "x-y"),
    ("self-training", "x-en"),
    ("relkt", "x-y"),
)
RECIPES = tuple(dict.fromkeys(name for pair in NEIGHBOURS for name in reversed(pair)))
SUPPORTED, UNSEEN = ("ar", "de", "es", "ru", "th", "tr", "zh"), ("el", "hi", "vi")


def main():
    options = parse()
    names = options.recipes.split(",")
    found = {name: metrics(options, name) for name in ("base", *names)}
    judge = Judge()
    rows = {name: {**figures(found[name], trained(name)), **judge(options, name)} for name in found}
    show(rows)
    pairs = [pair for pair in NEIGHBOURS if set(pair) <= set(names)]
    tests = {f"{a} against {b}": tested(judge.right[a], judge.right[b]) for a, b in pairs}
    show_tests(tests)
    if options.json:
        Path(options.json).write_text(
            json.dumps({"rows": rows, "mcnemar": tests}, indent=1, default=asdict), encoding="utf-8"
        )


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", default="runs/recipes")
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--json")
    return parser.parse_args()


def trained(name):
    """Return which of a run's encoders the recipe is about."""
    return "student" if name in ("relkt", "base") else "teacher"


def metrics(options, name):
    """Run a recipe if its run is not there yet, and return what it measured."""
    folder = Path(options.runs) / name
    if not (folder / "metrics.json").is_file():
        new = ["--config", HERE / f"{name}.toml", "--runs", options.runs, "--name", name]
        stopped = (folder / "config.toml").is_file()
        subprocess.run(
            [sys.executable, "-m", "distill", "run", *(["--resume", folder] if stopped else new)], check=True
        )
    return json.loads((folder / "metrics.json").read_text(encoding="utf-8"))


def figures(found, name):
    """Return percentages on dev and seconds of training."""
    units = found["splits"]["dev"]["encoders"][name]
    table = {}
    for unit in ("maxp", "document"):
        of = {language: 100 * row["p@1"] for language, row in units[unit].items()}
        table[unit] = {**of, "7": mean(of, SUPPORTED), "3": mean(of, UNSEEN)}
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


class Judge:
    """Measures that runs do not have: mAP of sentences of all languages, and the right questions, `{recipe: …}`."""

    def __init__(self):
        from distill.data.loading import load_dataset
        from distill.data.pool_readers import load_pool
        from distill.system.backend import start

        start()
        self.data, self.right = load_dataset("data/xquad-r"), {}
        self.pool = load_pool("data/xquad-r", self.data.languages)

    def __call__(self, options, name):
        """Return mAP in per cent: over the pool, without a random target, and without the one in the question's
        language.
        """
        from distill.encoders.catalog.loading import load_encoder
        from distill.evaluation.evaluate import evaluate
        from distill.papers.bias.lareqa import encode_pool, rank_pool

        encoder = load_encoder(str(Path(options.runs) / name / trained(name)))
        ranks = evaluate(encoder, self.data, "dev", self.data.languages, ("maxp",)).ranks["maxp"]
        self.right[name] = {language: (self.ids(language), (of == 1).astype(float)) for language, of in ranks.items()}
        bias = rank_pool(*encode_pool(encoder, self.pool), self.pool)
        found = {"map": bias.average_precisions.mean(), **asdict(bias.remove_targets())}
        return {key: 100 * float(found[key]) for key in ("map", "rand", "same")}

    def ids(self, language):
        return np.array([question.id for question in self.data.select(language, "dev")])


def tested(a, b):
    from distill.evaluation.paired_comparison import compare_scores

    pairs = {language: (a[language][0], a[language][1], b[language][1]) for language in a}
    return compare_scores({"dev": pairs}, "p@1")["dev"]


def show_tests(tests):
    print(
        "\nP@1, maxp, all languages: difference, its 95 % interval, p by random signs a question; McNemar by language"
    )
    for names, rows in tests.items():
        row = rows["all"]
        differ = [language for language, of in rows.items() if of.significant and language != "all"]
        print(
            f"{names:34}{100 * row.difference:+6.1f} ({100 * row.low:+.1f} to {100 * row.high:+.1f})"
            f"  p {row.p:.4f}  {', '.join(differ) or 'no language by itself'}"
        )


if __name__ == "__main__":
    main()
