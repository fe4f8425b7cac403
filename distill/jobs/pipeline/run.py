"""One run of `distill run`: its inputs, its folder, and its measurements so far."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ...data.dataset import Dataset
from ...encoders.catalog.provenance import Learned
from ...encoders.encoder import Encoder
from ...evaluation.evaluate import Evaluation, count_texts, encode_questions, encode_units, rank_questions
from ...evaluation.examples import EXAMPLES, EncodedTexts, choose_examples
from ...settings.choices import CHECKPOINT_SECONDS, list_measured_units
from ...settings.sections import EvaluationSettings, ExportSettings, ShapeSettings, TrainingSettings
from ...system.extras import find_guest
from ...system.files import write_json
from ...system.input_files import read_json
from ...system.progress import phase, task
from ...system.types import Integers, Json
from ...training.checkpoints import CHECKPOINT, Checkpoint
from ...training.log import RunLog
from ...training.session import Session
from .inputs import Inputs

TIMINGS = "timings.json"
# The module of the papers that measures language bias.
BIAS = "papers.bias.analyses"


def save_measured(checkpoint: Checkpoint, evaluations: Mapping[str, Evaluation], bias: Json) -> None:
    """Save the measurements of an encoder. `bias` is the figures of language bias, or None."""
    order = {
        split: {unit: list(ranks) for unit, ranks in evaluation.ranks.items()}
        for split, evaluation in evaluations.items()
    }
    groups = {
        f"{split} {unit}": list(ranks.values())
        for split, evaluation in evaluations.items()
        for unit, ranks in evaluation.ranks.items()
    }
    checkpoint.save({"order": order, "bias": bias}, groups)


def load_measured(checkpoint: Checkpoint, name: str) -> tuple[dict[str, Evaluation], Json] | None:
    """Load an encoder's evaluations by split and figures of language bias, or None if it was not measured."""
    stored = checkpoint.load()
    if stored is None:
        return None
    facts, groups = stored
    order = facts["order"].items()
    return {split: Evaluation(name, split, _ranks(split, units, groups)) for split, units in order}, facts["bias"]


def _ranks(split, units, groups) -> dict[str, dict[str, Integers]]:
    return {unit: dict(zip(languages, groups[f"{split} {unit}"], strict=True)) for unit, languages in units.items()}


@dataclass(frozen=True)
class Provenance:
    """The origins of a run: the text of its config, the bundle's card of training, and the data set's hashes."""

    config: str = ""
    card: Mapping[str, Json] = field(default_factory=dict)
    learned: Learned = Learned("", "", "")
    sources: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Run:
    """One run: its inputs, its folder, its log, and its measurements so far.

    `resumed` says whether it was stopped before; `seconds` pass between checkpoints within an epoch.
    """

    inputs: Inputs
    folder: Path
    provenance: Provenance = field(default_factory=Provenance)
    shape: ShapeSettings = field(default_factory=ShapeSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    export: ExportSettings = field(default_factory=ExportSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    log: RunLog = field(default_factory=RunLog)
    resumed: bool = False
    seconds: float = CHECKPOINT_SECONDS
    timings: dict[str, float] = field(default_factory=dict)
    evaluations: dict[str, dict[str, Evaluation]] = field(default_factory=dict)
    bias: dict[str, Json] = field(default_factory=dict)
    figures: dict[str, Json] = field(default_factory=dict)

    @property
    def dataset(self) -> Dataset:
        """The data set of the inputs."""
        return self.inputs.dataset

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the questions, the teacher's first."""
        return self.inputs.languages

    @property
    def units(self) -> tuple[str, ...]:
        steering = self.inputs.teacher.unit, self.inputs.student.dev_unit
        return list_measured_units(self.evaluation.ranked, self.evaluation.score, *steering)

    def record(self, name: str, figures: Json) -> None:
        """Add figures to the run's metrics."""
        self.figures[name] = figures

    def release_teacher(self) -> Encoder | None:
        """Return the fixed teacher, or None, and drop the run's reference to it, because it may be large."""
        teacher = self.inputs.fixed
        self.inputs = replace(self.inputs, fixed=None)
        return teacher

    def checkpoint(self, stage: str) -> Checkpoint:
        return Checkpoint(self.folder / CHECKPOINT / stage.replace(" ", "-"), self.seconds)

    def session(self, stage: str) -> Session:
        """Return the session of a stage's training: its log, its checkpoint and how steps are computed."""
        scorer = None if stage == "student" else self.inputs.scorer_of("teacher")
        return Session(self.log, None, self.checkpoint(stage), self.training, stage, self.inputs.dev, scorer)

    def measure(self, name: str, encoder: Encoder) -> None:
        """Add the figures of an encoder on every split, unless they were measured before the run was stopped."""
        place = self.checkpoint(f"measured {name}")
        stored = load_measured(place, name)
        evaluations, bias = stored or (self.evaluate(name, encoder), self.measure_bias(name, encoder))
        if not stored:
            save_measured(place, evaluations, bias)
        for split, evaluation in evaluations.items():
            self.evaluations.setdefault(split, {})[name] = evaluation
        if bias:
            self.bias[name] = bias

    def measure_as(self, name: str, other: str) -> None:
        """Add the figures of an encoder that equals one that was measured."""
        for evaluations in self.evaluations.values():
            evaluations[name] = replace(evaluations[other], encoder=name)
        if other in self.bias:
            self.bias[name] = self.bias[other]

    def evaluate(self, name: str, encoder: Encoder) -> dict[str, Evaluation]:
        """Evaluate an encoder on every split; the documents are encoded once, and `name` counts the time."""
        data, languages, splits, units = self.dataset, self.languages, self.inputs.splits, self.units
        evaluations = {}
        size = count_texts(data, splits, languages, units)
        with self.timed(f"evaluate {name}"), task(f"evaluate {name}", size) as advance:
            vectors = encode_units(encoder, data, units, advance)
            for split in splits:
                questions = encode_questions(encoder, data, split, languages, advance)
                evaluation = Evaluation(name, split, rank_questions(questions, vectors, data, split, units))
                evaluations[split] = evaluation
                means = {unit: round(evaluation.mean(unit, self.inputs.other_languages), 4) for unit in units}
                self.log.write("evaluation", encoder=name, split=split, **means)
            if name == "bundle":
                self.keep_examples(evaluation, EncodedTexts(encoder, questions, vectors))
        return evaluations

    def keep_examples(self, bundle: Evaluation, encoded: EncodedTexts) -> None:
        """Keep questions that the bundle won and lost against its base, until the figures are written."""
        evaluations = {**self.evaluations[bundle.split], "bundle": bundle}
        unit, seed = self.inputs.student.dev_unit, self.inputs.seed
        chosen = choose_examples(self.dataset, evaluations, encoded, unit, seed)
        self.checkpoint(EXAMPLES).save({EXAMPLES: asdict(chosen)}, {})

    def measure_bias(self, name: str, encoder: Encoder) -> Json:
        """Run LAReQA's analyses on the last split, if the data has sentences and the papers are installed."""
        analyses = find_guest(BIAS)
        if self.inputs.pool is None or analyses is None:
            return None
        with self.timed(f"language bias {name}"):
            pivot, seed = self.dataset.document_language, self.inputs.seed
            figures = analyses.measure_bias(encoder, self.inputs.pool, pivot, name=name, seed=seed).as_dict()
        self.log.write("lareqa", encoder=name, split=self.inputs.splits[-1], map=round(figures["map"], 4))
        return figures

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Count the seconds of a block, on top of those from before the run was stopped."""
        began, before = time.perf_counter(), self.timings.get(name, 0.0)
        try:
            with phase(name):
                yield
        finally:
            self.timings[name] = round(before + time.perf_counter() - began, 2)
            # A full disk is not to stand in the place of what ended this.
            with suppress(OSError):
                if self.log.rows and (self.folder / CHECKPOINT).is_dir():
                    write_json(self.folder / CHECKPOINT / TIMINGS, self.timings)


def read_timings(folder: Path) -> dict[str, float]:
    """Return the seconds by step that a stopped run has counted."""
    path = folder / CHECKPOINT / TIMINGS
    return read_json(path) if path.is_file() else {}
