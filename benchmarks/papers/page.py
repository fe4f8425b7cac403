"""Write docs/paper-tables.md from the figures that the scripts in this folder wrote with `--json`.

python benchmarks/papers/page.py
"""

import json
from importlib import import_module
from pathlib import Path

from rows import markdown

from distill.system.files import write_text

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "paper-tables.md"
PAPERS = {"cl_relkt": "CL-ReLKT", "lareqa": "LAReQA", "lir": "LIR", "sentri": "Sentri"}
HEAD = """# The papers' tables

The papers' figures in plain type and below them, in bold, those of distill. The scripts of `benchmarks/papers` make
them: a row is a `distill` command, which `--list` prints. Seed 0 unless seeds are named, one run each, on a 2-core AMD
EPYC beside other work. [The papers, row by row](papers.md) has the commands, and what cannot be had.
"""


def main():
    write_text(PAGE, page())


def page():
    """Return the page's text."""
    return "\n\n".join([HEAD.strip(), *(section(name, title) for name, title in PAPERS.items())]) + "\n"


def section(name, title):
    """Return a paper's part: what its rows are, the command, and its tables."""
    module, found = import_module(name), json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    about = module.__doc__.strip().split("\n\n", 2)[2]
    command = f"```\npython benchmarks/papers/{name}.py --json benchmarks/papers/{name}.json\n```"
    parts = [markdown(table, found[table.name]) for table in module.TABLES]
    return "\n\n".join([f"## {title}", about, command, *parts])


if __name__ == "__main__":
    main()
