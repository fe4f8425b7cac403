"""A transformer in `encoder.bin`: the program in C and NumPy give the bundle's ids and vectors."""

import re
import subprocess

import numpy as np
import pytest
from fixtures.plain_c import consistent, program
from fixtures.text import TEXTS

from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer
from distill.errors import ExportError
from distill.export.artefact import write_artefact
from distill.export.encode import Reading
from distill.export.form import Form
from distill.export.formats.c import MODEL
from distill.export.formats.format import bundle_fingerprint, load_artefact
from distill.export.student import form_of_bundle
from distill.export.weights.precision import Precision
from distill.students.transformer.network import TransformerEncoder
from distill.system.sections import read_sections, write_sections

# Every setting that the file has, once; texts are longer than the places, and than the prompts allow.
CASES = {
    "e5": ({}, Precision("int4", "int4-pq3"), Reading({"question": "query: ", "document": "passage: "}, 60)),
    "behind": ({"pooling": "first", "dense": "tanh", "epsilon": 1e-5, "activation": "relu"}, Precision(), None),
    "factor": ({"pooling": "max", "activation": "gelu_tanh", "rank": 24}, Precision("float32", "float32"), None),
    "odd": ({"heads": 3, "head_size": 12, "inner": 70}, Precision("int8", "uint8"), Reading({"document": "p: "})),
}
SIZES = {"width": 64, "depth": 2, "heads": 4, "head_size": 16, "inner": 96, "positions": 24, "dimension": 64}


@pytest.fixture
def student(tokenizer, randomised):
    """`student(sizes, reading)`: a small BERT, its weights random."""

    def make(sizes, reading=None, **more):
        model = TransformerEncoder(vocabulary=len(tokenizer), **{**SIZES, **sizes, **more})
        read = Tokenizer(tokenizer.proto, reading=reading) if reading else tokenizer
        return KerasEncoder(randomised(model, 0.2), read, "bert")

    return make


@pytest.mark.parametrize("name", CASES)
def test_the_bundles_ids_and_vectors_are_those_of_c_and_of_numpy(name, student, tmp_path, plain_program):
    sizes, precision, reading = CASES[name]
    encoder, bundle, folder = student(sizes, reading), tmp_path / "bundle", tmp_path / "c"
    write_artefact(encoder, bundle, Form(precision=precision), "bert")
    write_artefact(encoder, folder, form_of_bundle(bundle, Form("c")), "bert")
    content = (folder / MODEL).read_bytes()
    runtime, numpy, plain = load_artefact(bundle), load_artefact(folder), program.PlainEncoder(plain_program, content)
    texts = [*TEXTS, "the river " * 40, ""]
    # An index of the bundle is one for the program.
    assert numpy.fingerprint == bundle_fingerprint(bundle)
    for role in ("question", "document"):
        expected = runtime.encode(texts, role)
        for one in (numpy, plain):
            assert [one.tokenize(text, role) for text in texts] == encoder.tokenizer.encode(texts, role)
            # A last bit may turn what is rounded, and all that follows; a forgotten bias costs far more.
            assert np.sum(one.encode(texts, role) * expected, axis=1).min() > 0.998
    if precision.dense == "float32":
        assert np.sum(plain.encode(texts) * encoder.encode(texts), axis=1) == pytest.approx(1, abs=1e-5)
    plain.close()


def test_kernels_of_whole_numbers_up_to_7_take_half_a_byte(student, tmp_path):
    write_artefact(student({}), tmp_path / "c", Form("c", precision=Precision("int4", "int4")), "bert")
    arrays = read_sections(tmp_path / "c" / MODEL)
    assert arrays["0.looked.packed"].shape == (3 * 64, 32) and "0.looked.kernel" not in arrays
    assert arrays["0.attention.kernel"].dtype == np.int8 and np.abs(arrays["0.attention.kernel"]).max() > 7


def test_a_file_that_does_not_fit_together_is_refused(student, tmp_path, plain_program):
    path = tmp_path / "c" / MODEL
    write_artefact(student({}), tmp_path / "c", Form("c"), "bert")
    arrays = {name: np.array(array) for name, array in read_sections(path).items()}
    heads, depth = arrays["settings"].copy(), arrays["settings"].copy()
    heads[9], depth[8] = 5, 3
    others = [{name: None} for name in ("epsilon", "positions.scales", "0.norm.beta", "1.second.kernel")]
    for changed in [{"settings": heads}, {"settings": depth}, *others]:
        kept = {name: array for name, array in {**arrays, **changed}.items() if array is not None}
        write_sections(path, kept)
        with pytest.raises(program.Refused):
            program.PlainEncoder(plain_program, path.read_bytes())


def test_broken_texts_and_files_do_no_harm(student, tmp_path, plain_fuzz, sample):
    write_artefact(student(*CASES["e5"][::2]), tmp_path / "c", Form("c", precision=Precision("int4", "int4")), "bert")
    (tmp_path / "texts.txt").write_text("\n".join(sample.passage_texts[:40]), encoding="utf-8")
    contents = consistent.streamed([(tmp_path / "c" / MODEL).read_bytes()], 200, seed=1)
    for more, files in ((["texts.txt", "1", "300", "200"], None), ([], b"".join(contents))):
        command = [plain_fuzz, tmp_path / "c" / MODEL, *more]
        result = subprocess.run(command, input=files, capture_output=True, timeout=120, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, b"")
        opened = [int(number) for number in re.findall(rb"(\d+)", result.stdout)]
        assert any(0 < number < 200 for number in opened)


def test_modern_blocks_and_berts_pieces_are_refused(student, tmp_path):
    modern = student({"block": "modern", "local": (0,), "window": 8, "epsilon": 1e-5})
    with pytest.raises(ExportError, match="ModernBERT"):
        write_artefact(modern, tmp_path / "c", Form("c"), "bert")
