"""`distill recipes`: the recipes that there are."""

from __future__ import annotations

import textwrap

import click

from ..settings.recipes import read_recipe, recipe_file, recipe_names
from ..system.reading import read_text
from .shared.completion import complete


@click.group(invoke_without_command=True)
@click.pass_context
def recipes(context: click.Context) -> None:
    """The recipes for distill run --recipe NAME: what each is for, the size of its bundle, the time it takes."""
    if context.invoked_subcommand is None:
        click.echo("\n".join(_described(read_recipe(name)) for name in recipe_names()))


def _described(recipe):
    width = 2 + max(map(len, recipe_names()))
    lines = (recipe.purpose, f"bundle: {recipe.size}; time: {recipe.time}")
    text = "\n".join(part for line in lines for part in textwrap.wrap(line, 110 - width))
    return f"{recipe.name:<{width}}{textwrap.indent(text, ' ' * width).lstrip()}"


@recipes.command()
@click.argument("name", shell_complete=complete)
def show(name: str) -> None:
    """The settings of recipe NAME, a file to copy: distill run --config takes it."""
    click.echo(read_text(recipe_file(name, "recipes show")), nl=False)
