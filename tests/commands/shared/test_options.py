"""Flags and assignments made from the settings: what they set, what they leave, what they refuse."""

import json

import click
import pytest
from click.testing import CliRunner

from distill.commands.shared.command import command as make_command
from distill.commands.shared.options import (
    FiniteRange,
    list_given_settings,
    settings_options,
    take_settings,
    write_figures,
)
from distill.errors import ConfigError, InputError
from distill.settings.assignments import honoured_fields
from distill.settings.fields import SET
from distill.settings.sections import Settings, StudentSettings
from distill.settings.stages import LossSettings
from distill.settings.store import walk


def parse(*arguments, command="run", whole=(), config=None):
    """The settings that a command makes of these arguments; what is none stays."""

    @click.command()
    @settings_options(command, *whole)
    @click.option("--output")
    def function(**values):
        return take_settings(values, config), values

    settings, rest = function.main(arguments, standalone_mode=False)
    assert rest == {"output": None}
    return settings


def run(*arguments):
    @make_command()
    @settings_options("run")
    def command(**values):
        take_settings(values)

    return CliRunner().invoke(command, arguments)


def test_a_flag_sets_its_setting_and_no_other():
    assert parse() == Settings()
    expected = Settings()
    expected.teacher.loss = "contrastive"
    assert parse("--loss", "contrastive") == expected
    settings = parse("--seed", "7", "--dataset", "xquad", "--epochs", "0")
    assert (settings.seed, settings.data.dataset, settings.student) == (7, "xquad", StudentSettings(epochs=0))
    lists = {"": (), "de,ru": ("de", "ru"), " de , ru ": ("de", "ru"), "de,,ru,": ("de", "ru")}
    assert {text: parse("--languages", text).data.languages for text in lists} == lists
    assert [parse(flag).shape.static for flag in ("--static", "--no-static")] == [True, False]


def test_set_reaches_every_setting():
    settings = parse(
        "--set", "student.losses.qq=0", "--set", "teacher.batch_size=3", "--set", "student.train_table=false"
    )
    assert settings.student == StudentSettings(losses=LossSettings(qq=0.0), train_table=False)
    assert settings.teacher.batch_size == 3
    for name, section, item in walk(Settings()):
        value = getattr(section, item.name)
        text = ",".join(value) if isinstance(value, tuple) else str(value).lower() if item.type is bool else value
        if name != "recipe" and name in honoured_fields("run"):
            assert parse("--set", f"{name}={text}") == Settings()


def test_a_flag_and_set_of_one_setting_are_two_answers():
    with pytest.raises(ConfigError, match="^--set student.epochs: --epochs "):
        parse("--epochs", "1", "--set", "student.epochs=2")


def test_what_chooses_epochs_or_uses_a_setting_may_be_given_beside_it():
    beside = "--score", "maxp", "--set", "teacher.unit=maxp"
    assert parse(*beside).with_dev_units().student.dev_unit == "maxp"
    beside = "--set", "student.objectives=qq,softmax", "--set", "student.losses.softmax.weight=2"
    assert parse(*beside).student.losses.softmax.weight == 2.0
    with pytest.raises(ConfigError, match=r"losses\.dd"):
        parse("--set", "student.objectives=qq", "--set", "student.losses.dd=2")


def test_a_value_that_is_set_is_checked_as_in_a_config():
    with pytest.raises(ConfigError, match="^student.losses.qq: "):
        parse("--set", "student.losses.qq=-1")
    with pytest.raises(ConfigError, match="^student.quantised_epochs: "):
        parse("--set", "student.quantised_epochs=3", "--epochs", "2")


def test_help_all_has_flags_with_help_and_default_and_names_the_other_settings():
    output = run("--help-all").output
    text = " ".join(output.split())
    assert all(f"[default: {default}]" in text for default in ("qq,dd,dq", "muse", "100.0"))
    for name, item in honoured_fields("run").items():
        if item.metadata["offer"] is SET:
            assert name in text and item.metadata["flag"].split("/")[0] + " " not in text
        else:
            assert all(f"{flag} " in text for flag in item.metadata["flag"].split("/"))
        assert item.metadata["help"].split()[0] in text
    flags = ["--seed", "\n  --dataset", "\n  --teacher ", "--loss", "--objectives", "\n  --table", "\n  student.gamma"]
    places = [output.index(flag) for flag in flags]
    assert places == sorted(places)


def test_a_command_has_the_flags_that_it_honours_and_those_of_a_whole_section():
    assert parse("--loss", "contrastive", command="teach").teacher.loss == "contrastive"
    assert parse("--channels", "3", command="reduce", whole=("shape",)).shape.channels == 3
    for flag, command in (
        ("--table", "teach"),
        ("--epochs", "teach"),
        ("--student", "transfer"),
        ("--channels", "run"),
    ):
        with pytest.raises(click.NoSuchOption):
            parse(flag, "1", command=command)


def test_a_config_file_stands_where_nothing_is_given(tmp_path):
    config = tmp_path / "config.toml"
    with pytest.raises(InputError, match=r"config\.toml"):
        parse(config=config)
    config.write_text('seed = 3\n[data]\nlanguages = ["hi"]\n[teacher]\nmargin = 0.5\ntrained_weights = "table"\n')
    settings = parse(config=config)
    assert (settings.seed, settings.data.languages, settings.teacher.margin) == (3, ("hi",), 0.5)
    assert settings.teacher.trained_weights == "table"
    settings = parse("--set", "teacher.margin=0.9", "--languages", "de", config=config)
    assert (settings.seed, settings.data.languages, settings.teacher.margin) == (3, ("de",), 0.9)
    # A value wins that is equal to the default too.
    assert parse("--set", "teacher.margin=0.3", "--seed", "0", config=config) == parse(
        "--languages", "hi", "--set", "teacher.trained_weights=table"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seed", "one"), "one"),
        (("--table", "int8"), "'uint8', 'int8-row', 'int4', 'pq4', 'pq8', 'int4-pq5', 'int4-pq3', 'float32'"),
        (("--epoch", "1"), "--epochs"),
        # A flag of an earlier version.
        (("--gamma", "1"), "--set student.gamma=VALUE"),
        (("--lambda", "1"), "--set student.losses.dd=VALUE"),
        (("--no-student-table",), "--set student.train_table=false"),
    ],
)
def test_wrong_usage_leaves_with_2_and_says_why(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.output


def test_given_are_the_settings_that_flags_and_assignments_name():
    command = click.command()(settings_options("run")(lambda **values: list_given_settings(values)))
    arguments = [
        "--set",
        "student.losses.qq=1.0",
        "--set",
        "student.train_table=false",
        "--languages",
        "de",
        "--seed",
        "0",
    ]
    names = ["seed", "data.languages", "student.losses.qq", "student.train_table"]
    assert [command.main(each, standalone_mode=False) for each in (arguments, [])] == [names, []]


def test_a_training_that_is_asked_of_a_fixed_teacher_is_refused(tmp_path):
    fixed = ("--teacher-model", "e5")
    for flags in (("--loss", "contrastive"), ("--bm25-epochs", "2"), ("--set", "teacher.margin=0.5")):
        assert parse(*flags)
        with pytest.raises(ConfigError, match="^teacher.*--teacher-model"):
            parse(*fixed, *flags)
    # What is read of it, no training at all, and what a recipe or a config trains otherwise.
    parse(*fixed, "--teacher", "de", "--set", "teacher.centre=true", "--bm25-epochs", "0", "--allow-weak-teacher")
    assert parse("--recipe", "paper", *fixed).teacher.model == "e5"
    config = tmp_path / "config.toml"
    config.write_text('[teacher]\nmodel = "e5"\nmargin = 0.5\n', encoding="utf-8")
    assert parse(config=config).teacher.margin == 0.5
    with pytest.raises(ConfigError, match="^teacher.negatives"):
        parse("--set", "teacher.negatives=7", config=config)


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "1e999", "-1"])
def test_a_range_has_no_number_that_cannot_be_counted_with(text):
    with pytest.raises(click.BadParameter):
        FiniteRange(0).convert(text, None, None)
    assert FiniteRange(0).convert("1e3", None, None) == 1000.0


@pytest.mark.parametrize("text", ["nan", "inf"])
def test_no_setting_is_a_number_that_cannot_be_counted_with(text):
    numbers = [name for name, _, item in walk(Settings()) if item.type is float]
    assert numbers
    for name in numbers:
        with pytest.raises(InputError):
            parse("--set", f"{name}={text}")


FIGURES = {"p@1": 0.5, "name": "Müller"}


@pytest.mark.parametrize("path", [None, "-", "figures.json"])
def test_a_table_a_file_and_standard_output(path, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_figures(path, FIGURES, lambda: print("a table"))
    out = capsys.readouterr().out
    if path == "-":
        assert json.loads(out) == FIGURES and not list(tmp_path.iterdir())
    else:
        assert out == "a table\n"
        written = [json.loads(file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()]
        assert written == ([FIGURES] if path else [])


def test_the_file_is_written_though_nobody_reads_the_table(tmp_path):
    def show():
        raise SystemExit(1)

    with pytest.raises(SystemExit):
        write_figures(str(tmp_path / "figures.json"), FIGURES, show)
    assert json.loads((tmp_path / "figures.json").read_text(encoding="utf-8")) == FIGURES
