"""Commands run in this process."""

import json

import pytest
from fixtures.commands import Left

from distill.cli import main


@pytest.fixture
def distill(capsys):
    """Run a command: a `Left`."""

    def call(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return Left(left.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def refused(distill, monkeypatch, tmp_path):
    """Run a command in an empty folder that has to refuse its input and to leave nothing: the one line it says."""
    here = tmp_path / "here"
    here.mkdir()

    def call(*arguments):
        before = sorted(tmp_path.rglob("*"))
        with monkeypatch.context() as patch:
            patch.chdir(here)
            left = distill(*arguments)
        assert (left.code, left.out) == (2, "") and left.is_one_error, left.err
        assert sorted(tmp_path.rglob("*")) == before
        return left.err

    return call


@pytest.fixture
def figures_of(distill, tmp_path):
    """Run a command that has to succeed: the figures that it writes as JSON, and what it left."""

    def call(*arguments):
        left = distill(*arguments, "--json", tmp_path / "figures.json")
        assert left.code == 0, left.err
        return json.loads((tmp_path / "figures.json").read_text(encoding="utf-8")), left

    return call
