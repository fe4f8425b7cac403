"""Evaluate encoders through `distill.papers.mteb` on XQuAD, beside distill's own figures for the same questions.

    python benchmarks/mteb/xquad.py multi12-ngram multi12-static --data data --json figures.json

`--data` has `xquad/` and `xquad-r/`, folders of `{language}.json` with a `splits.json`. Compared are, by language: P@1
of `XQuADCrossLingualRetrieval` with that of the unit `passage`, question by question too; with `--lareqa` the mAP of
`LAReQARetrieval` with LAReQA's own (mteb ranks 1,000 sentences of the pool, distill all), and of `XQuADRRetrieval` with
LAReQA's within one language. Ends with 1 where P@1 differs. Needs mteb.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import mteb
import numpy as np

import distill.papers.mteb
from distill.data.loading import load_dataset
from distill.data.pool_readers import load_pool
from distill.encoders.catalog.vector_cache import CachedEncoder
from distill.evaluation.evaluate import evaluate
from distill.papers.bias.lareqa import encode_pool, rank_pool
from distill.papers.mteb_predictions import PREDICTIONS, question_scores, read_parts
from distill.system.device import machine
from distill.system.files import write_json

sys.path.insert(0, str(Path(__file__).parent))
import lareqa_tasks  # noqa: E402

CODES = {language: code.partition("-")[0] for language, code in lareqa_tasks.LANGUAGES.items()}


def scores_of(model, task, metric):
    """Return `({subset: mteb's score, rounded to 5 decimals}, {subset: each question's})`."""
    with TemporaryDirectory() as folder:
        result = mteb.evaluate(model, task, cache=None, prediction_folder=folder, show_progress_bar=False)
        rankings = read_parts(folder, PREDICTIONS)
    [scores] = result.task_results[0].scores.values()
    kind = "map" if metric.startswith("map") else "p@1"
    each = {
        subset: question_scores(of, task.dataset[subset][lareqa_tasks.SPLIT]["relevant_docs"], kind)
        for (_, subset), of in rankings.items()
    }
    return {row["hf_subset"]: row[metric] for row in scores}, each


def cross_lingual(model, folder, split):
    """Return rows of P@1 by mteb and by distill, and True beside them if the hit of each question is the same."""
    dataset = load_dataset(folder)
    ids = [question.id for question in dataset.select("en", split)] if split != "all" else [*dataset.questions["en"]]
    task = lareqa_tasks.XQuADCrossLingualRetrieval().load_folder(folder, ids)
    theirs, each = scores_of(model, task, "precision_at_1")
    dataset.splits[split] = tuple(ids)
    ranks = evaluate(model.encoder, dataset, split, dataset.languages, ("passage",)).ranks["passage"]
    rows = {}
    for language in dataset.languages:
        subset, hits = f"eng-{CODES[language]}", ranks[language] == 1
        order = [row["id"] for row in task.dataset[subset][lareqa_tasks.SPLIT]["queries"]]
        ours = dict(zip([q.id for q in dataset.select(language, split)], hits, strict=True))
        rows[language] = {
            "questions": len(hits),
            "mteb": theirs[subset],
            "distill": float(np.mean(hits)),
            "same": bool(np.array_equal(each[subset], [ours[id] for id in order]))
            and theirs[subset] == round(float(np.mean(hits)), 5),
        }
    return rows


def pools(model, folder, split):
    """Return rows of mAP by mteb and by distill, in the pool of all languages and within one."""
    pool = load_pool(folder, (), split)
    figures = rank_pool(*encode_pool(model.encoder, pool), pool)
    ours = {"LAReQARetrieval": figures.figures().precision.languages, "XQuADRRetrieval": figures.monolingual()}
    return {
        name: {
            language: {"mteb": score, "distill": ours[name][language]}
            for language, score in scores_of(
                model, getattr(lareqa_tasks, name)().load_folder(folder, set(pool.ids)), "map_at_1000"
            )[0].items()
        }
        for name in ours
    }


def table(title, rows):
    """Return a Markdown table in per cent, one column per language."""
    lines = [f"| {title} | {' | '.join(rows)} | mean |", f"|---|{'---|' * (len(rows) + 1)}"]
    for who in ("mteb", "distill"):
        values = [100 * row[who] for row in rows.values()]
        lines.append(f"| {who} | {' | '.join(f'{value:.3f}' for value in [*values, float(np.mean(values))])} |")
    return "\n".join(lines) + "\n"


def measured(name, options, folder):
    """Print and return the figures of one encoder. Its vectors are cached, as each subset has LAReQA's whole pool."""
    model, figures = distill.papers.mteb.load(name), {}
    model.encoder = CachedEncoder(model.encoder, "vectors", folder)
    figures["XQuADCrossLingualRetrieval"] = cross_lingual(model, options.data / "xquad", options.split)
    print(
        table(f"{name}, XQuADCrossLingualRetrieval, P@1, {options.split}", figures["XQuADCrossLingualRetrieval"]),
        flush=True,
    )
    if options.lareqa:
        figures |= pools(model, options.data / "xquad-r", options.split)
        for task in ("LAReQARetrieval", "XQuADRRetrieval"):
            print(table(f"{name}, {task}, mAP, {options.split}", figures[task]), flush=True)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--lareqa", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    figures = {}
    for name in options.models:
        with TemporaryDirectory() as folder:
            figures[name] = measured(name, options, folder)
    if options.json:
        note = {"split": options.split, "mteb": mteb.__version__, "machine": machine()}
        write_json(options.json, {**note, "models": figures})
    same = [row["same"] for of in figures.values() for row in of["XQuADCrossLingualRetrieval"].values()]
    print(f"P@1 and each question's hit equal in {sum(same)} of {len(same)}")
    sys.exit(not all(same))


if __name__ == "__main__":
    main()
