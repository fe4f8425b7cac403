import math
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import distill
from distill.evaluation.bench.process import Worker

pytest.importorskip("onnx", reason="needs onnx")
ort = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
FOLDER = Path(distill.__file__).resolve().parents[1] / "benchmarks"
MODULE, WORKER = (
    SimpleNamespace(**runpy.run_path(str(FOLDER / name))) for name in ("transformer.py", "transformer_worker.py")
)
ROWS = 11
IDS = np.array([[3, 7, 1, 10], [5, 2, 0, 0]])
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])


def shape(pooling):
    return MODULE.Shape("small", layers=2, width=8, heads=2, hidden=12, rows=100, pooling=pooling, positions=6)


def run(path, ids, mask):
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"ids": ids, "mask": mask})[0]


def weights(path):
    """Initial values of at least one axis, float32, in the order in which they were drawn."""
    import onnx

    stored = [onnx.numpy_helper.to_array(value) for value in onnx.load(path).graph.initializer]
    return [array for array in stored if array.dtype == np.float32 and array.ndim]


def enlarge(path):
    """Weights so large that attention is far from even and GELU far from linear."""
    import onnx

    model = onnx.load(path)
    for value in model.graph.initializer:
        array = onnx.numpy_helper.to_array(value)
        if array.dtype == np.float32 and array.ndim and not set(np.unique(array)) <= {0, 1}:
            value.CopyFrom(onnx.numpy_helper.from_array(30 * array, value.name))
    onnx.save(model, path)


def norm(x, scale, shift):
    centred = x - x.mean(axis=-1, keepdims=True)
    return scale * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12) + shift


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def attention(x, queries, keys, values, heads):
    """Of one text without padding, one head after the other."""
    q, k, v = (x @ kernel + bias for kernel, bias in (queries, keys, values))
    mixed = np.zeros_like(x)
    size = x.shape[1] // heads
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = np.exp(q[:, part] @ k[:, part].T / math.sqrt(size))
        mixed[:, part] = scores / scores.sum(axis=1, keepdims=True) @ v[:, part]
    return mixed


def plain(arrays, ids, heads, pooling):
    """A BERT encoder of one text in NumPy."""
    taken = iter(arrays)
    following = lambda count: [next(taken) for _ in range(count)]  # noqa: E731
    positions, pieces, kind, *first = following(5)
    x = norm(pieces[ids] + positions[: len(ids)] + kind, *first)
    for _ in range(2):
        q, k, v, out = (following(2) for _ in range(4))
        x = norm(x + attention(x, q, k, v, heads) @ out[0] + out[1], *following(2))
        wide, narrow = following(2), following(2)
        x = norm(x + gelu(x @ wide[0] + wide[1]) @ narrow[0] + narrow[1], *following(2))
    assert next(taken, None) is None
    return x[0] if pooling == "cls" else x.mean(axis=0)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_the_file_computes_a_bert_encoder(tmp_path, pooling):
    path = tmp_path / "encoder.onnx"
    MODULE.write_transformer(path, shape(pooling), ROWS)
    enlarge(path)
    expected = [plain(weights(path), ids[mask > 0], 2, pooling) for ids, mask in zip(IDS, MASK, strict=True)]
    np.testing.assert_allclose(run(path, IDS, MASK), expected, rtol=1e-4, atol=1e-5)


def test_its_weights_are_seeded_and_counted_as_their_models(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        MODULE.write_transformer(tmp_path / name, shape("cls"), ROWS, seed)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c
    path = tmp_path / "encoder.onnx"
    MODULE.write_transformer(path, shape("mean"), ROWS)
    # One token type is written, BERT has two.
    assert shape("mean").parameters(ROWS) == sum(array.size for array in weights(path)) + 8
    # LaBSE has 471 million parameters, multilingual-MiniLM-L12 118 million.
    assert MODULE.SHAPES["labse"].parameters() == pytest.approx(471e6, rel=0.003)
    assert MODULE.SHAPES["minilm"].parameters() == pytest.approx(118e6, rel=0.005)


def test_ids_are_padded_cut_and_brought_into_the_vocabulary():
    ids, mask = WORKER.padded([[1, 12, 3, 4], [25]], rows=10, longest=3)
    assert ids.tolist() == [[1, 2, 3], [5, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert ids.dtype == mask.dtype == np.int64
    assert WORKER.padded([[1]], 10, 3)[0].shape == (1, 1)


def test_a_shape_runs_as_a_bundle_does_or_is_skipped_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setitem(MODULE.SHAPES, "tiny", shape("mean"))
    specs, skipped = MODULE.random_encoders(["tiny"], tmp_path, sys.executable, 1)
    assert skipped == {}
    with Worker("tiny", specs["tiny"], 1) as worker:
        worker.wait_until_ready().ask("encode", texts=["short", "a much longer text " * 9], batch=2)
        report = worker.ask("report")
    assert report["dimension"] == 8 and "onnxruntime" in report["versions"] and "keras" not in report["versions"]
    assert specs["tiny"].bytes == 4 * shape("mean").parameters()
    # A memory that is the shape's and not the package's.
    assert report["memory_bytes"] < 200e6
    (tmp_path / "nowhere").mkdir()
    specs, skipped = MODULE.random_encoders(["tiny"], tmp_path / "nowhere", "nowhere/python", 1)
    assert specs == {} and skipped["tiny"].startswith("nowhere/python")
