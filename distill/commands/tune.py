"""The command `tune`: settings searched on dev."""

from __future__ import annotations

from pathlib import Path

import click

from ..settings.sections import Value
from .shared.options import config_option, given, settings_from, settings_options, writable
from .shared.panels import PanelCommand


@click.command(cls=PanelCommand)
@settings_options("tune")
@config_option
@click.option(
    "--stage",
    type=click.Choice(["student", "teacher", "both"]),
    default="student",
    show_default=True,
    help="what a trial trains",
)
@click.option(
    "--space",
    "space_path",
    type=click.Path(dir_okay=False),
    help="a .toml of settings with lists of values, or low, high, and log or step [default: CL-ReLKT's and more]",
)
@click.option("--trials", type=click.IntRange(1), default=20, show_default=True, help="in all, pruned ones among them")
@click.option("--teacher-path", help="the teacher of all trials, a saved encoder [default: trained once]")
@click.option(
    "--study",
    required=True,
    type=click.Path(dir_okay=False),
    callback=writable,
    help="the SQLite file of the trials; the same command goes on with it",
)
@click.option(
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    callback=writable,
    help="the best settings, a .toml for distill run --config; all trials lie beside it",
)
def tune(
    config: str | None,
    stage: str,
    space_path: str | None,
    trials: int,
    teacher_path: str | None,
    study: str,
    output: str,
    **values: Value | None,
) -> None:
    """Search settings by their P@1 on dev, with Optuna; the other flags are what all trials share.

    A student's trials share one teacher, and cost only the student's epochs. Trials that are worse than the median at
    an evaluation are pruned. The settings that were found were chosen on dev: expect less on unseen questions.
    """
    from ..compression.compress import is_limited
    from ..report.run_tables import print_tuning
    from ..tuning.tune import Search, trials_path
    from ..tuning.tune import tune as tuned

    flags = given(values)
    settings = settings_from(values, config)
    # A size that is none would be refused by distill run, after all this work.
    is_limited(settings.budget)
    result = tuned(settings, Search(stage, trials, space_path, flags), study, output, teacher_path)
    print_tuning(result.as_dict(), output, trials_path(Path(output)))
