"""`encoder.bin` has what the bundle stores, and NumPy computes the bundle's vectors of it."""

import hashlib

import numpy as np
import pytest
from fixtures.encoders import made_student
from fixtures.pieces import spelled_tokenizer, tokenizer_of, trained_tokenizer
from fixtures.plain_c import program
from fixtures.text import TEXTS

from distill.encoders.tokenizer import Tokenizer
from distill.errors import EncoderError, ExportError, InputError
from distill.export.artefact import write_artefact
from distill.export.c.encoder_file import Settings, require_table, tokenizer_sections
from distill.export.c.encoder_file import tokenizer_of as tokenizer_in
from distill.export.c.reference import SectionsEncoder, quantize_rows
from distill.export.form import Form
from distill.export.formats.format import load_artefact
from distill.export.student import form_of_bundle
from distill.export.tflite.graph import Graph
from distill.export.weights.precision import Precision
from distill.system.sections import read_sections, write_sections

CASES = [("factor", "int8", "int4-pq3"), ("context", "int8", "uint8"), ("shallow", "float32", "float32")]


@pytest.mark.parametrize(("name", "dense", "table"), CASES)
def test_a_bundles_weights_and_vectors_are_kept(name, dense, table, tokenizer, randomised, tmp_path, plain_program):
    student, bundle, folder = made_student(name, tokenizer, randomised), tmp_path / "bundle", tmp_path / "c"
    write_artefact(student, bundle, Form(precision=Precision(dense, table), max_length=48), "small")
    form = form_of_bundle(bundle, Form("c"))
    assert (form.precision, form.max_length) == (Precision(dense, table), 48)
    write_artefact(student, folder, form, "small")
    content, arrays = (bundle / "encoder.tflite").read_bytes(), read_sections(folder / "encoder.bin")
    kernels = [array.tobytes() for name, array in arrays.items() if name.endswith(".kernel")]
    assert sorted(kernels) == sorted(product.stored.tobytes() for product in Graph(content).products)
    hashes = [hashlib.sha256(part).hexdigest() for part in (content, tokenizer.proto)]
    encoder, reference = load_artefact(folder), load_artefact(bundle)
    assert encoder.fingerprint == hashlib.sha256("\n".join(hashes).encode()).hexdigest()
    assert [encoder.tokenize(text) for text in TEXTS] == [reference.tokenize(text) for text in TEXTS]
    plain = program.PlainEncoder(plain_program, (folder / "encoder.bin").read_bytes())
    for computed in (encoder, plain):
        assert np.sum(computed.encode(TEXTS) * reference.encode(TEXTS), axis=1) == pytest.approx(1, abs=1e-4)


def test_settings_are_read_as_they_were_written():
    for settings in (
        Settings("static", 512, 256, 1000, None, True, "int4-pq5", (3, 0, 0, 0, 0, 0, 0, 0)),
        Settings("ngram", 16, 40, 9, 64, False, "uint8", (0, 3, 2, 3, 5, 0, 0, 0)),
        Settings("transformer", 16, 40, 9, None, True, "float32", (12, 12, 0, 1, 0, 0, 0, 0)),
    ):
        numbers = settings.as_array()
        assert (numbers.dtype, numbers.size, Settings.from_array(numbers)) == (np.int32, 16, settings)
    with pytest.raises(ExportError):
        Settings("ngram", 16, 40, 9, None, True, "uint8", (0, 7, *(2,) * 7)).as_array()


def test_a_row_is_rounded_between_its_ends_and_zero():
    # By hand: from -1 to 2 in 255 steps zero is step 85; all of one sign have zero at an end.
    rows, steps = quantize_rows(np.array([[-1, 0, 0.5, 2], [1, 2, 3, 4], [0, 0, 0, 0]], dtype=np.float32))
    assert rows.tolist() == [[-85, 0, 42, 170], [64, 128, 191, 255], [0, 0, 0, 0]]
    assert steps[:, 0] == pytest.approx([3 / 255, 4 / 255, 1])


def test_a_tokenizer_comes_back_and_another_kind_is_refused():
    texts = ["a river, a lake and 3 rivers"] * 50
    options = {"vocab_size": 40, "user_defined_symbols": ["lake"], "hard_vocab_limit": False}
    whole = trained_tokenizer(texts, **options)
    again = tokenizer_in(tokenizer_sections(whole))
    assert again.encode(TEXTS) == whole.encode(TEXTS) and isinstance(again, Tokenizer)
    spelled = spelled_tokenizer(whole, _rivver="river")
    assert tokenizer_in(tokenizer_sections(spelled)).encode(["a rivver"]) == whole.encode(["a river"])
    bytes_too = trained_tokenizer(texts, **{**options, "vocab_size": 300}, byte_fallback=True)
    for refused in (bytes_too, tokenizer_of(("a", 0.0), kind="BPE")):
        with pytest.raises(ExportError, match="tokenizer"):
            tokenizer_sections(refused)


def test_another_table_and_a_broken_file_are_refused(tmp_path):
    with pytest.raises(InputError, match="--table.*pq8"):
        require_table("pq8")
    write_sections(tmp_path / "encoder.bin", {"settings": np.zeros(16, dtype=np.int32)})
    with pytest.raises(EncoderError, match="encoder.bin"):
        SectionsEncoder(tmp_path / "encoder.bin", "small")
