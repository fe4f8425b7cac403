"""Settings: defaults, limits, and the file that holds them all."""

import math
from dataclasses import replace
from functools import reduce

import pytest
import tomlkit

from distill.errors import ConfigError
from distill.settings.choices import TYPED
from distill.settings.sections import Settings, Work
from distill.settings.stages import LossSettings
from distill.settings.store import as_dict, check_settings, format_config, list_free, load_settings, walk
from distill.settings.store import change_settings as with_values


def load(folder, text):
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return load_settings(folder / "config.toml")


# defaults and names


def test_the_papers_values_are_the_defaults_of_settings_that_share_no_section():
    """CL-ReLKT, Table 1 and Equation 2."""
    other, settings = Settings(), Settings()
    other.teacher.margin = 1.0
    assert settings.teacher.margin == 0.3
    assert settings.student.objectives == ("qq", "dd", "dq")
    assert (settings.student.losses.qq, settings.student.losses.dd, settings.student.losses.dq) == (1.0, 1.0, 1.0)
    assert settings.student.gamma == 100.0


# Their own fields are set by them, which do not stay free.
RANKED = {"evaluation.ranked", "evaluation.score"}
FREE = {
    Work.RUN: {"teacher.allow_weak"},
    Work.COMPRESSION: {"data.dataset", "teacher.allow_weak", "export.table", "budget.max_size", "budget.max_ms"}
    | {
        "budget.shapes",
        "budget.corpus",
        "evaluation.peers",
        "student.start",
        "student.start_share",
        "student.significance",
        "vocabulary.add_words",
        *RANKED,
    },
    Work.STUDY | Work.TRIAL: {"data.dataset", "data.languages", "teacher.base", "export.threads", "evaluation.lareqa"}
    | {
        "student.start",
        "student.start_share",
        "student.significance",
        "evaluation.peers",
        "vocabulary.add_words",
        *RANKED,
    }
    | {f"budget.{name}" for name in ("max_size", "max_ms", "shapes", "new_languages", "new_pieces", "corpus")},
}


def test_a_setting_is_free_where_kept_work_does_not_depend_on_it():
    assert {work: list_free(work) for work in FREE} == {
        work: free | {"recipe", "export.min_cosine", "export.max_drop"} for work, free in FREE.items()
    }
    # A trial may have its own of what it trains alone.
    names = {name for name, _, _ in walk(Settings()) if name.split(".")[0] in ("teacher", "student")}
    common = {f"teacher.{name}" for name in ("language", "base", "unit", "model", "centre", "triplets")}
    common |= {
        "teacher.answer_sentences",
        "teacher.own_text",
        "teacher.questions",
        "teacher.train_unit",
        "student.teacher_samples",
    }
    common |= {f"student.{name}" for name in ("units", "dev_unit", "parallel", "labelled_text", "start")}
    common |= {"student.start_share", "student.significance", "student.trained_weights", "student.own_text"}
    common |= {"student.typed_kinds", "student.typed_share"}
    assert names & list_free(Work.TRIAL) == common


def test_lists_of_known_parts():
    parts = {name: item.metadata["options"] for name, _, item in walk(Settings()) if item.type is tuple}
    assert {name: known for name, known in parts.items() if known} == {
        "student.objectives": ("qq", "dd", "dq", "list", "softmax", "translation"),
        "student.units": ("document", "passage"),
        "student.typed_kinds": TYPED,
        "budget.shapes": ("full", "small", "half", "quarter", "static", "tiny"),
        "pairs.filters": ("passage", "answer", "parallel"),
        "scorer.stages": ("teacher", "student"),
        "evaluation.ranked": ("document", "passage"),
        "evaluation.score": ("vector", "maxp", "sentence", "sum"),
    }
    assert [name for name, _, item in walk(Settings()) if item.metadata["may_be_empty"]] == [
        "pairs.filters",
        "evaluation.ranked",
        "evaluation.score",
    ]


def test_walk_names_settings_as_the_file_does_and_each_has_flags_of_its_own_and_says_what_it_is():
    settings = Settings()
    settings.student.losses.list.weight = 2.5
    names = [name for name, _, _ in walk(settings)]
    assert names[:2] == ["recipe", "seed"] and len(set(names)) == len(names)
    assert {"data.dataset", "teacher.margin", "student.losses.list.weight", "export.min_cosine"} <= set(names)
    values = {name: getattr(section, item.name) for name, section, item in walk(settings)}
    assert (values["student.losses.list.weight"], values["seed"]) == (2.5, 0)
    flags = [flag for _, _, item in walk(settings) for flag in item.metadata["flag"].split("/")]
    assert len(set(flags)) == len(flags) and all(flag.startswith("--") for flag in flags)
    assert [name for name, _, item in walk(settings) if not item.metadata["help"].strip()] == []


# limits


def changed(*values):
    settings = Settings()
    for name, value in zip(values[::2], values[1::2], strict=True):
        *sections, key = name.split(".")
        setattr(reduce(getattr, sections, settings), key, value)
    return settings


REFUSED = {
    # Outside the limits.
    "seed": (-1, 2**32, 1.0, True, "1"),
    "teacher.margin": (-0.1, 2.1, math.nan, "1", 10**400, -(10**400), 1e300, True),
    "teacher.temperature": (0.0,),
    "teacher.negatives": (0,),
    "teacher.learning_rate": (-1e-4, 1.5),
    "student.losses.qq": (-1.0, math.nan, "1"),
    "student.gamma": (-1.0, 10**400, -(10**400), 1e300),
    "student.epochs": (-1, 10**400, -(10**400), 1e300),
    "student.patience": (0,),
    "export.min_cosine": (1.01, -1.01, math.nan, "1"),
    "export.max_drop": (100.5, -0.5),
    "export.threads": (0,),
    **dict.fromkeys(("student.losses.dd", "student.losses.softmax.weight"), (-1.0,)),
    **dict.fromkeys(("teacher.batch_size", "student.batch_size"), (0,)),
    **dict.fromkeys(("teacher.bm25_epochs", "teacher.online_epochs", "student.quantised_epochs"), (-1,)),
    **dict.fromkeys(("student.evaluate_every", "student.document_tokens"), (-1,)),
    # Of other types, and parts that are unknown, none or there twice.
    "student.train_table": (1,),
    "teacher.base": (1,),
    "data.languages": ("de", ("en", 3), ("en", ""), (["en"],)),
    "data.dataset": ("caf\udce9",),
    "student.parallel": (("a", "\udce9=2"),),
    "student.objectives": (("qq", "xx"), (), ("qq", "qq")),
    "student.units": (("maxp",), ()),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in REFUSED.items() for value in values])
def test_a_value_that_is_not_allowed_is_refused_by_its_name(name, value):
    with pytest.raises(ConfigError, match=f"^{name.rstrip('_')}: "):
        check_settings(changed(name, value))


def test_the_limits_themselves_are_allowed():
    lowest = ("teacher.margin", 0.0, "teacher.negatives", 1, "student.epochs", 0, "export.min_cosine", -1.0)
    highest = ("seed", 2**32 - 1, "teacher.margin", 2.0, "student.averaged_epochs", 10, "export.min_cosine", 1.0)
    others = ("student.quantised_epochs", 10, "export.max_drop", 100.0, "data.languages", (), "pairs.filters", ())
    for values in (lowest, highest, others):
        for name, value in zip(values[::2], values[1::2], strict=True):
            settings = changed("teacher.loss", "softmax", name, value)
            assert check_settings(settings) is settings


@pytest.mark.parametrize(
    ("name", "value", "options"),
    [
        ("data.split_by", "language", "question, document"),
        ("teacher.loss", "hinge", "triplet, contrastive, softmax"),
        ("teacher.unit", "sentence", "document, passage, maxp"),
        ("student.distance", "l1", "squared_l2, cosine, whitened"),
        ("student.dev_unit", "", "document, passage, maxp"),
        ("export.precision", "int2", "int8, float32, int4"),
        ("export.table", "int8", "uint8, int8-row, int4, pq4, pq8, int4-pq5, int4-pq3, float32"),
        ("student.objectives", ("xx",), "qq, dd, dq, list, softmax, translation"),
        ("student.units", ("maxp",), "document, passage"),
    ],
)
def test_a_word_that_is_no_option_is_shown_the_options(name, value, options):
    with pytest.raises(ConfigError, match=f"^{name}: .* {options}, "):
        check_settings(changed(name, value))


# What does not go together, named by the first, and then what makes it go.
@pytest.mark.parametrize(
    ("values", "mended"),
    [
        (("teacher.centre", True), ("teacher.model", "e5")),
        (("student.averaged_epochs", 11), ("student.epochs", 11)),
        (("scorer.negatives", True), ("scorer.encoder", "e5")),
        (
            ("scorer.stages", ("teacher",), "scorer.encoder", "e5", "teacher.model", "e5"),
            ("scorer.stages", ("student",)),
        ),
        (("vocabulary.aligner_below", 2), ("vocabulary.aligner", "e5")),
        (("student.table_learning_rate", 0.1, "student.train_table", False), ("student.train_table", True)),
        (("student.train_codewords", True, "student.quantised_epochs", 10), ("student.train_table", False)),
        (("student.train_codewords", True, "student.train_table", False), ("student.quantised_epochs", 10)),
        (("student.table_learning_rate", 0.1, "student.learning_rate", 0.0), ("student.learning_rate", 1.0)),
        (("student.trained_weights", "new-rows"), ("vocabulary.add_languages", ("hi",))),
        (("student.trained_weights", "typed-rows"), ("student.typed_share", 0.2)),
        (("vocabulary.add_words", ("hi.tsv",)), ("vocabulary.aligner", "e5", "vocabulary.add_languages", ("hi",))),
        (("student.quantised_epochs", 11), ("student.epochs", 11)),
        (
            ("student.start_share", 0.4, "student.quantised_epochs", 1, "export.precision", "int4"),
            ("export.precision", "int8"),
        ),
        (("student.objectives", ("qq", "translation")), ("student.labelled_text", ("de=de.txt",))),
        (
            ("student.lines_a_step", 1, "student.objectives", ("translation",), "student.parallel", ("a.tsv",)),
            ("student.lines_a_step", 2),
        ),
        (("teacher.triplets", ("pairs.tsv",), "teacher.model", "e5"), ("teacher.model", "")),
        (("teacher.hard_quota", 4), ("teacher.negatives", 4)),
        (("teacher.hard_quota", 0, "teacher.positives", "maxp"), ("teacher.hard_quota", -1)),
        (("teacher.train_unit", "document", "teacher.answer_sentences", True), ("teacher.answer_sentences", False)),
        (("teacher.questions", "all", "teacher.loss", "softmax"), ("teacher.loss", "contrastive")),
        (("teacher.triplets_apart", True, "teacher.loss", "softmax"), ("teacher.loss", "contrastive")),
        (("teacher.bm25_negatives", 3, "teacher.loss", "softmax"), ("teacher.loss", "contrastive")),
        (("pairs.unit", "sentence", "teacher.loss", "softmax"), ("pairs.hard_negatives", 0)),
        (
            ("pairs.unit", "sentence", "teacher.loss", "softmax", "pairs.hard_negatives", 0, "pairs.self_train", 2),
            ("pairs.self_train", 0),
        ),
        (
            ("pairs.context", True, "teacher.loss", "softmax"),
            ("pairs.unit", "sentence", "pairs.hard_negatives", 0),
        ),
        (("training.dropout", 0.1, "pairs.chunk_size", 8, "teacher.loss", "softmax"), ("pairs.chunk_size", 0)),
        (("pairs.self_train_always", 2, "teacher.loss", "softmax"), ("pairs.self_train", 2)),
        (("pairs.self_train_negatives", ("few",), "teacher.loss", "softmax"), ("pairs.self_train_negatives", ("9",))),
        *(
            (("student.quantised_epochs", 1, "export.precision", "float32", "export.table", "float32"), rounded)
            for rounded in (("export.precision", "int8"), ("export.table", "int4"), ("student.quantised_epochs", 0))
        ),
    ],
)
def test_settings_that_do_not_go_together(values, mended):
    with pytest.raises(ConfigError, match=f"^{values[0]}: "):
        check_settings(changed(*values))
    check_settings(changed(*values, *mended))


# the file


def test_settings_come_back_from_their_file_with_notes_as_comments_above(tmp_path):
    settings = Settings(seed=5)
    settings.data = replace(settings.data, dataset="xquad", languages=("ru", "hi"), split_by="document")
    settings.teacher = replace(settings.teacher, margin=0.7, trained_weights="table", unit="passage")
    settings.student = replace(
        settings.student, objectives=("qq",), losses=LossSettings(dd=0.25), gamma=1.0, document_tokens=0
    )
    settings.export = replace(settings.export, threads=4, precision="float32", table="int8-row", min_cosine=0.99)
    (tmp_path / "config.toml").write_text(format_config(settings, ["By dev.", "Trial 3."]), encoding="utf-8")
    assert (tmp_path / "config.toml").read_text().startswith('# By dev.\n# Trial 3.\nrecipe = ""\n')
    assert load_settings(tmp_path / "config.toml") == settings


def test_the_file_holds_every_setting_under_its_plain_name(tmp_path):
    (tmp_path / "config.toml").write_text(format_config(Settings()), encoding="utf-8")
    stored = tomlkit.parse((tmp_path / "config.toml").read_text()).unwrap()

    def flat(table, prefix=""):
        for key, value in table.items():
            yield from flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [prefix + key]

    names = set(flat(stored))
    assert names == {"complete", *(name for name, _, _ in walk(Settings()))}
    assert stored.pop("complete") is True
    assert stored == as_dict(Settings()) and stored["student"]["losses"]["list"] == {"weight": 1.0, "temperature": 0.05}
    assert (stored["student"]["units"], stored["data"]["languages"]) == (["document", "passage"], [])


def test_other_values_by_their_names_make_a_copy():
    settings = Settings()
    other = with_values(settings, {"seed": 3, "student.losses.dd": 2, "student.objectives": ["qq", "list"]})
    assert (other.seed, other.student.losses.dd, other.student.objectives) == (3, 2.0, ("qq", "list"))
    assert settings == Settings() and other.teacher == settings.teacher
    with pytest.raises(ConfigError, match="student.gamma: "):
        with_values(settings, {"student.gamma": -1.0})
    with pytest.raises(ConfigError, match=r"space, \[student\]: .* gamma\?$"):
        with_values(settings, {"student.gama": 1.0}, "space")


def test_what_the_file_leaves_out_keeps_its_default(tmp_path):
    assert load(tmp_path, "") == Settings()
    assert load(tmp_path, "[teacher]\nmargin = 0.5\n") == changed("teacher.margin", 0.5)
    # A whole number is taken for a fraction, a list for a tuple.
    settings = load(tmp_path, '[teacher]\nmargin = 1\n[data]\nlanguages = ["de", "ru"]\n')
    assert (settings.teacher.margin, type(settings.teacher.margin)) == (1.0, float)
    assert settings.data.languages == ("de", "ru")
    # Where one number was all there could be, a list is.
    pairs = load(tmp_path, '[teacher]\nloss = "softmax"\n[pairs]\nself_train_negatives = 9\n').pairs
    assert [pairs.negatives_of(stage) for stage in (0, 1)] == [9, 9]
    pairs = load(tmp_path, '[teacher]\nloss = "softmax"\n[pairs]\nself_train_negatives = [32, 50]\n').pairs
    assert [pairs.negatives_of(stage) for stage in (0, 1, 2)] == [32, 50, 50]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("seed = 1.5\n", r"config\.toml: seed: .* 1\.5$"),
        ("seed = true\n", r"config\.toml: seed: .* true$"),
        ("[student]\nepochs = -1\n", r"config\.toml: student\.epochs: [a-z ]* 0 or more, .* -1$"),
        ('recipe = "default"\n[student]\ndev_unit = "maxp"\n', r"config\.toml: student\.dev_unit: .* document-sum"),
        ("[student.losses]\ndd = -1\n", r"config\.toml: student\.losses\.dd: "),
        ('teacher = "en"\n', r"config\.toml: .* \[teacher\]"),
        ("[teacher.margin]\nvalue = 1\n", r"config\.toml: teacher\.margin: "),
        *((text, r"config\.toml: .* line \d") for text in ("seed =\n", "[teacher\n", "seed = 1\nseed = 2\n")),
        # An unknown setting is told the nearest, or all.
        ("sead = 1\n", r"config\.toml: .*'sead'; .* seed\?$"),
        ("[techer]\nmargin = 1\n", r"config\.toml: .*'techer'; .* teacher\?$"),
        ("[teacher]\nmargn = 1\n", r"config\.toml, \[teacher\]: .*'margn'; .* margin\?$"),
        (
            "[student.losses.list]\nweigt = 1\n",
            r"config\.toml, \[student\], \[losses\], \[list\]: .*'weigt'; .* weight\?$",
        ),
        ("[export]\nzzz = 1\n", rf"\[export\]: .* {', '.join(vars(Settings().export))}$"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(tmp_path, text, place):
    with pytest.raises(ConfigError, match=place):
        load(tmp_path, text)
