"""What the tests of artefacts share."""

import shutil

import pytest
from fixtures.chromium import CHROMIUM, Chromium


@pytest.fixture(scope="session")
def student(tiny_folder):
    from distill.encoders.encoder import KerasEncoder

    return KerasEncoder.load(tiny_folder)


@pytest.fixture(scope="session")
def chromium():
    """A browser; tests that need one are skipped where there is none."""
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture
def copy(tiny_bundle, tmp_path):
    """A bundle to break."""
    return shutil.copytree(tiny_bundle, tmp_path / "copy")
