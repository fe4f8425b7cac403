"""The rooms of the house: each imports from lower floors alone, without circles; none is a hall, no module a scrap."""

import ast
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import median

from fixtures.syntax import nodes_of

from distill.system.extras import GUESTS

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("distill", "teachers", "students", "export")
MOST_MODULES = 15
FEWEST_LINES, MEDIAN_LINES = 40, 90
# Modules with fewer lines, and why each is a file of its own.
SMALL = {
    "distill/__main__.py": "Python runs the file of this name for `python -m distill`.",
    "distill/papers/choices.py": "The help of `distill papers` shows these names and must not import NumPy.",
    "export/families/static/plain.py": "The registry imports it by name, as it does every part of a family.",
    "export/formats/string.py": "The registry imports a format by name, and each format is one file.",
    "export/formats/web.py": "The registry imports a format by name, and each format is one file.",
    "export/tflite/mediapipe_worker.py": "It runs as a process of its own, without TensorFlow.",
}
# From the ground up. Rooms of one floor do not import from each other.
FLOORS = (
    # The script that goes into each bundle imports nothing of ours.
    ("errors", "export.encode", "vocabulary"),
    ("system",),
    ("export.weights", "export.web"),
    ("settings", "vocabulary.words", "encoders"),
    # What looks families of networks up by name stands below them.
    ("retrieval", "data", "students", "vocabulary.typed", "teachers.tokenizers", "export.families"),
    ("students.ngram", "students.static", "students.transformer"),
    ("students.vocabulary", "teachers", "training", "export.tflite", "export.onnx"),
    ("export.c", "export.hub"),
    ("export.families.ngram", "export.families.static", "export.families.transformer"),
    ("evaluation", "export.formats"),
    # It shows what was measured; a task knows its table.
    ("report",),
    ("evaluation.tasks", "export"),
    ("encoders.catalog",),
    ("evaluation.bench", "training.stages", "encoders.files"),
    ("jobs.pipeline",),
    ("jobs.compression", "jobs.tuning", "vocabulary.languages", "jobs.adapting"),
    ("jobs",),
    # Guests: nothing below imports from them.
    ("search_engine.documents", "papers.bias", "papers.reading"),
    ("search_engine.indexing", "papers.tasks"),
    ("search_engine.serving", "search_engine.plugs"),
    ("search_engine", "papers"),
    ("commands.shared",),
    ("commands",),
    # cli.py, __main__.py and the package's own face.
    ("",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


@cache
def files():
    """`{module as installed: its file}`; what is shipped as data is none."""
    paths = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if not path.parent.name.startswith("released")
    ]
    return {installed(path): path for path in paths}


def installed(path):
    """`package_dir` puts the folders beside `distill/` inside it."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "distill" else ("distill", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module, path):
    if module in ("distill.errors", "distill.export.encode"):
        return module.removeprefix("distill.")
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return package.removeprefix("distill").removeprefix(".")


def imported(module, path, modules):
    """Modules that a file imports from, at its head or inside its functions."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "distill"):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            for name in (f"{base}.{alias.name}" for alias in node.names):
                yield name if name in modules else base


@cache
def arrows():
    """`(module, module that it imports)`; the package itself, from where the version comes, is left out."""
    modules = files()
    every = ((module, other) for module, path in modules.items() for other in imported(module, path, modules))
    return [(module, other) for module, other in every if other not in (module, "distill")]


def test_every_room_has_a_floor():
    assert {room(module, path) for module, path in files().items()} == set(FLOOR)


def test_a_room_imports_from_lower_floors_alone():
    modules = files()
    assert len(arrows()) > 200
    pairs = ((room(a, modules[a]), room(b, modules[b]), a, b) for a, b in arrows())
    assert [f"{a} imports {b}" for above, below, a, b in pairs if above != below and FLOOR[below] >= FLOOR[above]] == []


def test_nothing_imports_from_the_guests_but_commands_and_the_face():
    modules = files()
    guests = tuple(f"distill.{guest}" for guest in GUESTS)
    outside = [(a, b) for a, b in arrows() if b.startswith(guests) and not a.startswith((*guests, "distill.commands."))]
    assert {room(a, modules[a]) for a, b in outside} == {""}
    # The search engine stands without the papers.
    assert [a for a, b in arrows() if a.startswith(guests[0]) and b.startswith(guests[1])] == []


def test_no_modules_import_in_a_circle():
    graph = {}
    for module, other in arrows():
        graph.setdefault(module, set()).add(other)
    # Raises CycleError, which names them.
    TopologicalSorter(graph).prepare()


def test_no_room_is_a_hall():
    for folder in (*FOLDERS, "tests"):
        count = Counter(path.parent for path in (ROOT / folder).rglob("*.py") if path.name != "__init__.py")
        assert {str(path): number for path, number in count.items() if number > MOST_MODULES} == {}


def test_no_module_is_a_scrap():
    lines = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in files().values()
        if path.name != "__init__.py"
    }
    assert {path for path, number in lines.items() if number < FEWEST_LINES} == set(SMALL)
    assert median(lines.values()) >= MEDIAN_LINES
