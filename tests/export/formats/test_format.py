"""What every format has, that its name is the only other line of it, and that what it writes is an encoder."""

import shutil
import string
from pathlib import Path

import numpy as np
import pytest
from fixtures.folders import change_card

import distill.export.formats as package
from distill.errors import EncoderError, InputError
from distill.evaluation.bench.worker import LOADERS
from distill.export import encode
from distill.export.form import Form
from distill.export.formats.format import format_of, load_artefact, read_label, size_of
from distill.export.weights.precision import Precision
from distill.settings.choices import FORMATS

PARTS = {"__init__", "folder", "format", "registry"}
TEXTS = ["", "?", "Where does the Danube end?", "多瑙河在哪里结束？", "broken \ud800 text", "river " * 300]
FORMS = {
    "bundle": Form(),
    "fixed": Form(max_length=64),
    "signatures": Form(signatures=(8, 32, 128)),
    "onnx": Form("onnx"),
    "string": Form("string"),
    "mediapipe-zip": Form("mediapipe-zip"),
    "c": Form("c"),
    "java": Form("java"),
    "sentence-transformers": Form("sentence-transformers", Precision("float32", "float32")),
    "fastembed": Form("fastembed"),
}


def test_every_file_of_formats_has_a_name():
    files = {path.stem for path in Path(package.__file__).parent.glob("*.py")} - PARTS
    assert files == {name.partition("-")[0] for name in FORMATS}


def test_another_name_is_refused():
    with pytest.raises(InputError, match="^--format:.* coreml$"):
        format_of("coreml")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_found_by_its_name(name):
    format_ = format_of(name)
    assert format_.name == name and bool(format_.needs) == bool(format_.extra)
    assert format_.worker == "" or format_.worker in LOADERS
    # What a card has.
    fields = {None, "dimension", "max_length", "folder", "options"}
    assert {field for _, field, _, _ in string.Formatter().parse(format_.how_to)} <= fields


def test_what_encode_py_runs_has_the_names_that_it_knows():
    assert {name: format_of(name).file for name in encode.MODELS} == encode.MODELS


@pytest.mark.parametrize("name", FORMS)
def test_every_format_is_an_encoder_with_the_students_ids_and_vectors(artefacts, student, name):
    if name in ("mediapipe-zip", "onnx", "fastembed"):
        pytest.importorskip({"mediapipe-zip": "mediapipe"}.get(name, "onnxruntime"))
    loaded = load_artefact(artefacts(FORMS[name]), threads=2)
    assert (loaded.name, loaded.dimension, loaded.max_length) == ("small", 16, FORMS[name].longest)
    texts = [text for text, ids in zip(TEXTS, student.tokenizer.encode(TEXTS), strict=True) if len(ids) <= 64]
    texts += [] if loaded.max_length else TEXTS[-1:]
    got, expected = loaded.encode(texts), student.encode(texts)
    assert (got.shape, got.dtype) == ((len(texts), 16), np.float32)
    assert np.linalg.norm(got, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-4)
    assert np.sum(got * expected, axis=1) == pytest.approx(np.ones(len(texts)), abs=2e-3)
    assert [list(loaded.tokenize(text)) for text in texts] == student.tokenizer.encode(texts)


def test_what_is_broken_or_of_another_format_is_refused(artefacts, copy, tmp_path):
    # All that can be broken is tested with `encode`.
    for read in (load_artefact, read_label):
        with pytest.raises(EncoderError, match="nowhere:.*card.json"):
            read(str(copy / "nowhere"))
    # What a bundle holds is no string model, whatever its card says.
    for name in ("", "coreml", "BUNDLE", "string"):
        change_card(copy, format=name)
        with pytest.raises(EncoderError, match=f"copy:.*card.json.*'{name}'"):
            load_artefact(copy)
    change_card(copy, format="bundle", dimension=17)
    string = shutil.copytree(artefacts(Form("string")), tmp_path / "string")
    (string / "encoder.tflite").write_bytes(b"cut")
    for folder, named in ((copy, "card.json.*17.*16"), (string, "encoder.tflite: 3 ")):
        with pytest.raises(EncoderError, match=named):
            load_artefact(folder)


def test_sizes_by_hand(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"12345")
    (tmp_path / "y").write_bytes(b"123")
    assert (size_of(tmp_path), size_of(tmp_path / "y"), size_of(str(tmp_path / "a"))) == (8, 3, 5)
