"""Evaluate MLQA, Belebele, XQuAD and Tatoeba as mteb defines them, from local files, beside published figures.

    python benchmarks/mteb/protocol.py multi12-ngram multi12-static --data data --json figures.json

mteb's own tasks rank and score; the data, which mteb takes from a hub, come from `--data` as their makers publish them:

    MLQA_V1/dev/dev-context-en-question-ar.json, MLQA_V1/test/test-context-en-question-ar.json, … (SQuAD v1.1)
    belebele/arb_Arab.jsonl, belebele/eng_Latn.jsonl, …              (link, flores_passage, question a line)
    xquad/ar.json or xquad/xquad.ar.json, …                          (SQuAD v1.1; with a splits.json its dev questions)
    tatoeba/tatoeba.ara-eng.ara, tatoeba/tatoeba.ara-eng.eng, …      (a sentence a line)
    mlqa-dev-a/documents.jsonl, mlqa-dev-a/questions.jsonl           (half of MLQA's dev questions)

What is not there is a row "no data". Figures of others are in published.json, with their source. Needs mteb.
"""

import argparse
import json
from pathlib import Path
from unittest import mock

import mteb
import numpy as np
from datasets import Dataset

import distill.papers.mteb
from distill.system.device import machine
from distill.system.files import write_json

HERE = Path(__file__).parent
NO_DATA = "no data"
MLQA = {"ar": "ara", "de": "deu", "en": "eng", "es": "spa", "hi": "hin", "vi": "vie", "zh": "zho"}
BELEBELE = {
    **{"ar": "arb_Arab", "de": "deu_Latn", "el": "ell_Grek", "es": "spa_Latn", "hi": "hin_Deva", "ro": "ron_Latn"},
    **{"ru": "rus_Cyrl", "th": "tha_Thai", "tr": "tur_Latn", "vi": "vie_Latn", "zh": "zho_Hans"},
}
XQUAD = ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
TATOEBA = {
    **{"ar": "ara", "de": "deu", "el": "ell", "es": "spa", "hi": "hin", "ro": "ron", "ru": "rus", "th": "tha"},
    **{"tr": "tur", "vi": "vie", "zh": "cmn"},
}


def retrieval(documents, questions):
    """Make a split of a retrieval task from `{id: text}` and `[(id, text, document)]`."""
    return {
        "corpus": Dataset.from_dict({"id": [*documents], "text": [*documents.values()]}),
        "queries": Dataset.from_dict(
            {"id": [id for id, _, _ in questions], "text": [text for _, text, _ in questions]}
        ),
        "relevant_docs": {id: {document: 1} for id, _, document in questions},
        "top_ranked": None,
    }


def squad(path, ids=None):
    """Make a split from a file's distinct contexts and its questions, or from those of `ids`."""
    content = json.loads(path.read_text(encoding="utf-8"))
    paragraphs = [paragraph for article in content["data"] for paragraph in article["paragraphs"]]
    numbers = {text: f"c{number}" for number, text in enumerate(dict.fromkeys(one["context"] for one in paragraphs))}
    rows = [(qa["id"], qa["question"], numbers[one["context"]]) for one in paragraphs for qa in one["qas"]]
    return retrieval({id: text for text, id in numbers.items()}, [row for row in rows if ids is None or row[0] in ids])


def lines(path):
    """Return the objects of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def loaded(name, dataset, split):
    """Return a task of mteb with a data set of ours; None without one."""
    if not dataset:
        return None
    task = mteb.get_task(name, hf_subsets=[*dataset], eval_splits=[split])
    task.dataset = {subset: {split: part} for subset, part in dataset.items()}
    task.data_loaded = True
    return task


def mlqa(folder, split):
    """Return `(task, {language: subset})` of a split, or None if no file is there."""
    part = {"validation": "dev", "test": "test"}[split]
    paths = {one: folder / "MLQA_V1" / part / f"{part}-context-en-question-{one}.json" for one in MLQA}
    subsets = {one: f"eng-{MLQA[one]}" for one, path in paths.items() if path.exists()}
    return (loaded("MLQARetrieval", {of: squad(paths[one]) for one, of in subsets.items()}, split), subsets)


def mlqa_dev_a(folder, size):
    """Return half of dev: each language's questions among their passages and drawn others, up to a size.

    mteb's pool of a pair holds the passages of all the pair's questions, some 450; in English it holds all 978.
    """
    if not (folder / "mlqa-dev-a").is_dir():
        return None, {}
    every = [one for document in lines(folder / "mlqa-dev-a" / "documents.jsonl") for one in document["passages"]]
    questions, dataset = lines(folder / "mlqa-dev-a" / "questions.jsonl"), {}
    for language, code in MLQA.items():
        rows = [(one["id"], one["text"], one["passage"]) for one in questions if one["language"] == language]
        right = {passage for _, _, passage in rows}
        others = [one["id"] for one in every if one["id"] not in right]
        more = size if language != "en" or not size else len(every)
        right.update(np.random.default_rng(0).permutation(others)[: max(0, more - len(right))].tolist())
        documents = {one["id"]: one["text"] for one in every if one["id"] in right}
        dataset[f"eng-{code}"] = retrieval(documents, rows)
    return loaded("MLQARetrieval", dataset, "validation"), {one: f"eng-{code}" for one, code in MLQA.items()}


def belebele(folder):
    """Load Belebele by mteb's own reader, which numbers questions and passages."""
    path = {code: folder / "belebele" / f"{code}.jsonl" for code in [*BELEBELE.values(), "eng_Latn"]}
    subsets = {one: f"eng_Latn-{code}" for one, code in BELEBELE.items() if path[code].exists()}
    if not subsets or not path["eng_Latn"].exists():
        return None, {}
    task = mteb.get_task("BelebeleRetrieval", hf_subsets=[*subsets.values()])
    with mock.patch(f"{type(task).__module__}.load_dataset", lambda name, **_: {"test": lines(path[name])}):
        task.load_data()
    return task, subsets


def xquad(folder):
    """Load XQuAD with question and paragraph in one language; with a `splits.json` take the dev questions only."""
    place, splits = folder / "xquad", folder / "xquad" / "splits.json"
    ids = set(json.loads(splits.read_text(encoding="utf-8"))["dev"]) if splits.exists() else None
    paths = {one: path for one in XQUAD for path in place.glob(f"*{one}.json") if path.stem.split(".")[-1] == one}
    return loaded("XQuADRetrieval", {one: squad(path, ids) for one, path in paths.items()}, "validation"), {
        one: one for one in paths
    }


def tatoeba(folder):
    """Load the sentences and their English translations."""
    files = {
        one: [folder / "tatoeba" / f"tatoeba.{code}-eng.{side}" for side in (code, "eng")]
        for one, code in TATOEBA.items()
    }
    subsets = {one: f"{TATOEBA[one]}-eng" for one, pair in files.items() if all(path.exists() for path in pair)}
    dataset = {
        subset: Dataset.from_dict(
            {
                f"sentence{number}": path.read_text(encoding="utf-8").splitlines()
                for number, path in enumerate(files[one], start=1)
            }
        )
        for one, subset in subsets.items()
    }
    return loaded("Tatoeba", dataset, "test"), subsets


# By column: its data, and mteb's name of the figure.
COLUMNS = {
    "MLQA, validation": (lambda folder: mlqa(folder, "validation"), "ndcg_at_1"),
    "MLQA, test": (lambda folder: mlqa(folder, "test"), "ndcg_at_1"),
    "MLQA dev-a, its questions' passages": (lambda folder: mlqa_dev_a(folder, 0), "ndcg_at_1"),
    "MLQA dev-a, 450 passages": (lambda folder: mlqa_dev_a(folder, 450), "ndcg_at_1"),
    "MLQA dev-a, 978 passages": (lambda folder: mlqa_dev_a(folder, 978), "ndcg_at_1"),
    "Belebele": (belebele, "ndcg_at_1"),
    "Tatoeba": (tatoeba, "accuracy"),
    "XQuAD": (xquad, "ndcg_at_1"),
}


def measured(model, task, subsets, metric, folder):
    """Return figures by language, and the numbers of documents and questions. Rankings are written to a folder."""
    result = mteb.evaluate(model, task, cache=None, prediction_folder=folder, show_progress_bar=False)
    [rows] = result.task_results[0].scores.values()
    by_subset = {row["hf_subset"]: row[metric] for row in rows}
    return {
        language: {"score": by_subset[subset], **_counts(next(iter(task.dataset[subset].values())))}
        for language, subset in subsets.items()
    }


def _counts(part):
    if isinstance(part, Dataset):
        return {"documents": len(part), "questions": len(part)}
    return {"documents": len(part["corpus"]), "questions": len(part["queries"])}


def mean(rows):
    """Return the mean in per cent over the languages, without English if the passages are in English."""
    return 100 * float(np.mean([row["score"] for language, row in rows.items() if language != "en" or len(rows) > 11]))


def table(figures):
    """Yield the lines of Markdown tables, one table per column of the figures."""
    for column in next(iter(figures.values())):
        metric = COLUMNS[column][1]
        of = {name: columns[column] for name, columns in figures.items()}
        rows = next(iter(of.values()))
        if rows == NO_DATA:
            yield f"{column}: {NO_DATA}\n"
            continue
        yield f"| {column}, {metric}, % | {' | '.join(rows)} | mean |\n|---|{'---|' * (len(rows) + 1)}"
        for what in ("documents", "questions"):
            yield f"| {what} | {' | '.join(str(row[what]) for row in rows.values())} | |"
        for name, scores in of.items():
            cells = [f"{100 * row['score']:.1f}" for row in scores.values()]
            yield f"| {name} | {' | '.join(cells)} | {mean(scores):.1f} |"
        yield ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="", help="the columns whose names begin so, such as MLQA")
    parser.add_argument("--predictions", type=Path, help="a folder for rankings, which distill compare reads")
    parser.add_argument("--json")
    options = parser.parse_args()
    models = {name: distill.papers.mteb.load(name) for name in options.models}
    figures = {name: {} for name in models}
    for column, (data, metric) in COLUMNS.items():
        if not column.startswith(options.only):
            continue
        task, subsets = data(options.data)
        folder = options.predictions and options.predictions / column
        if folder and subsets and task.metadata.type == "Retrieval":
            distill.papers.mteb.save_relevant(task, folder)
        for name, model in models.items():
            place = folder and folder / name
            figures[name][column] = measured(model, task, subsets, metric, place) if subsets else NO_DATA
    print("\n".join(table(figures)))
    if options.json:
        published = json.loads((HERE / "published.json").read_text(encoding="utf-8"))
        note = {"mteb": mteb.__version__, "machine": machine()}
        write_json(options.json, {**note, "models": figures, "published": published})


if __name__ == "__main__":
    main()
