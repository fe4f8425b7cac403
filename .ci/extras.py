#!/usr/bin/env python3
"""Megabytes that each extra of setup.cfg adds to an installation: the figures of docs/installation.md.

    python .ci/extras.py [--only serve,search] [--find-links FOLDER --constraint 'torch==2.13.0+cpu']

Each extra is installed in a new environment that has `distill` already, and `train` too if the extra brings that.
"""

import argparse
import sys
import tempfile
import venv
from pathlib import Path

from light_install import megabytes
from packages import checkout, distribution, run, setup

# Extras for developers of distill.
LEFT_OUT = {"test", "dev", "edge"}


def added(uv, folder, source, extra, beneath, options):
    """Return the megabytes of an environment without and with an extra."""
    place = folder / "environment"
    run(uv, "venv", "--clear", "--python", sys.executable, place)
    sizes = []
    for names in (beneath, [*beneath, extra]):
        named = f"{distribution(source)}{'[' + ','.join(names) + ']' if names else ''} @ {source.as_uri()}"
        run(uv, "pip", "install", "--quiet", "--python", place / "bin" / "python", *options, named)
        [packages] = (place / "lib").glob("python*/site-packages")
        sizes.append(megabytes(packages))
    return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="extras, comma-separated")
    parser.add_argument("--find-links", type=Path, help="a folder of wheels, such as PyTorch's for CPUs")
    parser.add_argument("--constraint", default="", help="a version that is taken")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "tools", with_pip=True)
        run(folder / "tools" / "bin" / "python", "-m", "pip", "install", "--quiet", "uv")
        (folder / "constraint.txt").write_text(arguments.constraint + "\n", encoding="utf-8")
        options = ["--constraint", folder / "constraint.txt"]
        options += ["--find-links", arguments.find_links] if arguments.find_links else []
        source = checkout(folder / "checkout")
        extras = dict(setup(source)["options.extras_require"])
        for extra in arguments.only.split(",") if arguments.only else extras.keys() - LEFT_OUT:
            beneath = ["train"] if f"{distribution(source)}[train]" in extras[extra] else []
            before, after = added(folder / "tools" / "bin" / "uv", folder, source, extra, beneath, options)
            print(
                f"{extra}: {after - before:.0f} MB on {before:.0f} MB of {'train' if beneath else 'none'}", flush=True
            )


if __name__ == "__main__":
    main()
