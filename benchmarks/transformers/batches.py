"""Measure milliseconds per passage in batches on one thread, of a bundle and of onnxruntime's own int8.

    python benchmarks/transformers/batches.py e5-80k bundle --passages data/mlqa-dev-a --json batches.json

`e5-80k` is the encoder that `bundle` was exported from. onnxruntime runs `distill export --format onnx` of it, its
weights in 8 bits by `onnxruntime.quantization.quantize_dynamic`. Both cut the same texts into tokens, and take turns.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic

import distill
from distill.encoders.batching import pad
from distill.export.onnx.model import convert_to_onnx

TOKENS = 150


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("encoder", help="the encoder before its export")
    parser.add_argument("bundle")
    parser.add_argument("--passages", required=True, help="a data set's folder")
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    encoder, bundle = distill.load_encoder(options.encoder), distill.load_encoder(options.bundle)
    texts = passages(encoder.tokenizer, distill.load_dataset(options.passages))
    runs = {"bundle": lambda batch: bundle.encode(batch, "document"), "onnxruntime": in_onnxruntime(encoder)}
    rows = {count: timed(runs, texts, count, options.rounds) for count in map(int, options.batches.split(","))}
    for count, row in rows.items():
        said = ", ".join(f"{name} {milliseconds:.2f} ms" for name, milliseconds in row.items())
        print(
            f"batches of {count}: {said} a passage of {TOKENS} tokens, ratio {row['bundle'] / row['onnxruntime']:.2f}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="ascii")


def passages(tokenizer, dataset):
    """Return passages that have `TOKENS` tokens, or a few less, as words are not cut."""
    texts = []
    for text in dataset.passage_texts:
        words = text.split()
        while len(tokenizer.encode([" ".join(words)], "document")[0]) > TOKENS:
            words.pop()
        texts.append(" ".join(words))
    lengths = [len(ids) for ids in tokenizer.encode(texts, "document")]
    return [text for text, length in zip(texts, lengths, strict=True) if TOKENS - 4 <= length <= TOKENS]


def in_onnxruntime(encoder):
    """Return a function from texts to vectors, by onnxruntime's own int8 on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        whole, narrow = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        whole.write_bytes(convert_to_onnx(encoder.model, "float32", "float32"))
        quantize_dynamic(whole, narrow, weight_type=QuantType.QInt8)
        session = onnxruntime.InferenceSession(str(narrow), options)
    return lambda texts: session.run(None, {"ids": pad(encoder.tokenizer.encode(texts, "document"))})[0]


def timed(runs, texts, count, rounds):
    """Return median milliseconds per passage of each of the `runs`, which alternate, in batches of `count`."""
    spent = {name: [] for name in runs}
    for turn in range(rounds + 1):
        batch = [texts[(turn * count + place) % len(texts)] for place in range(count)]
        for name, run in runs.items():
            begin = time.perf_counter()
            run(batch)
            # What is prepared at first is not timed.
            spent[name] += [1e3 * (time.perf_counter() - begin) / count] if turn else []
    return {name: float(np.median(milliseconds)) for name, milliseconds in spent.items()}


if __name__ == "__main__":
    main()
