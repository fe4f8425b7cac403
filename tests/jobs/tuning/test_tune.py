"""`distill tune` as a user runs it, on real trainings of a small encoder."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from distill.data.contexts import add_titles
from distill.data.parallel import Parallel
from distill.encoders.catalog.loading import load_keras_encoder
from distill.errors import InputError
from distill.jobs.pipeline.inputs import Inputs
from distill.jobs.pipeline.preparing import prepare, read_inputs
from distill.jobs.pipeline.second_stage import StudentStart, make_student
from distill.jobs.tuning.space import SearchedSettings
from distill.jobs.tuning.tune import Search, Students, list_dependencies, reweight_sources, tune
from distill.settings.sections import DataSettings, Settings, StudentSettings, TeacherSettings
from distill.settings.store import as_dict, load_settings
from distill.students.shape import Shape
from distill.system.files import hold_lock
from distill.system.input_files import read_json
from distill.training.session import Session
from distill.training.stages.triplet_stage import teach

pytest.importorskip("optuna")
SPACE = """[student]
learning_rate = [1e-2, 1e-3, 1e-4]
objectives = [["qq", "dq"], ["list"]]
losses.qq = {low = 0.1, high = 1.0}
"""


@pytest.fixture(scope="module")
def fixed(static_folder, sentence_data):
    """What all searches here have in common: two languages, a teacher of one epoch, students of one."""
    epochs = ["--bm25-epochs", "1", "--online-epochs", "0", "--epochs", "1", "--set", "student.batch_size=4"]
    return ["tune", "--base", static_folder, "--dataset", sentence_data, "--languages", "de", *epochs]


class Left:
    """What a search of two trials left whose second trial was interrupted, and that went on."""

    def __init__(self, folder, fixed):
        self.folder, self.calls = folder, []
        (folder / "space.toml").write_text(SPACE, encoding="utf-8")
        self.command = [*fixed, "--space", folder / "space.toml", "--study", folder / "x.db", "--trials", "2"]
        self.command += ["--output", folder / "best.toml"]


@pytest.fixture(scope="module")
def left(distill, fixed, tmp_path_factory):
    search = Left(tmp_path_factory.mktemp("tune"), fixed)
    trained = Students.train

    def interrupted(self, settings, watch):
        search.calls.append("student")

        def watched(step, scores):
            watch(step, scores)
            if len(search.calls) == 3:
                raise KeyboardInterrupt

        trained(self, settings, watched)

    def counted(*arguments):
        search.calls.append("teacher")
        return teach(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Students, "train", interrupted)
        patch.setattr("distill.training.stages.student_job.teach", counted)
        search.codes = [distill(*search.command)]
        search.then = sorted(path.name for path in search.folder.iterdir())
        search.codes.append(distill(*search.command))
    search.trials = read_json(search.folder / "best.trials.json")
    return search


def test_an_interrupted_search_goes_on_with_its_teacher_and_what_was_searched_and_how_is_kept(left):
    assert left.codes == [130, 0] and left.calls == ["teacher", "student", "student", "student"]
    assert left.then == ["space.toml", "x-log.jsonl", "x-teacher", "x.db"]
    assert [row["state"] for row in left.trials["trials"]] == ["complete", "failed", "complete"]
    assert left.trials["split"] == "dev" and left.trials["unit"] == "document"
    assert left.trials["languages"] == ["en", "de"] and left.trials["stage"] == "student"
    assert left.trials["space"]["student.objectives"] == [["qq", "dq"], ["list"]]
    assert left.trials["settings"]["student"]["epochs"] == 1
    for row in left.trials["trials"][::2]:
        # The start and one epoch; four questions in two languages.
        assert len(row["scores"]) == 2 and row["p@1"] == max(row["scores"])
        assert all((8 * score) % 1 == 0 for score in row["scores"])


def test_a_study_that_another_process_searches_is_refused(sentence_data, tmp_path):
    """It took the other's trial for one that was broken off, and both went on."""
    settings, study = Settings(data=DataSettings(str(sentence_data))), tmp_path / "x.db"
    settings.teacher = TeacherSettings(base="multi12-static", bm25_epochs=0, online_epochs=0)
    settings.student.epochs = 0
    with hold_lock(tmp_path / ".x.db.lock", ""), pytest.raises(InputError, match=f"^{study}: "):
        tune(settings, Search("student", 1), study, tmp_path / "best.toml")
    assert not study.exists()


def test_the_best_settings_are_the_fixed_ones_with_the_best_trials_values_and_come_to_the_same(left):
    best = next(row for row in left.trials["trials"] if row["number"] == left.trials["best"])
    expected = left.trials["settings"]
    values = {name.removeprefix("student."): value for name, value in best["values"].items()}
    expected["student"]["losses"]["qq"] = values.pop("losses.qq")
    expected["student"] |= values
    assert as_dict(load_settings(left.folder / "best.toml")) == expected
    first = (left.folder / "best.toml").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith(f"# distill tune, trial {best['number']}: ") and f": {100 * best['p@1']:.1f}, " in first
    # A run of these comes to the same.
    run = prepare(load_settings(left.folder / "best.toml"), left.folder / "run")
    teacher = load_keras_encoder(left.folder / "x-teacher")
    make_student(run, StudentStart(Shape()), teacher, teacher)
    assert [row["p@1"] for row in run.log.of("student")] == best["scores"]


def test_a_teacher_that_is_given_is_the_students_start(distill, left, tmp_path):
    command = [*left.command, "--study", tmp_path / "y.db", "--output", tmp_path / "best.toml", "--epochs", "0"]
    assert distill(*command, "--teacher-path", left.folder / "x-teacher") == 0
    rows, others = read_json(tmp_path / "best.trials.json")["trials"], left.trials["trials"][::2]
    # The same search but for its epochs: the same values, and the score of the untrained student.
    assert [row["values"] for row in rows] == [row["values"] for row in others]
    assert [row["scores"] for row in rows] == [row["scores"][:1] for row in others]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best.toml", "best.trials.json", "y-log.jsonl", "y.db"]
    assert "x-teacher; " in (tmp_path / "best.toml").read_text(encoding="utf-8").splitlines()[1]


def test_all_trials_are_printed_again_without_training(distill, left, capsys):
    before = {path: path.read_bytes() for path in left.folder.glob("best.*")}
    capsys.readouterr()
    assert distill(*left.command) == 0
    told = capsys.readouterr()
    assert {path: path.read_bytes() for path in left.folder.glob("best.*")} == before
    rows = {cells[0]: cells for cells in (re.findall(r"[^\s│]+", line) for line in told.out.splitlines()) if cells}
    for row in left.trials["trials"]:
        cells = rows[str(row["number"])]
        assert cells[1] == f"{row['values']['student.learning_rate']:g}"
        assert cells[2] == ",".join(row["values"]["student.objectives"])
        assert cells[-1] == ("best" if row["number"] == left.trials["best"] else row["state"])
        assert cells[-2] == f"{100 * row['p@1']:.1f}"
    assert " en, de" in told.out
    assert "epoch" not in told.err


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--epochs", "2"], "student.epochs "),
        (["--seed", "1"], "seed "),
        (["--set", "student.document_tokens=0"], "student.document_tokens "),
        (["--stage", "both"], ": stage "),
        (["--dataset", "sample"], ": texts;"),
        (["--base", "muse"], ": base;"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_another_search_is_not_mixed_in(distill, left, changed, said, capsys):
    before = (left.folder / "best.trials.json").read_bytes()
    capsys.readouterr()
    assert distill(*left.command, *changed) == 2
    told = capsys.readouterr().err
    assert "x.db " in told and said in told
    assert (left.folder / "best.trials.json").read_bytes() == before


def test_another_place_of_the_data_and_what_comes_after_training_are_free(distill, left, tmp_path, sentence_data):
    (tmp_path / "moved").symlink_to(sentence_data)
    # The teacher's language is always one of them.
    same = ["--dataset", tmp_path / "moved", "--languages", "en"]
    assert distill(*left.command, *same, "--max-drop", "7", "--no-lareqa") == 0


@pytest.mark.parametrize(
    ("stage", "names", "measured"),
    [
        ("teacher", {"learning_rate", "margin", "negatives"}, "unit maxp, mean over en:"),
        ("both", {"margin", "gamma"}, "unit document, mean over en, de:"),
    ],
)
def test_a_teacher_or_both_are_tuned(distill, stage, names, measured, fixed, tmp_path):
    flags = [
        "--set",
        "teacher.negatives=2",
        "--set",
        "teacher.learning_rate=0.001",
        "--set",
        "student.learning_rate=0.001",
    ]
    # What trains a teacher is the same in both.
    flags += ["--objectives", "dd", "--epochs", "0"] if stage == "both" else ["--bm25-epochs", "0"]
    names = names - ({"learning_rate", "negatives"} if stage == "teacher" else set())
    command = [*fixed, *flags, "--stage", stage, "--trials", "1", "--study", tmp_path / "x.db"]
    assert distill(*command, "--output", tmp_path / "best.toml") == 0
    [row] = read_json(tmp_path / "best.trials.json")["trials"]
    assert {name.partition(".")[2] for name in row["values"]} == names
    # Of what is untrained there is one.
    assert row["state"] == "complete" and len(row["scores"]) == 1
    text = (tmp_path / "best.toml").read_text(encoding="utf-8")
    assert measured in text and load_settings(tmp_path / "best.toml").teacher.negatives == 2
    events = [json.loads(line)["event"] for line in (tmp_path / "x-log.jsonl").read_text().splitlines()]
    assert events == ["trial", "teacher", *(["teacher", "student"] if stage == "both" else []), "trial end"]
    assert not (tmp_path / "x-teacher").exists()


def test_a_trial_draws_parallel_text_by_its_own_weights_and_temperature(slim, sentence_data, tmp_path, monkeypatch):
    (tmp_path / "a.tsv").write_text("en\tde\n" + "".join(f"one {n}\teins {n}\n" for n in range(4)), encoding="utf-8")
    (tmp_path / "b.tsv").write_text("en\tde\none\teins\ntwo\t\nthree\t\nfour\t\n", encoding="utf-8")
    parallel = f"{tmp_path / 'a.tsv'}=1", f"{tmp_path / 'b.tsv'}="
    settings = Settings(
        data=DataSettings(dataset=str(sentence_data), languages=("de",)),
        student=StudentSettings(parallel=(parallel[0], f"{parallel[1]}1")),
    )
    seen = []
    monkeypatch.setattr(
        "distill.training.stages.student_job.train_towards", lambda given, *rest: seen.append(given.lines.chances)
    )
    students = Students(read_inputs(settings), slim, Session(), Shape())
    students.train(SearchedSettings(settings.teacher, settings.student, None))
    student = StudentSettings(parallel=(parallel[0], f"{parallel[1]}3"), parallel_temperature=1.0)
    students.train(SearchedSettings(settings.teacher, student, None))
    # Groups: en and de of a, four pairs each; en of b with four and de with one.
    np.testing.assert_allclose(seen[0], [0.25, 0.25, 2 / 6, 1 / 6], rtol=1e-6)
    np.testing.assert_allclose(seen[1], [0.125, 0.125, 0.6, 0.15], rtol=1e-6)


def test_a_config_that_cannot_be_written_is_refused_before_the_search(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(InputError, match="/full"):
        tune(Settings(data=DataSettings(dataset="nowhere")), Search("student"), tmp_path / "x.db", tmp_path / "full")


def test_a_study_notes_the_descriptions_and_titles_that_its_teacher_alone_learns(sample, slim_folder):
    inputs = Inputs(sample, ("en",), teacher=TeacherSettings(base=str(slim_folder), own_text=True))
    titled = [replace(inputs, titled=add_titles(replace(sample, titles=(name,)))) for name in ("Nile", "Danube")]
    first, second = (list_dependencies(one, {}, {}, "teacher") for one in titled)
    assert [name for name in first if first[name] != second[name]] == ["descriptions"]


def test_the_data_sets_own_parallel_text_has_no_weight_of_a_trials():
    sources = [Parallel(name, 1.0, ("a",), ("de",), ("b",)) for name in ("one", "two", "parallel.tsv")]
    weighted = reweight_sources(sources, StudentSettings(parallel=("one=2", "two=0.5"), own_text=True))
    assert [(source.name, source.weight) for source in weighted] == [("one", 2), ("two", 0.5), ("parallel.tsv", 1)]


@pytest.fixture
def refused(distill, fixed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text("student.losses.qq = [1.0, 0.5]\n", encoding="utf-8")
    (tmp_path / "bad.toml").write_text("student.losses.qq = [1.0, -0.5]\n", encoding="utf-8")

    def call(*arguments):
        before = sorted(tmp_path.rglob("*"))
        capsys.readouterr()
        assert distill(*fixed, "--study", "x.db", "--output", "best.toml", *arguments) == 2
        told = capsys.readouterr()
        assert sorted(tmp_path.rglob("*")) == before
        assert told.out == "" and told.err.startswith("error: ") and told.err.count("\n") == 1
        return told.err

    return call


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--trials", "0"], "--trials"),
        (["--stage", "twice"], "--stage"),
        (["--space", "nowhere.toml"], "nowhere.toml: "),
        (["--space", "bad.toml"], "bad.toml: student.losses.qq: "),
        (["--space", "space.toml", "--set", "student.losses.qq=0.5"], "student.losses.qq: "),
        (["--space", "space.toml", "--stage", "teacher"], "space.toml: student.losses.qq "),
        (["--teacher-path", "nowhere"], ": nowhere"),
        (["--teacher-path", "muse", "--stage", "both"], "--teacher-path "),
        (["--languages", "xx"], " xx: "),
        (["--set", "shape.channels=99"], "a static student"),
        (["--max-size", "small"], "--max-size: "),
        (["--study", "space.toml/x.db"], " space.toml/x.db: "),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_wrong_input_is_refused(refused, arguments, said):
    assert said in refused(*arguments)


def test_without_optuna_nothing_is_begun(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert "[tune]'" in refused()


def test_a_teacher_of_a_study_that_is_gone_is_not_taken(refused, slim_folder, tmp_path):
    (tmp_path / "x-teacher").symlink_to(slim_folder)
    assert "x-teacher" in refused()
