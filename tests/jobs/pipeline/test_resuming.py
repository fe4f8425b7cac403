"""A run that was stopped and goes on: what is refused, what is kept, and that it ends as if it had not stopped."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from distill.encoders.catalog.setting_files import named_paths
from distill.errors import DataError, InputError
from distill.jobs.pipeline import second_stage, shipping
from distill.jobs.pipeline.inputs import Inputs
from distill.jobs.pipeline.preparing import read_inputs
from distill.jobs.pipeline.resuming import (
    clear_unfinished,
    find_settings,
    hash_sources,
    require_resumable,
    require_same_data,
    resume_log,
)
from distill.jobs.pipeline.run import Run, save_measured
from distill.jobs.pipeline.second_stage import StudentStart
from distill.jobs.pipeline.steps import Engine
from distill.jobs.run import list_steps
from distill.settings.fields import Names
from distill.settings.sections import Settings
from distill.settings.store import change_settings, format_config, walk
from distill.students.shape import Shape
from distill.system.arrays import read_arrays
from distill.system.input_files import read_json
from distill.training.checkpoints import Checkpoint

FLAGS = "--loss softmax --set pairs.batches=x-y --set teacher.batch_size=4 --bm25-epochs 0 "
FLAGS += "--online-epochs 0 --set pairs.self_train=1 --set pairs.self_train_top=6 --epochs 0 "
FLAGS += "--set export.min_cosine=0.5 --max-drop 100 --no-lareqa"


@pytest.fixture
def stopped(tmp_path):
    """A maker of a stopped run's folder."""

    def make(**changed):
        settings = Settings(**changed)
        folder = tmp_path / "run"
        folder.mkdir()
        (folder / "config.toml").write_text(format_config(settings), encoding="utf-8")
        return settings, folder

    return make


def told(settings, teacher=None):
    """The sources of a run of these settings, as it notes them."""
    return hash_sources(named_paths(settings), settings.teacher.model, teacher)


def write_log(folder, *rows):
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def closed_log(folder):
    log = resume_log(folder)
    log.close()
    return log


def test_a_stopped_run_of_the_same_settings_is_one_and_those_that_differ_are_named(stopped):
    settings, folder = stopped(seed=7)
    settings.teacher.allow_weak = True
    require_resumable(format_config(settings), folder)
    assert find_settings(folder) == folder / "config.toml"
    settings.teacher.margin, settings.teacher.negatives = 0.5, 5
    with pytest.raises(InputError) as error:
        require_resumable(format_config(settings), folder)
    message = str(error.value)
    assert "teacher.margin" in message and "teacher.negatives" in message and "seed" not in message


def test_data_that_has_changed_is_refused(stopped, sample):
    settings, folder = stopped()
    write_log(folder, {"event": "data", "seconds": 0.0, "files": dict(sample.files)})
    require_same_data(folder, sample.files, told(settings))
    write_log(folder, {"event": "data", "seconds": 0.0, "files": {**sample.files, "questions.jsonl": "0" * 64}})
    for _ in range(2):
        with pytest.raises(InputError, match=r"\(questions.jsonl\)"):
            require_same_data(folder, sample.files, told(settings))
        # After a second stop too.
        resume_log(folder).close()


# For each kind of what a setting may name: the files that make it up, and the value that names them in a folder.
FILE, CORPUS, SAVED = ("file.jsonl",), ("documents.jsonl", "questions.jsonl"), ("encoder.keras",)
NAMED_BY = {
    Names.FILE: (FILE, lambda path: f"{path}/file.jsonl"),
    Names.FILES: (FILE, lambda path: (f"{path}/file.jsonl",)),
    Names.WEIGHTED_FILES: (FILE, lambda path: (f"{path}/file.jsonl=2",)),
    Names.LANGUAGE_FILES: (FILE, lambda path: (f"de={path}/file.jsonl",)),
    Names.DATASET: (CORPUS, str),
    Names.ENCODER: (SAVED, str),
    Names.ENCODERS: (SAVED, lambda path: (str(path),)),
    Names.TRANSLATORS: (("model.bin", "source.spm", "target.spm"), lambda path: (f"de={path}",)),
}
# The data set has hashes of its own, a fixed teacher is told by what was loaded, own text by the data set.
APART = ("data.dataset", "teacher.model", "teacher.own_text", "student.own_text")
NAMES = [
    name for name, _, item in walk(Settings()) if item.metadata["names"] is not Names.NOTHING and name not in APART
]


def sources(tmp_path, names=NAMES):
    """Settings that name a file or folder by each of these settings."""
    kinds = {name: item.metadata["names"] for name, _, item in walk(Settings())}
    settings = Settings()
    for name in names:
        parts, value = NAMED_BY[kinds[name]]
        (tmp_path / name).mkdir(exist_ok=True)
        for part in parts:
            (tmp_path / name / part).write_text("one\n", encoding="utf-8")
        section, _, key = name.partition(".")
        setattr(getattr(settings, section), key, value(tmp_path / name))
    return settings


def test_whatever_its_place_an_encoder_is_compared_by_its_own_content(sample, tmp_path):
    settings = sources(tmp_path, ["teacher.base"])
    before = told(settings)
    (tmp_path / "teacher.base" / "lir.npz").write_bytes(b"learned of it")
    assert told(settings) == before
    settings = change_settings(Settings(), {"teacher.model": "st:some/model"})
    one, other = (told(settings, SimpleNamespace(fingerprint=name)) for name in ("a" * 32, "b" * 32))
    assert one == {"teacher.model st:some/model": "a" * 32} and one != other


@pytest.mark.parametrize("name", NAMES)
def test_a_resume_is_refused_where_a_file_that_a_setting_names_has_changed(sample, tmp_path, name):
    settings = sources(tmp_path)
    row = {"event": "data", "seconds": 0.0, "files": dict(sample.files), "sources": told(settings)}
    write_log(tmp_path, row)
    require_same_data(tmp_path, sample.files, told(settings))
    with open(next((tmp_path / name).iterdir()), "ab") as file:
        file.write(b"more")
    with pytest.raises(InputError, match=rf"\({name} "):
        require_same_data(tmp_path, sample.files, told(settings))


def test_a_resume_is_refused_where_the_data_sets_own_text_has_changed(sample, tmp_path):
    settings = change_settings(Settings(), {"data.dataset": str(tmp_path / "data"), "student.own_text": True})
    (tmp_path / "data").mkdir()
    for name in ("parallel.tsv", "descriptions.jsonl"):
        (tmp_path / "data" / name).write_text("one\n", encoding="utf-8")
    before = told(settings)
    assert sorted(before) == [f"student.own_text {tmp_path}/data/{n}" for n in ("descriptions.jsonl", "parallel.tsv")]
    (tmp_path / "data" / "parallel.tsv").write_text("two\n", encoding="utf-8")
    assert told(settings) != before


def test_a_run_that_an_earlier_version_began_is_resumed_without_what_that_did_not_note(sample, tmp_path):
    now = told(sources(tmp_path))
    later = ("vocabulary.add_words ", "evaluation.peers ")
    before = {name: value for name, value in now.items() if not name.startswith(later)}
    assert len(before) < len(now)
    write_log(tmp_path, {"event": "data", "seconds": 0.0, "files": dict(sample.files), "sources": before})
    require_same_data(tmp_path, sample.files, now)


def test_with_a_budget_a_run_is_finished_when_its_search_is(stopped):
    settings, folder = stopped()
    settings.budget.max_size = "1MB"
    (folder / "config.toml").write_text(format_config(settings), encoding="utf-8")
    (folder / "metrics.json").write_text("{}", encoding="utf-8")
    require_resumable(format_config(settings), folder)
    (folder / "small").mkdir()
    (folder / "small" / "search.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="--config"):
        require_resumable(format_config(settings), folder)
    # Its checkpoints are still to be removed.
    (folder / "checkpoint").mkdir()
    require_resumable(format_config(settings), folder)


def test_a_log_that_was_cut_off_within_a_letter_is_read(stopped):
    _, folder = stopped()
    rows = '{"event": "resumed", "seconds": 1.0}\n{"event": "data", "files": {"Ä'.encode()
    (folder / "log.jsonl").write_bytes(rows[:-1])
    assert [row["event"] for row in closed_log(folder).rows] == ["resumed", "resumed"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{nonsense", "line 1"),
        ("[1]", "line 1"),
        ('{"seconds": 1.0}', "line 1: 'event'"),
        ('{"event": "data", "seconds": "1"}', "line 1: 'seconds'"),
    ],
)
def test_a_log_that_is_none_is_named(stopped, line, said):
    _, folder = stopped()
    (folder / "log.jsonl").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=said):
        resume_log(folder)


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_a_folder_of_something_else_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="config.toml"):
        find_settings(tmp_path / name)


@pytest.mark.parametrize("fixed", [False, True])
def test_what_is_whole_is_kept(stopped, fixed):
    _, folder = stopped()
    for name in ("teacher", "student", "bundle", ".student.0123abcd.aside", "checkpoint/teacher", "mine"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("", encoding="utf-8")
    (folder / "checkpoint" / "teacher" / ".state.npz.0123abcd.aside").write_bytes(b"half")
    names = [".env.template", ".gitignore.aside", ".name.x0123abcd.aside"]
    for name in names:
        (folder / name).write_text("a user's", encoding="utf-8")
    clear_unfinished(folder, fixed)
    kept = ["bundle", "checkpoint", "config.toml", "mine", "student", *([] if fixed else ["teacher"])]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*kept, *names])
    assert [path.name for path in (folder / "checkpoint" / "teacher").iterdir()] == ["file"]


def test_the_log_keeps_the_rows_of_what_is_kept(stopped):
    _, folder = stopped()
    for number in (0, 1):
        (folder / "self-training" / f"stage-{number}").mkdir(parents=True)
    (folder / "self-training" / "stage-0" / "stage.json").write_text("{}", encoding="utf-8")
    rows = [
        {"event": "evaluation", "seconds": 1.0, "encoder": "base"},
        {"event": "self-training stage 0", "seconds": 2.0, "step": 0},
        {"event": "self-training", "seconds": 3.0, "stage": 0},
        {"event": "self-training stage 1", "seconds": 4.0, "step": 0},
        {"event": "teacher", "seconds": 5.0, "step": 0},
    ]
    write_log(folder, *rows)
    with open(folder / "log.jsonl", "a", encoding="utf-8") as file:
        file.write('{"event": "self-tr')
    log = closed_log(folder)
    assert log.rows[:2] == rows[1:3] and [row["event"] for row in log.rows[2:]] == ["resumed"]
    assert log.rows[2]["seconds"] >= 3.0
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(map(json.loads, lines)) == log.rows


@pytest.mark.parametrize(
    ("events", "kept"),
    [
        (["teacher", "student"], 1),  # whose folder is there
        (["student", "student", "student", "student"], 3),  # those of its checkpoint
        (["evaluation base", "evaluation teacher"], 1),  # what was measured
        ([], 0),
    ],
)
def test_of_other_stages_the_rows_of_what_is_kept_are_kept(stopped, events, kept):
    _, folder = stopped()
    rows = [{"event": event.split()[0], "seconds": 1.0, "encoder": event.split()[-1]} for event in events]
    if rows:
        write_log(folder, *rows)
    (folder / "teacher").mkdir()
    Checkpoint(folder / "checkpoint" / "student").save({"rows": 3 * (kept == 3)}, {})
    save_measured(Checkpoint(folder / "checkpoint" / "measured-base"), {}, None)
    log = closed_log(folder)
    assert log.rows[:-1] == rows[:kept] and log.rows[-1]["event"] == "resumed"


def test_the_rows_of_a_measured_peer_with_a_blank_in_its_path_are_kept(stopped, sample):
    _, folder = stopped()
    row = {"event": "evaluation", "seconds": 1.0, "encoder": "./my encoder"}
    write_log(folder, row)
    save_measured(Run(Inputs(sample, ("en",)), folder).checkpoint("measured ./my encoder"), {}, None)
    assert closed_log(folder).rows[:-1] == [row]


def test_a_finished_teacher_is_not_trained_again(slim, slim_folder, sentence_data, tmp_path):
    settings = change_settings(Settings(), {"data.dataset": str(sentence_data), "teacher.base": str(slim_folder)})
    shutil.copytree(slim_folder, tmp_path / "teacher")
    run = Run(read_inputs(settings), tmp_path, resumed=True)
    # Whatever it was trained with: there is nothing to train here.
    [step] = [step for step in list_steps(run, StudentStart(Shape())) if step.name == "teacher"]
    teacher = Engine(0).go([step], {"base": None})
    for weight, other in zip(teacher.model.get_weights(), slim.model.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, other)


def test_a_student_that_learned_by_a_whitened_distance_leaves_its_matrices(slim, slim_folder, sentence_data, tmp_path):
    data = {"data.dataset": str(sentence_data), "teacher.base": str(slim_folder), "student.nested": ["8"]}
    settings = change_settings(Settings(), {**data, "student.epochs": 0, "student.distance": "whitened"})
    run = Run(read_inputs(settings), tmp_path)
    second_stage.make_student(run, StudentStart(Shape()), slim, slim)
    matrices = read_arrays(tmp_path / "whitening.npz")
    assert {name: matrix.shape for name, matrix in matrices.items()} == {
        name: (int(name), int(name)) for name in ("8", str(slim.dimension))
    }
    assert (tmp_path / "student").is_dir() and not (tmp_path / "checkpoint" / "student").exists()


def stop(*_):
    raise KeyboardInterrupt


def written(folder):
    paths = [*(folder / "teacher").rglob("*"), *(folder / "self-training").rglob("*")]
    return {path: path.stat().st_mtime_ns for path in paths}


def test_a_run_goes_on_with_its_stages_as_they_are_which_can_be_compared(
    distill, plain, static_folder, sentence_data, tmp_path, monkeypatch, capsys
):
    folder, flags = tmp_path / "run", ["--dataset", sentence_data, "--languages", "de", *FLAGS.split()]
    command = ["run", "--config", plain, "--base", static_folder, *flags, "--runs", tmp_path, "--name", "run"]
    # It is stopped when its teacher is saved.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(second_stage, "make_untrained", stop)
        assert distill(*command) == 130
    before = written(folder)
    # Nothing here reads the report, which takes seconds.
    monkeypatch.setattr(shipping, "write_report", lambda *arguments: None)
    assert distill(*command, "--resume", folder) == 0
    assert before == written(folder) and len(before) > 10
    metrics = read_json(folder / "metrics.json")
    # No epoch: stage 1 is as good as stage 0.
    assert [(row["stage"], row["kept"]) for row in metrics["self_training"]["stages"]] == [(0, True), (1, False)]
    assert list(metrics["splits"]["dev"]["encoders"]) == ["base", "teacher", "student", "bundle"]
    assert (folder / "student" / "encoder.keras").is_file()
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line)["event"] for line in lines]
    assert events.count("resumed") == 1 and events.count("self-training") == 2 and events[-1] == "done"
    assert events.count("self-training stage 0") == events.count("self-training stage 1") == 1
    assert distill("run", "--resume", folder) == 2
    assert "config.toml" in capsys.readouterr().err
    stages = [folder / "self-training" / f"stage-{number}" / "encoder" for number in (0, 1)]
    arguments = ["--dataset", sentence_data, "--split", "dev", "--json", tmp_path / "found.json"]
    assert distill("compare", *stages, *arguments) == 0


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--resume", "STOPPED", "--set", "teacher.margin=0.5"], "teacher.margin"),
        (["--resume", "STOPPED", "--name", "other"], "--name other"),
        (["--runs", "PARENT", "--name", "run"], "--resume "),
        *((["--runs", "PARENT/runs", "--name", name], f"--name {name}") for name in ("../x", ".", "a/../..", "/x")),
    ],
)
def test_what_cannot_go_on_is_refused(distill, stopped, capsys, flags, named):
    folder = stopped()[1]
    paths = {"STOPPED": folder, "PARENT": folder.parent, "PARENT/runs": folder.parent / "runs"}
    assert distill("run", *(paths.get(flag, flag) for flag in flags)) == 2
    assert named in capsys.readouterr().err
