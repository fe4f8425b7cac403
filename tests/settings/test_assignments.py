"""Settings named one by one, and the commands that honour them."""

import pytest

from distill.errors import ConfigError
from distill.settings.assignments import commands_of, honoured_fields, read_assignments, refuse_unused
from distill.settings.sections import Settings
from distill.settings.store import change_settings, values_by_name, walk


def test_values_are_read_by_the_type_of_their_setting():
    texts = [
        "student.gamma=100",
        "student.epochs=3",
        "student.own_text=true",
        "data.languages=de, ru,",
        "data.dataset=a=b",
    ]
    assert read_assignments(texts, "run") == {
        "student.gamma": 100.0,
        "student.epochs": 3,
        "student.own_text": True,
        "data.languages": ["de", "ru"],
        "data.dataset": "a=b",
    }
    # As of a flag the last counts, and a list has the parts of all.
    texts = ["student.gamma=1", "data.languages=de,ru", "student.gamma=2", "data.languages=hi"]
    assert read_assignments(texts, "run") == {"student.gamma": 2.0, "data.languages": ["de", "ru", "hi"]}


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        (["student.gamma"], "--set: "),
        (["student.gama=1"], "student.gamma"),
        (["recipe=small"], "'recipe'"),
        (["student.gamma=wide"], "--set student.gamma: .*'wide'"),
        (["student.epochs=1.5"], "--set student.epochs: .*'1.5'"),
        (["student.own_text=yes"], "--set student.own_text: .*'yes'"),
    ],
)
def test_what_is_no_assignment_is_refused_by_its_name(texts, place):
    with pytest.raises(ConfigError, match=place):
        read_assignments(texts, "run")


def test_a_command_refuses_what_it_does_not_honour():
    with pytest.raises(ConfigError, match="--set student.gamma: distill teach .*distill run, transfer, tune, compress"):
        read_assignments(["student.gamma=1"], "teach")
    assert read_assignments(["teacher.margin=0.5"], "teach") == {"teacher.margin": 0.5}
    for name in ("student.start", "pairs.self_train"):
        assert [command for command in ("run", "teach", "transfer", "tune") if name in honoured_fields(command)] == [
            "run"
        ]


def test_every_setting_is_honoured_by_a_run():
    """A section may name its commands once; whatever it says, `distill run` takes the whole config."""
    # What a run does beside its two stages is not for several processes, and its bundle has no place for segments.
    alone = [name for name, _, item in walk(Settings()) if "run" not in commands_of(name, item)]
    assert alone == ["pairs.context", "training.processes"]


COMMANDS = sorted({command for name, _, item in walk(Settings()) for command in commands_of(name, item)})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_honours_a_setting_or_refuses_it_by_its_name(command):
    for name, value in values_by_name(Settings()).items():
        shown = str(value).lower() if isinstance(value, bool) else ",".join(value) if value == () else value
        if name == "recipe":
            continue
        if name in honoured_fields(command):
            assert name in read_assignments([f"{name}={shown}"], command)
        else:
            with pytest.raises(ConfigError, match=f"^--set {name}: distill {command.replace('-', ' ')} "):
                read_assignments([f"{name}={shown}"], command)


SOFTMAX = {"teacher.loss": "softmax"}


@pytest.mark.parametrize(
    ("command", "values"),
    [
        ("teach", {"teacher.model": "e5"}),
        ("teach", {"pairs.self_train": 1, **SOFTMAX}),
        ("transfer", {"student.start": "muse"}),
        ("transfer", {"vocabulary.most_pieces": 500}),
        ("transfer", {"shape.static": True}),
        ("tune", SOFTMAX),
        ("tune", {"teacher.model": "e5"}),
        ("tune", {"student.start": "muse"}),
        ("tune", {"scorer.encoder": "e5"}),
        ("compress", {"training.devices": 2}),
        ("compress", {"student.start": "muse"}),
        ("compress", {"student.dev_unit": "passage"}),
        ("compress", {"student.start_share": 0.5}),
        ("compress", {"student.significance": 0.5}),
    ],
)
def test_a_config_that_a_command_cannot_honour_is_refused(command, values):
    with pytest.raises(ConfigError, match=f"^{next(iter(values))}: distill {command} "):
        refuse_unused(change_settings(Settings(), values), command)


@pytest.mark.parametrize(
    ("command", "values"),
    [
        # Of a run's config: of work that the command does not do, and a verdict on figures.
        ("teach", {"student.epochs": 3, "student.start": "muse", "shape.static": True, "export.table": "int4"}),
        ("teach", {"teacher.allow_weak": True, "evaluation.peers": ["muse"], "budget.max_size": "1MB"}),
        ("teach", SOFTMAX),
        ("transfer", {"teacher.margin": 0.5, "export.max_drop": 5.0, "budget.max_size": "1MB"}),
        ("tune", {"teacher.loss": "contrastive", "evaluation.lareqa": False}),
    ],
)
def test_a_config_may_hold_what_is_none_of_a_commands_business(command, values):
    refuse_unused(change_settings(Settings(), values), command)


def test_what_a_run_was_begun_with_is_not_refused_when_it_goes_on():
    begun = change_settings(Settings(), {"student.start": "muse", "student.dev_unit": "maxp"})
    refuse_unused(Settings(), "compress", begun)  # a search in Python that sets a budget alone
    refuse_unused(change_settings(begun, {"student.epochs": 3}), "compress", begun)
    with pytest.raises(ConfigError, match="^student.start: distill compress "):
        refuse_unused(change_settings(begun, {"student.start": "e5"}), "compress", begun)
