"""A search for settings by Optuna, whose trials are kept in a file, so that it can go on later."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import numpy as np

from ...encoders.encoder import KerasEncoder
from ...errors import ConfigError, InputError, TrainingError, first_line
from ...report.run_tables import format_value
from ...settings.sections import Value
from ...system.extras import install_command
from ...system.progress import say
from ...system.types import File, Json
from ...training.log import RunLog
from ...training.session import Scores, Watch
from .space import Part, SearchedSettings, apply_values, suggest_start

NAME, MADE_OF, REASON = "distill tune", "made of", "reason"
# None is pruned before so many trials came to their end, nor at an evaluation before this one; 0 is the start's.
STARTUP, WARMUP = 5, 1
COMPLETE, PRUNED, FAILED = "complete", "pruned", "failed"


Train: TypeAlias = Callable[[SearchedSettings, Watch], KerasEncoder | None]


@dataclass(frozen=True)
class TrialRow:
    """A trial: its values, P@1 on dev by evaluation, the P@1 that counts, and the reason if it was pruned."""

    number: int
    state: str
    values: dict[str, Value]
    p1: float | None
    scores: list[float]
    reason: str = ""

    def as_dict(self) -> dict[str, Json]:
        row = {"number": self.number, "state": self.state, "values": self.values, "p@1": self.p1, "scores": self.scores}
        return {**row, "reason": self.reason} if self.reason else row


def require_optuna() -> ModuleType:
    """Return the module. Raises `InputError` if it is not installed."""
    try:
        import optuna
    except ImportError as error:
        raise InputError(f"distill tune needs optuna; run: {install_command('tune')}") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class Tuning:
    """A search in an SQLite file, which only one process may use at a time.

    Trials that were broken off are marked as failed and do not count. `made_of` is plain values on which the trials
    depend. An existing search made of something else is refused. With a `grid` the trials take its points in turn, and
    none is pruned. Raises `InputError` if the file cannot be used.
    """

    def __init__(
        self,
        path: File,
        made_of: Mapping[str, Json],
        space: Mapping[str, Part],
        settings: SearchedSettings,
        seed: int = 0,
        log: RunLog | None = None,
        grid: Sequence[Mapping[str, Value]] = (),
    ):
        self.space, self.settings, self.seed, self.grid = space, settings, seed, grid
        self.log, self.path = log or RunLog(), Path(path)
        with self._storage():
            self.study = _study(self.path)
            _require_same(self.study, made_of, path)
            for trial in self._trials("RUNNING"):
                self._end(trial.number, "FAIL")

    def run(self, train: Train | None, trials: int) -> list[TrialRow]:
        """Run trials until so many have ended or were pruned, and return all.

        The first trial has the settings' own values, as far as the space holds them. `train` takes settings and
        `watch(step, scores)`, which it calls at each evaluation on dev; `final_score` is maximised. A trial is pruned
        too if its loss is not a number or its values contradict each other.
        """
        with self._storage():
            while self.done < trials:
                self._trial(train, self.done, trials)
                gc.collect()
            return self.rows()

    @property
    def done(self) -> int:
        """The number of trials that have ended or were pruned."""
        return len(self._trials("COMPLETE", "PRUNED"))

    def rows(self) -> list[TrialRow]:
        return [self._row(trial) for trial in self.study.get_trials(deepcopy=False)]

    def _trial(self, train, done, trials):
        import optuna

        start = {} if done else suggest_start(self.space, self.settings)
        self.study.sampler = _make_sampler(self.seed, done, self.grid[done] if self.grid else start)
        trial, scores = self.study.ask(), []
        try:
            values = {name: part.suggest(trial, name) for name, part in self.space.items()}
            say(f"trial {trial.number}, {done + 1} of {trials}: {format_values(values)}")
            self.log.write("trial", number=trial.number, values=values)
            train(self._settings(values), self._watch(trial, scores))
            self._end(trial, "COMPLETE", final_score(scores))
        except (optuna.TrialPruned, TrainingError) as error:
            if str(error):
                trial.set_user_attr(REASON, first_line(error))
            self._end(trial, "PRUNED")
        except BaseException:
            self._end(trial, "FAIL")
            raise

    def _settings(self, values):
        try:
            return apply_values(self.settings, values)
        except ConfigError as error:
            raise TrainingError(str(error)) from error

    def _watch(self, trial, scores):
        import optuna

        def watch(step, figures):
            scores.append(figures)
            # The number of the evaluation: with other batches an epoch has other steps.
            trial.report(figures["p@1"], len(scores) - 1)
            if not self.grid and trial.should_prune():
                raise optuna.TrialPruned

        return watch

    def _end(self, trial, state, value=None):
        import optuna

        self.study.tell(trial, value, optuna.trial.TrialState[state], skip_if_finished=True)
        row = self._row(self.study.trials[trial if isinstance(trial, int) else trial.number])
        p = "none" if row.p1 is None else f"{row.p1:.3f}"
        say(f"trial {row.number}: {row.state}, dev P@1 {p}" + (f" ({row.reason})" if row.reason else ""))
        self.log.write("trial end", **{"number": row.number, "state": row.state, "p@1": row.p1})

    def _row(self, trial):
        scores = [trial.intermediate_values[step] for step in sorted(trial.intermediate_values)]
        states = {"COMPLETE": COMPLETE, "PRUNED": PRUNED}
        values = {name: self.space[name].value(suggested) for name, suggested in trial.params.items()}
        state, p1 = states.get(trial.state.name, FAILED), trial.value
        if state != COMPLETE:
            p1 = max(scores, default=None)
        return TrialRow(trial.number, state, values, p1, scores, trial.user_attrs.get(REASON, ""))

    def _trials(self, *states):
        return [trial for trial in self.study.get_trials(deepcopy=False) if trial.state.name in states]

    @contextmanager
    def _storage(self):
        """Raise errors of the file as `InputError`."""
        from optuna.exceptions import OptunaError
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except (OptunaError, SQLAlchemyError) as error:
            raise InputError(f"{self.path}: not a study that can be used: {first_line(error)}") from error


def find_best(rows: Sequence[TrialRow]) -> TrialRow:
    """Return the ended trial with the highest P@1, the first of several. Raises `TrainingError` if there is none."""
    ended = [row for row in rows if row.state == COMPLETE]
    if not ended:
        raise TrainingError("no trial came to its end; give more --trials, or another --space")
    return max(ended, key=lambda row: row.p1 or 0.0)


def final_score(scores: Sequence[Scores]) -> float:
    """Return the P@1 of the weights that `loop.fit` leaves: a mean's, or the best of the last phase."""
    last = scores[-1].get("quantised")
    if scores[-1].get("averaged"):
        return scores[-1]["p@1"]
    return max(one["p@1"] for one in scores if one.get("quantised") == last)


def format_values(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} {format_value(value)}" for name, value in values.items())


def _study(path):
    import optuna

    if "?" in str(path):
        raise InputError(f"{path}: a study's file cannot have a ? in its name; choose another")
    path.parent.mkdir(parents=True, exist_ok=True)
    storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
    pruner = optuna.pruners.MedianPruner(STARTUP, WARMUP)
    return optuna.create_study(
        storage=storage, pruner=pruner, study_name=NAME, direction="maximize", load_if_exists=True
    )


def _make_sampler(seed, done, fixed):
    """Seed Optuna by the number of ended trials, so that a resumed search equals one that was not broken off."""
    import optuna

    seeded = int(np.random.SeedSequence((seed, done)).generate_state(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seeded)
        return optuna.samplers.PartialFixedSampler(fixed, sampler) if fixed else sampler


def _require_same(study, made_of, path):
    known = study.user_attrs.get(MADE_OF)
    if known is None:
        study.set_user_attr(MADE_OF, made_of)
        return
    names = dict.fromkeys([*known, *made_of])
    other = [_difference(name, known, made_of) for name in names if known.get(name) != made_of.get(name)]
    if other:
        raise InputError(
            f"{path} was made with other settings: {'; '.join(other)}; repeat its command or choose another --study"
        )


def _difference(name, known, made_of):
    before, now = known.get(name, "nothing"), made_of.get(name, "nothing")
    # Hashes of texts say nothing to a reader.
    return name if max(len(str(before)), len(str(now))) > 60 else f"{name} was {before}, now {now}"
