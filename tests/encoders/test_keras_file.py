"""Real `.keras` files that hold more than a model of distill's own: none is loaded, nothing in them runs."""

import json
import shutil
import tracemalloc
import zipfile
from pathlib import Path

import keras
import pytest
from fixtures.encoders import rewritten

from distill.encoders.encoder import MODEL_FILE, KerasEncoder
from distill.encoders.keras_file import require_own
from distill.errors import EncoderError
from distill.students import ngram, static


@pytest.fixture
def copy(tiny_folder, tmp_path):
    return Path(shutil.copytree(tiny_folder, tmp_path / "encoder"))


def edited(path, edit, **more):
    """Rewrite a `.keras` file with its configuration edited by hand, and more members."""
    with zipfile.ZipFile(path) as old:
        config = json.loads(old.read("config.json"))
    rewritten(path, **{"config.json": json.dumps(edit(config) or config)}, **more)


def refused(folder, name):
    with pytest.raises(EncoderError, match=f"{MODEL_FILE}: .*{name}") as raised:
        KerasEncoder.load(folder)
    assert raised.value.exit_code == 2


def command(module, name, ran):
    """A configuration that calls `module.name` with a shell's command."""
    call = {"args": [f"touch {ran}"], "command": f"touch {ran}"}
    return {"module": module, "class_name": name, "config": call, "registered_name": None}


@pytest.mark.parametrize("kind", [ngram.NGramEncoder, static.StaticEncoder])
def test_models_of_distill_are_taken(kind, tmp_path):
    kind(vocabulary=9, dimension=4).save(tmp_path / "model.keras")
    require_own(tmp_path / "model.keras")


def test_a_model_with_a_lambda_layer_is_refused(copy, tmp_path):
    inputs, ran = keras.Input((4,)), str(tmp_path / "ran")
    layer = keras.layers.Lambda(lambda x: Path(ran).touch() or x, output_shape=(4,))
    keras.Model(inputs, layer(inputs)).save(copy / MODEL_FILE)
    Path(ran).unlink(missing_ok=True)
    refused(copy, r"keras\S*\.Functional")
    assert not Path(ran).exists()


@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("subprocess", "Popen"), ("builtins", "eval")])
def test_a_file_that_names_any_python_object_is_refused(module, name, copy, tmp_path):
    ran = tmp_path / "ran"
    edited(copy / MODEL_FILE, lambda config: command(module, name, ran))
    refused(copy, rf"{module}\.{name}")
    assert not ran.exists()


@pytest.mark.parametrize(
    ("module", "name"), [("os", "system"), ("keras.layers", "Lambda"), ("keras.utils", "get_file"), ("builtins", "run")]
)
@pytest.mark.parametrize("place", ["vocabulary", "layers"])
def test_nor_may_one_stand_inside_a_model(module, name, place, copy, tmp_path):
    call = command(module, name, tmp_path / "ran")
    edited(copy / MODEL_FILE, lambda config: config["config"].update({place: [{"deep": call}]}))
    refused(copy, rf"{module}\.{name}")
    assert not (tmp_path / "ran").exists()


NAMES = "distill>Nothing", "other>NGramEncoder", None, ["distill>NGramEncoder"]


@pytest.mark.parametrize("change", [*({"registered_name": name} for name in NAMES), {"class_name": "system"}])
def test_a_class_is_known_by_its_registered_name_and_not_by_its_module(change, copy):
    edited(copy / MODEL_FILE, lambda config: config.update({"module": "os", **change}))
    refused(copy, r"os\.\w+")


def test_a_registered_class_is_that_one_whatever_module_the_file_names(copy, tmp_path, monkeypatch):
    module = tmp_path / "planted.py"
    module.write_text("raise SystemExit('it ran')", encoding="utf-8")
    edited(copy / MODEL_FILE, lambda config: config.update(module="planted"))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert KerasEncoder.load(copy).dimension == 16


@pytest.mark.parametrize("config", ["[]", "3", "null", '"text"', "{}", "[" * 100_000])
def test_a_configuration_of_another_type_is_refused(config, copy):
    rewritten(copy / MODEL_FILE, **{"config.json": config})
    refused(copy, "")


@pytest.mark.parametrize("name", ["assets/run.py", "../out.txt", "/tmp/out.txt"])
def test_a_file_that_holds_anything_else_is_refused(name, copy):
    edited(copy / MODEL_FILE, lambda config: None, **{name: b"x"})
    refused(copy, name)


@pytest.mark.parametrize("name", ["config.json", "metadata.json", "model.weights.h5"])
def test_a_small_file_that_unpacks_to_a_large_one_is_refused_before_it_is_unpacked(name, copy):
    path, mebibyte = copy / MODEL_FILE, b" " * 2**20
    with zipfile.ZipFile(path) as whole:
        members = {one: whole.read(one) for one in whole.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for one, content in members.items():
            with archive.open(one, "w") as file:
                file.write(content)
                for _ in range(64 if one == name else 0):
                    file.write(mebibyte)
    assert path.stat().st_size < 2 * sum(map(len, members.values())) + 2**20
    tracemalloc.start()
    try:
        refused(copy, name)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_weights_that_are_packed_are_taken(copy):
    path = copy / MODEL_FILE
    before = KerasEncoder.load(copy).encode(["Tea is brewed."])
    with zipfile.ZipFile(path) as whole:
        members = {one: whole.read(one) for one in whole.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, content in members.items():
            archive.writestr(one, content)
    assert (KerasEncoder.load(copy).encode(["Tea is brewed."]) == before).all()
