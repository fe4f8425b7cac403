"""What the tests of artefacts share."""

import shutil

import pytest


@pytest.fixture(scope="session")
def student(tiny_folder):
    from distill.encoders.encoder import KerasEncoder

    return KerasEncoder.load(tiny_folder)


@pytest.fixture
def copy(tiny_bundle, tmp_path):
    """A bundle to break."""
    return shutil.copytree(tiny_bundle, tmp_path / "copy")
