"""Each script of examples/ as a newcomer runs it, in one process; the last one in an own, without TensorFlow."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from distill.encoders.catalog.loading import load_encoder

EXAMPLES = Path(__file__).parents[2] / "examples"
TESTED = {"search", "evaluate", "train", "export", "bundle"}


@pytest.fixture
def example(small_sample, monkeypatch, capsys):
    """`example(name, *arguments)` -> the lines that the script prints, of a part of the sample."""

    def run(name, *arguments):
        path = str(EXAMPLES / f"{name}.py")
        monkeypatch.setattr(sys, "argv", [path, *map(str, arguments)])
        capsys.readouterr()
        runpy.run_path(path, run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def test_every_example_is_tested_and_on_the_page():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == TESTED
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    assert set(re.findall(r"examples/(\w+)\.py", page)) == TESTED


def test_search_finds_the_passage(example):
    assert len(shown := example("search")) == 3
    assert "printing press" in shown[0]
    assert "The Danube" in example("search", "¿Dónde desemboca el Danubio?")[0]


def test_evaluate_prints_each_language(example):
    # Both questions of dev are easy: the right document of three is the nearest.
    assert example("evaluate") == ["de: P@1 100.0 %, MRR@10 1.000", "en: P@1 100.0 %, MRR@10 1.000"]


def test_a_student_is_trained_exported_and_used(example, tmp_path):
    student, bundle = tmp_path / "student", tmp_path / "bundle"
    *scores, size = example("train", student)
    teacher, start, trained = (float(re.search(r"([\d.]+) %", line)[1]) for line in scores)
    # The best epoch on dev is kept, the start among them.
    assert 0 < start <= trained and teacher > 0
    assert size.startswith(f"{student}: ") and load_encoder(student).dimension == 512
    said = example("export", student, bundle)
    assert [line.split(":")[0] for line in said] == [str(bundle), "cosine to the student", "de", "en", "es"]
    code = (
        f"import runpy, sys; sys.argv[1:] = [{str(bundle)!r}]; runpy.run_path({str(EXAMPLES / 'bundle.py')!r}); "
        "assert {'distill', 'keras', 'tensorflow'}.isdisjoint(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    name, *rows = done.stdout.splitlines()
    assert name == "bundle: 512 dimensions"
    encoder = load_encoder(student)
    questions = encoder.encode(["Where does the river end?", "¿Dónde termina el río?"])
    given = encoder.encode(["The river ends in the sea.", "Bread is baked in an oven."])
    np.testing.assert_allclose([list(map(float, row.split())) for row in rows], questions @ given.T, atol=0.03)
