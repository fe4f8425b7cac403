"""A bundle's own `encode.py` in fresh environments: each has one runtime, numpy and sentencepiece, nothing else."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from distill.export.encode import Encoder
from distill.export.form import Form
from distill.export.weights.precision import Precision

# What is installed, and the Pythons that there are wheels for, the best first; none: any.
RUNTIMES = {
    "ai-edge-litert": (["ai-edge-litert", "numpy"], []),
    "ai-edge-litert 1.0.1": (["ai-edge-litert==1.0.1", "numpy<2"], ["3.11", "3.10", "3.9"]),
    "tflite-runtime 2.14": (["tflite-runtime==2.14.0", "numpy<2"], ["3.11"]),
}
# Beside texts of any length in int8, which most tests here have.
OTHERS = (
    Form(precision=Precision("int8", "int4-pq5")),
    Form(precision=Precision("float32", "float32")),
    Form(signatures=(8, 32, 128)),
)
SECONDS = 240
# Of uv, which may not reach what pip is told to install from.
PATIENT = {**os.environ, "UV_HTTP_TIMEOUT": "10", "UV_HTTP_RETRIES": "0"}
# The interpreter is resized for each length: from 2 tokens to hundreds and back, small and great steps.
WORDS = ["where", "does", "the", "river", "end", "Какая", "столица", "नील", "नदी", "多瑙河", "Donau"]
LENGTHS = (1, 200, 3, 150, 2, 90, 7, 40, 5, 17, 120, 1, 60, 33, 199, 4, 8, 16, 32, 64, 128, 31, 30, 29, 0)
TEXTS = [" ".join(WORDS[(7 * row + word) % len(WORDS)] for word in range(n)) for row, n in enumerate(LENGTHS)]


def python_of(versions):
    """The interpreter of one of the versions, this one if it is. A command of that name may be there and not run."""
    if not versions or f"{sys.version_info[0]}.{sys.version_info[1]}" in versions:
        return sys.executable
    for version in versions:
        command = shutil.which(f"python{version}")
        code = "import sys; print(*sys.version_info[:2], sep='.')"
        done = command and subprocess.run([command, "-c", code], capture_output=True, text=True)
        if done and done.returncode == 0 and done.stdout.strip() == version:
            return command
    pytest.skip(f"no Python {' or '.join(versions)} here, this one is {sys.version.split()[0]}")


def called(what, *commands):
    """Run one step of a set-up, by the first command that can; skips with the last one's last line where none can."""
    for command in commands:
        try:
            done = subprocess.run(command, env=PATIENT, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{what} took more than {SECONDS} s")
        if not done.returncode:
            return
    lines = (done.stdout + done.stderr).strip().splitlines()
    pytest.skip(f"{what} failed: {lines[-1] if lines else done.returncode}")


@pytest.fixture(scope="module", params=RUNTIMES)
def python(request, tmp_path_factory):
    """The Python of an environment that has one runtime."""
    packages, versions = RUNTIMES[request.param]
    place = tmp_path_factory.mktemp("environment") / "venv"
    called("a virtual environment", [python_of(versions), "-m", "venv", "--without-pip", str(place)])
    python = place / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    # What this environment has installs into it: uv in a second, or pip as in the Makefile.
    commands = (
        ["uv", "pip", "install", "--python", str(python)],
        ["pip", "--python", str(python), "install", "--no-compile", "--retries", "1"],
    )
    packages = ["--quiet", "--only-binary", ":all:", *packages, "sentencepiece"]
    called(f"pip install {' '.join(packages)}", *([sys.executable, "-m", *one, *packages] for one in commands))
    return python


@pytest.fixture(scope="module")
def expected(artefacts):
    """The vectors of a form by the runtime that is installed here."""
    return cache(lambda form: Encoder(artefacts(form)).encode(TEXTS))


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "texts.jsonl"
    rows = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(TEXTS)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def script(python, folder, *arguments):
    command = [str(python), "-I", str(folder / "encode.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_bundles_script_gives_the_same_vectors(python, artefacts, expected, student, lines, tmp_path):
    done = script(python, artefacts(Form()), lines, tmp_path / "vectors.npy")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    there = np.load(tmp_path / "vectors.npy")
    require_near(there, expected(Form()))
    assert np.sum(there * student.encode(TEXTS), axis=1).min() >= 0.995


def require_near(there, here):
    assert (there.dtype, there.shape) == (np.float32, here.shape)
    cosines = np.sum(there * here, axis=1)
    assert cosines.min() >= 0.999, (TEXTS[cosines.argmin()], cosines)


# The encoder that the library lies beside by itself and in threads, then those of other folders.
ONE_BY_ONE = """
import json, sys, threading
own, lines, output, *others = sys.argv[1:]
sys.path.insert(0, own)
import numpy as np
from encode import Encoder, BundleError
texts = [json.loads(line)["text"] for line in open(lines, encoding="utf-8")]
encoder = Encoder()
alone = np.concatenate([encoder.encode([text]) for text in texts])
vectors = [None] * 4
def work(number):
    vectors[number] = encoder.encode(texts)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
two = Encoder(threads=2).encode(texts)
np.save(output, np.stack([alone, two, *vectors, *(Encoder(folder).encode(texts) for folder in others)]))
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


def test_the_library_reads_every_form_and_serves_in_any_order_and_in_threads(
    python, artefacts, expected, lines, tmp_path
):
    arguments = [artefacts(Form()), lines, tmp_path / "vectors.npy", *map(artefacts, OTHERS)]
    command = [str(python), "-I", "-c", ONE_BY_ONE, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not {"tensorflow", "keras", "distill"} & set(done.stdout.split())
    # Text by text in their order, with two threads an inference, and from four threads at once.
    plain, others = np.split(np.load(tmp_path / "vectors.npy"), [-len(OTHERS)])
    assert len(plain) == 6
    for vectors in plain:
        require_near(vectors, expected(Form()))
    for form, vectors in zip(OTHERS, others, strict=True):
        require_near(vectors, expected(form))


def test_a_truncated_model_is_an_error_and_not_a_crash(python, artefacts, lines, tmp_path):
    broken = shutil.copytree(artefacts(Form()), tmp_path / "broken")
    content = (broken / "encoder.tflite").read_bytes()
    (broken / "encoder.tflite").write_bytes(content[: int(0.999 * len(content))])
    done = script(python, broken, lines, tmp_path / "vectors.npy")
    assert done.returncode == 1 and not (tmp_path / "vectors.npy").exists()
    assert done.stderr.splitlines()[-1].startswith("error: ") and "encoder.tflite" in done.stderr
