"""Completions of a word for a shell."""

from __future__ import annotations

import click

from ...settings.recipes import recipe_names


def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of recipes that begin with what is typed, for a shell.

    Args:
        context: the context.
        parameter: the parameter that is completed.
        incomplete: what is typed.
    """
    return [name for name in recipe_names() if name.startswith(incomplete)]
