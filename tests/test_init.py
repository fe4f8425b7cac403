"""`import distill` offers what users need, and imports it when it is asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

import distill


@pytest.mark.parametrize("name", sorted(distill.FACE))
def test_every_name_is_there(name):
    assert getattr(distill, name).__name__ == name and name in dir(distill)


def test_a_name_that_is_none_is_an_attribute_error():
    with pytest.raises(AttributeError, match="load_encoders"):
        distill.load_encoders  # noqa: B018


def test_nothing_is_imported_before_it_is_asked_for():
    code = "import sys, distill; distill.Settings; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"keras", "numpy", "sentencepiece", "tensorflow"} & set(done.stdout.split())


def test_type_checkers_see_the_same_names():
    """The package says under `TYPE_CHECKING` what `FACE` says to Python."""
    text = Path(distill.__file__).read_text(encoding="utf-8")
    assert all(f"from .{module} import {name} as {name}" in text for name, module in distill.FACE.items())
