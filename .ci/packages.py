#!/usr/bin/env python3
"""Check the contents of the wheel and the sdist, and that they work with the oldest and newest versions of packages.

The committed state is built as for a release. Each file is installed outside of the checkout, in new environments and
on each Python: the wheel with the oldest versions that setup.cfg allows and that have wheels for that Python, the sdist
with the newest ones. With `--output` the files are left in a folder, from which they are uploaded.
"""

import argparse
import configparser
import email
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path, PurePosixPath

from light_install import COMMANDS, said

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("python3.10", "python3.13")
# The most bytes of a file: PyPI takes 100 MB.
MOST_BYTES = 95_000_000
TOOLS = ("build", "cffconvert", "check-wheel-contents", "twine", "uv")
# The files of the sdist beside the packages.
TOP = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.cfg", "setup.py"}
# The files that setuptools writes.
BUILT = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE"}
# Kinds of installations, with their extras.
KINDS = {"light": ((),), "train": (("train",),), "files": (), "all": ((), ("train",))}
# The greatest difference, in per cent, of the released encoder's P@1 on the sample between environments.
APART = 1.0
# Commands that need the training stack.
TRAINING = (
    (("export", "multi12-ngram", "--format", "c", "--output", "c"), 0, ""),
    (("index", "--model", "multi12-static", "--documents", "mine/documents.jsonl", "--output", "pages"), 0, "passages"),
    (("export", "multi12-static", "--format", "web", "--index", "pages", "--output", "web"), 0, ""),
    (("run", "--config", "tiny.toml", "--name", "tiny"), 0, "bundle"),
    (("evaluate", "runs/tiny", "--dataset", "mine", "--metric", "r@2kt"), 0, "r@2kt"),
    (("compare", "runs/tiny", "multi12-ngram", "--dataset", "mine"), 0, "multi12-ngram"),
    (("index", "--model", "runs/tiny/bundle", "--documents", "mine/documents.jsonl", "--output", "kb"), 0, "passages"),
    (("search", "--index", "kb", "Wo wurde das Fahrrad erfunden?"), 0, "bicycle"),
)
LEFT = ("c/encoder.bin", "web/index.html", "runs/tiny/report.html")
CONFIG = """recipe = "tiny"

[data]
dataset = "mine"

[teacher]
bm25_epochs = 1
online_epochs = 0

[student]
epochs = 1
"""
DOCUMENTS, LANGUAGES = 48, ("de", "en")


def run(*command, **options):
    """Return the output of a command. If it fails, end the script with its messages."""
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def checkout(folder):
    """Unpack the committed state into a new folder."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    run("git", "-C", ROOT, "archive", "--output", archive, "HEAD")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder


def setup(folder):
    parser = configparser.ConfigParser()
    parser.read(folder / "setup.cfg", encoding="utf-8")
    return parser


def distribution(folder):
    """Return the name of the distribution, which may be another one than that of the package `distill`."""
    return setup(folder)["metadata"]["name"]


def installed(folder):
    """Map the name of every file of the packages in the wheel to its name in the checkout."""
    lines = setup(folder)["options"]["package_dir"].strip().splitlines()
    places = {"distill": "distill"} | dict(line.replace(" ", "").split("=") for line in lines)
    return {
        "/".join([*package.split("."), *path.relative_to(folder / place).parts]): path.relative_to(folder).as_posix()
        for package, place in places.items()
        for path in (folder / place).rglob("*")
        if path.is_file()
    }


def same(what, names, expected):
    """End the script if a file holds other names than expected."""
    if names != expected:
        missing, more = sorted(expected - names), sorted(names - expected)
        sys.exit(f"{what}: missing {missing}, not expected {more}")


def check_wheel(wheel, folder):
    """Check that the wheel holds every file of the packages as it is in the checkout, and nothing else."""
    names = installed(folder)
    with zipfile.ZipFile(wheel) as archive:
        [info] = {name.split("/")[0] for name in archive.namelist() if name.split("/")[0].endswith(".dist-info")}
        same(wheel.name, set(archive.namelist()), {*names, *(f"{info}/{name}" for name in BUILT)})
        for name, source in names.items():
            if archive.read(name) != (folder / source).read_bytes():
                sys.exit(f"{wheel.name}: {name} is another than {source}")
        return email.message_from_bytes(archive.read(f"{info}/METADATA"))["Version"]


def check_sdist(sdist, folder):
    """Check that the sdist holds everything that a wheel is built from, and the files that setuptools writes."""
    with tarfile.open(sdist) as archive:
        parts = [PurePosixPath(member.name).parts[1:] for member in archive.getmembers() if member.isfile()]
    own = ("PKG-INFO", f"{distribution(folder).replace('-', '_')}.egg-info")
    names = {"/".join(part) for part in parts if part[0] not in own}
    same(sdist.name, names, {*installed(folder).values(), *TOP})


def built(tools, folder):
    """Build the wheel from the sdist, and the sdist from the committed state, and check both."""
    source = checkout(folder / "checkout")
    run(tools / "python", "-m", "build", "--outdir", folder / "dist", source, cwd=folder)
    run(tools / "python", "-m", "build", "--wheel", "--outdir", folder / "direct", source, cwd=folder)
    [wheel], [sdist] = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    clean = checkout(folder / "clean")
    for one in (wheel, *(folder / "direct").iterdir()):
        version = check_wheel(one, clean)
    check_sdist(sdist, clean)
    run(tools / "twine", "check", "--strict", wheel, sdist)
    run(tools / "check-wheel-contents", "--config", clean / "pyproject.toml", wheel)
    run(tools / "cffconvert", "--validate", "--infile", clean / "CITATION.cff")
    for one in (wheel, sdist):
        if (size := one.stat().st_size) > MOST_BYTES:
            sys.exit(f"{one.name}: {size} bytes, expected at most {MOST_BYTES}")
        print(f"{one.name}: {size / 1e6:.1f} MB", flush=True)
    return wheel, sdist, version


def oldest(tools, folder, python, extras):
    """Write the lowest versions of the requirements that have wheels for this Python to a file, and return it."""
    config = setup(folder / "clean")
    texts = [config["options"]["install_requires"], *(config["options.extras_require"][name] for name in extras)]
    lines = [line for text in texts for line in text.strip().splitlines() if not line.startswith("#")]
    pins = folder / "pins.txt"
    asked = ["--resolution", "lowest-direct", "--only-binary", ":all:", "--python", python, "--output-file", pins]
    run(tools / "uv", "pip", "compile", "--quiet", *asked, "-", input="\n".join(lines))
    return pins


def environment(tools, folder, python, file, extras, versions):
    """Install a file with the `oldest` or `newest` versions in a new environment, and return its folder of programs."""
    place = folder / "environment"
    run(tools / "uv", "venv", "--clear", "--python", python, place)
    pins = ["--constraint", oldest(tools, folder, python, extras)] if versions == "oldest" else []
    name = distribution(folder / "clean")
    named = f"{name}{'[' + ','.join(extras) + ']' if extras else ''} @ {file.as_uri()}"
    run(tools / "uv", "pip", "install", "--quiet", "--python", place / "bin" / "python", *pins, named)
    return place / "bin"


def materials(place):
    """Write the inputs of the commands: a line of text, a part of the sample and a config."""
    sample = ROOT / "distill" / "data" / "sample"
    documents = (sample / "documents.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)[:DOCUMENTS]
    kept = {json.loads(line)["id"] for line in documents}
    questions = [
        line
        for line in (sample / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        if (one := json.loads(line))["language"] in LANGUAGES and one["passage"].partition("/")[0] in kept
    ]
    (place / "mine").mkdir(parents=True)
    (place / "mine" / "documents.jsonl").write_text("".join(documents), encoding="utf-8")
    (place / "mine" / "questions.jsonl").write_text("".join(questions), encoding="utf-8")
    (place / "texts.jsonl").write_text('{"id": "1", "text": "Wo mündet der Nil?"}\n', encoding="utf-8")
    (place / "tiny.toml").write_text(CONFIG, encoding="utf-8")


def used(programs, place, extras):
    """Run every command, and return P@1 of the released encoder on the sample, averaged over the languages."""
    materials(place)
    light = [one for one in COMMANDS if not (extras and one[1])]
    for arguments, code, text in (*light, *(TRAINING if extras else ())):
        if text not in (words := said([programs / "distill", *arguments], place, code)):
            sys.exit(f"distill {' '.join(arguments)}: expected {text!r} in {words}")
    lacking = [name for name in (LEFT if extras else ()) if not (place / name).is_file()]
    if lacking:
        sys.exit(f"{', '.join(lacking)}: not written")
    figures = json.loads((place / "figures.json").read_text(encoding="utf-8"))["retrieval"]["encoders"]
    shares = [one["p@1"] for one in figures["multi12-ngram"]["units"]["document"].values()]
    return 100 * sum(shares) / len(shares)


def interpreter(name):
    """Return the path of a Python by its name. End the script if it cannot be started."""
    try:
        return run(name, "-c", "import sys; print(sys.executable)").strip()
    except OSError:
        sys.exit(f"{name}: not found; name the interpreters by --python")


def measured(tools, folder, python, files, extras):
    """Yield P@1 in both environments of a Python. Each environment replaces the one before."""
    for versions, file in zip(("oldest", "newest"), files, strict=True):
        start = time.monotonic()
        programs = environment(tools, folder, python, file, extras, versions)
        kind = "wheel" if file.suffix == ".whl" else "sdist"
        with tempfile.TemporaryDirectory(dir=folder) as place:
            share = used(programs, Path(place) / "work", extras)
        freeze = run(tools / "uv", "pip", "freeze", "--python", programs / "python").split()
        pins = " ".join(line for line in freeze if "==" in line)
        number = run(programs / "python", "-c", "import platform; print(platform.python_version())").strip()
        what = f"Python {number}, {kind}{' with ' + ', '.join(extras) if extras else ''}, {versions} versions"
        print(f"{what}: works, P@1 {share:.1f} %, {time.monotonic() - start:.0f} s\n  {pins}", flush=True)
        yield share


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", help="an interpreter; may be repeated [3.10 and 3.13 on PATH]")
    what = "install without the extra train, or with it alone; files: install nothing [all]"
    parser.add_argument("--only", choices=KINDS, default="all", help=what)
    parser.add_argument("--output", type=Path, help="a new folder for the wheel and the sdist")
    arguments = parser.parse_args()
    kinds = KINDS[arguments.only]
    pythons = [interpreter(name) for name in arguments.python or PYTHONS] if kinds else []
    if arguments.output and arguments.output.exists():
        sys.exit(f"{arguments.output}: is there already; remove it, so that no older file is uploaded")
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", COLUMNS="160")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "tools", with_pip=True)
        tools = folder / "tools" / "bin"
        run(tools / "python", "-m", "pip", "install", "--quiet", *TOOLS)
        *files, version = built(tools, folder)
        print(f"distill {version}: the files hold what they should", flush=True)
        shares = [
            one for extras in kinds for python in pythons for one in measured(tools, folder, python, files, extras)
        ]
        if shares and max(shares) - min(shares) > APART:
            sys.exit(
                f"P@1 of multi12-ngram is {min(shares):.1f} to {max(shares):.1f} %, expected at most {APART} apart"
            )
        if arguments.output:
            shutil.copytree(files[0].parent, arguments.output)


if __name__ == "__main__":
    main()
