"""Guests: without the search engine and the papers the rest trains, proves and ships."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import distill
from distill.errors import EncoderError
from distill.system.guests import GUESTS, find_guest, require_guest

PACKAGE = Path(distill.__file__).resolve().parent


@pytest.fixture
def without_guests(tmp_path):
    """A folder to import `distill` from that has all of the package but its guests."""
    place = tmp_path / "installed" / "distill"
    place.mkdir(parents=True)
    for path in PACKAGE.iterdir():
        if path.name not in (*GUESTS, "__pycache__"):
            (place / path.name).symlink_to(path)
    for name in ("students", "teachers", "export"):
        (place / name).symlink_to(PACKAGE.parent / name)
    return place.parent


def test_a_module_of_a_guest_is_found_by_its_name():
    assert find_guest("papers.bias.analyses").__name__ == "distill.papers.bias.analyses"
    with pytest.raises(ModuleNotFoundError):
        find_guest("papers.never")


def test_a_guest_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr("distill.system.guests.find_spec", lambda name: None)
    assert find_guest("papers.bias.analyses") is None
    with pytest.raises(EncoderError, match="search_engine"):
        require_guest("search_engine.indexing.index_file")


def test_the_rest_trains_proves_and_ships_without_the_guests(without_guests, sentence_data, static_folder, tmp_path):
    code = f"""
import sys
# An editable installation would find what the folder lacks.
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
import distill
from distill.settings.sections import Settings
from distill.settings.store import change_settings
from distill.system.guests import GUESTS, has_guest
assert not any(map(has_guest, GUESTS))
named = {{"data.dataset": {str(sentence_data)!r}, "data.languages": ("de",), "teacher.base": {str(static_folder)!r}}}
brief = {{"teacher.bm25_epochs": 0, "teacher.online_epochs": 0, "student.epochs": 1, "evaluation.peers": ()}}
distill.run(change_settings(Settings(), {{**named, **brief}}), "run")
"""
    environment = {**os.environ, "PYTHONPATH": str(without_guests)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert {"base", "student", "bundle"} <= set(metrics["splits"]["dev"]["encoders"]) and "lareqa" not in metrics
    assert (tmp_path / "run" / "bundle" / "encoder.tflite").is_file()
