#!/usr/bin/env python3
"""Run mypy over the checkout, through a tree of links in which folders have the names that `package_dir` gives them.

mypy does not read `package_dir`, and `from ..errors` in teachers/ has no meaning under the name `teachers`. Public
functions have to be annotated. Functions inside others, and names that begin with an underscore, need not be.
"""

import ast
import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from mypy import api

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ("teachers", "students", "export")
UNTYPED = re.compile(r'(\S+?):(\d+): (?:error: .*\[no-untyped-def\]|note: Use "-> None")')


def link(tree):
    """Link the folders of the checkout into `tree`/distill as an installed copy has them."""
    package = Path(tree) / "distill"
    package.mkdir()
    for path in (ROOT / "distill").iterdir():
        # Exported artefacts are checked by their sha256.
        if not path.name.startswith("released") and path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    for name in BESIDE:
        (package / name).symlink_to(ROOT / name)


def check(tree):
    """Return mypy's report, one line per error, with the paths of the checkout."""
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    report, problems, _ = api.run([*options, "--no-error-summary", str(Path(tree) / "distill")])
    # Its cache may name the tree of an earlier run.
    lines = re.sub(r"^\S*/distill/", "distill/", report + problems, flags=re.MULTILINE)
    return re.sub(rf"^distill/({'|'.join(BESIDE)})/", r"\1/", lines, flags=re.MULTILINE).splitlines()


def is_private(line):
    """Return True if an error is a missing annotation of a function that is not public."""
    place = UNTYPED.match(line)
    return bool(place) and int(place[2]) in private_lines(place[1])


@cache
def private_lines(file):
    """Return the lines where functions begin that are inside others or private, or methods of a private class."""
    return set(_private(ast.parse((ROOT / file).read_text(encoding="utf-8")), False))


def _private(node, hidden):
    for child in ast.iter_child_nodes(node):
        inside = hidden
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inside = hidden or (child.name.startswith("_") and not child.name.startswith("__"))
        if isinstance(child, ast.FunctionDef):
            if inside:
                yield from range(min([child.lineno, *(one.lineno for one in child.decorator_list)]), child.lineno + 1)
            inside = True
        yield from _private(child, inside)


if __name__ == "__main__":
    with TemporaryDirectory() as tree:
        link(tree)
        errors = [line for line in check(tree) if not is_private(line)]
    print("\n".join(errors))
    sys.exit(any(": error:" in line for line in errors))
