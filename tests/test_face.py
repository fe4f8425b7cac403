"""The face of the library: what commands do is there, explained, and its examples run."""

import ast
import doctest
import inspect
import json
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
# What an example leaves that others read, and whose example leaves it.
LEFT = {"my-run": "run", "my-reader": "train_reader", "my-index": "build_index"}
# Examples whose arguments are compared with the signature alone, and why they are not run.
NOT_RUN = {
    "adapt_to_documents": "an encoder has to gain on some hundred documents, or no folder is left",
    "add_language": "a language is learned from thousands of lines",
    "add_spellings": "its export computes every spelling",
    "compress": "a search exports a dozen encoders",
    "compress_encoder": "a search exports a dozen encoders",
    "export_reader": "a reader's graph is converted",
    "generate_answers": "it needs a text-to-text model's weights",
    "learn_text": "it is the work of `run`, on more text than is here",
    "reproduce_paper": "it starts a process for each training",
    "serve_index": "it does not return until standard input ends",
    "train_writer": "it needs a text-to-text model's weights",
    "serve_model": "it does not return until it is stopped",
}
# Packages that an example needs and that not every environment of the tests has.
PACKAGES = {"ray_engine": "ray", "tune": "optuna"}
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
    """The functions of the face, which say how they are called."""
    return {name: value for name in distill.FACE if inspect.isfunction(value := getattr(distill, name))}


@pytest.mark.parametrize("name", sorted(functions()))
def test_functions_with_several_parameters_explain_each(name):
    function, text = functions()[name], inspect.getdoc(functions()[name])
    parameters = inspect.signature(function).parameters
    if len(parameters) > 1:
        lines = text.partition("Args:")[2].partition("\nR")[0].splitlines()
        assert [line.strip().partition(":")[0] for line in lines if line[4:5].strip()] == list(parameters)
        assert "Raises:" in text


def check_of(name):
    """The examples of a name of the face, as `doctest` reads them from its docstring."""
    [check] = doctest.DocTestFinder(recurse=False).find(getattr(distill, name), name, module=False, globs={})
    return check


CHECKS = {name: check for name in distill.FACE if (check := check_of(name)).examples}


def test_every_function_has_an_example_that_calls_it():
    every = [name for name in distill.FACE if inspect.isfunction(getattr(distill, name))]
    assert len(every) > 50
    sources = {name: "".join(one.source for one in CHECKS[name].examples) for name in every if name in CHECKS}
    assert [name for name in every if f"distill.{name}(" not in sources.get(name, "")] == []


class Workplace:
    """A folder with data, encoders and predictions, and with what an example leaves for others; each runs once."""

    def __init__(self, folder, materials):
        self.folder, self.reports = folder, {}
        for name, source in materials.items():
            (folder / name).symlink_to(source)
        rows = {f"q{number}": number for number in range(4)}
        for model, right in (("a", 4), ("b", 2)):
            rankings = {name: {"d": float(row < right), "e": 0.5} for name, row in rows.items()}
            self.write(f"predictions/{model}/MyTask_predictions", rankings)
        self.write("relevant/MyTask_relevant", {name: {"d": 1} for name in rows})

    def write(self, name, questions):
        """Write rankings or grades as mteb does."""
        path = self.folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"de": {"test": questions}}), encoding="utf-8")

    def run(self, name, folder):
        """Return what `doctest` has to say of an example, which is nothing if it gives what it shows."""
        if name in self.reports:
            return self.reports[name]
        for output, maker in LEFT.items():
            if maker != name and f'"{output}"' in CHECKS[name].docstring:
                self.run(maker, self.folder)
        if name in LEFT.values():
            folder = self.folder
        else:
            for path in self.folder.iterdir():
                (folder / path.name).symlink_to(path)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            self.reports[name] = report = []
            doctest.DocTestRunner(verbose=False).run(CHECKS[name], out=report.append)
        return report


@pytest.fixture(scope="module")
def workplace(sentence_data, static_folder, slim_folder, tmp_path_factory):
    materials = {"my-data": sentence_data, "my-encoder": static_folder, "my-ngram-encoder": slim_folder}
    return Workplace(tmp_path_factory.mktemp("workplace"), materials)


@pytest.mark.parametrize("name", sorted(CHECKS.keys() - NOT_RUN.keys()))
def test_examples_run(name, workplace, small_sample, tmp_path):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    assert "".join(workplace.run(name, tmp_path)) == ""


@pytest.mark.parametrize("name", sorted(NOT_RUN))
def test_examples_that_take_too_long_call_their_function_as_it_is_declared(name, workplace, monkeypatch):
    monkeypatch.chdir(workplace.folder)
    signature, calls = inspect.signature(getattr(distill, name)), []
    monkeypatch.setattr(distill, name, lambda *args, **named: calls.append(signature.bind(*args, **named)))
    assert not any(one.want for one in CHECKS[name].examples)
    values = {}
    for one in CHECKS[name].examples:
        exec(compile(one.source, name, "exec"), values)
    assert len(calls) == 1


def test_the_reference_lists_the_face():
    text = (Path(__file__).resolve().parents[1] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert sorted(line.rpartition(".")[2] for line in text.splitlines() if line.startswith("::: ")) == sorted(
        distill.FACE
    )


def test_the_first_screen_of_the_reference_has_few_names():
    text = (Path(__file__).resolve().parents[1] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    first = text.split("\n## ")[1]
    assert first.startswith("First\n") and 10 < first.count("\n::: ") <= 25
