"""The face of the library: what commands do is there, explained, and its examples run."""

import ast
import doctest
import inspect
from pathlib import Path

import pytest

import distill

COMMANDS = Path(distill.__file__).parent / "commands"
# What every room may use, and what says a thing to a person.
COMMON = {"errors", "settings", "system", "report"}
# Names of other rooms that parse what is typed, refuse it, or name a file that is printed; none of them does the work.
SPOKEN = {
    *(
        "as_dict",
        "choose_data",
        "format_costs",
        "is_predictions",
        "is_run",
        "output_paths",
        "parse_lengths",
        "read_samples",
        "read_word_lists",
        "recipe_of",
    ),
    *("require_format", "require_significance", "settings_of", "tasks_with_option", "write_plot"),
    *("Answer", "Engine", "RemovalOptions", "TextAlone"),
}
# Commands of training, whose jobs take all settings: `run`, `teach`, `transfer` and `tune` of the face.
TRAINING = {"train.py", "tune.py"}
# As long as a command may be, in statements; imports and what it says of itself do not count.
MOST = 15


def commands():
    for path in sorted(COMMANDS.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def imports(path, tree):
    """`(module within distill, name)` of what a command takes from rooms outside `commands/`."""
    depth = len(path.relative_to(COMMANDS.parent).parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == depth and node.module:
            yield from ((node.module, one.name) for one in node.names)


def is_free(module, name):
    spoken = name.isupper() or name in SPOKEN
    return module.split(".")[0] in COMMON or spoken or distill.FACE.get(name) == module


def test_commands_have_nothing_that_the_library_lacks():
    taken = [(path, *one) for path, tree in commands() if path.name not in TRAINING for one in imports(path, tree)]
    assert len(taken) > 100
    assert [f"{path.name}: {module}.{name}" for path, module, name in taken if not is_free(module, name)] == []


def statements(node):
    lines = [one for one in ast.walk(node) if isinstance(one, ast.stmt) and one is not node]
    said = ast.get_docstring(node) is not None
    return len([one for one in lines if not isinstance(one, ast.Import | ast.ImportFrom)]) - said


def test_commands_are_short():
    bodies = [
        (path.name, node)
        for path, tree in commands()
        if path.name not in TRAINING
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    assert len(bodies) > 50
    assert [f"{name}: {node.name}" for name, node in bodies if statements(node) > MOST] == []


def functions():
    """The functions of the face that a command of its own stands for, which say how they are called."""
    # Those of a training's settings say in prose what they do.
    earlier = {
        "compress",
        "measure_predictions",
        "tune",
        "compare",
        "evaluate",
        "export_artefact",
        "load_dataset",
        "load_encoder",
        "recipe_settings",
        "run",
    }
    earlier |= {"static_student", "teach", "transfer"}
    names = [name for name in distill.FACE if name not in earlier]
    return {name: value for name in names if inspect.isfunction(value := getattr(distill, name))}


@pytest.mark.parametrize("name", sorted(functions()))
def test_functions_with_several_parameters_explain_each(name):
    function, text = functions()[name], inspect.getdoc(functions()[name])
    parameters = inspect.signature(function).parameters
    if len(parameters) > 1:
        lines = text.partition("Args:")[2].partition("\nR")[0].splitlines()
        assert [line.strip().partition(":")[0] for line in lines if line[4:5].strip()] == list(parameters)
        assert "Raises:" in text


def test_examples_run(tmp_path, monkeypatch):
    finder, checks = doctest.DocTestFinder(recurse=False), []
    for name in distill.FACE:
        for check in finder.find(getattr(distill, name), name, module=False, globs={}):
            checks += [check] if check.examples else []
    assert len(checks) > 15
    runner = doctest.DocTestRunner(verbose=False)
    for check in checks:
        folder = tmp_path / check.name
        folder.mkdir()
        monkeypatch.chdir(folder)
        runner.run(check)
    assert runner.failures == 0


def test_the_reference_lists_the_face():
    text = (Path(__file__).resolve().parents[1] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert sorted(line.rpartition(".")[2] for line in text.splitlines() if line.startswith("::: ")) == sorted(
        distill.FACE
    )
