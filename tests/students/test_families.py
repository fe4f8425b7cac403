"""A family of networks is a folder a side and one line: a toy family goes from training to a bundle."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import distill.export.families
import distill.students
from distill.encoders.catalog.loading import load_encoder, load_keras_encoder
from distill.encoders.encoder import KerasEncoder
from distill.errors import ExportError
from distill.export.families import registry
from distill.export.onnx.model import convert_to_onnx
from distill.export.weights.precision import Precision
from distill.settings.choices import FAMILIES
from distill.students import families
from distill.students.families import SETTINGS, read_settings, settings_as_array
from distill.students.project import build_student

ROOT = Path(__file__).resolve().parents[2]
BAG = ROOT / "tests" / "fixtures" / "bag"
SIDES = {"students": families, "export/families": registry}
FOLDERS = ("distill", "teachers", "students", "export")
FILES = ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")
TEXTS = ["Where does the river rise?", "Eine Brücke steht in der Stadt.", "harbour"]


@pytest.fixture
def bag(monkeypatch):
    """The class of a toy family, which is registered as its line in `choices.FAMILIES` would."""
    for side, package in (("students", distill.students), ("export/families", distill.export.families)):
        monkeypatch.setattr(SIDES[side], "FAMILIES", (*FAMILIES, "bag"))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(BAG / side)])
    return families.import_network("bag")


@pytest.fixture
def start(bag, tokenizer, tmp_path):
    """The folder of an untrained encoder of the family, in the space of the tests' teacher."""
    folder = tmp_path / "start"
    KerasEncoder(bag(len(tokenizer), 8, 16, name="bag"), tokenizer, "bag").save(folder)
    return folder


def jobs(teacher, start, data, folder):
    """The commands that train a student of `start` and ship it."""
    # The mean of the last epoch is taken, whatever dev says of it, which another processor's rounding may move.
    last = ("--set", "student.quantised_epochs=1", "--set", "student.averaged_epochs=1")
    learned = ("--dataset", data, "--epochs", "2", *last)
    yield ("transfer", "--teacher", teacher, "--start", start, *learned, "--output", folder / "student")
    yield "export", folder / "student", "--dataset", data, "--output", folder / "bundle"


def test_a_toy_family_is_trained_and_shipped(bag, start, distill, tiny_folder, sentence_data, tmp_path):
    for words in jobs(tiny_folder, start, sentence_data, tmp_path):
        assert distill(*words) == 0
    untrained, student = (load_keras_encoder(tmp_path / name) for name in ("start", "student"))
    assert type(student.model) is bag
    assert not np.allclose(student.encode(TEXTS), untrained.encode(TEXTS), atol=1e-3)
    bundle, again = load_encoder(tmp_path / "bundle"), load_keras_encoder(tmp_path / "bundle")
    assert type(again.model) is bag
    for vectors in (bundle.encode(TEXTS), again.encode(TEXTS)):
        assert np.sum(vectors * student.encode(TEXTS), axis=1).min() > 0.99
    with pytest.raises(ExportError, match=r"bag .*ONNX.* ngram, static"):
        convert_to_onnx(student.model)
    with pytest.raises(ExportError, match=r"bag .*int4-pq5.* ngram, static"):
        registry.prepare_table(student.model, Precision(table="int4-pq5"))


def wheel_with_the_family(folder):
    """An installed copy of the project with the folders of the family and its one line, in `folder`/site."""
    source = folder / "source"
    source.mkdir()
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "released*"))
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    for side in SIDES:
        shutil.copytree(BAG / side, source / side, dirs_exist_ok=True)
    choices = source / "distill" / "settings" / "choices.py"
    line = re.compile(r"^FAMILIES = \((.*)\)$", re.MULTILINE)
    choices.write_text(line.sub(r'FAMILIES = (\1, "bag")', choices.read_text(encoding="utf-8")), encoding="utf-8")
    build = [sys.executable, "setup.py", "-q", "bdist_wheel", "--dist-dir", folder]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


# What the parts compute, the toy family's training has shown.
INSTALLED = """
import sys
sys.path.insert(0, sys.argv[1])
import distill
from distill.export.families import registry
from distill.settings.choices import FAMILIES
from distill.students import families
print(distill.__file__, FAMILIES[-1])
for side in (families, registry):
    print(*[part for part in ("network", "weights", "edge", "stored", "plain") if side.has_part("bag", part)])
"""


def test_an_installed_wheel_has_all_parts_of_a_toy_family(tmp_path):
    site = wheel_with_the_family(tmp_path)
    command = [sys.executable, "-c", INSTALLED, site]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{site / 'distill' / '__init__.py'} bag", "network weights", "edge stored"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_of_ours_has_all_parts_on_both_sides(family):
    assert families.import_network(family).family == family
    assert families.import_part(family, "weights").sizes_of
    parts = ("edge", "onnx", "stored", "plain", "modules")
    assert [part for part in parts if not registry.has_part(family, part)] == []
    functions = ("owns_arrays", "weights_of_arrays", "rotate_readers")
    assert [name for name in functions if not registry.has_part(family, "stored", name)] == []


def test_weights_of_no_family_are_refused():
    with pytest.raises(KeyError, match="no family"):
        build_student({"embedding/embeddings": np.zeros((3, 2), np.float32)}, "student")
    with pytest.raises(ExportError):
        registry.find_owner("stored", lambda family: family.owns_arrays({}))


def test_settings_come_back_out_of_their_array():
    settings = {"heads": 12, "epsilon": 1e-12, "dense": None, "pooling": "größte"}
    array = settings_as_array(settings)
    assert array.dtype == np.float32 and read_settings({SETTINGS: array}) == settings


def test_no_settings_and_others_than_by_name_are_refused():
    with pytest.raises(KeyError, match=SETTINGS):
        read_settings({})
    with pytest.raises(ValueError, match="got list"):
        read_settings({SETTINGS: np.frombuffer(b"[1]", np.uint8).astype(np.float32)})
