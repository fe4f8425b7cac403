"""An exported folder as a custom model of FastEmbed, by the library itself."""

import importlib
import re
import shutil
import sys
import unicodedata

import numpy as np
import pytest
from fixtures.encoders import made_student
from fixtures.pieces import spelled_tokenizer
from fixtures.text import TEXTS

from distill.encoders.catalog.bundle import released_folder
from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer, wordpiece_tokenizer
from distill.errors import EncoderError, InputError
from distill.export.artefact import write_artefact
from distill.export.encode import Reading, Rules
from distill.export.form import Form
from distill.export.formats.format import format_of
from distill.export.weights.precision import Precision

fastembed = pytest.importorskip("fastembed")
for package in ("onnx", "tokenizers"):
    pytest.importorskip(package)
FLOAT = Precision("float32", "float32")
PROMPTS = Reading({"question": "query: ", "document": "passage: "}, 30)
VIETNAMESE = unicodedata.normalize("NFD", "Dưới sự chỉ huy của ai, người Việt đã thắng?")
MORE = ["teh nyl", "where teh nyl ends, teh nyl", "a <s> b </s>", VIETNAMESE]
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{one}" for one in "aehinortu"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def plug():
    from distill.search_engine.plugs import fastembed

    return fastembed


def transformer(tokenizer, randomised):
    from distill.students.transformer import TransformerEncoder

    sizes = {"width": 24, "depth": 2, "heads": 4, "head_size": 6, "inner": 32, "positions": 40, "dimension": 24}
    return KerasEncoder(randomised(TransformerEncoder(len(tokenizer), **sizes), 0.2), tokenizer, "transformer")


@pytest.fixture(scope="module")
def students(tokenizer, randomised):
    spelled = spelled_tokenizer(tokenizer, _teh_nyl="the Nile ends", _ends="end")
    prompted = Tokenizer(tokenizer.proto, "prompted", reading=PROMPTS)
    words = wordpiece_tokenizer(WORDS, Reading(wordpiece=Rules()))
    return {
        "ngram": made_student("shallow", spelled, randomised),
        "static": made_student("context", spelled, randomised),
        "transformer": transformer(prompted, randomised),
        "words": transformer(words, randomised),
    }


@pytest.fixture(scope="module")
def folders(students, tmp_path_factory):
    """The folder of each student."""
    root = tmp_path_factory.mktemp("folders")
    for name, student in students.items():
        write_artefact(student, root / name, Form("fastembed", FLOAT), name)
    return {name: root / name for name in students}


def opened(plug, folder):
    return fastembed.TextEmbedding(plug.add_fastembed_model(folder), threads=1)


@pytest.mark.parametrize("name", ["ngram", "static", "transformer", "words"])
def test_a_batch_has_the_students_vectors_by_role(name, students, folders, plug):
    student, model, texts = students[name], opened(plug, folders[name]), [*TEXTS, *MORE]
    assert model.embedding_size == student.dimension
    documents = student.encode(texts, "document")
    np.testing.assert_allclose(list(model.query_embed(texts)), student.encode(texts), atol=2e-5)
    np.testing.assert_allclose(list(model.passage_embed(texts)), documents, atol=2e-5)
    np.testing.assert_allclose(list(model.embed(iter(texts), batch_size=4)), documents, atol=2e-5)
    np.testing.assert_allclose(list(model.query_embed("teh nyl")), student.encode(["teh nyl"]), atol=2e-5)
    if student.tokenizer.spellings:
        assert student.encode(["teh nyl"])[0] @ student.without_spellings().encode(["teh nyl"])[0] < 0.999
    elif student.tokenizer.reading.prompts:
        assert np.abs(documents - student.encode(texts)).max() > 1e-3


def test_the_python_of_a_folders_page_needs_the_library_alone(students, folders, tmp_path, monkeypatch):
    shutil.copytree(folders["ngram"], tmp_path / "alone")
    monkeypatch.chdir(tmp_path)
    how = format_of("fastembed").how_to.format(folder="alone", dimension=students["ngram"].dimension)
    values = {}
    exec(re.search(r"```python\n(.*?)```", how, re.DOTALL)[1], values)
    np.testing.assert_allclose(list(values["model"].embed(TEXTS[3:5])), students["ngram"].encode(TEXTS[3:5]), atol=2e-5)


def test_a_folder_that_lies_elsewhere_now_is_opened_there(folders, students, plug, tmp_path):
    name = plug.add_fastembed_model(folders["ngram"], "me/Moved")
    moved = shutil.copytree(folders["transformer"], tmp_path / "moved")
    model = fastembed.TextEmbedding("me/moved", specific_model_path=str(moved))
    assert name == "me/Moved"
    np.testing.assert_allclose(list(model.query_embed(TEXTS)), students["transformer"].encode(TEXTS), atol=2e-5)


def test_wrong_folders_names_and_texts_are_refused(folders, plug, tmp_path):
    bundle = released_folder("released-small")
    for folder, said in ((tmp_path / "nowhere", "none of an exported"), (bundle, "'bundle'; run: distill export")):
        with pytest.raises(EncoderError, match=said):
            plug.add_fastembed_model(folder)
    name = plug.add_fastembed_model(folders["static"])
    # Once more is no other.
    assert plug.add_fastembed_model(folders["static"]) == name == "distill/static"
    for taken in (name, "BAAI/bge-small-en"):
        with pytest.raises(InputError, match=taken):
            plug.add_fastembed_model(folders["ngram"], taken)
    with pytest.raises(InputError, match="int"):
        list(fastembed.TextEmbedding(name).embed([1]))
    broken = shutil.copytree(folders["static"], tmp_path / "broken")
    (broken / "model.onnx").write_bytes(b"cut")
    with pytest.raises(EncoderError, match="3 bytes"):
        plug.add_fastembed_model(broken)


def test_the_extra_is_named_where_the_library_is_missing(plug, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(InputError, match=r"\[fastembed\]"):
        importlib.reload(plug)
