"""Write requirements.lock: the versions, with sha256, of everything that a fresh `pip install .` brings here."""

import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """\
# What a fresh `pip install .` brought on {place}. Made by `make lock`; install it so:
#   pip install --require-hashes -r requirements.lock
#   pip install --no-deps --no-build-isolation .
"""


def resolved():
    """`[{name, version, sha256}]`: wheels alone, so that no package's own setup runs."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        options = ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--quiet", "--report", str(report)]
        subprocess.run([sys.executable, "-m", "pip", "install", *options, str(ROOT)], check=True)
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    return [one for one in found if one["metadata"]["name"] != "distill"]


def line(one):
    name = re.sub(r"[-_.]+", "-", one["metadata"]["name"]).lower()
    return (
        f"{name}=={one['metadata']['version']} --hash=sha256:{one['download_info']['archive_info']['hashes']['sha256']}"
    )


def main():
    place = f"{platform.system()} {platform.machine()}, Python {'.'.join(platform.python_version_tuple()[:2])}"
    lines = sorted(map(line, resolved()))
    (ROOT / "requirements.lock").write_text(HEAD.format(place=place) + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
