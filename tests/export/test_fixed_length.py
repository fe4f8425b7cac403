"""An artefact of one length, as LiteRT.js and Kotlin's CompiledModel take it: no shape in it is left open."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.chromium import CHROMIUM

from distill.export.form import Form
from distill.system.input_files import read_json

ROOT = Path(__file__).resolve().parents[2]
# A node_modules with npm's @litertjs/core.
MODULES = os.environ.get("DISTILL_NODE_MODULES", "")


def shapes(content):
    """`(shape, signature of the shape)` of the input, and of every tensor that the runtime would have to size."""
    from ai_edge_litert import schema_py_generated as schema

    graph = schema.Model.GetRootAsModel(content, 0).Subgraphs(0)
    tensors = [graph.Tensors(number) for number in range(graph.TensorsLength())]
    signed = {number: tensor.ShapeSignatureAsNumpy() for number, tensor in enumerate(tensors)}
    open_ = [number for number, tensor in enumerate(tensors) if tensor.ShapeSignatureLength() and -1 in signed[number]]
    return [tensors[graph.Inputs(number)].ShapeAsNumpy().tolist() for number in range(graph.InputsLength())], open_


def test_a_fixed_length_leaves_no_shape_open(artefacts, tiny_bundle):
    assert shapes((artefacts(Form(max_length=64)) / "encoder.tflite").read_bytes()) == ([[1, 64]], [])
    assert len(shapes((tiny_bundle / "encoder.tflite").read_bytes())[1]) > 1


@pytest.mark.skipif(not (CHROMIUM and Path(MODULES, "@litertjs").is_dir()), reason="no Chromium or no @litertjs/core")
def test_it_gives_its_vectors_in_litert_js(artefacts, tmp_path):
    script = [sys.executable, ROOT / "benchmarks" / "browser" / "runtimes.py", artefacts(Form(max_length=64))]
    options = ["--modules", MODULES, "--questions", "1", "--json", tmp_path / "figures.json"]
    subprocess.run([*script, *options], check=True, capture_output=True)
    figures = read_json(tmp_path / "figures.json")
    assert figures["least_cosine"] >= 0.9999 and figures["other_hosts"] == []
