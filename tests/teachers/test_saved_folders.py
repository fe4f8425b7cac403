"""Folders with the settings that people save give the vectors that Sentence-Transformers gave, or are refused by name.

`fixtures/saved_folders.tar.xz` holds them; `benchmarks/transformers/saved_folders.py` wrote it.
"""

import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

from distill.encoders.batching import pad
from distill.errors import EncoderError
from distill.teachers.transformer_folder import load_transformer

pytest.importorskip("safetensors")
pytest.importorskip("tokenizers")
ARCHIVE = Path(__file__).parents[1] / "fixtures" / "saved_folders.tar.xz"


def read(name):
    with tarfile.open(ARCHIVE) as archive:
        return json.load(archive.extractfile(name))


TOLD = read("kinds.json")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("saved")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(root, filter="data")
    return root


@pytest.fixture
def make(root, tmp_path):
    """`make(base, files, name)`: a copy of a folder with other files of JSON; None for one that is not there."""

    def write(base, files, name="folder"):
        folder = Path(shutil.copytree(root / base, tmp_path / name))
        for place, content in files.items():
            path = folder / place
            path.parent.mkdir(exist_ok=True)
            path.unlink() if content is None else path.write_text(json.dumps(content), encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="module")
def vectors(root):
    with np.load(root / "vectors.npz") as expected:
        return dict(expected)


def encode(encoder, role, texts=TOLD["texts"]):
    """The vectors without a compilation, which would take longer than everything else."""
    return np.asarray(encoder.model(pad(encoder.tokenizer.encode(texts, role))))


@pytest.mark.parametrize("kind", TOLD["kinds"])
def test_a_folder_gives_the_vectors_that_its_library_gave(kind, vectors, make):
    encoder = load_transformer(make(**TOLD["kinds"][kind], name=f"folder {kind}"))
    for role in ("question", "document"):
        wanted = vectors[f"{kind}/{role}"].astype(np.float32)
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(encode(encoder, role), wanted, atol=2e-3)


SBERT, ST, CONFIG = "sentence_bert_config.json", "config_sentence_transformers.json", "config.json"
TOK, POOL, DENSE = "tokenizer_config.json", "1_Pooling/config.json", "2_Dense/config.json"
TYPE = "sentence_transformers.models"
PROMPTED = {ST: {"prompts": {"query": "ask: "}}}
ORDER = {
    "modules.json": [
        {"type": f"{TYPE}.{kind}", "path": path}
        for kind, path in (("Transformer", ""), ("Dense", "2_Dense"), ("Pooling", "1_Pooling"))
    ]
}
# The setting that the error names, and what is changed.
REFUSED = {
    "include_prompt": {POOL: {"pooling_mode": "mean", "include_prompt": False}, **PROMPTED},
    "is_decoder": {CONFIG: {"is_decoder": True}},
    "is_causal": {CONFIG: {"is_causal": True}},
    "quantization_config": {CONFIG: {"quantization_config": {"bits": 4}}},
    "embedding_size": {CONFIG: {"embedding_size": 8}},
    "adapter_config.json": {"adapter_config.json": {"peft_type": "LORA"}},
    "query_length": {SBERT: {"query_length": 8}},
    "transformer_task": {SBERT: {"transformer_task": "fill-mask"}},
    "modality_config": {
        SBERT: {"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}}
    },
    "gradient": {SBERT: {"model_args": {"gradient": 1}}},
    "of_tomorrow": {ST: {"of_tomorrow": 1}},
    "model_type": {ST: {"model_type": "SparseEncoder"}},
    "truncate_dim": {ST: {"truncate_dim": 0}},
    "split_special_tokens": {TOK: {"split_special_tokens": True}},
    "padding_side": {TOK: {"padding_side": "left"}},
    "MPNetTokenizer": {TOK: {"tokenizer_class": "MPNetTokenizer"}},
    "added_tokens_decoder": {TOK: {"added_tokens_decoder": {"77": {"content": "[CLS]"}}}},
    "of_pooling": {POOL: {"pooling_mode": "mean", "of_pooling": 1}},
    "2_Dense": ORDER,
    "module_input_name": {"9_Normalize/config.json": {"module_input_name": "token_embeddings"}},
    "kwargs": {"modules.json": [{"type": f"{TYPE}.Transformer", "path": "", "kwargs": ["task"]}]},
    "Pooling": {"modules.json": [{"type": f"{TYPE}.Transformer", "path": ""}]},
    "modules": {"modules.json": [{"type": f"{TYPE}.Pooling", "path": "1_Pooling"}] * 2},
}


@pytest.mark.parametrize("setting", REFUSED)
def test_a_setting_that_is_not_honoured_is_refused_by_its_name(setting, root, make):
    files = {}
    for name, new in REFUSED[setting].items():
        old = json.loads((root / "bert" / name).read_text()) if (root / "bert" / name).is_file() else {}
        files[name] = {**old, **new} if isinstance(new, dict) and name != POOL else new
    with pytest.raises(EncoderError, match=setting) as told:
        load_transformer(make("bert", files))
    assert "\n" not in str(told.value)
