import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from distill.encoders.catalog.loading import load_encoder
from distill.errors import EncoderError, InputError
from distill.teachers.st_modules import require_no_code

# Where the library had its modules until version 5.
pytestmark = pytest.mark.filterwarnings("ignore:Importing from 'sentence_transformers:DeprecationWarning")

LIBRARY = "sentence_transformers.models"
MODULES = [
    {"idx": 0, "path": "", "type": f"{LIBRARY}.Transformer"},
    {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
]


def written(folder, name, value):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return folder


def model(folder, *more):
    return written(folder, "modules.json", [*MODULES, *more])


def router(**types):
    return {"types": types, "structure": {name: [name] for name in types}, "parameters": {}}


@pytest.mark.parametrize(
    "modules",
    [
        [*MODULES, {"idx": 2, "type": "planted.Evil"}],
        [{"idx": 0, "type": "sentence_transformers_evil.Evil"}],
        [{"idx": 0, "type": "sentence_transformers.models.WordEmbeddings"}],
        [{"idx": 0, "type": "sentence_transformers.os.system"}],
        [{"idx": 0}],
        ["os.system"],
        {},
    ],
)
def test_a_folder_with_modules_of_its_own_is_refused_and_they_do_not_run(modules, tmp_path):
    folder = written(tmp_path / "model", "modules.json", modules)
    for name in ("planted", "sentence_transformers_evil"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    with pytest.raises(EncoderError, match="modules.json: "):
        load_encoder(folder)
    assert not (tmp_path / "ran").exists()


def test_modules_of_the_library_are_not_refused(tmp_path):
    named = {"types": {"query": "sentence_transformers.models.StaticEmbedding"}}
    model(tmp_path, {"path": "2_Router", "type": f"{LIBRARY}.Router"})
    written(tmp_path, "2_Router/router_config.json", named)
    written(tmp_path, "3_Dense/config.json", {"activation_function": "torch.nn.modules.activation.Tanh"})
    written(tmp_path, "config.json", {"activation_function": "gelu_new", "types": 2})
    require_no_code(tmp_path)
    require_no_code("intfloat/multilingual-e5-small")


ROUTED = router(**{"weights.bin": "joblib._store_backends.numpy_pickle"})
ACTIVATIONS = ("planted.run", "torch.hub.load", "torch.nn.modules.module.warnings.warn")


@pytest.mark.parametrize(
    "kind, name, value, named",
    [
        *(("Router", name, ROUTED, "joblib") for name in ("router_config.json", "config.json")),
        *(("Dense", "config.json", {"activation_function": named}, named) for named in ACTIVATIONS),
    ],
)
def test_what_a_router_names_is_looked_at_too_and_an_activation_is_torchs(kind, name, value, named, tmp_path):
    folder = model(tmp_path, {"path": "part", "type": f"{LIBRARY}.{kind}"})
    written(folder, f"part/{name}", value)
    with pytest.raises(EncoderError, match=rf"part.{name}: .* {named}"):
        load_encoder(folder)


@pytest.mark.parametrize("place", ["../other", "/etc", "a\\..\\..\\b", "C:\\x"])
def test_modules_lie_in_the_models_folder(place, tmp_path):
    folder = model(tmp_path / "model", {"path": place, "type": "sentence_transformers.models.Pooling"})
    with pytest.raises(EncoderError, match=re.escape(place)):
        load_encoder(folder)
    folder = written(model(tmp_path), "router_config.json", router(**{place: MODULES[0]["type"]}))
    with pytest.raises(EncoderError, match=re.escape(place)):
        load_encoder(folder)


def test_settings_behind_a_link_are_refused(tmp_path):
    written(tmp_path, "elsewhere.json", {})
    folder = model(tmp_path / "model")
    (folder / "config.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(InputError, match=str(folder / "config.json")):
        load_encoder(folder)


class Planted:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


FETCHED = """
import sys
from distill.errors import EncoderError
from distill.teachers.huggingface import TransformerEncoder
for name in sys.argv[1:]:
    try:
        encoder = TransformerEncoder("st:" + name)
        print(encoder.dimension)
    except EncoderError as error:
        print(error)
"""


def test_a_model_of_the_hub_is_looked_at_before_it_is_loaded(tmp_path):
    """In the library's own cache of the hub, as it lies after a download."""
    for name in ("torch", "sentence_transformers"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models

    static = StaticEmbedding(Tokenizer(models.WordLevel({"[UNK]": 0, "Nile": 1}, "[UNK]")), embedding_dim=6)
    commit = "0123456789abcdef0123456789abcdef01234567"
    good, bad = (tmp_path / f"models--distill--{name}" / "snapshots" / commit for name in ("good", "bad"))
    SentenceTransformer(modules=[static], device="cpu").save(str(good))
    shutil.copytree(good, bad)
    written(bad, "modules.json", [{"idx": 0, "path": "", "type": "sentence_transformers.models.Router"}])
    written(bad, "router_config.json", ROUTED)
    (bad / "weights.bin").write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
    for folder in (good, bad):
        written(folder.parent.parent, "refs/main", "").joinpath("refs", "main").write_text(commit, encoding="utf-8")
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", FETCHED, "distill/good", "distill/bad", "distill/none"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180, cwd=root)
    dimension, refused, absent = done.stdout.splitlines()
    assert dimension == "6"
    assert "joblib._store_backends.numpy_pickle" in refused
    assert absent.startswith("distill/none: ")
    assert not (tmp_path / "ran").exists()
