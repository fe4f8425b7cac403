"""Write the lock files: versions and sha256 of all packages that `pip install .` brings, alone or with an extra."""

import configparser
import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """\
# What a fresh `pip install {what}` brought on {place}. Made by `make lock`; install it so:
#   pip install --require-hashes -r {file}
#   pip install --no-deps --no-build-isolation .
"""
# Builds distill itself, without isolation.
BUILDER = "setuptools>=68"
EXTRAS = {
    "requirements.lock": "",
    "requirements-serve.lock": "[serve]",
    "requirements-train.lock": "[train]",
}


def resolved(extra):
    """Return `[{name, version, sha256}]` with an extra, "" for none.

    Only wheels count, so no package runs its own setup.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--quiet", "--report", str(report)]
        subprocess.run([sys.executable, "-m", "pip", "install", *options, f"{ROOT}{extra}", BUILDER], check=True)
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return [one for one in found if one["metadata"]["name"] != config["metadata"]["name"]]


def line(one):
    name = re.sub(r"[-_.]+", "-", one["metadata"]["name"]).lower()
    return (
        f"{name}=={one['metadata']['version']} --hash=sha256:{one['download_info']['archive_info']['hashes']['sha256']}"
    )


def main():
    place = f"{platform.system()} {platform.machine()}, Python {'.'.join(platform.python_version_tuple()[:2])}"
    for file, extra in EXTRAS.items():
        lines = sorted(map(line, resolved(extra)))
        head = HEAD.format(what=f"'.{extra}'" if extra else ".", place=place, file=file)
        (ROOT / file).write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
