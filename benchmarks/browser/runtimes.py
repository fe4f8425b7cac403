"""Run an artefact by LiteRT.js or MediaPipe's tasks-text in a real browser, and compare with Python: docs/export.md.

    distill export multi12-ngram --max-length 64 --table int4-pq5 --output app/encoder
    python benchmarks/browser/runtimes.py app/encoder

Needs Chromium and npm, which brings the runtime's package into a temporary folder (`--modules` names a node_modules
that is there). Encodes questions of the sample in all its languages by both, and prints the cosines and milliseconds.
Ends with 1 where a cosine is under .9999; hosts that the page asked besides its own are listed.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from fixtures.chromium import Chromium, served

from distill.data.loading import load_dataset
from distill.encoders.catalog.loading import load_encoder
from distill.export.encode import padded
from distill.system.device import machine
from distill.system.files import write_json
from distill.system.input_files import read_json

LEAST, ENCODERS = 0.9999, {"encoder.tflite", "encoder.task"}
# npm's package of a runtime, and a page that makes `ready` and `encode`, of a list of ids or of a text.
LITERT = """<!doctype html><meta charset="utf-8"><title>LiteRT.js</title>
<script type="importmap">{"imports": {"@litertjs/wasm-utils": "./modules/@litertjs/wasm-utils/dist/index.js"}}</script>
<script type="module">
import { loadLiteRt, loadAndCompile, Tensor } from "./modules/@litertjs/core/dist/index.js";
window.ready = (async () => {
  await loadLiteRt("./modules/@litertjs/core/wasm/");
  window.model = await loadAndCompile("./artefact/encoder.tflite", { accelerator: "wasm" });
})();
window.encode = async ids => {
  const input = new Tensor(Int32Array.from(ids), [1, ids.length]);
  const [output] = await model.run(input);
  const vector = [...output.toTypedArray()];
  input.delete(); output.delete();
  return vector;
};
</script>"""
MEDIAPIPE = """<!doctype html><meta charset="utf-8"><title>MediaPipe</title>
<script type="module">
import { FilesetResolver, TextEmbedder } from "./modules/@mediapipe/tasks-text/text_bundle.mjs";
window.ready = (async () => {
  const files = await FilesetResolver.forTextTasks("./modules/@mediapipe/tasks-text/wasm");
  window.model = await TextEmbedder.createFromOptions(files, { baseOptions: { modelAssetPath: "./artefact/FILE" } });
})();
window.encode = text => model.embed(text).embeddings[0].floatEmbedding;
</script>"""
TIMED = """(async rows => {
  const vectors = [], times = [];
  for (const row of rows) {
    const start = performance.now();
    vectors.push([...await encode(row)]);
    times.push(performance.now() - start);
  }
  return { vectors, times };
})"""


def main():
    options = parse()
    encoder = load_encoder(options.artefact)
    texts = questions(options.questions)
    card = read_json(Path(options.artefact) / "card.json")
    plain = card["format"] == "bundle"
    package = "@litertjs/core" if plain else "@mediapipe/tasks-text"
    rows = [padded(encoder.tokenize(text), encoder.max_length)[0].tolist() for text in texts] if plain else texts
    with contextlib.ExitStack() as stack:
        modules = Path(options.modules or installed(stack.enter_context(tempfile.TemporaryDirectory()), package))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        page = LITERT if plain else MEDIAPIPE.replace("FILE", next(iter(set(card["files"]) & ENCODERS)))
        (folder / "index.html").write_text(page, encoding="utf-8")
        (folder / "artefact").symlink_to(Path(options.artefact).resolve())
        (folder / "modules").symlink_to(modules.resolve())
        figures = measured(encoder.encode(texts), rows, stack.enter_context(served(folder)))
    figures = {"artefact": card["name"], "format": card["format"], "package": package, **figures, "machine": machine()}
    for name, figure in figures.items():
        print(f"{name:>16}  {figure}")
    write_json(options.json, figures)
    return int(figures["least_cosine"] < LEAST)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artefact", help="a bundle of one --max-length, or of the formats mediapipe, mediapipe-zip")
    parser.add_argument("--modules", help="a node_modules with the runtime's package")
    parser.add_argument("--questions", type=int, default=20, help="of each language")
    parser.add_argument("--json", default="runtimes.json")
    return parser.parse_args()


def questions(count):
    """Return questions of the sample, the same number for each language."""
    data = load_dataset("sample", "en")
    return [question.text for name in data.languages for question in data.select(name, "test")[:count]]


def installed(folder, package):
    """Install a package by npm and return the node_modules of the folder."""
    subprocess.run(["npm", "install", "--silent", "--no-save", package], cwd=folder, check=True)
    return Path(folder) / "node_modules"


def measured(vectors, rows, address):
    """Return the figures of `vectors` against those that the page at an address computes for `rows`."""
    browser = Chromium()
    try:
        page = browser.page()
        page.open(address)
        page.until("!!window.ready")
        page.value("ready", seconds=120)
        answer = page.value(f"{TIMED}({json.dumps(rows)})", seconds=300)
        requests, version = page.requests, browser.send("Browser.getVersion")["product"]
    finally:
        browser.close()
    cosines = (np.array(answer["vectors"], dtype=np.float32) * vectors).sum(axis=1)
    return {
        "browser": version,
        "texts": len(rows),
        "mean_cosine": float(cosines.mean()),
        "least_cosine": float(cosines.min()),
        "median_ms": float(np.median(answer["times"])),
        "other_hosts": [one for one in requests if not one.startswith((address, "blob:"))],
    }


if __name__ == "__main__":
    sys.exit(main())
