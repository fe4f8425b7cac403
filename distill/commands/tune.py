"""The command `tune`, which searches for settings."""

from __future__ import annotations

from pathlib import Path

import click

from ..settings.sections import Value
from .shared.command import command
from .shared.help import count_option, option
from .shared.options import (
    config_option,
    json_option,
    list_given_settings,
    require_writable_path,
    settings_options,
    take_settings,
    write_figures,
)


@command(
    examples=[
        "distill tune --dataset my-data --trials 20 --study study.db --output best.toml",
        "distill tune --dataset my-data --stage both --space space.toml --study study.db --output best.toml",
    ]
)
@option(
    "--study",
    panel="search",
    main=True,
    required=True,
    type=click.Path(dir_okay=False),
    callback=require_writable_path,
    help="SQLite file that keeps the trials. Run the same command again to continue with it.",
)
@option(
    "--output",
    panel="search",
    main=True,
    required=True,
    type=click.Path(dir_okay=False),
    callback=require_writable_path,
    help="The .toml file of the best settings, for distill run --config. All trials are written beside it.",
)
@option(
    "--stage",
    panel="search",
    main=True,
    type=click.Choice(["student", "teacher", "both"]),
    default="student",
    help="Which stage a trial trains.",
)
@option(
    "--space",
    "space_path",
    panel="search",
    main=True,
    type=click.Path(dir_okay=False),
    help="A .toml file of settings with lists of values, or with low, high, and log or step. [default: CL-ReLKT's "
    "search space and more]",
)
@count_option(
    "--trials",
    panel="search",
    main=True,
    help="Number of trials in the study, with pruned ones. [default: 20; with --grid all]",
)
@option(
    "--grid",
    panel="search",
    is_flag=True,
    help="Search a grid: try each combination of the space's values to its end, in place of what Optuna chooses.",
)
@option(
    "--teacher-path",
    panel="teacher",
    main=True,
    help="Teacher of all trials, a saved encoder. [default: one that is trained once]",
)
@json_option
@settings_options("tune")
@config_option
def tune(
    config: str | None,
    stage: str,
    space_path: str | None,
    trials: int | None,
    grid: bool,
    teacher_path: str | None,
    study: str,
    output: str,
    json_path: str | None,
    **values: Value | None,
) -> None:
    """Search for the settings with the best dev score.

    Optuna chooses the settings of each trial; the other flags hold for all trials. A student's trials share one
    teacher. A trial that is worse than the median at an evaluation is pruned. The best settings are chosen on dev, so
    expect less on unseen questions.
    """
    from ..jobs.compression.compress import is_limited
    from ..jobs.tuning.tune import Search, trials_path
    from ..jobs.tuning.tune import tune as tuned
    from ..report.run_tables import print_tuning

    flags = list_given_settings(values)
    settings = take_settings(values, config, searched=True)
    # A size that is none would be refused by distill run, after all this work.
    is_limited(settings.budget)
    result = tuned(settings, Search(stage, trials, space_path, flags, grid), study, output, teacher_path)
    figures = result.as_dict()
    write_figures(json_path, figures, lambda: print_tuning(figures, output, trials_path(Path(output))))
