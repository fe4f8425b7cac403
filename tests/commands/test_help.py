"""The help of every command: groups, examples that can be typed, whole sentences, suggestions."""

import re
import shlex

import click
import pytest

from distill.cli import MODULES, SECTIONS, cli
from distill.commands.shared.help import TITLES, PanelOption
from distill.commands.shared.setting_options import SetOption
from distill.settings.assignments import read_assignments
from distill.settings.fields import SET
from distill.settings.recipe import DEFAULT
from distill.settings.sections import Settings
from distill.settings.store import walk


def commands():
    """`{("read", "train"): command}` of all commands, the groups and `distill` itself among them."""
    every = {(): cli} | {(name,): cli.get_command(None, name) for name in MODULES}
    for path, command in list(every.items()):
        if path and isinstance(command, click.Group):
            every |= {(*path, name): part for name, part in command.commands.items()}
    return every


EVERY = commands()


@pytest.mark.parametrize("path", EVERY, ids=lambda path: "-".join(path) or "distill")
def test_every_help_has_an_example_of_the_command_and_cuts_nothing(distill, path):
    left, examples = distill(*path, "--help"), EVERY[path].examples
    assert (left.code, left.err) == (0, "")
    assert examples and all(f"\n  {line}" in left.out for example in examples for line in example.splitlines())
    assert all(example.startswith(" ".join(("distill", *path))) for example in examples)
    if not isinstance(EVERY[path], click.Group):
        shown = left.out.partition("\nExample")[0]
        assert set(re.findall(r" (--[a-z-]+)", " ".join(examples))) <= set(re.findall(r"--[a-z-]+", shown))
    # Dots follow only the name of an argument that may be repeated.
    assert not re.search(r"…|[^A-Z\]]\.\.\.", left.out)


@pytest.mark.parametrize("example", sorted({one for command in EVERY.values() for one in command.examples}))
def test_every_example_is_a_command_line_that_can_be_parsed(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(re.split(r" [<>|] ", example)[0])[1:]
    path = max((path for path in EVERY if tuple(words[: len(path)]) == path), key=len)
    context = EVERY[path].make_context(path[-1], words[len(path) :])
    assert not (isinstance(context.command, click.Group) and context.args)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: "-".join(path) or "distill")
def test_lists_of_choices_and_examples_fit_80_columns(distill, path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    whole = distill(*path, "--help-all" if path and not isinstance(EVERY[path], click.Group) else "--help").out
    assert [line for line in whole.splitlines() if len(line) > 80 and "[" in line] == []
    for option in EVERY[path].params:
        if isinstance(option.type, click.Choice) and len(option.type.choices) > 9:
            assert all(choice in " ".join(whole.split()) for choice in option.type.choices)


def test_tflite_is_a_name_of_the_bundle(tmp_path):
    words = ["multi12-static", "--format", "tflite", "--output", str(tmp_path / "out")]
    assert EVERY["export",].make_context("export", words).params["format_"] == "bundle"


def test_the_help_of_export_begins_with_tflite(distill):
    assert "TFLite" in "".join(distill("export", "--help").out.splitlines()[2:4])


def test_the_commands_are_in_groups_and_each_is_in_one(distill):
    help = distill("--help").out
    assert [line[:-1] for line in help.splitlines() if line[:-1] in SECTIONS] == list(SECTIONS)
    assert sorted(re.findall(r"^  ([a-z][a-z-]*)  +[A-Z]", help, re.MULTILINE)) == sorted(MODULES)


@pytest.mark.parametrize(
    ("typed", "meant"), [("serch", "'search'"), ("evalute", "'evaluate'"), ("read trian", "'train'")]
)
def test_a_mistyped_command_gets_a_suggestion(refused, typed, meant):
    assert meant in refused(*typed.split())


def test_every_option_names_a_panel_and_its_help_is_a_sentence():
    titles = {*TITLES, *(name.partition(".")[0] for name, _, _ in walk(Settings()))}
    for path, command in EVERY.items():
        for one in command.params:
            if isinstance(one, PanelOption):
                assert one.panel in titles, (path, one.name)
                text = re.sub(r"( \[default: .*\]| \[required\])$", "", one.help)
                assert re.match(r"[A-Z]|\W|language=", text) and text[-1] in ".]", (path, one.name, one.help)


def test_the_help_of_a_setting_is_a_sentence():
    for name, _, item in walk(Settings()):
        text = re.sub(r" \[default: .*\]$", "", item.metadata["help"])
        assert re.match(r"[A-Z]", text) and text.endswith("."), name
    assert any(item.metadata["offer"] is SET for _, _, item in walk(Settings()))


@pytest.mark.parametrize(
    ("command", "flag", "default"),
    [
        ("export", "--table", "that of the run or bundle, else uint8"),
        ("export", "--max-drop", "1.0"),
        ("compress", "--epochs", "that of the run or bundle, else 10"),
        ("compress", "--max-ms", "0.0"),
        ("run", "--epochs", "3"),
    ],
)
def test_the_help_says_whose_default_it_is(command, flag, default):
    [option] = [one for one in EVERY[command,].params if flag in one.opts]
    assert option.help.endswith(f" [default: {default}]")


def test_the_whole_help_of_a_run_has_the_values_of_its_recipe(distill):
    shown = " ".join(distill("run", "--help-all").out.partition("More settings")[2].split())
    values = dict(re.findall(r"([a-z_0-9.]+\.[a-z_0-9.]+) [A-Z][^[]*\[default: ([^]]*)\]", shown))
    assert (values["teacher.margin"], values["student.losses.dd"], values["student.gamma"]) == ("0.1", "0.1", "100.0")


def test_a_command_names_no_config_and_no_recipe_that_it_does_not_take(distill):
    ends = {name: distill(name, "--help").out.partition("\nFlags ")[2] for name in ("run", "teach", "transfer")}
    said = {name: ("--config" in end, f"is {DEFAULT}" in end) for name, end in ends.items()}
    assert said == {"run": (True, True), "teach": (True, False), "transfer": (False, False)}


def test_the_example_of_set_is_an_assignment_that_the_command_takes():
    examples = {}
    for path, command in EVERY.items():
        for one in command.params:
            if isinstance(one, SetOption):
                examples[path] = re.search(r"[a-z_.]+=\w+", one.help)[0]
                assert read_assignments([examples[path]], one.command)
    assert examples["run",] == "student.gamma=100" and {("evaluate",), ("teach",), ("read", "train")} <= set(examples)
    # A command whose only setting has a flag has no --set.
    assert ("lir", "fit") not in examples


def test_the_data_set_of_bench_has_the_name_that_other_commands_give_it():
    parsed = EVERY["bench",].make_context("bench", ["multi12-static", "--dataset", "mine"])
    assert parsed.params["data"] == EVERY["bench",].make_context("bench", ["m", "--data", "mine"]).params["data"]


def test_run_has_few_options(distill):
    shown = distill("run", "--help-all").out.partition("More settings")[0]
    assert len(re.findall(r"^ +(?:-h, )?--[a-z]", shown, re.MULTILINE)) <= 45
