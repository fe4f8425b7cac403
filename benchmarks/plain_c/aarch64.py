"""Compare the encoder in C for aarch64, in an emulator, with the same sources for this machine: IDs and vectors.

    apt-get install qemu-user-static && pip install ziglang
    python benchmarks/plain_c/aarch64.py --model multi12-ngram --model multi12-static --texts data/flores/dev.tsv \
        --output aarch64.json

ziglang cross-compiles it, with and without the processor's dot products of bytes, and qemu runs it. An emulator says
nothing about time; nothing of this ran on a phone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import program
from checks import encoder_file, texts_in

from distill.encoders.catalog.bundle import find_artefact
from distill.system.text import make_well_formed

DUMP = Path(__file__).with_name("dump.c")
ZIG = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-static"]
# qemu's processor and the compiler's: the second has SDOT.
KINDS = {"cortex-a53": "cortex_a53", "cortex-a76": "cortex_a76"}


def write_texts(path, texts):
    """Write texts, questions and documents by turns, as dump.c reads them."""
    with path.open("wb") as file:
        for place, text in enumerate(texts):
            content = make_well_formed(text).encode()
            file.write(np.array([place % 2, len(content)], dtype=np.int32).tobytes())
            file.write(content + bytes(-len(content) % 4))


def read_dump(path, dimension):
    """Return the ids of each text and the vectors `(n, d)`."""
    content, place, ids, vectors = path.read_bytes(), 0, [], []
    while place < len(content):
        count = int(np.frombuffer(content, np.int32, 1, place)[0])
        ids.append(np.frombuffer(content, np.int32, count, place + 4).tolist())
        vectors.append(np.frombuffer(content, np.float32, dimension, place + 4 + 4 * count))
        place += 4 * (1 + count + dimension)
    return ids, np.array(vectors)


def compare(model, texts, folder):
    """Return the figures of a model, by the kind of processor."""
    encoder, source = folder / f"{Path(model).name}.bin", folder / "texts"
    encoder_file(find_artefact(model), encoder)
    dimension = program.PlainEncoder(program.library(["gcc"], folder / "distill.so"), encoder.read_bytes()).dimension
    write_texts(source, texts)
    native = program.compiled(["gcc"], folder / "native", "-O3", str(DUMP))
    subprocess.run([native, encoder, source, folder / "here"], check=True)
    here, figures = read_dump(folder / "here", dimension), {}
    for name, compiled_for in KINDS.items():
        binary = program.compiled(ZIG, folder / name, "-O3", f"-mcpu={compiled_for}", str(DUMP))
        subprocess.run(["qemu-aarch64-static", "-cpu", name, binary, encoder, source, folder / "there"], check=True)
        ids, vectors = read_dump(folder / "there", dimension)
        cosines = np.sum(vectors.astype(np.float64) * here[1], axis=1)
        figures[name] = {
            "texts": len(texts),
            "other_ids": sum(one != other for one, other in zip(ids, here[0], strict=True)),
            "same_bits": int(np.sum(np.all(vectors == here[1], axis=1))),
            "least_cosine": float(cosines.min()),
        }
    return figures


def main():
    """Print the figures, and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--texts", action="append", type=Path, required=True)
    parser.add_argument("--most", type=int, default=3_000, help="texts, evenly out of all")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    texts = [text for path in options.texts for text in texts_in(path)]
    texts = texts[:: max(1, len(texts) // options.most)][: options.most]
    with tempfile.TemporaryDirectory() as folder:
        figures = {model: compare(model, texts, Path(folder)) for model in options.model}
    options.output.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
