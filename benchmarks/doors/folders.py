"""Open folders of `distill export` by the libraries that they are for, and compare vectors and P@1.

    python benchmarks/doors/folders.py multi12-static --format sentence-transformers --dataset data/xquad \
        --python other-environment/bin/python --json figures.json

Texts are the dev questions and all passages of a folder of XQuAD in each of its languages. `--python` has the library
and not distill, and runs `opened.py`. The folder's vectors are compared with those of the weights that it was made from
(of a bundle what it stores, dequantised) and with the model's own, a bundle's with activations in int8.
"""

import argparse
import json
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import distill
from distill.encoders.catalog.loading import load_keras_encoder
from distill.system.device import machine
from distill.system.files import write_json

OPENED = Path(__file__).parent / "opened.py"


def texts_of(folder):
    """Return questions and passages, `{language: texts}`. Questions have the number of the passage that answers."""
    dev = set(json.loads((folder / "splits.json").read_text(encoding="utf-8"))["dev"])
    questions, passages = {}, {}
    for path in sorted(folder.glob("??.json")):
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        parts = [part for article in articles for part in article["paragraphs"]]
        passages[path.stem] = [part["context"] for part in parts]
        pairs = enumerate(parts)
        questions[path.stem] = [(q["question"], at) for at, part in pairs for q in part["qas"] if q["id"] in dev]
    return questions, passages


def cosines(mine, theirs):
    """Return the mean and the least cosine, and the number of those below .9999."""
    values = np.sum(mine * theirs, axis=1) / np.linalg.norm(mine, axis=1) / np.linalg.norm(theirs, axis=1)
    return {"mean": float(values.mean()), "least": float(values.min()), "below .9999": int(np.sum(values < 0.9999))}


def precision(vectors, questions, passages):
    """Return P@1 in per cent of each language's questions among the English passages."""
    places, figures = {}, {}
    start = 0
    for name, texts in [*questions.items(), *((f"{one} passages", texts) for one, texts in passages.items())]:
        places[name] = slice(start, start := start + len(texts))
    for language, texts in questions.items():
        best = (vectors[places[language]] @ vectors[places["en passages"]].T).argmax(axis=1)
        figures[language] = round(100 * float(np.mean(best == [at for _, at in texts])), 2)
    return {**figures, "mean": round(float(np.mean(list(figures.values()))), 2)}


def measured(options, folder):
    """Return the figures of the model's folder."""
    questions, passages = texts_of(Path(options.dataset))
    texts = [text for rows in questions.values() for text, _ in rows]
    count = len(texts)
    texts += [text for rows in passages.values() for text in rows]
    write_json(folder / "texts.json", texts)
    route = ["--document-model", options.document_model] if options.document_model else []
    target = folder / options.model.rstrip("/").split("/")[-1].replace(".", "-")
    command = ["export", options.model, "--format", options.format, "--output", str(target), *route]
    subprocess.run([options.distill, *command], check=True)
    begun = time.time()
    call = [options.python, str(OPENED), options.format, str(target), str(folder / "texts.json"), str(count)]
    subprocess.run([*call, str(folder / "theirs.npy")], check=True)
    seconds = time.time() - begun
    theirs = np.load(folder / "theirs.npy", allow_pickle=False)
    floats, whole = (both(options, load, texts, count) for load in (load_keras_encoder, distill.load_encoder))
    return {
        "model": options.model,
        "format": options.format,
        "megabytes": round(sum(path.stat().st_size for path in target.rglob("*") if path.is_file()) / 1e6, 1),
        "texts": len(texts),
        "cosine to the float weights": cosines(floats, theirs),
        "cosine to the model": cosines(whole, theirs),
        "seconds": round(seconds, 1),
        "P@1 theirs": precision(theirs, questions, passages),
        "P@1 floats": precision(floats, questions, passages),
        "P@1 model": precision(whole, questions, passages),
    }


def both(options, load, texts, count):
    """Return the vectors of texts: of `count` questions first, then of documents, by another model if there is one."""
    first = load(options.model)
    second = load(options.document_model) if options.document_model else first
    return np.concatenate([first.encode(texts[:count], "question"), second.encode(texts[count:], "document")])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--format", default="sentence-transformers", choices=["sentence-transformers", "model2vec"])
    parser.add_argument("--document-model")
    parser.add_argument("--dataset", default="data/xquad")
    parser.add_argument("--python", required=True)
    parser.add_argument("--distill", default="distill")
    parser.add_argument("--json", required=True)
    arguments = parser.parse_args()
    with TemporaryDirectory() as place:
        result = measured(arguments, Path(place))
    write_json(arguments.json, {**result, "machine": machine()})
    print(json.dumps(result, indent=1))
