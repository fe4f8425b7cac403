import json
import shutil
import subprocess
import sys
import sysconfig
import types

import numpy as np
import pytest

from distill.config import ExportSettings
from distill.encoder import KerasEncoder
from distill.export import encode
from distill.export.bundle import export_bundle
from distill.export.encode import BundleError, Encoder

TEXTS = ["Where does the Danube end?", "Как называется столица Судана?", "नील नदी", "a", "one two three " * 60]
NEEDS = ("numpy", "sentencepiece", "ai-edge-litert")


@pytest.fixture(scope="module")
def bundle(tiny_folder, sample, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles") / "small"
    export_bundle(KerasEncoder.load(tiny_folder), folder, sample, ("en",), ExportSettings())
    return folder


@pytest.fixture(scope="module")
def encoder(bundle):
    return Encoder(bundle)


@pytest.fixture
def lines(tmp_path):
    """A file of `{"id", "text"}` lines with a blank one at the end."""
    path = tmp_path / "texts.jsonl"
    rows = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(TEXTS)]
    path.write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    return path


def script(bundle, *arguments, flags=("-I",), python=sys.executable):
    """The bundle's own `encode.py` in a process that sees nothing of this checkout."""
    command = [str(python), *flags, str(bundle / "encode.py"), *(str(argument) for argument in arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=bundle.parent)


def test_vectors_are_float32_of_unit_length(encoder):
    vectors = encoder.encode(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 16), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_tokens_are_the_students(encoder, tokenizer):
    assert [encoder.tokenize(text) for text in TEXTS] == tokenizer.encode(TEXTS)


def test_an_empty_text_is_bos_and_eos(encoder):
    assert encoder.tokenize("") == [encoder.tokenizer.bos_id(), encoder.tokenizer.eos_id()]
    assert np.linalg.norm(encoder.encode([""])) == pytest.approx(1, abs=1e-5)


def test_a_lone_surrogate_is_a_replacement_character(encoder):
    assert encoder.tokenize("a \ud800 b") == encoder.tokenize("a \ufffd b")
    assert np.isfinite(encoder.encode(["a \ud800 b"])).all()


def test_ten_thousand_words_are_encoded(encoder):
    assert np.linalg.norm(encoder.encode(["river " * 10_000])) == pytest.approx(1, abs=1e-5)


def test_a_text_does_not_feel_its_neighbours(encoder):
    together = encoder.encode(TEXTS)
    assert np.array_equal(together[::-1], encoder.encode(TEXTS[::-1]))
    assert np.array_equal(together[2:3], encoder.encode(TEXTS[2:3]))


def test_no_texts_give_no_rows(encoder):
    assert encoder.encode([]).shape == (0, 16)


def test_both_roles_are_the_same_tower(encoder):
    assert np.array_equal(encoder.encode(TEXTS, "question"), encoder.encode(TEXTS, "document"))


def test_progress_is_told_each_text(encoder):
    told = []
    encoder.encode(TEXTS, progress=told.append)
    assert told == [1] * len(TEXTS)


def test_without_a_runtime_it_says_what_to_install(bundle, monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    monkeypatch.setitem(sys.modules, "tflite_runtime.interpreter", None)
    with pytest.raises(BundleError, match="pip install ai-edge-litert"):
        Encoder(bundle)


def test_the_older_runtime_serves_too(bundle, monkeypatch, encoder):
    from ai_edge_litert.interpreter import Interpreter

    older = types.ModuleType("tflite_runtime.interpreter")
    older.Interpreter = Interpreter
    monkeypatch.setitem(sys.modules, "tflite_runtime", types.ModuleType("tflite_runtime"))
    monkeypatch.setitem(sys.modules, "tflite_runtime.interpreter", older)
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    assert np.array_equal(Encoder(bundle).encode(TEXTS[:1]), encoder.encode(TEXTS[:1]))


def test_the_script_gives_the_same_vectors(bundle, lines, encoder, tmp_path):
    done = script(bundle, lines, tmp_path / "vectors.npy")
    assert (done.returncode, done.stdout) == (0, "")
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, encoder.encode(TEXTS))


def test_the_script_imports_nothing_of_ours(bundle, lines, tmp_path):
    # Without `site` no editable install is on the path, so that `distill` could not even be found.
    code = (
        f"import runpy, sys; sys.path.append({sysconfig.get_path('purelib')!r}); "
        f"sys.argv = ['encode.py', {str(lines)!r}, {str(tmp_path / 'vectors.npy')!r}]; "
        f"runpy.run_path({str(bundle / 'encode.py')!r}, run_name='__main__'); "
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=120)
    imported = done.stdout.split()
    assert {"numpy", "sentencepiece", "ai_edge_litert"} <= set(imported)
    assert not {"tensorflow", "keras", "distill", "click", "rich"} & set(imported)
    assert (tmp_path / "vectors.npy").is_file()


@pytest.mark.parametrize(
    "content",
    ["{not json", '{"id": "1"}', '["no object"]', '{"id": "1", "text": 5}'],
    ids=["not-json", "no-text", "no-object", "number"],
)
def test_a_bad_line_is_one_line_on_standard_error(bundle, tmp_path, content):
    path = tmp_path / "texts.jsonl"
    path.write_text(content + "\n", encoding="utf-8")
    done = script(bundle, path, tmp_path / "vectors.npy")
    assert done.returncode == 1
    # The runtime may have written a line of its own before.
    assert done.stderr.splitlines()[-1].startswith("error: ") and "Traceback" not in done.stderr
    assert not (tmp_path / "vectors.npy").exists()


def test_a_missing_file_is_one_line_on_standard_error(bundle, tmp_path):
    done = script(bundle, tmp_path / "nowhere.jsonl", tmp_path / "vectors.npy")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: ") and "nowhere.jsonl" in done.stderr


def test_a_broken_bundle_is_one_line_on_standard_error(bundle, lines, tmp_path):
    broken = shutil.copytree(bundle, tmp_path / "broken")
    (broken / "tokenizer.model").unlink()
    done = script(broken, lines, tmp_path / "vectors.npy")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "tokenizer.model is missing; export the bundle again" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["texts.jsonl"], ["a", "b", "c"]])
def test_wrong_arguments_show_the_usage(arguments):
    with pytest.raises(SystemExit, match="usage: python encode.py texts.jsonl vectors.npy"):
        encode.main(arguments)


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """The interpreter of a fresh environment with nothing but what the bundle's README asks for."""
    place = tmp_path_factory.mktemp("bare") / "venv"
    made = subprocess.run([sys.executable, "-m", "venv", str(place)], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no virtual environment can be made here: {(made.stdout + made.stderr).strip()}")
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "20", *NEEDS]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"pip cannot install {', '.join(NEEDS)}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return python


def test_a_fresh_environment_gives_what_distill_encode_gives(bundle, lines, bare_python, tmp_path):
    from distill.cli import main

    done = script(bundle, lines, tmp_path / "there.npy", python=bare_python)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    arguments = ["--model", bundle, "--role", "question", "--input", lines, "--output", tmp_path / "here.npy"]
    with pytest.raises(SystemExit) as left:
        main(["encode", *(str(argument) for argument in arguments)])
    assert left.value.code == 0
    here, there = np.load(tmp_path / "here.npy"), np.load(tmp_path / "there.npy")
    assert here.shape == there.shape == (len(TEXTS), 16)
    assert np.sum(here * there, axis=1).min() >= 0.9999
