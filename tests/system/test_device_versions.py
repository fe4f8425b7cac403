import hashlib
import platform
import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

import distill
from distill.data.dataset import digest_texts
from distill.data.loading import load_dataset
from distill.system import device as module
from distill.system.device import machine, versions
from distill.system.hashes import digest, hash_files

KIND = platform.processor() or platform.machine()
CORES = 2 * "processor : 0\nmodel name\t: Abacus: 9000\nflags : bead\n\n"


@pytest.mark.parametrize(
    "content, name",
    [(None, KIND), ("", KIND), ("Processor : of another kind\n", KIND), (CORES, "Abacus: 9000, 2 cores")],
)
def test_a_machine_has_its_models_name_or_its_kind(monkeypatch, tmp_path, content, name):
    info = tmp_path / "cpuinfo"
    if content is not None:
        info.write_text(content)
    monkeypatch.setattr(module, "open", lambda path, **options: info.open(**options), raising=False)
    assert machine() == f"{name}, {platform.system()}"


ROOT = Path(distill.__file__).resolve().parent.parent


EXTRAS = ("bangla-stemmer", "pythainlp", "rjieba", "sudachipy", "sudachidict-small", "ctranslate2")
MODULES = {name: name.replace("-", "_") for name in EXTRAS}
MODULES |= {"python-mecab-ko": "mecab", "python-mecab-ko-dic": "mecab_ko_dic"}


def test_versions_are_those_that_are_installed(monkeypatch):
    known = versions()
    assert known["python"] == ".".join(map(str, sys.version_info[:3])) and known["distill"] == distill.__version__
    morphology = ("snowballstemmer", "regex")
    for name in ("keras", "tensorflow", "numpy", "sentencepiece", "ai-edge-litert", *morphology):
        assert known[name] == version(name)
    assert set(MODULES) & set(known) == {name for name, module in MODULES.items() if find_spec(module)}
    monkeypatch.setattr("distill.system.device.PACKAGES", ("numpy", "no-such-package"))
    assert "numpy" in versions() and "no-such-package" not in versions()


def test_versions_import_nothing_and_name_the_backend_once_keras_is_there():
    code = (
        "import sys; from distill.system.device import versions; known = versions()\n"
        "print('keras backend' in known, 'keras' in sys.modules, 'tensorflow' in sys.modules)"
    )
    got = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert got.stdout == "False False False\n"
    import keras

    assert versions()["keras backend"] == keras.backend.backend()


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_of_a_folder_what_is_read_is_hashed_of_a_data_set_too(sample, sample_folder, tmp_path):
    write(tmp_path, en_json="a", de_json="b", splits_json="c", LICENSE_md="d", x_jsonl="e")
    assert hash_files(tmp_path) == {"de.json": sha("b"), "en.json": sha("a"), "splits.json": sha("c")}
    assert list(hash_files(tmp_path)) == ["de.json", "en.json", "splits.json"]
    write(tmp_path, documents_jsonl="a", questions_jsonl="b")
    assert hash_files(tmp_path) == {"documents.jsonl": sha("a"), "questions.jsonl": sha("b"), "splits.json": sha("c")}
    assert list(sample.files) == ["documents.jsonl", "questions.jsonl"]
    assert sample.files == {name: sha((sample_folder / name).read_text(encoding="utf-8")) for name in sample.files}


def test_a_digest_is_of_the_values_not_of_their_order():
    assert digest({"b": [1], "a": "é"}) == digest({"a": "é", "b": [1]}) != digest({"a": "é", "b": [2]})
    assert digest("a\ud800") != digest("a")


def test_a_data_sets_texts_have_one_digest_wherever_they_lie(sentence_data, tmp_path):
    shutil.copytree(sentence_data, tmp_path / "moved")
    first = digest_texts(load_dataset(str(sentence_data)))
    assert digest_texts(load_dataset(str(tmp_path / "moved"))) == first
    text = (tmp_path / "moved" / "de.json").read_text(encoding="utf-8")
    (tmp_path / "moved" / "de.json").write_text(text.replace("Wie alt", "Wie neu", 1), encoding="utf-8")
    assert digest_texts(load_dataset(str(tmp_path / "moved"))) != first
