"""The options of settings: a flag of one of them, and `--set`, which takes each by its name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import Field
from typing import TYPE_CHECKING

import click

from ...settings.assignments import APART, assigned, honoured, unused
from ...settings.fields import MAIN
from ...settings.recipes import TABLE
from ...settings.sections import Settings, Value
from ...settings.store import walk
from .completion import complete
from .reporting import ReportingCommand
from .retired import FLAGS

if TYPE_CHECKING:
    pass

# The parameter that holds what `--set` was given.
ASSIGNED = "assigned"


def parameter_of(name: str) -> str:
    """Return the parameter of a setting's flag."""
    return name.replace(".", "__")


def default_text(value: Value) -> str:
    """Return a default as help shows it, and as `--set` takes it."""
    return (
        ",".join(value) if isinstance(value, tuple) else str(value).lower() if isinstance(value, bool) else str(value)
    )


class SettingOption(click.Option):
    """The flag of a setting, made from its field; its help ends with the default that is `shown`."""

    def __init__(self, declared: Sequence[str], setting: str, item: Field[Value], shown: Value) -> None:
        meta, text = item.metadata, default_text(shown)
        told = text and setting != TABLE and not isinstance(shown, bool)
        listed = item.type is tuple
        super().__init__(
            [*declared, meta["flag"], parameter_of(setting)],
            type=str if listed else click.Choice(meta["options"]) if meta["options"] else item.type,
            default=None,
            multiple=listed,
            help=meta["help"] + (f" [default: {text}]" if told else ""),
            shell_complete=complete if setting == TABLE else None,
        )
        self.setting, self.main = setting, meta["offer"] is MAIN


class SetOption(click.Option):
    """`--set NAME=VALUE`, for every setting that a command honours."""

    settings_page = "docs/settings.md"

    def __init__(self, declared: Sequence[str], command: str) -> None:
        self.command, self.fields = command, honoured(command)
        super().__init__(
            [*declared, "--set", ASSIGNED],
            multiple=True,
            metavar="NAME=VALUE",
            callback=lambda context, option, texts: assigned(texts or (), command),
            help="any setting of a config by its name, such as student.gamma=100; may be repeated",
        )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Return the settings whose names begin so."""
        names = [f"{name}=" for name in self.fields if name not in APART and name.startswith(incomplete)]
        return [click.shell_completion.CompletionItem(name) for name in names]

    def instead_of(self, flag: str) -> str:
        """Return a message on the flag of a setting: the `--set` in its place, or that the command does not use it.

        An empty text where it is of no setting.
        """
        for name, _, item in walk(Settings()):
            flags = item.metadata["flag"].split("/")
            if flag in flags and name not in self.fields:
                return f"{flag}: {unused(name, item, self.command)}"
            if flag in flags:
                value = ("true", "false")[flags.index(flag)] if item.type is bool else "VALUE"
                return f"{flag} is now --set {name}={value}"
        return ""

    def described(self, options: Iterable[click.Option]) -> list[tuple[str, str]]:
        """Return names and meanings of the settings that have no flag among the `options`."""
        flagged = {option.setting for option in options if isinstance(option, SettingOption)}
        rest = {name: item for name, item in self.fields.items() if name not in flagged}
        return [(name, _meaning(item)) for name, item in rest.items()]


class SettingsCommand(ReportingCommand):
    """A command that refuses a flag which it has not with what takes its place, such as `--set` of a setting."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raises `click.NoSuchOption`, of a flag that went with what took its place."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            flag = error.option_name
            retired = FLAGS.get(str(self.name), {}).get(flag, "")
            if instead := retired or next((option.instead_of(flag) for option in self.set_options(ctx)), ""):
                raise click.NoSuchOption(flag, instead, ctx=ctx) from None
            raise

    def set_options(self, ctx: click.Context) -> list[SetOption]:
        """Return its `--set`, in a list that is empty where it takes no settings."""
        return [option for option in self.get_params(ctx) if isinstance(option, SetOption)]


def _meaning(item):
    text = default_text(item.default)
    return item.metadata["help"] + (f" [default: {text}]" if text else "")
