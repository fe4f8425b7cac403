"""One run of `distill run`: its settings, data and folder, and what was measured so far."""

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..data.dataset import Dataset
from ..evaluation.bias.analyses import measure_bias
from ..evaluation.evaluate import Evaluation, encode_questions, encode_units, evaluation_size, rank
from ..settings.choices import CHECKPOINT_SECONDS, UNITS
from ..settings.sections import Settings
from ..system.files import write_json
from ..system.progress import task
from ..system.reading import read_json
from ..training.checkpoints import CHECKPOINT, Checkpoint
from ..training.log import RunLog


def save_measured(checkpoint, found, bias):
    """Write `{split: Evaluation}` and the plain values of `bias`, or None, to a `checkpoints.Checkpoint`."""
    order = {split: {unit: list(ranks) for unit, ranks in one.ranks.items()} for split, one in found.items()}
    groups = {
        f"{split} {unit}": list(ranks.values()) for split, one in found.items() for unit, ranks in one.ranks.items()
    }
    checkpoint.save({"order": order, "bias": bias}, groups)


def load_measured(checkpoint, name):
    """`({split: Evaluation}, bias)` of the encoder of that name; None where it was not measured."""
    stored = checkpoint.load()
    if stored is None:
        return None
    facts, groups = stored
    found = {split: Evaluation(name, split, _ranks(split, units, groups)) for split, units in facts["order"].items()}
    return found, facts["bias"]


def _ranks(split, units, groups):
    return {unit: dict(zip(languages, groups[f"{split} {unit}"], strict=True)) for unit, languages in units.items()}


TIMINGS = "timings.json"


@dataclass
class Run:
    """One run: its settings, data, folder and what was measured so far."""

    settings: Settings
    dataset: Dataset
    languages: tuple
    folder: Path
    log: RunLog
    pool: object = None
    teacher: object = None
    text: dict = field(default_factory=dict)
    sources: list = field(default_factory=list)
    triplets: list = field(default_factory=list)
    pairs: object = None
    answered: object = None
    resumed: bool = False
    seconds: float = CHECKPOINT_SECONDS
    bias: dict = field(default_factory=dict)
    evaluations: dict = field(default_factory=dict)
    timings: dict = field(default_factory=dict)
    extra: dict = field(default_factory=dict)

    @property
    def splits(self):
        return measured_splits(self.dataset)

    @property
    def other_languages(self):
        """The question languages that are not the teacher's: what a mean is over."""
        others = tuple(language for language in self.languages if language != self.settings.teacher.language)
        return others or self.languages

    def checkpoint(self, stage):
        """Where a stage of that name goes on."""
        return Checkpoint(self.folder / CHECKPOINT / stage.replace(" ", "-"), self.seconds)

    def measure(self, name, encoder):
        """The figures of an encoder on every split, as they were measured before the run was stopped, or now."""
        place = self.checkpoint(f"measured {name}")
        known = load_measured(place, name)
        found, bias = known or (self.evaluate(name, encoder), self.pool and self.measure_bias(name, encoder))
        if not known:
            save_measured(place, found, bias)
        for split, evaluation in found.items():
            self.evaluations.setdefault(split, {})[name] = evaluation
        if bias:
            self.bias[name] = bias

    def evaluate(self, name, encoder):
        """`{split: Evaluation}`, timed; the documents are encoded once."""
        data, languages, results = self.dataset, self.languages, {}
        size = evaluation_size(data, self.splits, languages)
        with self.timed(f"evaluate {name}"), task(f"evaluate {name}", size) as advance:
            vectors = encode_units(encoder, data, UNITS, advance)
            for split in self.splits:
                asked = encode_questions(encoder, data, split, languages, advance)
                found = results[split] = Evaluation(name, split, rank(asked, vectors, data, split))
                means = {unit: round(found.mean(unit, self.other_languages), 4) for unit in UNITS}
                self.log.write("evaluation", encoder=name, split=split, **means)
        return results

    def measure_bias(self, name, encoder):
        """LAReQA's analyses on the last split."""
        with self.timed(f"language bias {name}"):
            pivot = self.settings.data.document_language
            found = measure_bias(encoder, self.pool, pivot, name=name, seed=self.settings.seed)
        self.log.write("lareqa", encoder=name, split=self.splits[-1], map=round(found["map"], 4))
        return found

    @contextmanager
    def timed(self, name):
        """Add the seconds that it takes to those that it took before the run was stopped."""
        began, before = time.perf_counter(), self.timings.get(name, 0.0)
        try:
            yield
        finally:
            self.timings[name] = round(before + time.perf_counter() - began, 2)
            # A full disk is not to stand in the place of what ended this.
            with suppress(OSError):
                if self.log.rows and (self.folder / CHECKPOINT).is_dir():
                    write_json(self.folder / CHECKPOINT / TIMINGS, self.timings)


def read_timings(folder):
    """`{name: seconds}` of what a run that was stopped had timed."""
    path = folder / CHECKPOINT / TIMINGS
    return read_json(path) if path.is_file() else {}


def measured_splits(dataset):
    """What a run is measured on: dev, which steered it, and test where the data has it."""
    return [split for split in ("dev", "test") if split in dataset.splits]
