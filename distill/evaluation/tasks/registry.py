"""Tasks by name: `choices.TASKS` names the modules of this room, each of which has its class under `TASK`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from ...errors import InputError
from ...settings.choices import TASKS
from .task import Task, TaskOptions


def task_class(name: str) -> type[Task]:
    """Return the class of a task, whose module is imported on demand."""
    return import_module(f".{name}", __package__).TASK


def tasks_with_option(option: str) -> list[str]:
    """Return the names of the tasks that take an option, given by its parameter's name."""
    return [name for name in TASKS if option in task_class(name).takes]


def judging_metrics(names: Iterable[str]) -> tuple[str, ...]:
    """Return the metrics by which named tasks are judged unless told otherwise, each once."""
    return tuple(dict.fromkeys(task_class(name).judged_by for name in names))


def load_tasks(requested: Sequence[tuple[str, str | None]], options: TaskOptions) -> list[Task]:
    """Load tasks.

    Args:
        requested: `(name, data or None)` pairs; a task without data of its own takes the data set of the settings.

    Raises:
        InputError: If a task cannot use its data, or none of the tasks has a metric that is asked for.
    """
    classes = [(task_class(name), source) for name, source in requested]
    for metric in options.metrics:
        if not any(task.has(metric) for task, _ in classes):
            named = " and ".join(name for name in TASKS if task_class(name).has(metric))
            raise InputError(f"{metric} is not a metric of the tasks that were named; only the task {named} has it")
    return [task.load(source or options.data.dataset, options) for task, source in classes]
