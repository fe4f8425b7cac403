"""Students as modules: what NumPy makes of the files by hand, and what PyTorch does where it is installed."""

import json

import numpy as np
import pytest
from fixtures.encoders import STUDENTS, made_student
from fixtures.pieces import spelled_tokenizer

from distill.errors import EncoderError
from distill.export.artefact import student_for_form
from distill.export.form import Form
from distill.export.formats import sentence
from distill.export.formats.format import Lengths
from distill.export.hub.modules import EncoderPair, read_weights
from distill.export.hub.reference import FolderEncoder
from distill.export.weights.precision import Precision

pytest.importorskip("tokenizers")
pytest.importorskip("safetensors")
FLOAT = Precision("float32", "float32")
TEXTS = ["Where does the Danube end?", "Wo endet die Donau, die durch neun Länder fließt?", "a", "多瑙河在哪里结束？"]
EXPORTED = [name for name in STUDENTS if name != "context"]


@pytest.fixture(scope="module")
def student(tokenizer, randomised):
    """`student(name)`: one of `STUDENTS`."""
    return lambda name: made_student(name, tokenizer, randomised)


@pytest.fixture
def written(tmp_path):
    """`written(student)`: the folder that Sentence-Transformers opens."""

    def write(student, name="folder"):
        (format_,) = sentence.FORMATS
        (tmp_path / name).mkdir()
        format_.write(student, tmp_path / name, FLOAT, Lengths())
        return tmp_path / name

    return write


def linear(student):
    """It with a network that adds nothing."""
    second = student.model.get_layer("residual").second
    second.set_weights([np.zeros(second.kernel.shape)])
    return student


@pytest.mark.parametrize("name", EXPORTED)
def test_the_files_give_the_students_vectors(student, written, name):
    encoder = student(name)
    vectors = FolderEncoder(written(encoder), name, encoder.dimension).encode(TEXTS)
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), atol=2e-5)


def test_a_static_students_files_by_hand(student, written):
    encoder = student("static")
    folder = written(encoder)
    types = [module["type"].rpartition(".")[2] for module in json.loads((folder / "modules.json").read_text())]
    assert types == ["StaticEmbedding", "Normalize", "Dense", "Dense", "Normalize"]
    table = read_weights(folder / "model.safetensors")["embedding.weight"]
    inner, last = (read_weights(folder / f"{place}_Dense" / "model.safetensors") for place in (2, 3))
    for text, ids in zip(TEXTS, encoder.tokenizer.encode(TEXTS), strict=True):
        x = table[ids].mean(axis=0)
        x = x / np.linalg.norm(x)
        x = np.maximum(inner["linear.weight"] @ x + inner["linear.bias"], 0) + inner["residual.weight"] @ x
        x = last["linear.weight"] @ x
        assert encoder.encode([text])[0] @ (x / np.linalg.norm(x)) == pytest.approx(1, abs=1e-6)


def test_a_network_that_adds_nothing_is_left_out(student, written):
    encoder = linear(student("static"))
    folder = written(encoder)
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["1_Normalize", "2_Dense", "3_Normalize"]
    vectors = FolderEncoder(folder, "linear", encoder.dimension).encode(TEXTS)
    np.testing.assert_allclose(vectors, encoder.encode(TEXTS), atol=1e-5)


def test_a_pair_has_a_route_for_each_role(student, written):
    pair = EncoderPair(student("static"), student("shallow"))
    folder = written(pair)
    assert (folder / "distill_ngram.py").read_bytes() == sentence.CODE.read_bytes()
    loaded = FolderEncoder(folder, "pair", pair.dimension)
    np.testing.assert_allclose(loaded.encode(TEXTS), pair.encode(TEXTS), atol=2e-5)
    np.testing.assert_allclose(loaded.encode(TEXTS, "document"), student("shallow").encode(TEXTS), atol=2e-5)


def test_a_pair_may_be_read_without_spellings_and_stays_a_pair(tokenizer, randomised):
    spelled = spelled_tokenizer(tokenizer, _teh_nyl="the Nile")
    pair = EncoderPair(made_student("static", spelled, randomised), made_student("shallow", spelled, randomised))
    read = student_for_form(pair, Form("sentence-transformers", FLOAT, spelled=False))
    plain = [made_student(name, tokenizer, randomised).encode(["teh nyl"]) for name in ("static", "shallow")]
    np.testing.assert_array_equal(read.encode(["teh nyl"]), plain[0])
    np.testing.assert_array_equal(read.encode(["teh nyl"], "document"), plain[1])


def test_a_window_of_tokens_is_refused(student, written):
    with pytest.raises(EncoderError, match="shape.channels = 16"):
        written(student("context"))


@pytest.mark.parametrize("name", [*EXPORTED, "linear", "pair"])
def test_sentence_transformers_gives_the_students_vectors(student, written, name):
    library = pytest.importorskip("sentence_transformers")
    encoder = linear(student("static")) if name == "linear" else student("factor" if name == "pair" else name)
    encoder = EncoderPair(student("shallow"), student("static")) if name == "pair" else encoder
    folder = written(encoder, f"folder_{name}")
    # What needs none runs no code of the folder.
    trust = (folder / "distill_ngram.py").is_file()
    model = library.SentenceTransformer(str(folder), device="cpu", trust_remote_code=trust)
    np.testing.assert_allclose(model.encode_query(TEXTS), encoder.encode(TEXTS), atol=2e-5)
    np.testing.assert_allclose(model.encode_document(TEXTS), encoder.encode(TEXTS, "document"), atol=2e-5)
