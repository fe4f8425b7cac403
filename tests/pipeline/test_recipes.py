"""Every recipe trains: its settings on tiny data and a tiny base, a few steps."""

import shutil

import pytest

from distill.settings.recipes import read_recipe, recipe_names
from distill.settings.store import load_settings
from distill.system.reading import read_json

FEW = "--bm25-epochs 0 --online-epochs 1 --teacher-batch-size 4 --min-cosine -1 --max-drop 100 --no-lareqa "
FEW += "--allow-weak-teacher"
PAIRS = "--pairs-an-epoch 8 --self-train-top 6"


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_trains(distill, sentence_data, slim_folder, tmp_path, name):
    values = read_recipe(name).values
    flags = [*FEW.split(), "--base", slim_folder, "--runs", tmp_path, "--name", "run"]
    flags += PAIRS.split() if "pairs" in values else []
    flags += ["--epochs", 1] if values.get("student", {}).get("epochs") != 0 else []
    if name == "default":
        # With the config that is written for the data, in a folder with a blank.
        folder = shutil.copytree(sentence_data, tmp_path / "own data")
        assert distill("init", folder) == 0
        given = ["--config", folder / "distill.toml"]
    else:
        given = ["--recipe", name, "--dataset", sentence_data]
    assert distill("run", *given, *flags) == 0
    settings = load_settings(tmp_path / "run" / "config.toml")
    assert settings.recipe == name and settings.teacher.base == str(slim_folder)
    assert set(read_json(tmp_path / "run" / "metrics.json")["languages"]) == {"en", "de"}
    assert (tmp_path / "run" / "bundle" / "encoder.tflite").is_file()
