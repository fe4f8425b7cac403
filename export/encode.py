"""Texts to unit vectors with numpy, sentencepiece and a TFLite runtime: nothing else is needed.

    from encode import Encoder
    vectors = Encoder("path/to/bundle").encode(["Where does the Danube end?"])   # float32 (1, d)

or `python encode.py texts.jsonl vectors.npy` with {"id", "text"} lines.
"""

import json
import sys
from pathlib import Path

import numpy as np
import sentencepiece

FILES = ("encoder.tflite", "tokenizer.model", "config.json")


class BundleError(Exception):
    """The bundle, or what it needs, is not there or is not what it should be."""


class Encoder:
    """`folder` is the bundle, by default where this file lies; `threads` of one inference."""

    def __init__(self, folder=None, threads=1):
        folder = Path(folder) if folder else Path(__file__).resolve().parent
        for name in FILES:
            if not (folder / name).is_file():
                raise BundleError(f"{folder}: {name} is missing; export the bundle again")
        self.config = _config(folder / "config.json")
        self.name, self.dimension = self.config["name"], self.config["dimension"]
        self.tokenizer = _tokenizer(folder / "tokenizer.model", self.config["vocabulary"])
        self._interpreter = _interpreter(folder / "encoder.tflite", threads)
        self._input = self._interpreter.get_input_details()[0]["index"]
        self._output = self._interpreter.get_output_details()[0]["index"]
        self._length = None
        found = self._interpreter.get_output_details()[0]["shape"][-1]
        if found != self.dimension:
            raise BundleError(
                f"{folder}: config.json says {self.dimension} dimensions, encoder.tflite has {found}; "
                "export the bundle again"
            )

    def tokenize(self, text):
        """A text's ids: bos, pieces, eos. Lone surrogates become U+FFFD."""
        clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self.tokenizer.encode(clean, add_bos=True, add_eos=True)

    def encode(self, texts, role="question", progress=None):
        """`[str]` -> float32 `(n, dimension)`, rows of unit length, in order. Either role is the same tower."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._vector(self.tokenize(text))
            if progress:
                progress(1)
        return vectors

    def _vector(self, ids):
        if len(ids) != self._length:
            self._interpreter.resize_tensor_input(self._input, (1, len(ids)))
            self._interpreter.allocate_tensors()
            self._length = len(ids)
        self._interpreter.set_tensor(self._input, np.array([ids], dtype=np.int32))
        self._interpreter.invoke()
        return self._interpreter.get_tensor(self._output)[0]


def _config(path):
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        return {key: config[key] for key in ("name", "dimension", "vocabulary")}
    except (ValueError, KeyError, TypeError) as error:
        raise BundleError(f"{path}: not a bundle's config: {error}; export the bundle again") from error


def _tokenizer(path, vocabulary):
    try:
        tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        raise BundleError(f"{path}: not a SentencePiece model; export the bundle again") from error
    if tokenizer.get_piece_size() != vocabulary:
        raise BundleError(
            f"{path}: {tokenizer.get_piece_size()} pieces, but the encoder has {vocabulary}; export the bundle again"
        )
    return tokenizer


def _interpreter(path, threads):
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        try:
            from tflite_runtime.interpreter import Interpreter
        except ImportError:
            raise BundleError("no TFLite runtime found; run: pip install ai-edge-litert") from None
    try:
        interpreter = Interpreter(model_path=str(path), num_threads=threads)
        interpreter.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise BundleError(f"{path}: the runtime cannot load it: {reason}") from error
    return interpreter


def main(arguments):
    if len(arguments) != 2:
        sys.exit("usage: python encode.py texts.jsonl vectors.npy")
    lines = Path(arguments[0]).read_text(encoding="utf-8").split("\n")
    texts = [_text(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    np.save(arguments[1], Encoder().encode(texts))


def _text(number, line):
    try:
        text = json.loads(line)["text"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BundleError(f'line {number}: expected an object such as {{"id": "1", "text": "…"}}') from error
    if not isinstance(text, str):
        raise BundleError(f"line {number}: expected a string under 'text', got {type(text).__name__}")
    return text


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (BundleError, OSError, ValueError, KeyError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(1)
