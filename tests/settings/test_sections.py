"""Settings: defaults, limits, and the file that holds them all."""

import math
from dataclasses import replace

import pytest
import tomlkit

from distill.errors import ConfigError, InputError
from distill.settings.sections import Settings, Work
from distill.settings.store import as_dict, check, free_of, load_settings, save_settings, walk
from distill.settings.store import changed as with_values


def load(folder, text):
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return load_settings(folder / "config.toml")


# defaults and names


def test_the_defaults_are_allowed():
    settings = Settings()
    assert check(settings) is settings


def test_two_settings_share_no_section():
    first, second = Settings(), Settings()
    first.teacher.margin = 1.0
    assert second.teacher.margin == 0.3


def test_the_papers_values_are_the_defaults():
    # CL-ReLKT, Table 1 and Equation 2.
    settings = Settings()
    assert settings.teacher.margin == 0.3
    assert settings.student.objectives == ("qq", "dd", "dq")
    assert (settings.student.beta, settings.student.lambda_, settings.student.omega) == (1.0, 1.0, 1.0)
    assert settings.student.gamma == 100.0


def test_the_export_asks_for_eight_bits_and_one_point():
    # No least cosine of its own: the gate's, which depends on the table.
    assert vars(Settings().export) == {
        "precision": "int8",
        "table": "uint8",
        "min_cosine": 0.0,
        "max_drop": 1.0,
        "threads": 1,
    }


EXPORT_LIMITS = {"export.min_cosine", "export.max_drop"}
MEASURED_LATER = {
    "evaluation.lareqa", "budget.max_size", "budget.max_ms", "budget.shapes", "budget.new_languages",
    "budget.new_pieces", "budget.corpus",
}  # fmt: skip


@pytest.mark.parametrize(
    ("work", "free"),
    [
        (Work.RUN, {"teacher.allow_weak"} | EXPORT_LIMITS),
        (
            Work.COMPRESSION,
            {"data.dataset", "teacher.allow_weak", "export.table", "budget.max_size", "budget.max_ms", "budget.shapes"}
            | {"budget.corpus"}
            | EXPORT_LIMITS,
        ),
        (
            Work.STUDY | Work.TRIAL,
            {"data.dataset", "data.languages", "teacher.base", "export.threads"} | EXPORT_LIMITS | MEASURED_LATER,
        ),
    ],
)
def test_a_setting_is_free_where_kept_work_does_not_depend_on_it(work, free):
    assert free_of(work) == free


def test_a_trial_may_have_its_own_of_what_it_trains_alone():
    names = {name for name, _, _ in walk(Settings()) if name.split(".")[0] in ("teacher", "student")}
    common = {"language", "base", "unit", "model", "centre", "triplets"}
    assert names & free_of(Work.TRIAL) == {f"teacher.{name}" for name in common} | {
        "student.units",
        "student.dev_unit",
        "student.parallel",
    }


def test_lists_of_known_parts():
    parts = {name: item.metadata["options"] for name, _, item in walk(Settings()) if item.type is tuple}
    assert {name: known for name, known in parts.items() if known} == {
        "student.objectives": ("qq", "dd", "dq", "list", "softmax"),
        "student.units": ("document", "passage"),
        "budget.shapes": ("full", "small", "static", "tiny"),
        "pairs.filters": ("passage", "answer", "parallel"),
    }
    assert [name for name, _, item in walk(Settings()) if item.metadata["may_be_empty"]] == ["pairs.filters"]


def test_walk_names_settings_as_the_file_does():
    names = [name for name, _, _ in walk(Settings())]
    assert names[0] == "seed"
    assert {"data.dataset", "teacher.margin", "student.lambda", "export.min_cosine"} <= set(names)
    assert len(set(names)) == len(names)


def test_walk_gives_the_section_and_field_of_each_setting():
    settings = Settings()
    settings.student.lambda_ = 2.5
    found = {name: getattr(section, item.name) for name, section, item in walk(settings)}
    assert found["student.lambda"] == 2.5
    assert found["seed"] == 0


def test_no_two_settings_share_a_flag():
    flags = [flag for _, _, item in walk(Settings()) for flag in item.metadata["flag"].split("/")]
    assert len(set(flags)) == len(flags)
    assert all(flag.startswith("--") for flag in flags)


def test_every_setting_says_what_it_is():
    assert [name for name, _, item in walk(Settings()) if not item.metadata["help"].strip()] == []


# limits


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("seed", 2**32),
        ("teacher.margin", -0.1),
        ("teacher.margin", 2.1),
        ("teacher.temperature", 0.0),
        ("teacher.negatives", 0),
        ("teacher.learning_rate", -1e-4),
        ("teacher.learning_rate", 1.5),
        ("teacher.batch_size", 0),
        ("teacher.bm25_epochs", -1),
        ("teacher.online_epochs", -1),
        ("student.beta", -1.0),
        ("student.lambda_", -1.0),
        ("student.omega", -1.0),
        ("student.gamma", -1.0),
        ("student.batch_size", 0),
        ("student.epochs", -1),
        ("student.quantised_epochs", -1),
        ("student.patience", 0),
        ("student.evaluate_every", -1),
        ("student.document_tokens", -1),
        ("export.min_cosine", 1.01),
        ("export.min_cosine", -1.01),
        ("export.max_drop", 100.5),
        ("export.max_drop", -0.5),
        ("export.threads", 0),
    ],
)
def test_a_number_outside_its_limits_is_named(name, value):
    message = rf"^{name.rstrip('_')}: expected a number from .* to .*, got {value}$"
    with pytest.raises(ConfigError, match=message):
        check(changed(name, value))


def changed(name, value):
    settings = Settings()
    section, _, key = name.rpartition(".")
    setattr(getattr(settings, section) if section else settings, key, value)
    return settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", 2**32 - 1),
        ("teacher.margin", 0.0),
        ("teacher.margin", 2.0),
        ("teacher.negatives", 1),
        ("student.epochs", 0),
        ("export.min_cosine", -1.0),
        ("export.min_cosine", 1.0),
        ("export.max_drop", 100.0),
    ],
)
def test_the_limits_themselves_are_allowed(name, value):
    check(changed(name, value))


def test_only_a_fixed_teacher_is_centred():
    settings = Settings()
    settings.teacher.centre = True
    with pytest.raises(ConfigError, match="teacher.centre: --centre is of a fixed teacher; name one with --teacher-"):
        check(settings)
    settings.teacher.model = "e5"
    assert check(settings) is settings


def test_averaged_epochs_are_some_of_the_epochs():
    assert check(changed("student.averaged_epochs", 10))
    expected = "^student.averaged_epochs: expected at most student.epochs, which is 10, got 11$"
    with pytest.raises(ConfigError, match=expected):
        check(changed("student.averaged_epochs", 11))


def test_a_fixed_teacher_learns_no_triplets():
    settings = changed("teacher.model", "e5")
    settings.teacher.triplets = ("pairs.tsv",)
    with pytest.raises(ConfigError, match="^teacher.triplets: a fixed teacher is not trained; leave --triplets or"):
        check(settings)


def test_an_index_of_passages_knows_no_documents():
    settings = Settings()
    settings.teacher.mining, settings.teacher.positives = "faiss", "maxp"
    with pytest.raises(ConfigError, match="^teacher.mining: --positives maxp looks at all passages; leave it or"):
        check(settings)
    settings.teacher.positives = "gold"
    assert check(settings) is settings


def test_quantised_epochs_are_some_of_the_epochs():
    settings = changed("student.quantised_epochs", 10)
    assert check(settings).student.quantised_epochs == settings.student.epochs
    with pytest.raises(
        ConfigError, match="^student.quantised_epochs: expected at most student.epochs, which is 10, got 11$"
    ):
        check(changed("student.quantised_epochs", 11))


@pytest.mark.parametrize(("precision", "table"), [("int8", "float32"), ("float32", "int4")])
def test_quantised_epochs_round_something(precision, table):
    settings = changed("student.quantised_epochs", 1)
    settings.export = replace(settings.export, precision=precision, table=table)
    check(settings)
    settings.export = replace(settings.export, precision="float32", table="float32")
    with pytest.raises(
        ConfigError,
        match="^student.quantised_epochs: nothing is rounded in float32 with a table in float32; give 0, or",
    ):
        check(settings)
    settings.student.quantised_epochs = 0
    check(settings)


@pytest.mark.parametrize("name", ["teacher.margin", "student.beta", "export.min_cosine"])
def test_not_a_number_is_refused(name):
    with pytest.raises(ConfigError, match=f"^{name}: expected a number"):
        check(changed(name, math.nan))


@pytest.mark.parametrize(
    ("name", "value", "options"),
    [
        ("data.split_by", "language", "question, document"),
        ("teacher.loss", "hinge", "triplet, contrastive, softmax"),
        ("teacher.unit", "sentence", "document, passage, maxp"),
        ("student.distance", "l1", "squared_l2, cosine"),
        ("student.dev_unit", "", "document, passage, maxp"),
        ("export.precision", "int4", "int8, float32"),
        ("export.table", "int8", "uint8, int8-row, int4, pq4, pq8, float32"),
    ],
)
def test_a_word_that_is_no_option_is_shown_the_options(name, value, options):
    with pytest.raises(ConfigError, match=f"^{name}: expected one of {options}, got '{value}'$"):
        check(changed(name, value))


@pytest.mark.parametrize(
    ("name", "value", "got"),
    [
        ("student.objectives", ("qq", "xx"), "qq, xx"),
        ("student.objectives", (), "none"),
        ("student.objectives", ("qq", "qq"), "qq, qq"),
        ("student.units", ("maxp",), "maxp"),
        ("student.units", (), "none"),
    ],
)
def test_a_list_with_an_unknown_part_is_shown_the_parts(name, value, got):
    known = {"student.objectives": "qq, dd, dq, list, softmax", "student.units": "document, passage"}[name]
    with pytest.raises(ConfigError, match=f"^{name}: expected some of {known}, each once, got {got}$"):
        check(changed(name, value))


@pytest.mark.parametrize("value", [("en", 3), ("en", ""), (["en"],)])
def test_languages_are_names(value):
    with pytest.raises(ConfigError, match="^data.languages: expected a list of names, got "):
        check(changed("data.languages", value))


def test_no_languages_means_all():
    assert check(changed("data.languages", ())).data.languages == ()


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("seed", 1.0, "a whole number"),
        ("seed", True, "a whole number"),
        ("seed", "1", "a whole number"),
        ("teacher.margin", True, "a number"),
        ("teacher.margin", "0.3", "a number"),
        ("teacher.train_table", 1, "true or false"),
        ("teacher.base", 1, "a text"),
        ("data.languages", "de", "a list of names"),
    ],
)
def test_a_value_of_another_type_is_named(name, value, kind):
    with pytest.raises(ConfigError, match=f"^{name}: expected {kind}.*, got {value!r}$"):
        check(changed(name, value))


# the file


def test_settings_come_back_from_their_file(tmp_path):
    settings = Settings(seed=5)
    settings.data = replace(settings.data, dataset="xquad", languages=("ru", "hi"), split_by="document")
    settings.teacher = replace(settings.teacher, margin=0.7, train_table=False, unit="passage")
    settings.student = replace(settings.student, objectives=("qq",), lambda_=0.25, gamma=1.0, document_tokens=0)
    settings.export = replace(settings.export, threads=4, precision="float32", table="int8-row", min_cosine=0.99)
    save_settings(settings, tmp_path / "config.toml")
    assert load_settings(tmp_path / "config.toml") == settings


def test_the_file_holds_every_setting_under_its_plain_name(tmp_path):
    save_settings(Settings(), tmp_path / "config.toml")
    stored = tomlkit.parse((tmp_path / "config.toml").read_text()).unwrap()
    names = {
        name if table is stored else f"{head}.{name}"
        for head, table in [("", stored), *((key, value) for key, value in stored.items() if isinstance(value, dict))]
        for name, value in table.items()
        if not isinstance(value, dict)
    }
    assert names == {name for name, _, _ in walk(Settings())}
    assert stored["student"]["lambda"] == 1.0
    assert stored["student"]["objectives"] == ["qq", "dd", "dq"]


def test_notes_stand_as_comments_above_the_settings(tmp_path):
    save_settings(Settings(seed=5), tmp_path / "config.toml", ["Found on dev.", "Trial 3."])
    assert (tmp_path / "config.toml").read_text().startswith("# Found on dev.\n# Trial 3.\nseed = 5\n")
    assert load_settings(tmp_path / "config.toml") == Settings(seed=5)


def test_other_values_by_their_names_make_a_copy():
    settings = Settings()
    found = with_values(settings, {"seed": 3, "student.lambda": 2, "student.objectives": ["qq", "list"]})
    assert (found.seed, found.student.lambda_, found.student.objectives) == (3, 2.0, ("qq", "list"))
    assert settings == Settings() and found.teacher == settings.teacher
    with pytest.raises(ConfigError, match="student.beta: expected a number from 0.0"):
        with_values(settings, {"student.beta": -1.0})
    with pytest.raises(ConfigError, match=r"space, \[student\]: unknown setting 'bta'; did you mean beta\?"):
        with_values(settings, {"student.bta": 1.0}, "space")


def test_as_dict_is_plain():
    values = as_dict(Settings())
    assert values["student"]["lambda"] == 1.0
    assert "lambda_" not in values["student"]
    assert values["student"]["units"] == ["document", "passage"]
    assert values["data"]["languages"] == []


def test_what_the_file_leaves_out_keeps_its_default(tmp_path):
    assert load(tmp_path, "[teacher]\nmargin = 0.5\n") == changed("teacher.margin", 0.5)


def test_an_empty_file_is_the_defaults(tmp_path):
    assert load(tmp_path, "") == Settings()


def test_a_whole_number_is_taken_for_a_fraction(tmp_path):
    margin = load(tmp_path, "[teacher]\nmargin = 1\n").teacher.margin
    assert (margin, type(margin)) == (1.0, float)


def test_lists_become_tuples(tmp_path):
    assert load(tmp_path, '[data]\nlanguages = ["de", "ru"]\n').data.languages == ("de", "ru")


def test_a_fraction_is_not_taken_for_a_whole_number(tmp_path):
    with pytest.raises(ConfigError, match=r"seed: expected a whole number, got 1\.5"):
        load(tmp_path, "seed = 1.5\n")


def test_a_bad_value_in_the_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"student\.lambda: expected a number from 0\.0 to inf, got -1\.0"):
        load(tmp_path, "[student]\nlambda = -1\n")


@pytest.mark.parametrize(
    ("text", "place", "key", "near"),
    [
        ("sead = 1\n", r"config\.toml", "sead", "seed"),
        ("[techer]\nmargin = 1\n", r"config\.toml", "techer", "teacher"),
        ("[teacher]\nmargn = 1\n", r"config\.toml, \[teacher\]", "margn", "margin"),
        ("[student]\nlambda_ = 1\n", r"config\.toml, \[student\]", "lambda_", "lambda"),
    ],
)
def test_an_unknown_setting_is_told_the_nearest(tmp_path, text, place, key, near):
    with pytest.raises(ConfigError, match=rf"{place}: unknown setting '{key}'; did you mean {near}\?$"):
        load(tmp_path, text)


def test_an_unknown_setting_near_to_none_is_told_all(tmp_path):
    known = "precision, table, min_cosine, max_drop, threads"
    with pytest.raises(ConfigError, match=rf"\[export\]: unknown setting 'zzz'; known: {known}$"):
        load(tmp_path, "[export]\nzzz = 1\n")


def test_a_value_where_a_table_belongs(tmp_path):
    with pytest.raises(ConfigError, match=r"config\.toml: expected a table \[teacher\], got 'en'"):
        load(tmp_path, 'teacher = "en"\n')


def test_a_table_where_a_value_belongs(tmp_path):
    with pytest.raises(ConfigError, match="^teacher.margin: expected a number, got "):
        load(tmp_path, "[teacher.margin]\nvalue = 1\n")


@pytest.mark.parametrize("text", ["seed =\n", "[teacher\n", "seed = 1\nseed = 2\n"])
def test_invalid_toml_names_the_file_and_the_line(tmp_path, text):
    with pytest.raises(ConfigError, match=r"config\.toml: invalid TOML: .* at line \d"):
        load(tmp_path, text)


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"absent\.toml: cannot be read: No such file"):
        load_settings(tmp_path / "absent.toml")


@pytest.mark.parametrize(("name", "value"), [("data.dataset", "caf\udce9"), ("student.parallel", ["a", "\udce9=2"])])
def test_a_path_that_has_no_utf_8_form_is_refused(name, value):
    with pytest.raises(ConfigError, match=rf"{name}: expected a name in UTF-8, got .*udce9.*; rename it"):
        with_values(Settings(), {name: value})


@pytest.mark.parametrize("name", ["student.gamma", "student.epochs", "teacher.margin"])
@pytest.mark.parametrize("value", [10**400, -(10**400), 1e300, float("nan")])
def test_a_number_that_nothing_holds_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"{name}: expected a"):
        with_values(Settings(), {name: value})
