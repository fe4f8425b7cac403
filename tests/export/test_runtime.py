import shutil

import numpy as np
import pytest
from fixtures.folders import change_card

from distill.errors import EncoderError
from distill.export.form import Form
from distill.export.formats.folder import read_label
from distill.export.runtime import load_artefact, size_of
from distill.export.weights.precision import Precision

TEXTS = ["", "?", "Where does the Danube end?", "多瑙河在哪里结束？", "broken \ud800 text", "river " * 300]
FORMATS = {
    "bundle": Form(),
    "fixed": Form(max_length=64),
    "signatures": Form(signatures=(8, 32, 128)),
    "onnx": Form("onnx"),
    "string": Form("string"),
    "mediapipe": Form("mediapipe"),
    "c": Form("c"),
    "java": Form("java"),
    "sentence-transformers": Form("sentence-transformers", Precision("float32", "float32")),
    "fastembed": Form("fastembed"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_an_encoder_with_the_students_ids_and_vectors(artefacts, student, name):
    if name in ("mediapipe", "onnx", "fastembed"):
        pytest.importorskip({"mediapipe": "mediapipe"}.get(name, "onnxruntime"))
    loaded = load_artefact(artefacts(FORMATS[name]), threads=2)
    assert (loaded.name, loaded.dimension, loaded.max_length) == ("small", 16, FORMATS[name].longest)
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
