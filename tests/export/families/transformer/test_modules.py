"""A transformer's plain Sentence-Transformers folder: what NumPy and our own loader make of it."""

import json

import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import wordpiece_tokenizer
from distill.errors import EncoderError, ExportError
from distill.export.encode import Reading, Rules
from distill.export.formats import sentence
from distill.export.formats.format import Lengths
from distill.export.hub.modules import linear_rows
from distill.export.hub.reference import FolderEncoder
from distill.export.weights.precision import Precision
from distill.students.transformer import TransformerEncoder
from distill.teachers.transformer_folder import load_transformer

pytest.importorskip("tokenizers")
pytest.importorskip("safetensors")
TEXTS = ["Where does the Danube end?", "Wo endet die Donau, die durch neun Länder fließt?", "", "多瑙河在哪里结束？"]
TEXTS += ["the river that begins where the lake ends " * 9]
SIZES = {"width": 24, "depth": 2, "heads": 4, "head_size": 6, "inner": 32, "positions": 40, "dimension": 24}
MODERN = {"block": "modern", "local": (1,), "window": 2, "global_theta": 900.0, "local_theta": 40.0}
PROMPTS = Reading({"question": "query: ", "document": "passage: "}, 30)
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz?,哪里", "the", "##er", "where")
WORDS += tuple(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
# The mean of the tokens is that of BERT's pieces below.
CASES = {
    "factor, dense": {"rank": 8, "pooling": "max", "activation": "relu", "dense": "tanh", "dimension": 12},
    "projection": {"pooling": "first", "activation": "gelu_tanh", "space": 24, "dimension": 10, "foreign": True},
    "modern": {**MODERN, "pooling": "mean"},
    "modern, no pattern": {**MODERN, "local": (2,), "rank": 8, "depth": 3, "activation": "gelu_tanh"},
    # Heads that were cut do not share a row evenly.
    "few heads": {"heads": 3, "head_size": 5, "dense": "gelu", "dimension": 20, "space": 12, "foreign": True},
}


@pytest.fixture(scope="module")
def words():
    return wordpiece_tokenizer(WORDS, Reading(wordpiece=Rules()))


def folder_of(encoder, folder):
    (format_,) = sentence.FORMATS
    folder.mkdir()
    format_.write(encoder, folder, Precision("float32", "float32"), Lengths())
    return folder


def encoder_of(sizes, tokenizer, randomised):
    model = TransformerEncoder(vocabulary=len(tokenizer), **{**SIZES, **sizes})
    return KerasEncoder(randomised(model, 0.2), tokenizer, "small")


@pytest.mark.parametrize("sizes", CASES.values(), ids=CASES)
def test_the_folder_gives_the_students_vectors_with_its_prompts(sizes, tokenizer, randomised, tmp_path):
    encoder = encoder_of(sizes, tokenizer.__class__(tokenizer.proto, "prompted", reading=PROMPTS), randomised)
    folder = folder_of(encoder, tmp_path / "folder")
    settings = json.loads((folder / "config_sentence_transformers.json").read_text())
    assert settings["prompts"] == {"query": "query: ", "document": "passage: "} and "requirements" not in settings
    read, loaded = FolderEncoder(folder, "small", encoder.dimension), load_transformer(folder)
    for role in ("question", "document"):
        expected = encoder.encode(TEXTS, role)
        np.testing.assert_allclose(read.encode(TEXTS, role), expected, atol=1e-5)
        np.testing.assert_allclose(loaded.encode(TEXTS, role), expected, atol=1e-5)
    assert [list(read.tokenize(text)) for text in TEXTS] == encoder.tokenizer.encode(TEXTS)


def test_berts_pieces_are_cut_alike(words, randomised, tmp_path):
    encoder = encoder_of({}, words, randomised)
    folder = folder_of(encoder, tmp_path / "folder")
    read, loaded = FolderEncoder(folder, "small", encoder.dimension), load_transformer(folder)
    texts = TEXTS[:4]
    assert [list(read.tokenize(text)) for text in texts] == encoder.tokenizer.encode(texts)
    np.testing.assert_allclose(read.encode(texts), encoder.encode(texts), atol=1e-5)
    np.testing.assert_allclose(loaded.encode(texts), encoder.encode(texts), atol=1e-5)


def test_heads_without_room_and_model2vec_are_refused_in_one_line(tokenizer, randomised, tmp_path):
    with pytest.raises(ExportError, match="5 heads of 6"):
        folder_of(encoder_of({"heads": 5}, tokenizer, randomised), tmp_path / "folder")
    with pytest.raises(ExportError, match="5 heads of 4"):
        folder_of(encoder_of({**MODERN, "heads": 5, "head_size": 4}, tokenizer, randomised), tmp_path / "modern")
    with pytest.raises(EncoderError, match="model2vec"):
        linear_rows(encoder_of({}, tokenizer, randomised))
