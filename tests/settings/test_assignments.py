"""Settings named one by one, and the commands that honour them."""

import pytest

from distill.errors import ConfigError
from distill.settings.assignments import assigned, commands_of, honoured
from distill.settings.sections import Settings
from distill.settings.store import walk


def test_values_are_read_by_the_type_of_their_setting():
    texts = [
        "student.gamma=100",
        "student.epochs=3",
        "student.own_text=true",
        "data.languages=de, ru,",
        "data.dataset=a=b",
    ]
    assert assigned(texts, "run") == {
        "student.gamma": 100.0,
        "student.epochs": 3,
        "student.own_text": True,
        "data.languages": ["de", "ru"],
        "data.dataset": "a=b",
    }
    # As of a flag the last counts, and a list has the parts of all.
    texts = ["student.gamma=1", "data.languages=de,ru", "student.gamma=2", "data.languages=hi"]
    assert assigned(texts, "run") == {"student.gamma": 2.0, "data.languages": ["de", "ru", "hi"]}
    # A name of an earlier version is that of today.
    assert assigned(["student.list_weight=2"], "run") == {"student.losses.list.weight": 2.0}


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
        assigned(texts, "run")


def test_a_command_refuses_what_it_does_not_honour():
    with pytest.raises(ConfigError, match="--set student.gamma: distill teach .*distill run, transfer, tune, compress"):
        assigned(["student.gamma=1"], "teach")
    assert assigned(["teacher.margin=0.5"], "teach") == {"teacher.margin": 0.5}
    for name in ("student.start", "pairs.self_train"):
        assert [command for command in ("run", "teach", "transfer", "tune") if name in honoured(command)] == ["run"]


def test_every_setting_is_honoured_by_a_run():
    """A section may name its commands once; whatever it says, `distill run` takes the whole config."""
    assert [name for name, _, item in walk(Settings()) if "run" not in commands_of(name, item)] == []
