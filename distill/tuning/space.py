"""What a search for settings may change, and to what: a file's or the default, checked before anything starts."""

import difflib
import math
from dataclasses import dataclass
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from ..data.parallel import weighted
from ..errors import ConfigError, InputError, first_line
from ..settings.choices import MOST
from ..settings.sections import Settings, Work
from ..settings.store import changed, free_of, plain, walk
from ..system.reading import read_text

# Followed by a file of --parallel: its weight.
WEIGHT = "student.parallel."
# CL-ReLKT, Table 1.
LEARNING_RATES = [1e-3, 5e-4, 1e-4, 1e-5, 1e-6]
COEFFICIENTS = [1.0, 1e-1, 1e-2, 1e-3, 1e-4]
TEACHER = {
    "teacher.learning_rate": LEARNING_RATES,
    "teacher.margin": {"low": 0.1, "high": 1.0, "step": 0.01},
    "teacher.negatives": [1, 2, 3, 5, 10],
}
STUDENT = {
    "student.learning_rate": LEARNING_RATES,
    "student.gamma": [100.0, 1000.0, 10000.0],
}
# By the objective that they are of; those of list and softmax are ours.
TEMPERATURES = {"low": 0.01, "high": 0.2, "log": True}
BY_OBJECTIVE: dict[str, dict] = {
    "qq": {"student.beta": COEFFICIENTS},
    "dq": {"student.omega": COEFFICIENTS},
    "list": {
        "student.list_weight": {"low": 0.03, "high": 3.0, "log": True},
        "student.list_temperature": TEMPERATURES,
    },
    "softmax": {
        "student.softmax_weight": {"low": 0.01, "high": 1.0, "log": True},
        "student.softmax_temperature": TEMPERATURES,
    },
}
PARALLEL = {"student.parallel_temperature": [1.0, 2.0, 3.0, 5.0]}
WEIGHTS = [0.25, 0.5, 1.0, 2.0, 4.0]


@dataclass(frozen=True)
class Values:
    """One of some values, which Optuna takes as they are or, where they are lists of names, as a text."""

    values: tuple

    @property
    def ends(self):
        return self.values

    def suggest(self, trial, name):
        return self.value(trial.suggest_categorical(name, [_name(value) for value in self.values]))

    def value(self, suggested):
        return next(value for value in self.values if _same(_name(value), suggested))

    def fixed(self, value):
        """What Optuna has to suggest for `value`; None where it is not among these."""
        return next((_name(own) for own in self.values if _same(plain(own), plain(value))), None)

    def plain(self):
        return [plain(value) for value in self.values]


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, both inclusive: evenly, evenly in the logarithm, or in steps."""

    low: float
    high: float
    log: bool = False
    step: float | None = None

    @property
    def ends(self):
        return self.low, self.high

    def suggest(self, trial, name):
        whole = isinstance(self.low, int)
        steps = {} if self.step is None else {"step": self.step}
        return (trial.suggest_int if whole else trial.suggest_float)(name, self.low, self.high, log=self.log, **steps)

    def value(self, suggested):
        return suggested

    def fixed(self, value):
        """`value`, None where the range does not hold it."""
        steps = 0.0 if self.step is None else (value - self.low) / self.step
        return value if self.low <= value <= self.high and math.isclose(steps, round(steps), abs_tol=1e-9) else None

    def plain(self):
        return {name: value for name, value in vars(self).items() if value is not None and value is not False}


def read_space(path):
    """`{setting: list or table}` of a TOML file, nested tables or dotted names. Raises `ConfigError`."""
    try:
        stored = tomlkit.parse(read_text(path)).unwrap()
    except (TOMLKitError, ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path}: invalid TOML: {first_line(error)}") from error
    return dict(_flat(stored))


def _flat(values, prefix=""):
    for key, value in values.items():
        if isinstance(value, dict) and not {"low", "high"} & value.keys():
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def default_space(settings, stage, given=()):
    """CL-ReLKT's Table 1, and the weights and temperatures of what else is learned, but for the settings `given`."""
    found: dict = {}
    if stage != "student":
        found |= TEACHER
        if settings.teacher.loss == "contrastive":
            found["teacher.temperature"] = TEMPERATURES
    if stage != "teacher":
        found |= STUDENT
        for objective in settings.student.objectives:
            found |= BY_OBJECTIVE.get(objective, {})
        found |= PARALLEL if settings.student.parallel else {}
        found |= _weights(settings.student.parallel)
    return {name: value for name, value in found.items() if name not in given}


def _weights(parallel):
    """Of the sources that were given without one, where there are others beside."""
    plainly = [Path(asked) for asked in parallel if weighted(asked)[0] == Path(asked)]
    return {f"{WEIGHT}{path}": WEIGHTS for path in plainly} if len(parallel) > 1 else {}


def checked_space(space, settings, stage, place="the space"):
    """`{setting: Values or Range}`. Raises `ConfigError` for a name that is none, or a value that is not allowed."""
    if not space:
        raise ConfigError(f"{place}: nothing to search; give a setting and its values")
    found, known = {}, searchable(settings, stage)
    for name, asked in space.items():
        if name not in known:
            raise ConfigError(f"{place}: {_unknown(name, known, stage)}")
        if name == "teacher.loss" and isinstance(asked, list) and "softmax" in asked:
            raise ConfigError(f"{place}, {name}: softmax learns from pairs, which no trial does; leave it out")
        found[name] = _values(asked, name, place) if isinstance(asked, list) else _range(asked, name, place)
        found[name] = _cast(found[name], name, settings, place)
    return found


def searchable(settings, stage):
    """Names of the settings that a trial of this stage may have of its own."""
    sections = ("teacher", "student") if stage == "both" else (stage,)
    fixed = free_of(Work.TRIAL)
    names = [name for name, _, _ in walk(settings) if name.split(".")[0] in sections and name not in fixed]
    files = settings.student.parallel if "student" in sections else ()
    return [*names, *(f"{WEIGHT}{weighted(asked)[0]}" for asked in files)]


def _unknown(name, known, stage):
    if any(name == other for other, _, _ in walk(Settings())):
        return f"{name} is the same for all trials of --stage {stage}; give it as a setting"
    near = difflib.get_close_matches(name, known, n=1)
    return f"unknown setting {name!r}; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}")


def _values(asked, name, place):
    values = tuple(tuple(value) if isinstance(value, list) else value for value in asked)
    if not values or any(_same(value, other) for n, value in enumerate(values) for other in values[:n]):
        raise ConfigError(f"{place}, {name}: expected a list of different values, got {asked!r}")
    return Values(values)


def _range(asked, name, place):
    form = "expected a list of values, or low and high, and log or step"
    numbers = asked if isinstance(asked, dict) else {}
    own = {key: numbers[key] for key in ("low", "high", "step") if key in numbers}
    if {"low", "high"} - own.keys() or numbers.keys() - {"low", "high", "step", "log"}:
        raise ConfigError(f"{place}, {name}: {form}, got {asked!r}")
    if not all(_is_number(value) for value in own.values()):
        raise ConfigError(f"{place}, {name}: {form}, all of them numbers, got {asked!r}")
    found = Range(own["low"], own["high"], numbers.get("log", False), own.get("step"))
    if found.log not in (True, False) or not found.low < found.high or (found.log and found.low <= 0):
        raise ConfigError(f"{place}, {name}: {form}, low below high and with log above 0, got {asked!r}")
    if found.step is not None and (found.log or not found.step > 0):
        raise ConfigError(f"{place}, {name}: {form}, the step above 0, got {asked!r}")
    return found


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MOST


def _cast(found, name, settings, place):
    """With values as the setting has them, each allowed."""
    try:
        ends = [value_of(applied(settings, {name: value}), name) for value in found.ends]
    except InputError as error:
        raise ConfigError(f"{place}: {error}") from error
    if isinstance(found, Values):
        return Values(tuple(ends))
    step = found.step if found.step is None else type(ends[0])(found.step)
    if step is not None and step != found.step:
        raise ConfigError(f"{place}, {name}: expected a step that is a whole number, got {found.step}")
    low, high = ends
    return Range(low, high, found.log, step)


def applied(settings, values):
    """A checked copy of the settings with a trial's values. Raises `ConfigError`."""
    weights = {name.removeprefix(WEIGHT): value for name, value in values.items() if name.startswith(WEIGHT)}
    own = {name: value for name, value in values.items() if not name.startswith(WEIGHT)}
    if weights:
        own["student.parallel"] = tuple(_reweighted(asked, weights) for asked in settings.student.parallel)
    return changed(settings, own)


def _reweighted(asked, weights):
    path = str(weighted(asked)[0])
    if path not in weights:
        return asked
    weight = weights[path]
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < math.inf:
        raise ConfigError(f"{WEIGHT}{path}: expected a weight above 0, got {weight!r}")
    return f"{path}={float(weight)}"


def value_of(settings, name):
    """The value of a setting, or the weight of a file of --parallel, by its name."""
    if name.startswith(WEIGHT):
        found = dict((str(path), weight) for path, weight in map(weighted, settings.student.parallel))
        return found[name.removeprefix(WEIGHT)]
    return next(getattr(section, item.name) for known, section, item in walk(settings) if known == name)


def start_of(space, settings):
    """What Optuna has to suggest for the settings' own values, where the space has them."""
    found = {name: part.fixed(value_of(settings, name)) for name, part in space.items()}
    return {name: value for name, value in found.items() if value is not None}


def _name(value):
    return ",".join(value) if isinstance(value, tuple) else value


def _same(one, other):
    """True is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)
