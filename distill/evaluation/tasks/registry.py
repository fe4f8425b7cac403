"""Tasks by name: `choices.TASKS` names modules of this room or of the papers, each of which has its class as `TASK`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from ...errors import InputError
from ...settings.choices import TASKS
from ...system.guests import has_guest, require_guest
from .task import Task, TaskOptions

# Tasks of the papers, each with its module.
OF_PAPERS = {name: f"papers.tasks.{name}" for name in ("lareqa", "classification", "reading")}


def task_class(name: str) -> type[Task]:
    """Return the class of a task, whose module is imported on demand."""
    return (require_guest(OF_PAPERS[name]) if name in OF_PAPERS else import_module(f".{name}", __package__)).TASK


def list_tasks() -> list[str]:
    """Return the names of the tasks that are installed."""
    return [name for name in TASKS if name not in OF_PAPERS or has_guest(OF_PAPERS[name])]


def tasks_with_option(option: str) -> list[str]:
    """Return the names of the tasks that take an option, given by its parameter's name."""
    return [name for name in list_tasks() if option in task_class(name).takes]


def judging_metrics(names: Iterable[str]) -> tuple[str, ...]:
    """Return the metrics by which named tasks are judged unless told otherwise, each once."""
    return tuple(dict.fromkeys(task_class(name).judged_by for name in names))


def load_tasks(requested: Sequence[tuple[str, str | None]], options: TaskOptions) -> list[Task]:
    """Load tasks of `(name, data or None)`; one without data of its own takes the data set of the settings.

    Raises `InputError` if a task cannot use its data, or none of the tasks has a metric that is asked for.
    """
    classes = [(task_class(name), source) for name, source in requested]
    for metric in options.metrics:
        if not any(task.has(metric) for task, _ in classes):
            named = " and ".join(name for name in list_tasks() if task_class(name).has(metric))
            raise InputError(f"{metric} is not a metric of the tasks that were named; only the task {named} has it")
    return [task.load(source or options.data.dataset, options) for task, source in classes]
