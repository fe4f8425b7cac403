"""The search of `distill compress`: from a budget to an encoder that keeps it, by trials measured on dev."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...export.formats.format import size_of
from ...students.vocabulary.pruning import format_not_kept
from ...system.files import write_json
from ...system.input_files import read_json
from ...system.progress import say
from ...system.types import File
from ..pipeline.steps import Engine, Step
from .budget import Budget, choose_bundle, pareto_front
from .candidates import Candidate, choose_to_train, relative_cost
from .rows import BundleRow, Cost, Row, SearchResult, ShapeProbe, TrialRow, rank_candidates
from .trials import BUNDLE, Trials

TRIAL = "trial.json"
# The name of the uncompressed bundle among the timed ones.
WHOLE = "whole"


class Search:
    """The trials of one search, each kept in a folder of its own so that it is not repeated."""

    def __init__(
        self,
        folder: File,
        trials: Trials,
        budget: Budget,
        whole: File,
        names: Iterable[str],
        epochs: int,
        seconds: float | None = None,
    ):
        self.folder, self.trials, self.budget, self.whole = Path(folder), trials, budget, Path(whole)
        self.names, self.epochs, self.seconds = list(names), epochs, seconds
        self.engine = Engine(trials.seed)

    def run(self) -> SearchResult:
        """Run the cheap trials, plan, train and choose."""
        cheap = self.trials.grid.untrained_candidates()
        say(f"first trying {len(cheap)} vocabularies with table formats, and timing the shapes, without training")
        tried = [self._make_untrained(candidate) for candidate in cheap]
        names = dict.fromkeys(["full", *self.names])
        shapes = {s: self.run_once(f"shape-{s}", ShapeProbe, partial(self.trials.probe, s)) for s in names}
        chosen = self.plan(tried, shapes)
        self.announce(chosen, shapes)
        kept = [row.candidate for row in self.worthwhile_rows(tried, shapes["full"])]
        candidates = [*kept, *filter(None, chosen.values())]
        rows = [self.run_once(trial_name(c.name), BundleRow, partial(self.trials.bundle, c)) for c in candidates]
        return self.conclude(tried, shapes, rows)

    def _make_untrained(self, candidate: Candidate) -> TrialRow:
        return self.run_once(candidate.name, TrialRow, lambda folder: self.trials.try_untrained(candidate))

    def plan(self, tried: Sequence[TrialRow], shapes: Mapping[str, ShapeProbe]) -> dict[str, Candidate | None]:
        """Choose the candidate to train in each shape, None where no candidate keeps the budget."""
        speeds, new = {name: shapes[name].ms for name in self.names}, bool(self.trials.material.words.new)
        grid = self.trials.grid
        return choose_to_train(
            rank_candidates(tried), speeds, lambda c: self.trials.size(c, shapes[c.shape]), self.budget, new, grid
        )

    def run_once(self, name: str, kind: type[Row], make: Callable[[Path], Row]) -> Row:
        """Return the row of a trial, read from its file or else made and written."""
        folder = self.folder / name
        path = folder / TRIAL

        def try_row():
            folder.mkdir(parents=True, exist_ok=True)
            began = time.perf_counter()
            row = replace(make(folder), seconds=round(time.perf_counter() - began, 1))
            write_json(path, row.as_dict())
            return row

        return self.engine.do(Step(name, try_row, is_there=path.is_file, load=lambda: kind.of(read_json(path))))

    def worthwhile_rows(self, tried: Sequence[TrialRow], full: ShapeProbe) -> list[TrialRow]:
        """Return the cheap trials that no other dominates in size and P@1 and that can keep the limit of size."""
        limit = self.budget.bytes
        rows = pareto_front(tried, lambda row: (row.table_bytes,))
        return [row for row in rows if limit is None or row.table_bytes + full.other_bytes <= limit]

    def announce(self, chosen: Mapping[str, Candidate | None], shapes: Mapping[str, ShapeProbe]) -> None:
        """Print what will be trained and about how long it takes, before it begins."""
        for shape, candidate in chosen.items():
            if candidate is None:
                least = f"{shapes[shape].other_bytes / 1e6:.1f} MB without a table, {shapes[shape].ms:.3f} ms"
                say(f"{shape}: not trained, as it cannot keep the budget ({least})")
            else:
                how = f"vocabulary {candidate.vocabulary}, table {candidate.table}"
                say(f"{shape}: will be trained, {how}{self.training_time(shapes, shape)}")
        for vocabulary in sorted({candidate.vocabulary for candidate in chosen.values() if candidate}):
            for language, shares in self.trials.unknown_shares(vocabulary).items():
                say(f"{format_not_kept(language, shares)} with the vocabulary {vocabulary}")

    def training_time(self, shapes: Mapping[str, ShapeProbe], shape: str) -> str:
        """Return the training time of a shape in words; empty if the time is not known."""
        if self.seconds is None:
            return ""
        share = relative_cost(shapes[shape].dense, shapes["full"].dense)
        return f", about {max(1, round(share * self.seconds * self.epochs / 60))} min at most"

    def conclude(self, tried: list[TrialRow], shapes: dict[str, ShapeProbe], rows: Sequence[BundleRow]) -> SearchResult:
        """Time the bundles, leave out those that the gate refused, and choose one."""
        names = [row.candidate.name for row in rows]
        spent = self.trials.time_bundles({WHOLE: self.whole} | {name: bundle_path(self.folder, name) for name in names})
        for name, row in zip(names, rows, strict=True):
            for reason in row.refused:
                say(f"{name}: left out, as the bundle differs from its student: {reason}")
        bundles = [replace(row, ms=spent[row.candidate.name]) for row in rows if not row.refused]
        chosen = choose_bundle(bundles, self.budget) if bundles else None
        return SearchResult(
            tried=tried,
            shapes=shapes,
            whole=Cost(size_of(self.whole), spent[WHOLE]),
            bundles=bundles,
            front=[row.candidate.name for row in pareto_front(bundles, lambda row: (row.bytes, row.ms))],
            chosen=chosen.candidate.name if chosen else None,
            excess=self.budget.excess(chosen) if chosen else {},
            languages=list(self.trials.material.words.languages),
            budget=self.budget,
        )


def trial_name(name: str) -> str:
    """Return the name of the trial in which a candidate's bundle is made, beside that of the untrained candidate."""
    return f"{name}-{BUNDLE}"


def bundle_path(folder: File, name: str) -> Path:
    return Path(folder) / trial_name(name) / BUNDLE
