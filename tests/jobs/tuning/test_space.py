"""What may be searched: CL-ReLKT's Table 1 by default, or a file, all of it checked."""

from dataclasses import replace

import pytest

from distill.errors import ConfigError
from distill.jobs.tuning.space import (
    Range,
    SearchedSettings,
    Values,
    apply_values,
    check_space,
    default_space,
    list_grid,
    read_space,
    read_value,
    suggest_start,
)
from distill.settings.sections import Settings, StudentSettings, TeacherSettings
from distill.settings.stages import LossSettings
from distill.settings.store import check_settings

# Copied from the paper's Table 1.
RATES = (1e-3, 5e-4, 1e-4, 1e-5, 1e-6)
COEFFICIENTS = (1, 1e-1, 1e-2, 1e-3, 1e-4)


def whole(teacher, student):
    return check_settings(Settings(teacher=teacher, student=student))


def searched(**stages):
    return SearchedSettings(**{"teacher": TeacherSettings(), "student": StudentSettings(), **stages, "whole": whole})


def with_student(**values):
    return searched(student=StudentSettings(**values))


def default(settings, stage, given=()):
    return check_space(default_space(settings, stage, given), settings, stage)


def checked(space, settings=None, stage="student"):
    return check_space(space, settings or searched(), stage, "space.toml")


def test_the_default_is_table_1():
    student, teacher = default(searched(), "student"), default(searched(), "teacher")
    assert student == {
        "student.learning_rate": Values(RATES),
        "student.gamma": Values((100, 1000, 10000)),
        "student.losses.qq": Values(COEFFICIENTS),
        "student.losses.dq": Values(COEFFICIENTS),
    }
    assert teacher == {
        "teacher.learning_rate": Values(RATES),
        "teacher.margin": Range(0.1, 1.0, step=0.01),
        "teacher.negatives": Values((1, 2, 3, 5, 10)),
    }
    assert default(searched(), "both") == teacher | student
    assert "teacher.temperature" in default(searched(teacher=TeacherSettings(loss="contrastive")), "teacher")
    # What was given is not searched.
    assert "student.gamma" not in default(searched(), "student", ["student.gamma", "seed"])
    with pytest.raises(ConfigError, match="^the space: "):
        default(with_student(objectives=("dd",)), "student", ["student.gamma", "student.learning_rate"])


def test_the_grid_of_table_1_has_each_combination_and_a_range_without_steps_has_none():
    student, teacher = list_grid(default(searched(), "student")), list_grid(default(searched(), "teacher"))
    assert len({tuple(point.values()) for point in student}) == len(student) == 5 * 3 * 5 * 5
    assert len(teacher) == 5 * 91 * 5 and teacher[0]["teacher.margin"] == 0.1 and teacher[-1]["teacher.margin"] == 1.0
    with pytest.raises(ConfigError):
        list_grid(checked({"student.losses.qq": {"low": 0.1, "high": 1.0}}))


@pytest.mark.parametrize(
    ("objectives", "names"),
    [
        (("dd",), set()),
        (("qq",), {"losses.qq"}),
        (("dq", "list"), {"losses.dq", "losses.list.weight", "losses.list.temperature"}),
        (("softmax",), {"losses.softmax.weight", "losses.softmax.temperature"}),
    ],
)
def test_only_what_an_objective_uses_is_searched(objectives, names):
    space = default(with_student(objectives=objectives), "student")
    assert space.keys() == {f"student.{name}" for name in {"learning_rate", "gamma", *names}}


@pytest.mark.parametrize(
    "parallel, names", [(("a.tsv", "./b/c.tsv", "d.tsv=2"), ("parallel.a.tsv", "parallel.b/c.tsv")), (("a.tsv",), ())]
)
def test_parallel_text_has_a_temperature_and_where_it_needs_them_weights(parallel, names):
    space = default(with_student(parallel=parallel), "student")
    expected = {f"student.{name}" for name in ("parallel_temperature", *names)}
    assert {name for name in space if "parallel" in name} == expected


def test_a_file_has_tables_or_dotted_names_and_one_that_is_no_toml_is_named(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(
        'student.losses.dd = [1, 0.5]\n"student.parallel.x/a.tsv" = [1]\n[teacher]\nmargin = {low = 0.1, high = 1}\n'
    )
    assert read_space(path) == {
        "student.losses.dd": [1, 0.5],
        "student.parallel.x/a.tsv": [1],
        "teacher.margin": {"low": 0.1, "high": 1},
    }
    path.write_text("student.losses.qq = [")
    with pytest.raises(ConfigError, match="space.toml: "):
        read_space(path)


def test_values_become_what_the_setting_holds():
    space = checked(
        {
            "student.losses.dd": [1, 0.5],
            "student.objectives": [["qq"], ["qq", "list"]],
            "student.epochs": {"low": 2, "high": 8, "step": 2},
            "student.losses.dq": {"low": 1, "high": 10, "log": True},
            "student.distance": ["cosine", "squared_l2"],
        }
    )
    assert space["student.losses.dd"].values == (1.0, 0.5) and type(space["student.losses.dd"].values[0]) is float
    assert space["student.objectives"].values == (("qq",), ("qq", "list"))
    assert space["student.epochs"] == Range(2, 8, step=2) and type(space["student.epochs"].step) is int
    assert space["student.losses.dq"] == Range(1.0, 10.0, log=True) and type(space["student.losses.dq"].low) is float
    assert space["student.distance"].plain() == ["cosine", "squared_l2"]
    assert Range(low=0, high=3).plain()["low"] == 0


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({}, ""),
        ({"student.losses.qqq": [1]}, "'student.losses.qqq'; .* student.losses.qq"),
        ({"zzz": [1]}, "'zzz'; .* student.objectives, student.losses.qq, "),
        ({"student.parallel.b.tsv": [1.0]}, "'student.parallel.b.tsv'; .* student.parallel"),
        ({"seed": [1, 2]}, "seed .* --stage student"),
        ({"teacher.margin": [0.1]}, "teacher.margin .* --stage student"),
        ({"student.dev_unit": ["maxp"]}, "student.dev_unit .* --stage student"),
        ({"student.parallel": [["a.tsv"]]}, "student.parallel .* --stage student"),
        ({"student.losses.qq": []}, r"student.losses.qq: .* \[\]"),
        ({"student.losses.qq": [1, 1.0]}, r"student.losses.qq: .* \[1, 1\.0\]"),
        ({"student.losses.qq": 0.5}, "student.losses.qq: .* 0.5"),
        *(
            ({"student.losses.qq": part}, "student.losses.qq: .* low .* high")
            for part in (
                {"low": 1},
                {"low": 1, "high": 2, "to": 3},
                {"low": "1", "high": 2},
                {"low": True, "high": 2},
                {"low": 2, "high": 1},
                {"low": 0, "high": 1, "log": True},
                {"low": 0, "high": 1, "log": 3},
                {"low": 0, "high": 1, "step": 0},
                {"low": 0.1, "high": 1, "step": 0.1, "log": True},
            )
        ),
        ({"student.epochs": {"low": 1, "high": 4, "step": 0.5}}, "student.epochs: .* 0.5"),
        ({"student.losses.qq": [1, -1]}, "student.losses.qq: .* -1.0"),
        ({"student.losses.qq": {"low": -1, "high": 1}}, "student.losses.qq: .* -1.0"),
        ({"student.epochs": [1.5]}, "student.epochs: .* 1.5"),
        ({"student.distance": ["l1"]}, "student.distance: .* 'l1'"),
        ({"student.objectives": [["qq"], ["zz"]]}, "student.objectives: .* zz"),
        ({"student.train_table": {"low": 0, "high": 1}}, "student.train_table: "),
        ({"student.parallel.a.tsv": [1, 0]}, "student.parallel.a.tsv: .* 0"),
        ({"student.parallel.a.tsv": ["1"]}, "student.parallel.a.tsv: .* '1'"),
    ],
)
def test_what_cannot_be_searched_is_refused(space, said):
    with pytest.raises(ConfigError, match=f"^space.toml.*{said}"):
        checked(space, with_student(parallel=("a.tsv",)))


def test_a_trials_settings_have_its_values_and_else_the_fixed_ones():
    fixed = with_student(epochs=3)
    trial = apply_values(fixed, {"student.losses.dd": 0.5, "student.objectives": ("qq",), "student.gamma": 10.0})
    expected = replace(fixed.student, losses=LossSettings(dd=0.5), objectives=("qq",), gamma=10.0)
    assert trial == replace(fixed, student=expected)
    assert fixed == with_student(epochs=3)
    with pytest.raises(ConfigError, match="^student.quantised_epochs: "):
        apply_values(searched(), {"student.epochs": 1, "student.quantised_epochs": 2})
    # A weight is one of its file.
    fixed = with_student(parallel=("x/a.tsv", "b.tsv=2", "c.tsv=3"))
    trial = apply_values(fixed, {"student.parallel.x/a.tsv": 0.25, "student.parallel.b.tsv": 1})
    assert trial.student.parallel == ("x/a.tsv=0.25", "b.tsv=1.0", "c.tsv=3")
    assert read_value(trial, "student.parallel.x/a.tsv") == 0.25


def test_the_start_is_what_the_settings_have_and_the_space_holds():
    settings = with_student(losses=LossSettings(qq=0.5, dq=0.3, dd=0.35), gamma=3.0, objectives=("qq", "list"))
    space = checked(
        {
            "student.losses.qq": [1.0, 0.5],
            "student.losses.dq": [1.0, 0.5],
            "student.gamma": {"low": 1, "high": 10, "log": True},
            "student.losses.dd": {"low": 0.1, "high": 1, "step": 0.1},
            "student.losses.list.weight": {"low": 0.1, "high": 1.0, "step": 0.1},
            "student.objectives": [["qq"], ["qq", "list"]],
            "student.train_table": [True, False],
        },
        settings,
    )
    assert suggest_start(space, settings) == {
        "student.losses.qq": 0.5,
        "student.gamma": 3.0,
        "student.losses.list.weight": 1.0,
        "student.objectives": "qq,list",
        "student.train_table": True,
    }
