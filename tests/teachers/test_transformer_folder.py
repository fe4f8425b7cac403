"""Folders of Hugging Face and Sentence-Transformers give the vectors that these libraries gave.

`fixtures/transformers.tar.xz` holds them; `benchmarks/transformers/tiny_folders.py` wrote it.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from distill.errors import InputError
from distill.teachers.transformer_folder import is_transformer, load_transformer

pytest.importorskip("safetensors")
NAMES = ("bert", "distiluse", "labse", "modernbert", "roberta", "xlm-roberta")


@pytest.fixture(scope="module")
def told(transformers):
    return json.loads((transformers / "texts.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_gives_the_vectors_that_its_library_gave(transformers, told, name):
    assert is_transformer(transformers / name)
    encoder, expected = load_transformer(transformers / name), np.load(transformers / "vectors.npz")
    longest = encoder.tokenizer.reading.longest
    rows = encoder.tokenizer.encode(told["texts"], None)
    assert [row[: longest - 1] + row[-1:] if len(row) > longest else row for row in rows] == told["ids"][name]
    for role in ("question", "document"):
        np.testing.assert_allclose(encoder.encode(told["texts"], role), expected[f"{name}/{role}"], atol=1e-5)


def test_a_config_of_older_versions_names_the_same_layers(transformers, tmp_path):
    folder = Path(shutil.copytree(transformers / "modernbert", tmp_path / "modernbert"))
    config = json.loads((folder / "config.json").read_text())
    del config["rope_parameters"], config["layer_types"]
    config |= {"global_rope_theta": 900.0, "local_rope_theta": 40.0, "position_embedding_type": "sans_pos"}
    (folder / "config.json").write_text(json.dumps(config))
    model = load_transformer(folder).model
    assert model.get_config() == {
        **load_transformer(transformers / "modernbert").model.get_config(),
        "name": model.name,
    }
    assert (model.local, model.window) == ((1, 2), 2)


def changed(folder, name, **changes):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


# What is wrong with a folder like labse's, or like another's where one is named.
WRONG = {
    "another padding": ("its padding is 0", lambda folder: changed(folder, "config.json", pad_token_id=0), "roberta"),
    "another architecture": ("model_type is 'gpt2'", lambda folder: changed(folder, "config.json", model_type="gpt2")),
    "sizes that contradict": ("asks for", lambda folder: changed(folder, "config.json", intermediate_size=20)),
    "heads that do not share": (
        "share 16 numbers",
        lambda folder: changed(folder, "config.json", num_attention_heads=3),
    ),
    "another table": ("vocab_size = 99", lambda folder: changed(folder, "config.json", vocab_size=99)),
    "fewer layers": ("num_hidden_layers = 1", lambda folder: changed(folder, "config.json", num_hidden_layers=1)),
    "an empty file": ("tokenizer.json: invalid JSON", lambda folder: (folder / "tokenizer.json").write_text("")),
    "no safetensors": ("expected model.safetensors", lambda folder: (folder / "model.safetensors").unlink()),
    "a pickle": (
        "pytorch_model.bin, a pickle",
        lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
    ),
    "a truncated file": (
        "a broken one",
        lambda folder: (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:9000]),
    ),
    "a residual": (
        "with a residual",
        lambda folder: changed(folder, "2_Dense/config.json", use_residual=True),
    ),
    "a bias": ("norm_bias is True", lambda folder: changed(folder, "config.json", norm_bias=True), "modernbert"),
    "layers of another number": (
        "layer_types are 1",
        lambda folder: changed(folder, "config.json", layer_types=["full_attention"]),
        "modernbert",
    ),
    "stretched positions": (
        "positions are yarn",
        lambda folder: changed(folder, "config.json", rope_parameters={"full_attention": {"rope_type": "yarn"}}),
        "modernbert",
    ),
    "no number": (
        "not as expected",
        lambda folder: changed(folder, "config.json", local_attention=None),
        "modernbert",
    ),
    "gates that are missing": (
        "asks for block_0/first/kernel",
        lambda folder: changed(folder, "config.json", intermediate_size=20),
        "modernbert",
    ),
    "an unknown pooling": (
        "pooling_mode is median",
        lambda folder: changed(folder, "1_Pooling/config.json", pooling_mode="median"),
    ),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_a_folder_that_cannot_be_read_is_refused_in_one_line(transformers, tmp_path, case):
    error, change, *named = case
    folder = Path(shutil.copytree(transformers / "".join(named or ["labse"]), tmp_path / "wrong"))
    change(folder)
    with pytest.raises(InputError, match=error) as told:
        load_transformer(folder)
    assert "\n" not in str(told.value)
