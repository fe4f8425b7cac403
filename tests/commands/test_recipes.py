"""`distill recipes`, options in panels, and what a shell completes."""

import json
import re

import click
import pytest
from fixtures.commands import process

from distill.cli import cli
from distill.commands.shared.help import FEW, TITLES, find_title
from distill.settings.recipe import FOLDER, recipe_names

HEAVY = {"numpy", "keras", "tensorflow", "rich", "distill.settings.sections"}
PANELLED = ("run", "teach", "transfer", "tune", "compress", "evaluate")


def test_recipes_lists_them_all_and_imports_next_to_nothing(distill):
    code = (
        "import sys\nfrom distill.cli import main\n"
        "try: main(['recipes'])\nexcept SystemExit: print('IMPORTED', *sys.modules)"
    )
    out, _, imported = process("-c", code).out.partition("IMPORTED")
    assert [line.split()[0] for line in out.splitlines() if line[0] != " "] == list(recipe_names())
    assert "click" in imported.split() and not HEAVY & set(imported.split())
    rows = json.loads(distill("recipes", "--json").out)
    assert [row["name"] for row in rows] == list(recipe_names()) and all(row["size"] for row in rows)
    left = distill("recipes", "show", "tiny")
    assert (left.code, left.out) == (0, (FOLDER / "tiny.toml").read_text(encoding="utf-8"))


def options_of(name):
    command = cli.get_command(None, name)
    with click.Context(command) as context:
        return [option for option in command.get_params(context) if isinstance(option, click.Option)]


@pytest.mark.parametrize("name", PANELLED)
def test_every_option_is_in_one_panel_and_help_all_shows_it(distill, name):
    options = options_of(name)
    titles = [find_title(one.panel) for one in options if hasattr(one, "panel")]
    short, whole = distill(name, "--help"), distill(name, "--help-all")
    assert (short.code, whole.code, short.err, whole.err) == (0, 0, "", "")
    lines = [line for line in whole.out.splitlines() if line.startswith("  -")]
    assert len(lines) == len(options) == len(titles) + 2
    assert all(any(line.split()[0].rstrip(",") in option.opts for line in lines) for option in options)
    heads = re.findall(r"^([A-Z].*):$", whole.out, re.MULTILINE)
    assert [head for head in heads if head in titles] == list(dict.fromkeys(titles))
    assert len(short.out.splitlines()) <= 90
    assert ("--help-all" in short.out) == (len(cli.get_command(None, name).params) > FEW)


def test_a_panel_has_a_title_that_no_other_has():
    titles = [*TITLES.values(), *(find_title(name) for name in ("data", "teacher", "student", "export", "budget"))]
    assert all(titles) and len(set(titles)) == len(titles)


def test_the_help_tells_the_order_of_flags_config_and_recipe(distill):
    assert 'recipe = "NAME"' in " ".join(distill("run", "--help").out.split())


@pytest.mark.parametrize("words", ["run --recipe nope", "teach --output out --recipe nope", "recipes show ../tiny"])
def test_a_recipe_that_is_none_is_refused_and_all_are_named(refused, words):
    line = refused(*words.split())
    assert words.split()[-1] in line and ", ".join(recipe_names()) in line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_a_script_that_completes(distill, monkeypatch, shell):
    monkeypatch.setenv("_DISTILL_COMPLETE", f"{shell}_source")
    left = distill()
    assert left.code == 0 and f"_DISTILL_COMPLETE={shell}_complete" in left.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [("distill rec", ["recipes"]), ("distill run --recipe ti", ["tiny"]), ("distill recipes show sen", ["sentri"])],
)
def test_commands_and_recipes_are_completed(distill, monkeypatch, words, expected):
    monkeypatch.setenv("_DISTILL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert distill().out.splitlines() == [f"plain,{name}" for name in expected]


def test_the_list_fits_80_columns(distill):
    assert max(map(len, distill("recipes").out.splitlines())) <= 80
