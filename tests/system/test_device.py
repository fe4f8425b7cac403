"""The device is named, and an NVIDIA device that the backend does not see: its driver is one of the test."""

import ctypes
import hashlib
import platform
import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

import distill
from distill.data.dataset import digest_texts
from distill.data.loading import load_dataset
from distill.system import device
from distill.system import device as module
from distill.system.device import (
    BFLOAT16,
    FLOAT16,
    describe_device,
    device_line,
    has_bfloat16,
    machine,
    machine_memory,
    missed_gpu,
    nvidia_devices,
    resolve_precision,
    unordered_sums,
    versions,
)
from distill.system.hashes import digest, hash_files


class Driver:
    """The driver's functions, of a machine with one device."""

    def __init__(self, status=0, count=1):
        self.status, self.count = status, count

    def cuInit(self, flags):
        return self.status

    def cuDeviceGetCount(self, count):
        count._obj.value = self.count
        return 0

    def cuDeviceGetName(self, name, size, number):
        name.value = b"NVIDIA Test"

    def cuDeviceGetAttribute(self, value, attribute, number):
        value._obj.value = 7

    def cuDeviceTotalMem_v2(self, memory, number):
        memory._obj.value = 80 * 2**30


@pytest.fixture
def with_driver(monkeypatch):
    return lambda driver: monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)


@pytest.mark.parametrize(("backend", "extra"), [("tensorflow", "gpu"), ("jax", "jax-gpu"), ("torch", "CUDA")])
def test_a_device_that_the_backend_does_not_see_is_told(with_driver, monkeypatch, backend, extra):
    with_driver(Driver())
    monkeypatch.setattr(device, "chosen_backend", lambda: backend)
    monkeypatch.setattr(device, "sees_gpu", lambda name: False)
    line = missed_gpu()
    assert "NVIDIA Test" in line and backend in line and extra in line and "\n" not in line


def test_no_device_no_driver_or_one_that_is_seen_is_no_line(with_driver, monkeypatch):
    for driver in (Driver(status=100), Driver(count=0)):
        with_driver(driver)
        assert missed_gpu() is None and nvidia_devices() == []
    with_driver(Driver())
    seen = SimpleNamespace(config=SimpleNamespace(list_physical_devices=lambda kind: ["GPU:0"]))
    monkeypatch.setitem(sys.modules, "tensorflow", seen)
    monkeypatch.setattr(device, "chosen_backend", lambda: "tensorflow")
    assert missed_gpu() is None
    known = describe_device("float32")
    assert known == {
        "backend": "tensorflow",
        "device": "NVIDIA Test",
        "memory_bytes": 80 * 2**30,
        "precision": "float32",
    }
    # The generation before Ampere.
    assert not has_bfloat16()
    assert device_line(known) == "Keras on tensorflow: NVIDIA Test, 80 GiB, float32"

    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert nvidia_devices() == []


@pytest.mark.parametrize(
    ("backend", "name", "value"),
    [("tensorflow", "TF_DETERMINISTIC_OPS", "1"), ("jax", "XLA_FLAGS", "--other --xla_gpu_deterministic_ops=true")],
)
def test_sums_in_any_order_are_told_until_the_backend_is_asked_for_one(monkeypatch, backend, name, value):
    monkeypatch.setattr(device, "chosen_backend", lambda: backend)
    monkeypatch.setattr(device, "sees_gpu", lambda name: True)
    monkeypatch.delenv(name, raising=False)
    line = unordered_sums()
    assert backend in line and name in line and "\n" not in line
    monkeypatch.setenv(name, value)
    assert unordered_sums() is None


def test_pytorch_has_no_such_order_and_a_processor_needs_none(monkeypatch):
    monkeypatch.setattr(device, "chosen_backend", lambda: "torch")
    assert unordered_sums() is None
    monkeypatch.setattr(device, "sees_gpu", lambda name: True)
    assert "torch" in unordered_sums()


def test_the_processor_is_named_where_there_is_no_device():
    assert has_bfloat16()
    known = describe_device("mixed_bfloat16")
    assert known["memory_bytes"] == machine_memory() > 2**28 and known["precision"] == "mixed_bfloat16"


@pytest.mark.parametrize(("there", "expected"), [(True, BFLOAT16), (False, FLOAT16)])
def test_mixed_is_what_the_device_has(monkeypatch, there, expected):
    monkeypatch.setattr("distill.system.device.has_bfloat16", lambda: there)
    assert [resolve_precision(name) for name in ("mixed", "float32", FLOAT16)] == [expected, "float32", FLOAT16]
    # What is recorded is what is computed in.
    assert describe_device("mixed")["precision"] == expected


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
