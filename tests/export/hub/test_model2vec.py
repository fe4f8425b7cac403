import json

import numpy as np
import pytest
from fixtures.encoders import made_student

from distill.errors import ExportError
from distill.export.formats import model2vec
from distill.export.formats.format import Lengths
from distill.export.hub.modules import read_weights
from distill.export.hub.reference import FolderEncoder
from distill.export.weights.precision import Precision

pytest.importorskip("tokenizers")
pytest.importorskip("safetensors")
TEXTS = ["Where does the Danube end?", "the bicycle", "Wo endet die Donau?", "end \U0001f389 end"]


def linear_student(tokenizer, randomised):
    student = made_student("static", tokenizer, randomised)
    second = student.model.get_layer("residual").second
    second.set_weights([np.zeros(second.kernel.shape)])
    return student


def written(student, folder):
    (format_,) = model2vec.FORMATS
    folder.mkdir()
    format_.write(student, folder, Precision("float32", "float32"), Lengths())
    return folder


def test_rows_of_the_folder_sum_to_the_students_vectors(tokenizer, randomised, tmp_path):
    student = linear_student(tokenizer, randomised)
    folder = written(student, tmp_path / "folder")
    rows = read_weights(folder / "model.safetensors")["embeddings"]
    assert rows.shape == (len(tokenizer) + 256, student.dimension)
    settings = json.loads((folder / "config.json").read_text())
    assert (settings["model_type"], settings["normalize"], settings["max_length"]) == ("model2vec", True, None)
    loaded = FolderEncoder(folder, "folder", student.dimension, known=True)
    for text, ids, vector in zip(TEXTS, tokenizer.encode(TEXTS), loaded.encode(TEXTS), strict=True):
        summed = rows[ids].sum(axis=0)
        np.testing.assert_allclose(vector, summed / np.linalg.norm(summed), atol=1e-5)
        np.testing.assert_allclose(vector, student.encode([text])[0], atol=1e-5)


def test_an_unknown_character_is_its_bytes_of_which_the_first_has_the_unknown_row(tokenizer, randomised, tmp_path):
    student = linear_student(tokenizer, randomised)
    folder = written(student, tmp_path / "folder")
    rows = read_weights(folder / "model.safetensors")["embeddings"]
    first, later = rows[len(tokenizer) + 0xF0], rows[len(tokenizer) + 0x8E]
    np.testing.assert_array_equal(first, rows[0])
    assert not later.any() and len(rows) == len(tokenizer) + 256
    loaded = FolderEncoder(folder, "folder", 40, known=True)
    (ids,) = tokenizer.encode(["end \U0001f389 end"])
    assert 0 in ids and loaded.tokenize("end \U0001f389 end") == ids
    text = ["end \U0001f389 end"]
    np.testing.assert_allclose(loaded.encode(text), student.encode(text), atol=1e-5)


@pytest.mark.parametrize("name", ["static", "context", "shallow"])
def test_a_student_that_is_no_sum_of_rows_is_refused(tokenizer, randomised, tmp_path, name):
    with pytest.raises(ExportError, match="--trained-weights|--channels"):
        written(made_student(name, tokenizer, randomised), tmp_path / "folder")


def test_model2vec_gives_the_students_vectors(tokenizer, randomised, tmp_path):
    library = pytest.importorskip("model2vec")
    student = linear_student(tokenizer, randomised)
    model = library.StaticModel.from_pretrained(written(student, tmp_path / "folder"))
    np.testing.assert_allclose(model.encode(TEXTS), student.encode(TEXTS), atol=1e-5)
