#!/usr/bin/env python3
"""mypy over the checkout: a tree of links gives each folder the name that `package_dir` installs it under.

mypy reads no `package_dir`, and `from ..errors` in teachers/ has no meaning under the name `teachers`.
"""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mypy import api

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("teachers", "students", "export")
# What was exported, by its sha256.
LEFT_OUT = ("released", "__pycache__")


def link(tree):
    """`tree`/distill, as an installed copy has it."""
    package = Path(tree) / "distill"
    package.mkdir()
    for path in (ROOT / "distill").iterdir():
        if path.name not in LEFT_OUT:
            (package / path.name).symlink_to(path)
    for name in BESIDE:
        (package / name).symlink_to(ROOT / name)


def check(tree):
    """mypy's report, with the checkout's paths, and its exit status."""
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    report, problems, status = api.run([*options, str(Path(tree) / "distill")])
    found = re.sub(rf"\S*{re.escape(Path(tree).name)}/distill/", "distill/", report + problems)
    return re.sub(rf"^distill/({'|'.join(BESIDE)})/", r"\1/", found, flags=re.MULTILINE), status


if __name__ == "__main__":
    with TemporaryDirectory() as tree:
        link(tree)
        found, status = check(tree)
    print(found, end="")
    sys.exit(status)
