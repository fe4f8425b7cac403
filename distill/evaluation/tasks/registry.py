"""Tasks by name: `choices.TASKS` names the modules of this room, each with its class under `TASK`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from ...errors import InputError
from ...settings.choices import TASKS
from .task import Task, TaskOptions


def task_class(name: str) -> type[Task]:
    """The class of a task, imported when it is asked for."""
    return import_module(f".{name}", __package__).TASK


def takers(option: str) -> list[str]:
    """The tasks that take an option, by its parameter's name."""
    return [name for name in TASKS if option in task_class(name).takes]


def load_tasks(requested: Sequence[tuple[str, str | None]], options: TaskOptions) -> list[Task]:
    """The tasks of `[(name, data or None)]`; without data of its own a task takes the settings' data set.

    Raises `InputError` for data that a task cannot take and for a metric that none of the tasks has.
    """
    classes = [(task_class(name), source) for name, source in requested]
    for metric in options.metrics:
        if not any(task.has(metric) for task, _ in classes):
            named = " and ".join(name for name in TASKS if task_class(name).has(metric))
            raise InputError(f"{metric} is no metric of the tasks that are asked for: it is of the task {named} alone")
    return [task.load(source or options.data.dataset, options) for task, source in classes]
