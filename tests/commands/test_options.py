"""Flags made from the settings: what they set, what they leave, what they refuse."""

import click
import pytest
from click.testing import CliRunner

from distill.commands.options import FiniteRange, given, settings_from, settings_options
from distill.errors import InputError
from distill.settings.sections import Settings, StudentSettings
from distill.settings.store import walk

ALL = ("", "data", "teacher", "pairs", "student", "scorer", "vocabulary", "shape", "training", "export")
ALL += ("translation", "evaluation", "budget")


def parse(*arguments, sections=ALL, config=None):
    """The settings that a command with these sections makes of these arguments; what is none stays."""

    @click.command()
    @settings_options(*sections)
    @click.option("--output")
    def command(**values):
        return settings_from(values, config), values

    settings, rest = command.main(arguments, standalone_mode=False)
    assert rest == {"output": None}
    return settings


def run(*arguments):
    @click.command()
    @settings_options(*ALL)
    def command(**values):
        settings_from(values)

    return CliRunner().invoke(command, arguments)


def test_a_flag_sets_its_setting_and_no_other():
    assert parse() == Settings()
    expected = Settings()
    expected.teacher.margin = 0.9
    assert parse("--margin", "0.9") == expected
    settings = parse("--seed", "7", "--dataset", "xquad", "--gamma", "2", "--loss", "contrastive", "--lambda", "0.5")
    assert (settings.seed, settings.data.dataset, settings.student.gamma) == (7, "xquad", 2.0)
    assert (settings.teacher.loss, settings.student.lambda_) == ("contrastive", 0.5)
    # Zero is a value, and an empty list is one.
    assert parse("--epochs", "0", "--beta", "0").student == StudentSettings(epochs=0, beta=0.0)
    lists = {"": (), "de,ru": ("de", "ru"), " de , ru ": ("de", "ru"), "de,,ru,": ("de", "ru")}
    assert {text: parse("--languages", text).data.languages for text in lists} == lists
    assert [parse(flag).teacher.train_table for flag in ("--teacher-table", "--no-teacher-table")] == [True, False]
    settings = parse("--teacher-batch-size", "3", "--student-batch-size", "5", "--no-student-table")
    assert (settings.teacher.batch_size, settings.student.batch_size) == (3, 5)
    assert (settings.teacher.train_table, settings.student.train_table) == (True, False)


def test_a_recipes_leave_for_a_weak_teacher_is_not_of_a_fixed_one(tmp_path):
    assert parse("--recipe", "small").teacher.allow_weak
    assert not parse("--recipe", "small", "--teacher-model", "e5").teacher.allow_weak
    assert parse("--recipe", "small", "--teacher-model", "e5", "--allow-weak-teacher").teacher.allow_weak
    config = tmp_path / "config.toml"
    for line, leave in (("", False), ("allow_weak = true\n", True)):
        config.write_text(f'recipe = "small"\n[teacher]\nmodel = "e5"\n{line}', encoding="utf-8")
        assert parse(config=config).teacher.allow_weak is leave


def test_every_setting_has_its_flag_its_help_and_its_default_in_their_order():
    output = run("--help").output
    text = " ".join(output.split())
    assert all(f"[default: {default}]" in text for default in ("qq,dd,dq", "0.3", "muse"))
    for _, _, item in walk(Settings()):
        for flag in item.metadata["flag"].split("/"):
            assert f"{flag} " in text
        assert item.metadata["help"].split()[0] in text
    flags = ["--seed", "--dataset", "--teacher ", "--margin", "--objectives", "--gamma", "--min-cosine", "--threads"]
    places = [output.index(flag) for flag in flags]
    assert places == sorted(places)


def test_a_command_has_the_flags_of_its_sections_only():
    # Or single flags of a section.
    single = ("", "export.precision", "export.table")
    assert parse("--margin", "0.9", sections=("teacher",)).teacher.margin == 0.9
    settings = parse("--table", "int4", "--seed", "3", sections=single)
    assert (settings.export.table, settings.seed) == ("int4", 3)
    teachers = [(flag, ("teacher",)) for flag in ("--seed", "--dataset", "--gamma", "--threads")]
    for flag, sections in (*teachers, ("--threads", single)):
        with pytest.raises(click.NoSuchOption):
            parse(flag, "1", sections=sections)


def test_a_config_file_stands_where_no_flag_is_given(tmp_path):
    config = tmp_path / "config.toml"
    with pytest.raises(InputError, match=r"config\.toml"):
        parse(config=config)
    config.write_text('seed = 3\n[data]\nlanguages = ["hi"]\n[teacher]\nmargin = 0.5\ntrain_table = false\n')
    settings = parse(config=config)
    assert (settings.seed, settings.data.languages, settings.teacher.margin) == (3, ("hi",), 0.5)
    assert settings.teacher.train_table is False
    settings = parse("--margin", "0.9", "--teacher-table", "--languages", "de", config=config)
    assert (settings.seed, settings.data.languages, settings.teacher.margin) == (3, ("de",), 0.9)
    assert settings.teacher.train_table is True
    # A flag wins that is equal to the default too.
    assert parse("--margin", "0.3", config=config).teacher.margin == 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seed", "one"), "one"),
        (("--margin", "wide"), "wide"),
        (("--student-dev-unit", "sentence"), "'document', 'passage', 'maxp'"),
        (("--table", "int8"), "'uint8', 'int8-row', 'int4', 'pq4', 'pq8', 'int4-pq5', 'float32'"),
        (("--margn", "1"), "--margin"),
    ],
)
def test_wrong_usage_leaves_with_2_and_says_why(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.output


def test_given_are_the_settings_whose_flags_are_there():
    command = click.command()(settings_options(*ALL)(lambda **values: given(values)))
    flags = ["--beta", "1.0", "--lambda", "0", "--no-student-table", "--languages", "de", "--seed", "0"]
    names = ["seed", "data.languages", "student.beta", "student.lambda", "student.train_table"]
    assert [command.main(each, standalone_mode=False) for each in (flags, [])] == [names, []]


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "1e999", "-1"])
def test_a_range_has_no_number_that_cannot_be_counted_with(text):
    with pytest.raises(click.BadParameter):
        FiniteRange(0).convert(text, None, None)
    assert FiniteRange(0).convert("1e3", None, None) == 1000.0


@pytest.mark.parametrize("text", ["nan", "inf"])
def test_no_setting_is_a_number_that_cannot_be_counted_with(text):
    numbers = [item for _, _, item in walk(Settings()) if item.type is float]
    assert numbers
    for item in numbers:
        with pytest.raises(InputError):
            parse(item.metadata["flag"], text)
