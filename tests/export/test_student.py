"""Float weights out of artefacts: the same vectors, in every format and precision that has any to read."""

import shutil

import numpy as np
import pytest
from fixtures.encoders import made_student
from fixtures.folders import change_card

from distill.encoders.catalog.loading import load_stored_table
from distill.errors import EncoderError
from distill.export.artefact import write_artefact
from distill.export.form import Form
from distill.export.formats.format import load_artefact
from distill.export.student import load_codewords, load_student, load_table
from distill.export.weights.precision import Precision
from distill.export.weights.stored_table import CODEC

TEXTS = ["Where does the Danube end?", "Wo endet die Donau?", "Nile", "the river that begins where the lake ends " * 3]
FORMS = {
    "float": Form(precision=Precision("float32", "float32")),
    "int4": Form(precision=Precision("int8", "int4")),
    "fixed": Form(precision=Precision("int8", "uint8"), max_length=64),
    "signatures": Form(precision=Precision("int8", "pq4"), signatures=(32, 64)),
    "onnx": Form("onnx", Precision("int8", "int4")),
    "parts": Form(precision=Precision("int8", "int4-pq5")),
    "onnx, parts": Form("onnx", Precision("int8", "int4-pq5")),
    "onnx float": Form("onnx", Precision("float32", "pq8")),
}
# Each network in two forms at least: what a table is stored as has nothing to do with the network.
CASES = [("shallow", "int4"), ("shallow", "onnx"), ("context", "onnx float"), ("context", "fixed")]
CASES += [("factor", "float"), ("factor", "parts"), ("static", "signatures"), ("static", "onnx, parts")]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_the_weights_of_an_artefact_give_its_vectors(name, form, tokenizer, randomised, tmp_path):
    if form.startswith("onnx"):
        pytest.importorskip("onnxruntime")
    encoder, folder = made_student(name, tokenizer, randomised), tmp_path / "small"
    write_artefact(encoder, folder, FORMS[form], "small")
    student = load_student(folder)
    (table,) = student.model.get_layer("embedding").get_weights()
    np.testing.assert_array_equal(load_table(folder, len(table)), table)
    cosines = np.sum(student.encode(TEXTS) * load_artefact(folder).encode(TEXTS), axis=1)
    # Its activations are rounded, the student's are not.
    assert cosines.min() >= (0.99999 if "float" in form else 0.999)
    assert type(student.model) is type(encoder.model) and student.tokenizer.proto == tokenizer.proto
    for size in ("vocabulary", "width", "hidden", "dimension", "channels"):
        assert getattr(student.model, size) == getattr(encoder.model, size)
    # An optimiser's step is one size for all weights: they are of the sizes that they were.
    after = {weight.path: np.std(weight) for weight in student.model.weights}
    for weight in encoder.model.weights:
        if weight.path.endswith(("first/kernel", "second/kernel")):
            assert 0.2 < np.std(weight) / after[weight.path] < 5, weight.path


def test_gains_of_one_and_biases_of_zero_that_a_converter_leaves_out_are_there_again(tiny_encoder, tiny_bundle):
    student = load_student(tiny_bundle)
    np.testing.assert_allclose(student.encode(TEXTS), tiny_encoder.encode(TEXTS), atol=0.02)


def test_what_has_no_weights_to_read_is_refused(artefacts, tiny_bundle, tmp_path):
    folder = shutil.copytree(tiny_bundle, tmp_path / "other")
    wrong = [{"table": table} for table in ("int4", "int3", ["int4"])]
    wrong += [{"dense": "int8"}, {"dense": "int2", "table": "uint8"}, {"table": "uint8", "rank": 1}, "uint8"]
    for precision in wrong:
        change_card(folder, precision=precision)
        with pytest.raises(EncoderError, match=f"^{folder}: "):
            load_student(folder)
    with pytest.raises(EncoderError, match="'string'"):
        load_student(artefacts(Form("string")))


def test_a_bundle_made_of_a_bundle_has_the_same_table(tokenizer, randomised, tmp_path):
    write_artefact(made_student("factor", tokenizer, randomised), tmp_path / "small", FORMS["parts"], "small")
    student = load_student(tmp_path / "small")
    stored = load_stored_table(tmp_path / "small", CODEC, student)
    assert load_stored_table(tmp_path / "small", "int4", student) is None
    write_artefact(student, tmp_path / "again", Form(precision=Precision("int8", CODEC, stored)), "again")
    again = load_codewords(tmp_path / "again", CODEC, student)
    assert all(np.array_equal(before, after) for before, after in zip(stored.arrays, again.arrays, strict=True))
    write_artefact(student, tmp_path / "int4", FORMS["int4"], "int4")
    assert load_codewords(tmp_path / "int4", CODEC, student) is None
    # Its pieces, and a table of another width.
    narrow = made_student("static", tokenizer, randomised)
    assert load_codewords(tmp_path / "small", CODEC, narrow) is None
