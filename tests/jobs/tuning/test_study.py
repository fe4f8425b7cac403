"""Real studies of Optuna, of a training that costs nothing."""

import re

import pytest

from distill.errors import InputError, TrainingError
from distill.jobs.tuning.space import SearchedSettings, apply_values, check_space, list_grid
from distill.jobs.tuning.study import STARTUP, TrialRow, Tuning, final_score, find_best, format_values
from distill.settings.sections import Settings, StudentSettings, TeacherSettings
from distill.settings.stages import LossSettings
from distill.settings.store import check_settings
from distill.training.log import RunLog

optuna = pytest.importorskip("optuna")
STUDENT = StudentSettings(losses=LossSettings(qq=0.1), epochs=4)
SETTINGS = SearchedSettings(
    TeacherSettings(), STUDENT, lambda teacher, student: check_settings(Settings(teacher=teacher, student=student))
)
SPACE = check_space(
    {
        "student.losses.qq": [1.0, 0.1, 0.01],
        "student.losses.dq": {"low": 0.01, "high": 1.0, "log": True},
        "student.batch_size": {"low": 8, "high": 64, "step": 8},
        "student.objectives": [["qq"], ["qq", "dq"]],
        "student.train_table": [True, False],
    },
    SETTINGS,
    "student",
)
MADE_OF = {"stage": "student", "student.epochs": 4, "texts": "f" * 64}


def quality(student):
    """The best there is: both weights 1, 64 questions."""
    return student.losses.qq / 4 + student.losses.dq / 4 + student.batch_size / 256


def train(settings, watch):
    """Two epochs that come to the `quality`, by halves."""
    for epoch in range(3):
        watch(epoch, {"p@1": quality(settings.student) * (1 - 0.5**epoch), "mrr@10": 0.0})


def tuning(path, seed=3, space=SPACE, made_of=MADE_OF, log=None):
    return Tuning(path, made_of, space, SETTINGS, seed, log)


def values(rows):
    return [(row.values, row.scores, row.state) for row in rows if row.state != "failed"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Of one search that nothing disturbs."""
    return tuning(tmp_path_factory.mktemp("study") / "a.db").run(train, 11)


def test_trials_have_values_of_the_space_at_first_the_settings_own_and_come_to_what_these_reach(rows):
    assert [row.number for row in rows] == list(range(11))
    assert {row.state for row in rows} <= {"complete", "pruned"}
    # The space holds 32 questions, and not these objectives.
    assert {"student.losses.qq": 0.1, "student.losses.dq": 1.0, "student.batch_size": 32}.items() <= rows[
        0
    ].values.items()
    for row in rows:
        assert list(row.values) == list(SPACE) and row.values["student.objectives"] in (("qq",), ("qq", "dq"))
        assert row.values["student.losses.qq"] in (1.0, 0.1, 0.01) and 0.01 <= row.values["student.losses.dq"] <= 1.0
        assert row.values["student.batch_size"] in range(8, 65, 8) and type(row.values["student.batch_size"]) is int
        assert type(row.values["student.train_table"]) is bool
        if row.state == "complete":
            student = apply_values(SETTINGS, row.values).student
            expected = [quality(student) * (1 - 0.5**epoch) for epoch in range(3)]
            assert row.scores == pytest.approx(expected) and row.p1 == pytest.approx(expected[-1])
    assert len({str(row.values) for row in rows}) > 8
    assert sum(row.state == "complete" for row in rows) >= STARTUP


def test_another_seed_has_others(rows, tmp_path):
    other = tuning(tmp_path / "b.db", seed=4).run(train, 3)
    assert other[0].values["student.losses.qq"] == 0.1
    assert [row.values for row in other[1:]] != [row.values for row in rows[1:3]]


def test_the_same_search_has_the_same_trials_and_goes_on_to_as_many_as_are_asked_for_in_all(rows, tmp_path):
    trained = []

    def counted(settings, watch):
        trained.append(settings)
        train(settings, watch)

    for trials in (2, 2, 11, 5):
        again = tuning(tmp_path / "b.db").run(counted, trials)
    assert len(trained) == 11 and again == rows


def test_a_trial_that_is_interrupted_fails_and_does_not_count(rows, tmp_path):
    left = [0] * 6 + [1] + [0] * 4 + [1]

    def interrupted(settings, watch):
        watch(0, {"p@1": 0.0, "mrr@10": 0.0})
        if left.pop(0):
            raise KeyboardInterrupt
        for epoch in range(1, 3):
            watch(epoch, {"p@1": quality(settings.student) * (1 - 0.5**epoch), "mrr@10": 0.0})

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            tuning(tmp_path / "b.db").run(interrupted, 11)
    trials = tuning(tmp_path / "b.db").run(train, 11)
    assert [row.number for row in trials if row.state == "failed"] == [6, 11]
    assert len(trials) == 13 and values(trials) == values(rows)
    # What was interrupted is what is tried next.
    assert trials[6].values == trials[7].values and trials[6].scores == [0.0]


def test_a_trial_whose_process_was_killed_is_failed_when_the_search_goes_on(rows, tmp_path):
    tuning(tmp_path / "b.db").run(train, 2)
    study = optuna.load_study(study_name=None, storage=f"sqlite:///{tmp_path / 'b.db'}")
    study.ask().suggest_categorical("student.losses.qq", [1.0, 0.1, 0.01])
    trials = tuning(tmp_path / "b.db").run(train, 4)
    assert [row.state for row in trials][2] == "failed" and trials[2].p1 is None
    assert values(trials) == values(rows[:4])


def test_a_trial_worse_than_the_median_stops_early(tmp_path):
    epochs = []

    def slow(settings, watch):
        good = len(epochs) < STARTUP
        epochs.append(0)
        # All start alike.
        watch(0, {"p@1": 0.3, "mrr@10": 0.0})
        for epoch in range(1, 3):
            epochs[-1] = epoch
            watch(10 * epoch, {"p@1": 0.5 + epoch / 10 if good else 0.4, "mrr@10": 0.0})

    trials = tuning(tmp_path / "b.db").run(slow, STARTUP + 2)
    assert epochs == [2] * STARTUP + [1, 1]
    assert [row.state for row in trials] == ["complete"] * STARTUP + ["pruned"] * 2
    assert trials[-1].scores == [0.3, 0.4] and trials[-1].p1 == 0.4


def test_a_grid_takes_each_of_its_points_once_prunes_none_and_goes_on_at_the_point_that_was_interrupted(tmp_path):
    grid = list_grid({name: SPACE[name] for name in ("student.losses.qq", "student.train_table")})
    points, left = [(qq, trains) for qq in (1.0, 0.1, 0.01) for trains in (True, False)], [0, 0, 1, 0, 0, 0, 0]

    def interrupted(settings, watch):
        if left.pop(0):
            raise KeyboardInterrupt
        # The sixth is below the median of the others.
        for epoch in range(3):
            watch(epoch, {"p@1": epoch * (1 + len(left)), "mrr@10": 0.0})

    def search():
        return Tuning(tmp_path / "b.db", MADE_OF, {name: SPACE[name] for name in grid[0]}, SETTINGS, grid=grid)

    with pytest.raises(KeyboardInterrupt):
        search().run(interrupted, 6)
    rows = [row for row in search().run(interrupted, 6) if row.state != "failed"]
    assert [tuple(row.values.values()) for row in rows] == points and not left
    assert {row.state for row in rows} == {"complete"}


def test_a_loss_that_is_no_number_ends_a_trial_and_not_the_search(tmp_path):
    def diverges(settings, watch):
        watch(0, {"p@1": 0.9, "mrr@10": 0.0})
        if settings.student.losses.qq == 0.1:
            raise TrainingError("student: the loss is nan at step 7; try a lower learning rate")

    trials = tuning(tmp_path / "b.db").run(diverges, 4)
    for row in trials:
        assert row.state == ("pruned" if row.values["student.losses.qq"] == 0.1 else "complete")
    assert trials[0].reason.startswith("student: ")
    assert find_best(trials).values["student.losses.qq"] != 0.1


def test_values_that_do_not_go_together_are_pruned_untrained_and_the_log_tells_of_each_trial(tmp_path):
    space = check_space({"student.epochs": [1], "student.quantised_epochs": [0, 4]}, SETTINGS, "student")
    log = RunLog()
    trials = tuning(tmp_path / "b.db", space=space, log=log).run(train, 5)
    for row in trials:
        assert row.state == ("pruned" if row.values["student.quantised_epochs"] else "complete")
    assert {row.state for row in trials} == {"pruned", "complete"}
    reason = next(row.reason for row in trials if row.state == "pruned")
    assert reason.startswith("student.quantised_epochs: ")
    assert [row["event"] for row in log.rows] == ["trial", "trial end"] * 5
    assert [row["values"] for row in log.rows[::2]] == [row.values for row in trials]
    assert [row["p@1"] for row in log.rows[1::2]] == [row.p1 for row in trials]


def test_a_study_of_other_settings_is_refused_with_what_differs(tmp_path):
    tuning(tmp_path / "b.db").run(train, 1)
    other = {**MADE_OF, "student.epochs": 5, "texts": "e" * 64, "space of student.losses.qq": [1.0]}
    with pytest.raises(InputError) as left:
        tuning(tmp_path / "b.db", made_of=other)
    assert re.search(r"b\.db .* student\.epochs .*4.*5; texts; .* student\.losses\.qq .*\[1\.0\];", str(left.value))
    assert len(tuning(tmp_path / "b.db").rows()) == 1


def test_a_file_that_is_no_study_is_refused_and_left_as_it_is_and_so_is_a_name_that_sqlite_would_cut(tmp_path):
    text = "not a database, but a text of some length\n" * 50
    (tmp_path / "b.db").write_text(text)
    for name in ("b.db", "a?b.db"):
        with pytest.raises(InputError, match=f"{re.escape(name)}: "):
            tuning(tmp_path / name)
    assert (tmp_path / "b.db").read_text() == text and len(list(tmp_path.iterdir())) == 1


def test_the_best_is_the_first_of_those_that_came_to_their_end():
    came = [(0.5, "complete"), (0.7, "complete"), (0.9, "pruned"), (0.7, "complete"), (None, "failed")]
    rows = [TrialRow(number, state, {}, p, []) for number, (p, state) in enumerate(came)]
    assert find_best(rows).number == 1
    with pytest.raises(TrainingError, match="--trials"):
        find_best(rows[2:3])


def test_what_counts_is_the_last_phase():
    floats = [{"p@1": 0.3}, {"p@1": 0.9}, {"p@1": 0.8}]
    assert final_score(floats) == 0.9
    assert final_score([*floats, {"p@1": 0.6, "quantised": True}, {"p@1": 0.5, "quantised": True}]) == 0.6
    assert final_score([*floats, {"p@1": 0.4, "averaged": 3}]) == 0.4


def test_values_are_shown_short():
    values = {"a": 1e-5, "b": 100.0, "c": ("qq", "dq"), "d": True, "e": 8, "f": "cosine"}
    assert format_values(values) == "a 1e-05, b 100, c qq,dq, d true, e 8, f cosine"
