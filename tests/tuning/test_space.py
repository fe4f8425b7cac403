"""What may be searched: CL-ReLKT's Table 1 by default, or a file, all of it checked."""

from dataclasses import replace

import pytest

from distill.errors import ConfigError
from distill.settings.sections import Settings, StudentSettings, TeacherSettings
from distill.tuning.space import Range, Values, applied, checked_space, default_space, read_space, start_of, value_of

# Copied from the paper's Table 1.
RATES = (1e-3, 5e-4, 1e-4, 1e-5, 1e-6)
COEFFICIENTS = (1, 1e-1, 1e-2, 1e-3, 1e-4)


def with_student(**values):
    return Settings(student=StudentSettings(**values))


def default(settings, stage, given=()):
    return checked_space(default_space(settings, stage, given), settings, stage)


def checked(space, settings=None, stage="student"):
    return checked_space(space, settings or Settings(), stage, "space.toml")


@pytest.fixture
def written(tmp_path):
    def write(text):
        (tmp_path / "space.toml").write_text(text, encoding="utf-8")
        return tmp_path / "space.toml"

    return write


# The default


def test_a_students_default_is_table_1():
    assert default(Settings(), "student") == {
        "student.learning_rate": Values(RATES),
        "student.gamma": Values((100, 1000, 10000)),
        "student.beta": Values(COEFFICIENTS),
        "student.omega": Values(COEFFICIENTS),
    }


def test_a_teachers_default_is_table_1():
    assert default(Settings(), "teacher") == {
        "teacher.learning_rate": Values(RATES),
        "teacher.margin": Range(0.1, 1.0, step=0.01),
        "teacher.negatives": Values((1, 2, 3, 5, 10)),
    }


def test_both_have_both():
    assert default(Settings(), "both") == default(Settings(), "teacher") | default(Settings(), "student")


def test_a_contrastive_teacher_has_a_temperature():
    settings = Settings(teacher=TeacherSettings(loss="contrastive"))
    assert "teacher.temperature" in default(settings, "teacher")


@pytest.mark.parametrize(
    ("objectives", "names"),
    [
        (("dd",), set()),
        (("qq",), {"beta"}),
        (("dq", "list"), {"omega", "list_weight", "list_temperature"}),
        (("softmax",), {"softmax_weight", "softmax_temperature"}),
    ],
)
def test_only_what_an_objective_uses_is_searched(objectives, names):
    found = default(with_student(objectives=objectives), "student")
    assert found.keys() == {f"student.{name}" for name in {"learning_rate", "gamma", *names}}


def test_what_was_given_is_not_searched():
    assert "student.gamma" not in default(Settings(), "student", ["student.gamma", "seed"])


def test_parallel_text_has_a_temperature_and_weights_where_none_were_given():
    found = default(with_student(parallel=("a.tsv", "./b/c.tsv", "d.tsv=2")), "student")
    assert {name for name in found if "parallel" in name} == {
        "student.parallel_temperature",
        "student.parallel.a.tsv",
        "student.parallel.b/c.tsv",
    }


def test_one_source_needs_no_weight():
    found = default(with_student(parallel=("a.tsv",)), "student")
    assert [name for name in found if "parallel" in name] == ["student.parallel_temperature"]


# A file


def test_a_file_has_tables_or_dotted_names(written):
    path = written(
        'student.lambda = [1, 0.5]\n"student.parallel.x/a.tsv" = [1]\n[teacher]\nmargin = {low = 0.1, high = 1}\n'
    )
    assert read_space(path) == {
        "student.lambda": [1, 0.5],
        "student.parallel.x/a.tsv": [1],
        "teacher.margin": {"low": 0.1, "high": 1},
    }


def test_a_file_that_is_no_toml_is_named(written):
    with pytest.raises(ConfigError, match=r"space.toml: invalid TOML"):
        read_space(written("student.beta = ["))


def test_values_become_what_the_setting_holds():
    found = checked(
        {
            "student.lambda": [1, 0.5],
            "student.objectives": [["qq"], ["qq", "list"]],
            "student.epochs": {"low": 2, "high": 8, "step": 2},
            "student.omega": {"low": 1, "high": 10, "log": True},
            "student.distance": ["cosine", "squared_l2"],
        }
    )
    assert found["student.lambda"].values == (1.0, 0.5) and type(found["student.lambda"].values[0]) is float
    assert found["student.objectives"].values == (("qq",), ("qq", "list"))
    assert found["student.epochs"] == Range(2, 8, step=2) and type(found["student.epochs"].step) is int
    assert found["student.omega"] == Range(1.0, 10.0, log=True) and type(found["student.omega"].low) is float
    assert found["student.distance"].plain() == ["cosine", "squared_l2"]
    assert Range(low=0, high=3).plain()["low"] == 0


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({}, "nothing to search"),
        ({"student.bta": [1]}, "unknown setting 'student.bta'; did you mean student.beta?"),
        ({"zzz": [1]}, "unknown setting 'zzz'; known: student.objectives, student.beta, "),
        ({"student.parallel.b.tsv": [1.0]}, "unknown setting 'student.parallel.b.tsv'; did you mean student.parallel"),
        ({"seed": [1, 2]}, "seed is the same for all trials of --stage student"),
        ({"teacher.margin": [0.1]}, "teacher.margin is the same for all trials of --stage student"),
        ({"student.dev_unit": ["maxp"]}, "student.dev_unit is the same for all trials"),
        ({"student.parallel": [["a.tsv"]]}, "student.parallel is the same for all trials"),
        ({"student.beta": []}, "student.beta: expected a list of different values, got []"),
        ({"student.beta": [1, 1.0]}, "student.beta: expected a list of different values"),
        ({"student.beta": 0.5}, "student.beta: expected a list of values, or low and high, and log or step, got 0.5"),
        ({"student.beta": {"low": 1}}, "student.beta: expected a list of values, or low and high"),
        ({"student.beta": {"low": 1, "high": 2, "to": 3}}, "expected a list of values, or low and high"),
        ({"student.beta": {"low": "1", "high": 2}}, "all of them numbers"),
        ({"student.beta": {"low": True, "high": 2}}, "all of them numbers"),
        ({"student.beta": {"low": 2, "high": 1}}, "low below high"),
        ({"student.beta": {"low": 0, "high": 1, "log": True}}, "with log above 0"),
        ({"student.beta": {"low": 0, "high": 1, "log": 3}}, "low below high"),
        ({"student.beta": {"low": 0, "high": 1, "step": 0}}, "the step above 0"),
        ({"student.beta": {"low": 0.1, "high": 1, "step": 0.1, "log": True}}, "the step above 0"),
        ({"student.epochs": {"low": 1, "high": 4, "step": 0.5}}, "a step that is a whole number, got 0.5"),
        ({"student.beta": [1, -1]}, "space.toml: student.beta: expected a number from 0.0"),
        ({"student.beta": {"low": -1, "high": 1}}, "space.toml: student.beta: expected a number from 0.0"),
        ({"student.epochs": [1.5]}, "space.toml: student.epochs: expected a whole number, got 1.5"),
        ({"student.distance": ["l1"]}, "space.toml: student.distance: expected one of squared_l2, cosine, got 'l1'"),
        ({"student.objectives": [["qq"], ["zz"]]}, "space.toml: student.objectives: expected some of qq, dd"),
        ({"student.train_table": {"low": 0, "high": 1}}, "student.train_table: expected true or false"),
        ({"student.parallel.a.tsv": [1, 0]}, "student.parallel.a.tsv: expected a weight above 0, got 0"),
        ({"student.parallel.a.tsv": ["1"]}, "student.parallel.a.tsv: expected a weight above 0, got '1'"),
    ],
)
def test_what_cannot_be_searched_is_refused(space, said):
    with pytest.raises(ConfigError) as left:
        checked(space, with_student(parallel=("a.tsv",)))
    assert said in str(left.value) and str(left.value).startswith("space.toml")


# A trial's settings


def test_a_trials_settings_have_its_values_and_else_the_fixed_ones():
    fixed = with_student(epochs=3)
    found = applied(fixed, {"student.lambda": 0.5, "student.objectives": ("qq",), "student.gamma": 10.0})
    assert found == replace(fixed, student=replace(fixed.student, lambda_=0.5, objectives=("qq",), gamma=10.0))
    assert fixed == with_student(epochs=3)


def test_a_weight_is_one_of_its_file():
    fixed = with_student(parallel=("x/a.tsv", "b.tsv=2", "c.tsv=3"))
    found = applied(fixed, {"student.parallel.x/a.tsv": 0.25, "student.parallel.b.tsv": 1})
    assert found.student.parallel == ("x/a.tsv=0.25", "b.tsv=1.0", "c.tsv=3")
    assert value_of(found, "student.parallel.x/a.tsv") == 0.25


def test_values_that_do_not_go_together_are_refused():
    with pytest.raises(ConfigError, match="student.quantised_epochs: expected at most student.epochs, which is 1"):
        applied(Settings(), {"student.epochs": 1, "student.quantised_epochs": 2})


def test_the_start_is_what_the_settings_have_and_the_space_holds():
    settings = with_student(beta=0.5, omega=0.3, gamma=3.0, objectives=("qq", "list"), lambda_=0.35)
    space = checked(
        {
            "student.beta": [1.0, 0.5],
            "student.omega": [1.0, 0.5],
            "student.gamma": {"low": 1, "high": 10, "log": True},
            "student.lambda": {"low": 0.1, "high": 1, "step": 0.1},
            "student.list_weight": {"low": 0.1, "high": 1.0, "step": 0.1},
            "student.objectives": [["qq"], ["qq", "list"]],
            "student.train_table": [True, False],
        },
        settings,
    )
    assert start_of(space, settings) == {
        "student.beta": 0.5,
        "student.gamma": 3.0,
        "student.list_weight": 1.0,
        "student.objectives": "qq,list",
        "student.train_table": True,
    }
