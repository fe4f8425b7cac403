"""`distill recipes`: list the recipes."""

from __future__ import annotations

import json
import textwrap

import click

from ..settings.recipe import find_recipe, read_recipe, recipe_names
from ..system.input_files import read_text
from .shared.command import group
from .shared.help import WIDTH, complete, option


@group(invoke_without_command=True, examples=["distill recipes", "distill recipes show small > my-run.toml"])
@option("--json", "as_json", panel="output", is_flag=True, help="Print the recipes as JSON, with their settings.")
@click.pass_context
def recipes(context: click.Context, as_json: bool) -> None:
    """List the recipes for distill run: purpose, size and time of each."""
    if context.invoked_subcommand is not None:
        return
    every = [read_recipe(name) for name in recipe_names()]
    click.echo(
        json.dumps([vars(one) for one in every], indent=1) if as_json else "\n".join(map(_describe_recipe, every))
    )


def _describe_recipe(recipe):
    width = 2 + max(map(len, recipe_names()))
    lines = (recipe.purpose, f"bundle: {recipe.size}; time: {recipe.time}")
    text = "\n".join(part for line in lines for part in textwrap.wrap(line, WIDTH - width))
    return f"{recipe.name:<{width}}{textwrap.indent(text, ' ' * width).lstrip()}"


@recipes.command(quiet=True, examples=["distill recipes show small"])
@click.argument("name", shell_complete=complete)
def show(name: str) -> None:
    """Print the settings of a recipe.

    They are a config file, which distill run --config takes.
    """
    click.echo(read_text(find_recipe(name, "recipes show")), nl=False)
