"""`distill compress` of an encoder that somebody has: measured as it is, then searched."""

import json

import pytest

from distill.encoders.catalog.loading import load_encoder
from distill.encoders.encoder import KerasEncoder
from distill.jobs.compression import candidates, compress
from distill.jobs.compression.candidates import Grid
from distill.jobs.pipeline import shipping


@pytest.fixture
def fewer(monkeypatch):
    monkeypatch.setattr(candidates, "GRID", Grid(("used",), ("int4",)))
    # The page of a search is tested in test_compress; charts of language bias take longer than a training.
    for module in (shipping, compress):
        monkeypatch.setattr(module, "write_report", lambda *arguments: None)


def test_a_transformer_in_one_command_and_again_without_making_anything_twice(
    distill, transformers, sentence_data, fewer, tmp_path
):
    source, folder = f"hf:{transformers / 'xlm-roberta'}", tmp_path / "small"
    command = ["compress", source, "--dataset", sentence_data, "--languages", "de", "--epochs", "1"]
    command += ["--max-size", "1MB", "--max-drop", "100", "--set", "budget.shapes=half"]
    assert distill(*command) == 2
    assert distill(*command, "--output", folder) == 0
    result = json.loads((folder / "small" / "search.json").read_text(encoding="utf-8"))
    assert [row["name"] for row in result["bundles"]] == ["full-used-int4", "half-used-int4-trained"]
    assert load_encoder(folder / "small" / "bundle").dimension == 16
    whole, half = folder / "student", folder / "small" / "trials" / "half-used-int4-trained-bundle" / "student"
    assert (KerasEncoder.load(whole).model.depth, KerasEncoder.load(half).model.depth) == (2, 1)
    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*.keras")}
    assert distill(*command, "--output", folder) == 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.keras")} == written
    assert distill(*[*command[:1], f"hf:{transformers / 'bert'}", *command[2:]], "--output", folder) == 2
