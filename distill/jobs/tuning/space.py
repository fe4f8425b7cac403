"""The space of a search for settings, from a file or the default, checked before anything starts."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ...data.parallel import parse_weight
from ...errors import ConfigError, InputError
from ...settings.choices import MOST
from ...settings.recipe import read_toml
from ...settings.sections import Settings, StudentSettings, TeacherSettings, Value, Work
from ...settings.store import list_free, replace_values, to_plain, values_by_name, walk
from ...system.types import File, Json

if TYPE_CHECKING:
    from optuna import Trial

# Followed by a file of --parallel: its weight.
WEIGHT = "student.parallel."
# CL-ReLKT, Table 1.
LEARNING_RATES = [1e-3, 5e-4, 1e-4, 1e-5, 1e-6]
COEFFICIENTS = [1.0, 1e-1, 1e-2, 1e-3, 1e-4]
TEACHER_SPACE: dict[str, Json] = {
    "teacher.learning_rate": LEARNING_RATES,
    "teacher.margin": {"low": 0.1, "high": 1.0, "step": 0.01},
    "teacher.negatives": [1, 2, 3, 5, 10],
}
STUDENT_SPACE: dict[str, Json] = {
    "student.learning_rate": LEARNING_RATES,
    "student.gamma": [100.0, 1000.0, 10000.0],
}
# By the objective that they are of; those of list and softmax are ours.
TEMPERATURES = {"low": 0.01, "high": 0.2, "log": True}
BY_OBJECTIVE: dict[str, dict[str, Json]] = {
    "qq": {"student.losses.qq": COEFFICIENTS},
    "dq": {"student.losses.dq": COEFFICIENTS},
    "list": {
        "student.losses.list.weight": {"low": 0.03, "high": 3.0, "log": True},
        "student.losses.list.temperature": TEMPERATURES,
    },
    "translation": {
        "student.losses.translation.weight": {"low": 0.01, "high": 1.0, "log": True},
        "student.losses.translation.temperature": TEMPERATURES,
    },
    "softmax": {
        "student.losses.softmax.weight": {"low": 0.01, "high": 1.0, "log": True},
        "student.losses.softmax.temperature": TEMPERATURES,
    },
}
PARALLEL_SPACE = {"student.parallel_temperature": [1.0, 2.0, 3.0, 5.0]}
WEIGHTS = [0.25, 0.5, 1.0, 2.0, 4.0]


@dataclass(frozen=True)
class Values:
    """A choice of values. Optuna gets lists of names as texts."""

    values: tuple[Value, ...]

    @property
    def ends(self) -> tuple[Value, ...]:
        """The values that have to be allowed, so that all are."""
        return self.values

    def suggest(self, trial: Trial, name: str) -> Value:
        return self.value(trial.suggest_categorical(name, self.suggestions()))

    def value(self, suggested: Value) -> Value:
        return next(value for value in self.values if _equal(_name(value), suggested))

    def find_suggestion(self, value: Value) -> Value | None:
        """Return the suggestion that stands for a value, or None if the value is not in the space."""
        return next((_name(one) for one in self.values if _equal(to_plain(one), to_plain(value))), None)

    def suggestions(self) -> list[Value]:
        """Return the suggestions that stand for the values."""
        return [_name(value) for value in self.values]

    def plain(self) -> list[Json]:
        """Return the values as JSON."""
        return [to_plain(value) for value in self.values]


@dataclass(frozen=True)
class Range:
    """A range from `low` to `high`, both inclusive: even, even in the logarithm, or in steps."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @property
    def ends(self) -> tuple[Value, ...]:
        """The values that have to be allowed, so that all are."""
        return self.low, self.high

    def suggest(self, trial: Trial, name: str) -> Value:
        whole = isinstance(self.low, int)
        steps = {} if self.step is None else {"step": self.step}
        return (trial.suggest_int if whole else trial.suggest_float)(name, self.low, self.high, log=self.log, **steps)

    def value(self, suggested: Value) -> Value:
        """Return the value that Optuna knows as `suggested`, which is the same."""
        return suggested

    def find_suggestion(self, value: Json) -> Value | None:
        """Return the value, or None if it is outside the range."""
        steps = 0.0 if self.step is None else (value - self.low) / self.step
        return value if self.low <= value <= self.high and math.isclose(steps, round(steps), abs_tol=1e-9) else None

    def suggestions(self) -> list[Value]:
        """Return the values of its steps, which are 1 for whole numbers. Raises `ConfigError` without steps."""
        step = self.step or (1 if isinstance(self.low, int) and not self.log else None)
        if step is None:
            raise ConfigError(f"expected a list of values, or low, high and step, got {self.plain()}")
        # In decimals, as sums of binary numbers miss the end.
        low, high, width = (Decimal(str(number)) for number in (self.low, self.high, step))
        return [type(self.low)(low + place * width) for place in range(int((high - low) // width) + 1)]

    def plain(self) -> dict[str, Json]:
        return {name: value for name, value in vars(self).items() if value is not None and value is not False}


Part: TypeAlias = Values | Range


def read_space(path: File) -> dict[str, Json]:
    """Read the space of a TOML file with nested tables or dotted names. Raises `ConfigError`."""
    return dict(_flat(read_toml(path)))


def _flat(values, prefix=""):
    for key, value in values.items():
        if isinstance(value, dict) and not {"low", "high"} & value.keys():
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


@dataclass(frozen=True)
class SearchedSettings:
    """The settings of both stages, which a search may change; `whole` checks them with the others, which stay."""

    teacher: TeacherSettings
    student: StudentSettings
    whole: Callable[[TeacherSettings, StudentSettings], Settings]


def default_space(searched: SearchedSettings, stage: str, given: Collection[str] = ()) -> dict[str, Json]:
    """Return the default space: CL-ReLKT's Table 1, and the weights and temperatures of other objectives."""
    space: dict[str, Json] = {}
    if stage != "student":
        space |= TEACHER_SPACE
        if searched.teacher.loss == "contrastive":
            space["teacher.temperature"] = TEMPERATURES
    if stage != "teacher":
        space |= STUDENT_SPACE
        for objective in searched.student.objectives:
            space |= BY_OBJECTIVE.get(objective, {})
        space |= PARALLEL_SPACE if searched.student.parallel else {}
        space |= _find_weights(searched.student.parallel)
    return {name: value for name, value in space.items() if name not in given}


def _find_weights(parallel):
    """Return the weights of sources that have none, if there are others beside them."""
    plainly = [Path(source) for source in parallel if parse_weight(source)[0] == Path(source)]
    return {f"{WEIGHT}{path}": WEIGHTS for path in plainly} if len(parallel) > 1 else {}


def check_space(
    space: Mapping[str, Json], searched: SearchedSettings, stage: str, place: str = "the space"
) -> dict[str, Part]:
    """Check the space of a file. Raises `ConfigError` if a name is no setting, or a value is not allowed."""
    if not space:
        raise ConfigError(f"{place}: nothing to search; give a setting and its values")
    parts, known = {}, list_searchable(searched, stage)
    for name, value in space.items():
        if name not in known:
            raise ConfigError(f"{place}: {_unknown(name, known, stage)}")
        if name == "teacher.loss" and isinstance(value, list) and "softmax" in value:
            raise ConfigError(f"{place}, {name}: softmax learns from pairs, which no trial does; leave it out")
        part = _values(value, name, place) if isinstance(value, list) else _range(value, name, place)
        parts[name] = _cast(part, name, searched, place)
    return parts


def list_searchable(searched: SearchedSettings, stage: str) -> list[str]:
    """Return the names of the settings that a trial may change."""
    sections = ("teacher", "student") if stage == "both" else (stage,)
    fixed = list_free(Work.TRIAL)
    names = [name for part in sections for name in _names(part, getattr(searched, part)) if name not in fixed]
    files = searched.student.parallel if "student" in sections else ()
    return [*names, *(f"{WEIGHT}{parse_weight(source)[0]}" for source in files)]


def _unknown(name, known, stage):
    if any(name == other for other, _, _ in walk(Settings())):
        return f"{name} is the same for all trials of --stage {stage}; give it as a setting"
    near = difflib.get_close_matches(name, known, n=1)
    return f"unknown setting {name!r}; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}")


def _values(stored, name, place):
    values = tuple(tuple(value) if isinstance(value, list) else value for value in stored)
    if not values or any(_equal(value, other) for n, value in enumerate(values) for other in values[:n]):
        raise ConfigError(f"{place}, {name}: expected a list of different values, got {stored!r}")
    return Values(values)


def _range(stored, name, place):
    form = "expected a list of values, or low and high, and log or step"
    numbers = stored if isinstance(stored, dict) else {}
    limits = {key: numbers[key] for key in ("low", "high", "step") if key in numbers}
    if {"low", "high"} - limits.keys() or numbers.keys() - {"low", "high", "step", "log"}:
        raise ConfigError(f"{place}, {name}: {form}, got {stored!r}")
    if not all(_is_number(value) for value in limits.values()):
        raise ConfigError(f"{place}, {name}: {form}, all of them numbers, got {stored!r}")
    part = Range(limits["low"], limits["high"], numbers.get("log", False), limits.get("step"))
    if part.log not in (True, False) or not part.low < part.high or (part.log and part.low <= 0):
        raise ConfigError(f"{place}, {name}: {form}, low below high and with log above 0, got {stored!r}")
    if part.step is not None and (part.log or not part.step > 0):
        raise ConfigError(f"{place}, {name}: {form}, the step above 0, got {stored!r}")
    return part


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MOST


def _cast(part, name, searched, place):
    """Convert the values of a part to those of the setting, each of which must be allowed."""
    try:
        ends: list[Json] = [read_value(apply_values(searched, {name: value}), name) for value in part.ends]
    except InputError as error:
        raise ConfigError(f"{place}: {error}") from error
    if isinstance(part, Values):
        return Values(tuple(ends))
    step = part.step if part.step is None else type(ends[0])(part.step)
    if step is not None and step != part.step:
        raise ConfigError(f"{place}, {name}: expected a step that is a whole number, got {part.step}")
    low, high = ends
    return Range(low, high, part.log, step)


def _names(part, section):
    return [name for name, _, _ in walk(section, f"{part}.")]


def apply_values(searched: SearchedSettings, values: Mapping[str, Value]) -> SearchedSettings:
    """Return a copy of the settings with a trial's values, checked."""
    weights = {name.removeprefix(WEIGHT): value for name, value in values.items() if name.startswith(WEIGHT)}
    others = {name: value for name, value in values.items() if not name.startswith(WEIGHT)}
    if weights:
        others["student.parallel"] = tuple(_reweight(source, weights) for source in searched.student.parallel)
    teacher = replace_values(searched.teacher, _within("teacher.", others))
    student = replace_values(searched.student, _within("student.", others))
    searched.whole(teacher, student)
    return replace(searched, teacher=teacher, student=student)


def _within(part, values):
    return {name.removeprefix(part): value for name, value in values.items() if name.startswith(part)}


def _reweight(source, weights):
    path = str(parse_weight(source)[0])
    if path not in weights:
        return source
    weight = weights[path]
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < math.inf:
        raise ConfigError(f"{WEIGHT}{path}: expected a weight above 0, got {weight!r}")
    return f"{path}={float(weight)}"


def read_value(searched: SearchedSettings, name: str) -> Value:
    """Return the value of a setting, or the weight of a file of `--parallel`."""
    if name.startswith(WEIGHT):
        weights = {str(path): weight for path, weight in map(parse_weight, searched.student.parallel)}
        return weights[name.removeprefix(WEIGHT)]
    part, _, key = name.partition(".")
    return values_by_name(getattr(searched, part))[key]


def suggest_start(space: Mapping[str, Part], searched: SearchedSettings) -> dict[str, Value]:
    """Return the suggestions that stand for the settings' own values, as far as the space has them."""
    start = {name: part.find_suggestion(read_value(searched, name)) for name, part in space.items()}
    return {name: value for name, value in start.items() if value is not None}


def list_grid(space: Mapping[str, Part]) -> list[dict[str, Value]]:
    """Return the suggestions at each point of a grid. Raises `ConfigError` for a range without steps."""
    columns = []
    for name, part in space.items():
        try:
            columns.append(part.suggestions())
        except ConfigError as error:
            raise ConfigError(f"--grid, {name}: {error}") from error
    return [dict(zip(space, point, strict=True)) for point in product(*columns)]


def _name(value):
    return ",".join(value) if isinstance(value, tuple) else value


def _equal(one, other):
    """Compare two values without taking True for 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
