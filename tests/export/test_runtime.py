import json
import shutil

import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.errors import EncoderError
from distill.export import encode
from distill.export.encode import sha256
from distill.export.form import Form
from distill.export.formats.folder import read_label
from distill.export.runtime import load_artefact, size_of

TEXTS = ["", "?", "Where does the Danube end?", "多瑙河在哪里结束？", "broken \ud800 text", "river " * 300]
FORMATS = {
    "bundle": Form(),
    "fixed": Form(max_length=64),
    "signatures": Form(signatures=(8, 32, 128)),
    "onnx": Form("onnx"),
    "string": Form("string"),
    "mediapipe": Form("mediapipe"),
}


@pytest.fixture(scope="module")
def student(tiny_folder):
    return KerasEncoder.load(tiny_folder)


@pytest.fixture
def copy(tiny_bundle, tmp_path):
    """A bundle to break."""
    return shutil.copytree(tiny_bundle, tmp_path / "copy")


def change_card(folder, **values):
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    (folder / "card.json").write_text(json.dumps({**card, **values}), encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_an_encoder_with_the_students_ids_and_vectors(artefacts, student, name):
    if name in ("mediapipe", "onnx"):
        pytest.importorskip({"onnx": "onnxruntime"}.get(name, name))
    loaded = load_artefact(artefacts(FORMATS[name]))
    assert (loaded.name, loaded.dimension, loaded.max_length) == ("small", 16, FORMATS[name].longest)
    texts = [text for text, ids in zip(TEXTS, student.tokenizer.encode(TEXTS), strict=True) if len(ids) <= 64]
    texts += [] if loaded.max_length else TEXTS[-1:]
    got, expected = loaded.encode(texts), student.encode(texts)
    assert (got.shape, got.dtype) == ((len(texts), 16), np.float32)
    assert np.linalg.norm(got, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-4)
    assert np.sum(got * expected, axis=1) == pytest.approx(np.ones(len(texts)), abs=2e-3)
    assert [list(loaded.tokenize(text)) for text in texts] == student.tokenizer.encode(texts)


def test_threads_change_no_vector(tiny_bundle):
    one, two = (load_artefact(tiny_bundle, threads) for threads in (1, 2))
    assert two.encode(TEXTS[:3]) == pytest.approx(one.encode(TEXTS[:3]), abs=1e-6)


def test_the_card_is_read(tiny_bundle):
    card = json.loads((tiny_bundle / "card.json").read_text(encoding="utf-8"))
    label = read_label(str(tiny_bundle))
    assert (label.name, label.format, label.dimension, label.max_length) == ("small", "bundle", 16, None)
    assert label.files == tuple(card["files"]) == ("encode.py", "encoder.tflite", "tokenizer.model")


def test_what_is_missing_cut_changed_or_of_another_card_is_refused(copy):
    # All that can be broken is tested with `encode`.
    for read in (load_artefact, read_label):
        with pytest.raises(EncoderError, match="nowhere:.*card.json"):
            read(copy / "nowhere")
    path, content = copy / "tokenizer.model", (copy / "tokenizer.model").read_bytes()
    changed = content[:-1] + bytes([content[-1] ^ 1])
    for broken, named in ((content[:-9], "[0-9]+ "), (changed, ".*sha256")):
        path.write_bytes(broken)
        with pytest.raises(EncoderError, match=f"tokenizer.model: {named}"):
            load_artefact(copy)
    path.write_bytes(content)
    change_card(copy, dimension=17)
    with pytest.raises(EncoderError, match="card.json.*17.*16"):
        load_artefact(copy)
    for name in ("", "coreml", "BUNDLE"):
        change_card(copy, format=name)
        with pytest.raises(EncoderError, match=f"copy:.*card.json.*'{name}'"):
            load_artefact(copy)
    path.unlink()
    with pytest.raises(EncoderError, match="copy: "):
        load_artefact(copy)


def test_a_model_that_its_card_fits_and_no_runtime_takes_is_refused(copy):
    (copy / "encoder.tflite").write_bytes(b"no model" * 1000)
    said = {"bytes": 8000, "sha256": sha256(copy / "encoder.tflite")}
    change_card(copy, files={**encode.read_card(copy)["files"], "encoder.tflite": said})
    with pytest.raises(EncoderError, match="encoder.tflite: "):
        load_artefact(copy)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"name": "x", "dimension": 16}', b"\xff\xfe{}"])
def test_a_card_that_is_none_is_refused(copy, content):
    (copy / "card.json").write_bytes(content)
    for read in (load_artefact, read_label):
        with pytest.raises(EncoderError, match="card.json: "):
            read(copy)


def test_a_string_model_without_its_file_or_with_others_is_refused(artefacts, copy, tmp_path):
    # What a bundle holds is no string model, whatever its card says.
    change_card(copy, format="string")
    with pytest.raises(EncoderError, match="copy:.*card.json.*'string'"):
        load_artefact(copy)
    string = shutil.copytree(artefacts(Form("string")), tmp_path / "string")
    content = (string / "encoder.tflite").read_bytes()
    (string / "encoder.tflite").write_bytes(content[: len(content) // 2])
    with pytest.raises(EncoderError, match="encoder.tflite: [0-9]+ "):
        load_artefact(string)
    (string / "encoder.tflite").unlink()
    with pytest.raises(EncoderError, match="string:.*encoder.tflite"):
        load_artefact(string)


def test_sizes_by_hand(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"12345")
    (tmp_path / "y").write_bytes(b"123")
    assert (size_of(tmp_path), size_of(tmp_path / "y"), size_of(str(tmp_path / "a"))) == (8, 3, 5)
