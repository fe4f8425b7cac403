import shlex
import subprocess
import sys
import zipfile

import pytest
from fixtures.commands import ROOT

from distill.errors import EncoderError, InputError
from distill.system.extras import (
    find_guest,
    install_command,
    require_extra,
    require_guest,
    require_training,
    training_stack,
)


@pytest.fixture
def without(monkeypatch):
    """Have Python not find a package."""
    return lambda package: monkeypatch.setitem(sys.modules, package, None)


def test_a_missing_package_of_the_training_stack_is_an_input_error_and_any_other_stays_what_it_is(without):
    without("keras"), without("wordfreq")
    with pytest.raises(InputError, match=r"^keras.*\[train\]"), training_stack():
        import keras  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="wordfreq"), training_stack():
        import wordfreq  # noqa: F401


def test_packages_are_required_before_the_work(without):
    require_training("keras", "nltk")
    without("nltk")
    with pytest.raises(InputError, match=r"^nltk.*\[train\]"):
        require_training("keras", "nltk")


def test_an_extra_is_named_with_what_it_lacks(without):
    require_extra("it", ("json", "re"), "more")
    without("json"), without("re")
    with pytest.raises(InputError, match=r"it.*json and re.*\[more\]"):
        require_extra("it", ("json", "os", "re"), "more")


# A distribution of another name that brings a package `distill`; its backend builds what lies beside it.
WHEEL = "small_encoders-1-py3-none-any.whl"
FILES = {
    "distill/__init__.py": "",
    "small_encoders-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: small-encoders\nVersion: 1\n",
    "small_encoders-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "small_encoders-1.dist-info/top_level.txt": "distill\n",
}
BUILD = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = f"import shutil\ndef build_wheel(folder, *more):\n    shutil.copy('{WHEEL}', folder)\n    return '{WHEEL}'\n"
GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.org")


@pytest.fixture
def project(tmp_path_factory):
    """A repository that pip builds and installs."""
    folder = tmp_path_factory.mktemp("project")
    with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
        for name, text in {
            **FILES,
            "small_encoders-1.dist-info/RECORD": "".join(f"{name},,\n" for name in FILES),
        }.items():
            wheel.writestr(name, text)
    (folder / "pyproject.toml").write_text(BUILD, encoding="utf-8")
    (folder / "backend.py").write_text(BACKEND, encoding="utf-8")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*GIT, *arguments], cwd=folder, check=True)
    return folder


def install(folder, *arguments):
    """Start pip, which installs into a folder."""
    words = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check", "--target", folder]
    return subprocess.Popen([sys.executable, "-m", "pip", "install", *words, *arguments], stderr=subprocess.PIPE)


def test_the_command_for_an_extra_names_where_pip_got_the_distribution(project, tmp_path):
    commit = subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=project, check=True, capture_output=True, text=True)
    sources = {
        "index": ["--find-links", project, "small-encoders"],
        "file": [project / WHEEL],
        "git": [f"git+{project.as_uri()}"],
    }
    started = [install(tmp_path / name, *arguments) for name, arguments in sources.items()]
    output = [one.communicate()[1].decode() for one in started]
    assert [one.returncode for one in started] == [0] * len(sources), output
    commands = {name: shlex.split(install_command("more", tmp_path / name / "distill")) for name in sources}
    assert commands == {
        "index": ["pip", "install", "small-encoders[more]"],
        "file": ["pip", "install", f"{project / WHEEL}[more]"],
        "git": ["pip", "install", f"small-encoders[more] @ git+{project.as_uri()}@{commit.stdout.strip()}"],
    }
    # A file that is gone cannot be installed again; pip then finds the copy that is there.
    (project / WHEEL).unlink()
    assert shlex.split(install_command("more", tmp_path / "file" / "distill")) == commands["index"]


def test_the_command_for_an_extra_names_a_checkout(tmp_path):
    assert shlex.split(install_command("train")) == ["pip", "install", "-e", f"{ROOT}[train]"]
    # As where the folder of the package was copied.
    assert "[train]" in install_command("train", tmp_path / "distill")


def test_a_module_of_a_guest_is_found_by_its_name():
    assert find_guest("papers.bias.analyses").__name__ == "distill.papers.bias.analyses"
    with pytest.raises(ModuleNotFoundError):
        find_guest("papers.never")


def test_a_guest_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr("distill.system.extras.find_spec", lambda name: None)
    assert find_guest("papers.bias.analyses") is None
    with pytest.raises(EncoderError, match="search_engine"):
        require_guest("search_engine.indexing.index_file")
