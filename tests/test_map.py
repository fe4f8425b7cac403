"""The map: rooms that CONTRIBUTING lists as the floors have them, and names in docstrings that there are."""

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fixtures.syntax import nodes_of

import distill
from distill.settings.sections import Settings
from distill.settings.store import walk
from tests.test_layers import FLOORS, files

ROOT = Path(__file__).resolve().parents[1]
DOTTED = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)`")
ENDINGS = [
    "bin",
    "html",
    "json",
    "jsonl",
    "keras",
    "model",
    "npz",
    "part",
    "py",
    "safetensors",
    "spm",
    "tflite",
    "toml",
    "tsv",
    "txt",
]
SETTINGS = {name for name, _, _ in walk(Settings())}


@cache
def defined(path):
    """The names of a module's classes, functions and constants, and of what classes have."""
    nodes = nodes_of(path)
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}


@cache
def classes(path):
    return {node.name for node in nodes_of(path) if isinstance(node, ast.ClassDef)}


@cache
def used(path):
    """The names of variables, parameters and attributes in a module."""
    nodes = nodes_of(path)
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def resolves(name, path):
    """Whether a dotted name is a setting, a file, a name of a module of ours or of a library, or of what is at hand."""
    modules = files()
    owner, _, last = name.rpartition(".")
    if name in SETTINGS or last in ENDINGS or any(f".{module}".endswith(f".{name}") for module in modules):
        return True
    if owner == "distill":
        return last in distill.FACE
    # What a module has, or a class of ours, with or without its module before it.
    homes = [home for module, home in modules.items() if f".{module}".endswith(f".{owner}")]
    homes += [home for home in modules.values() if owner.rpartition(".")[2] in classes(home)]
    if homes:
        return any(last in defined(home) for home in homes) or owner in used(path)
    return owner.split(".")[0] in used(path) or find_spec(name.split(".")[0]) is not None


def test_names_in_docstrings_are_there():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = [
        (module, path, ast.get_docstring(node) or "")
        for module, path in files().items()
        for node in nodes_of(path)
        if isinstance(node, kinds)
    ]
    named = [(module, path, name) for module, path, text in docs for name in DOTTED.findall(text)]
    assert len(named) > 50
    assert [f"{module}: {name}" for module, path, name in named if not resolves(name, path)] == []


def test_contributing_lists_the_rooms_at_first_sight():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    listed = [place for row in rows for place in re.findall(r"`([^`]+)`", row)]
    rooms = {f"distill/{room.split('.')[0]}" for floor in FLOORS for room in floor}
    inside = {room for room in rooms if (ROOT / room / "__init__.py").is_file() and room != "distill/"}
    assert sorted(listed) == sorted(inside | {"teachers", "students", "export"})


def test_files_that_contributing_names_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:distill|teachers|students|export|tests|benchmarks|docs|\.ci)/[\w/.-]+)`", text)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []
