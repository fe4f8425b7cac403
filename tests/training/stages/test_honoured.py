"""A setting that a command is said to honour reaches the job that it does."""

import json
from dataclasses import MISSING, fields, is_dataclass
from types import SimpleNamespace

import pytest

from distill.encoders.catalog.identity import describe_training
from distill.encoders.catalog.loading import load_keras_encoder
from distill.encoders.catalog.setting_files import named_paths
from distill.encoders.encoder import KerasEncoder
from distill.errors import InputError
from distill.jobs.compression.candidates import GRID
from distill.jobs.compression.compress import compress
from distill.jobs.pipeline.execute import make_teacher, measure_peers
from distill.jobs.pipeline.preparing import prepare
from distill.jobs.pipeline.second_stage import TeacherSource, determine_start, make_student, transfer_alone
from distill.jobs.pipeline.shipping import export_bundle
from distill.jobs.tuning.study import Tuning
from distill.jobs.tuning.tune import Search, tune
from distill.settings.assignments import honoured_fields
from distill.settings.sections import Settings
from distill.settings.store import change_settings, format_config
from distill.training.stages.student_job import StudentJob, TeacherJob

# A run hands these on to the search of smaller bundles, which has a test of its own.
BUDGET = {f"budget.{item.name}" for item in fields(Settings().budget)}
# A search hands these on, to the config of its best trial.
CARRIED = {"export.min_cosine", "export.max_drop", "export.threads", "evaluation.lareqa", *BUDGET}
# The name of what the other settings were made of.
NAME = {"recipe"}


class Built(InputError):
    """The job is there, and is not done."""


def recorded(section, reads, prefix=""):
    """A copy of a section whose settings are noted when they are read, and that knows its name."""
    kind = type(section)
    names = {item.name: f"{prefix}{item.name.rstrip('_')}" for item in fields(kind) if item.default is not MISSING}

    class Recorded(kind):
        settings_within = tuple(names.values())

        def __getattribute__(self, name):
            if name in names:
                reads.add(names[name])
            return super().__getattribute__(name)

    copy = object.__new__(Recorded)
    for item in fields(kind):
        value = getattr(section, item.name)
        copy.__dict__[item.name] = recorded(value, reads, f"{prefix}{item.name}.") if is_dataclass(value) else value
    return copy


def handed(*parts):
    """The names of the settings in the sections that objects hold, at whatever depth: they are handed over whole."""
    names = set()
    for part in parts:
        names.update(getattr(part, "settings_within", ()))
        if is_dataclass(part):
            names |= handed(*vars(part).values())
    return names


@pytest.fixture
def settings(sentence_data, slim_folder):
    values = {"data.dataset": str(sentence_data), "teacher.base": str(slim_folder), "scorer.encoder": str(slim_folder)}
    return change_settings(Settings(), values)


@pytest.fixture
def seen(monkeypatch):
    """What jobs and their sessions were handed; all that merely reads every setting is left out, and nothing trains."""
    parts = []

    def trained(job, *arguments):
        parts.extend([job, *arguments])
        # The encoder that is trained: a teacher's base, or a student's start after its targets.
        return next(one for one in arguments if isinstance(one, KerasEncoder))

    for name in ("check_settings", "refuse_unused"):
        monkeypatch.setattr(f"distill.jobs.pipeline.preparing.{name}", lambda settings, *more: settings)
    for room in ("distill.jobs.pipeline.second_stage", "distill.jobs.tuning.tune", "distill.jobs.compression.compress"):
        monkeypatch.setattr(f"{room}.refuse_unused", lambda *arguments: None)
    monkeypatch.setattr("distill.settings.assignments.refuse_unused", lambda *arguments: None)
    monkeypatch.setattr(TeacherJob, "train", trained)
    monkeypatch.setattr(StudentJob, "train", trained)
    monkeypatch.setattr(StudentJob, "targets", lambda job, *arguments: None)
    monkeypatch.setattr(StudentJob, "reweight", lambda job, targets: targets)
    return parts


def missing(command, reads, seen, explained=frozenset()):
    return honoured_fields(command).keys() - reads - handed(*seen) - NAME - explained


def test_run(settings, seen, monkeypatch, tmp_path):
    reads, encoder = set(), load_keras_encoder(settings.teacher.base)
    # What a run notes of all its settings is no use of them.
    for name, noted in (
        ("format_config", format_config),
        ("describe_training", describe_training),
        ("named_paths", named_paths),
    ):
        monkeypatch.setattr(f"distill.jobs.pipeline.preparing.{name}", lambda _, noted=noted: noted(settings))
    monkeypatch.setattr("distill.export.artefact.export_artefact", lambda *parts, **more: seen.extend(parts))
    run = prepare(recorded(settings, reads), tmp_path / "run")
    measure_peers(run)
    make_teacher(run, encoder)
    make_student(run, determine_start(run.inputs, encoder, run.shape), encoder, encoder)
    export_bundle(run, encoder)
    assert missing("run", reads, seen, BUDGET) == set()


def test_teach(settings, seen, distill, monkeypatch, tmp_path):
    reads = set()
    monkeypatch.setattr("distill.commands.train.take_settings", lambda *arguments: recorded(settings, reads))
    assert distill("teach", "--output", tmp_path / "teacher") == 0
    assert missing("teach", reads, seen) == set()


def test_transfer(settings, seen, slim_folder):
    reads = set()
    transfer_alone(recorded(settings, reads), TeacherSource(str(slim_folder)))
    assert missing("transfer", reads, seen) == set()


def test_a_trial_of_tune(settings, seen, monkeypatch, tmp_path):
    pytest.importorskip("optuna")
    reads = set()
    settings.scorer.encoder = ""

    def once(tuning, train, trials):
        train(tuning.settings, None)
        raise Built

    monkeypatch.setattr(Tuning, "run", once)
    monkeypatch.setattr("distill.jobs.tuning.tune.check_settings", lambda settings: settings)
    monkeypatch.setattr("distill.jobs.tuning.tune.values_by_name", lambda settings: {})
    with pytest.raises(Built):
        tune(recorded(settings, reads), Search("both", 1), tmp_path / "x.db", tmp_path / "best.toml")
    assert missing("tune", reads, seen, CARRIED) == set()


def test_compress(settings, seen, monkeypatch, tmp_path, slim_folder):
    reads, encoder = set(), load_keras_encoder(slim_folder)
    (tmp_path / "config.toml").write_text(format_config(settings), encoding="utf-8")
    (tmp_path / "metrics.json").write_text(json.dumps({"languages": ["en", "de"]}), encoding="utf-8")
    (tmp_path / "log.jsonl").write_text("", encoding="utf-8")

    def made(*parts):
        seen.extend(parts)
        words = SimpleNamespace(student=encoder)
        return SimpleNamespace(words=words, grid=GRID)

    def stopped(*arguments):
        raise Built

    monkeypatch.setattr("distill.jobs.compression.compress._material", made)
    monkeypatch.setattr("distill.jobs.compression.compress.find_artefact", lambda folder: folder)
    monkeypatch.setattr("distill.jobs.compression.compress.as_dict", lambda settings: {})
    monkeypatch.setattr("distill.jobs.compression.compress.describe_training", lambda settings: {})
    monkeypatch.setattr("distill.jobs.compression.trials.Trials", made)
    monkeypatch.setattr("distill.jobs.compression.budget_search.Search", stopped)
    with pytest.raises(Built):
        compress(tmp_path, recorded(settings, reads))
    assert missing("compress", reads, seen) == set()
