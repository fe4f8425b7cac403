"""Run an encoder of `transformer.py` as the worker of the benchmark runs a bundle, without distill.

The folder holds `encoder.onnx` (`ids`, `mask` int64 `(n, t)` -> `(n, width)`), `tokenizer.model`, SentencePiece's,
and `sizes.json`: the table's `rows` and the most tokens of a text, `longest`.
"""

import json
import os

import numpy as np
import onnxruntime
import sentencepiece


class Encoder:
    def __init__(self, folder, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        options.log_severity_level = 3
        path = os.path.join(folder, "encoder.onnx")
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._tokenizer = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "tokenizer.model"))
        with open(os.path.join(folder, "sizes.json"), encoding="ascii") as file:
            self._sizes = json.load(file)

    def encode(self, texts, role="question"):
        ids, mask = padded(self._tokenizer.encode(texts, add_bos=True, add_eos=True), **self._sizes)
        return self._session.run(None, {"ids": ids, "mask": mask})[0]


def padded(lists, rows, longest):
    """Pad lists of IDs, modulo `rows`, and return them with a mask, int64 `(n, t)`.

    Longer lists are cut at `longest`.
    """
    width = min(longest, max(map(len, lists)))
    ids, mask = np.zeros((2, len(lists), width), dtype=np.int64)
    for row, numbers in enumerate(lists):
        count = min(width, len(numbers))
        ids[row, :count] = numbers[:count]
        mask[row, :count] = 1
    return ids % rows, mask
