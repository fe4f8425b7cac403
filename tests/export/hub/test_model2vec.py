import json

import numpy as np
import pytest
from fixtures.encoders import made_student
from fixtures.pieces import spelled_tokenizer

from distill.encoders.tokenizer import model_proto
from distill.errors import EncoderError
from distill.export.formats import model2vec
from distill.export.formats.format import Lengths
from distill.export.hub.modules import read_weights
from distill.export.hub.reference import FolderEncoder
from distill.export.weights.precision import Precision

pytest.importorskip("tokenizers")
pytest.importorskip("safetensors")
UNKNOWN = "end \U0001f389\u0f00\U0001f389 end \U0001f389"
TEXTS = ["Where does the Danube end?", "the bicycle", "Wo endet die Donau?", UNKNOWN]


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
    assert rows.shape[1] == student.dimension
    settings = json.loads((folder / "config.json").read_text())
    assert (settings["model_type"], settings["normalize"], settings["max_length"]) == ("model2vec", True, None)
    loaded = FolderEncoder(folder, "folder", student.dimension, known=True)
    for text, ids, vector in zip(TEXTS, tokenizer.encode(TEXTS), loaded.encode(TEXTS), strict=True):
        summed = rows[ids].sum(axis=0)
        np.testing.assert_allclose(vector, summed / np.linalg.norm(summed), atol=1e-5)
        np.testing.assert_allclose(vector, student.encode([text])[0], atol=1e-5)


def test_unknown_characters_side_by_side_are_a_piece_with_the_unknown_row(tokenizer, randomised, tmp_path):
    student = linear_student(tokenizer, randomised)
    folder = written(student, tmp_path / "folder")
    rows = read_weights(folder / "model.safetensors")["embeddings"]
    vocabulary = [name for name, _ in json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]]
    assert (rows[len(tokenizer) :] == rows[0]).all() and len(rows) == len(vocabulary)
    single = {piece.piece for piece in model_proto(tokenizer).pieces}
    apart = {character for piece in single if not piece.startswith("<") for character in piece} - single
    assert set(vocabulary[len(tokenizer) + 1 :]) == apart
    loaded = FolderEncoder(folder, "folder", 40, known=True)
    (ids,) = tokenizer.encode([UNKNOWN])
    assert ids.count(0) == 2 and loaded.tokenize(UNKNOWN) == ids


@pytest.mark.parametrize("name", ["static", "context", "shallow"])
def test_a_student_that_is_no_sum_of_rows_is_refused(tokenizer, randomised, tmp_path, name):
    # Exit code 2: another encoder is wanted.
    with pytest.raises(EncoderError, match="channels|weights"):
        written(made_student(name, tokenizer, randomised), tmp_path / "folder")


def test_model2vec_gives_the_students_vectors(tokenizer, randomised, tmp_path):
    library = pytest.importorskip("model2vec")
    student = linear_student(tokenizer, randomised)
    model = library.StaticModel.from_pretrained(written(student, tmp_path / "folder"))
    np.testing.assert_allclose(model.encode(TEXTS), student.encode(TEXTS), atol=1e-5)


def test_a_spelling_is_a_row_that_is_the_sum_of_those_that_it_stands_for(tokenizer, randomised, tmp_path):
    student = linear_student(spelled_tokenizer(tokenizer, _teh_nyl="the Nile", q="Ni"), randomised)
    loaded = FolderEncoder(written(student, tmp_path / "folder"), "folder", student.dimension, known=True)
    texts = ["Where does teh nyl end?", "q", *TEXTS]
    assert [loaded.tokenize(text) for text in texts] == student.tokenizer.unexpanded.encode(texts)
    assert max(loaded.tokenize(texts[0])) == len(tokenizer)
    # The rows of the words as they are written, by another tokenizer.
    plain = linear_student(tokenizer, randomised).encode(["Where does the Nile end?"])
    np.testing.assert_allclose(loaded.encode(texts[:1]), plain, atol=1e-5)
    np.testing.assert_allclose(loaded.encode(texts), student.encode(texts), atol=1e-5)
