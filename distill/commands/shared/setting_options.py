"""The options of settings: a flag of one of them, and `--set`, which takes each by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field

import click
from cloup.formatting import HelpSection

from ...settings.assignments import APART, honoured_fields, read_assignments, unused_message
from ...settings.fields import MAIN
from ...settings.recipe import TABLE
from ...settings.sections import Settings, Value
from ...settings.store import walk
from .help import PanelOption, complete

# The parameter that holds what `--set` was given.
ASSIGNED = "assigned"
# What help shows as an example of `--set`: the first that the command honours.
ASSIGNMENTS = ("student.gamma=100", "teacher.margin=0.2", "data.split_by=document")


def make_parameter_name(name: str) -> str:
    """Return the parameter of a setting's flag."""
    return name.replace(".", "__")


def format_default(value: Value) -> str:
    """Return a default as help shows it, and as `--set` takes it."""
    return (
        ",".join(value) if isinstance(value, tuple) else str(value).lower() if isinstance(value, bool) else str(value)
    )


class SettingOption(PanelOption):
    """The flag of a setting, made from its field; its help ends with a default value."""

    def __init__(self, declared: Sequence[str], setting: str, item: Field[Value], shown: str) -> None:
        """Make the option of a setting; `declared` is what `click.option` was given, which is nothing."""
        meta = item.metadata
        has_default = shown and setting != TABLE and item.type is not bool
        is_list = item.type is tuple
        super().__init__(
            [*declared, meta["flag"], make_parameter_name(setting)],
            panel=setting.partition(".")[0] if "." in setting else "files",
            main=meta["offer"] is MAIN,
            type=str if is_list else click.Choice(meta["options"]) if meta["options"] else item.type,
            default=None,
            multiple=is_list,
            help=meta["help"] + (f" [default: {shown}]" if has_default else ""),
            shell_complete=complete if setting == TABLE else None,
        )
        self.setting = setting


class SetOption(PanelOption):
    """`--set NAME=VALUE`, for every setting that a command honours."""

    settings_page = "docs/settings.md"

    def __init__(self, declared: Sequence[str], command: str, defaults: Mapping[str, str]) -> None:
        """Make the option of a command; `defaults` are what its help says of each setting."""
        self.command, self.fields, self.defaults = command, honoured_fields(command), defaults
        example = next(text for text in ASSIGNMENTS if text.partition("=")[0] in self.fields)
        super().__init__(
            [*declared, "--set", ASSIGNED],
            panel="files",
            main=True,
            multiple=True,
            metavar="NAME=VALUE",
            callback=lambda context, option, texts: read_assignments(texts or (), command),
            help=f"Change a setting by its name, such as {example}; {self.settings_page} lists them. May be repeated.",
        )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Return the settings whose names begin with what is typed."""
        names = [f"{name}=" for name in self.fields if name not in APART and name.startswith(incomplete)]
        return [click.shell_completion.CompletionItem(name) for name in names]

    def describe_replacement(self, flag: str) -> str:
        """Return the `--set` that replaces a setting's flag, or that the command does not use it; else nothing."""
        for name, _, item in walk(Settings()):
            flags = item.metadata["flag"].split("/")
            if flag in flags and name not in self.fields:
                return f"{flag}: {unused_message(name, item, self.command)}"
            if flag in flags:
                value = ("true", "false")[flags.index(flag)] if item.type is bool else "VALUE"
                return f"{flag} is now --set {name}={value}"
        return ""

    def list_more_settings(self, options: Iterable[click.Option]) -> HelpSection:
        """Return the section of a whole help on the settings that have no flag among the `options`."""
        flagged = {option.setting for option in options if isinstance(option, SettingOption)}
        rows = [
            (name, item.metadata["help"] + (f" [default: {self.defaults[name]}]" if self.defaults[name] else ""))
            for name, item in self.fields.items()
            if name not in flagged
        ]
        return HelpSection(f"More settings, for --set or a config ({self.settings_page})", rows)
