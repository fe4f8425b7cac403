#!/usr/bin/env python3
"""Write docs/settings.md from the fields of the settings: name, default, flag, meaning and commands of each."""

from dataclasses import fields
from pathlib import Path

from distill.commands.shared.setting_options import format_default
from distill.settings.fields import SET
from distill.settings.sections import Settings
from distill.settings.store import walk

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
HEAD = """\
# Settings

<!-- Written by .ci/settings_page.py from distill/settings; `make docs` writes it anew. -->

This page has all settings of a `config.toml`, section by section. The key `losses.list.weight` of the section `student`
is the key `weight` of the table `[student.losses.list]`. On the command line a setting is given by its name, such as
`--set student.gamma=100`, with commas between the parts of a list. Some settings have a flag of their own.
A command refuses a setting that it does not use, or that changes nothing beside the others.

The defaults are those of a config without a recipe, and of all commands except `distill run`, which begins with the
recipe `default`. [Recipes](recipes.md) change some of them.
"""


def table(section, title, rows):
    """Yield the lines of a section, a table with one row per setting."""
    yield f"\n## {title}\n"
    yield f"`[{section}]`\n" if section else "At the top of the file.\n"
    yield "|setting|default|flag|meaning|"
    yield "|---|---|---|---|"
    for name, item in rows:
        meta, value = item.metadata, format_default(item.default).replace("|", "\\|")
        flag = f"`{meta['flag']}`" if meta["offer"] is not SET else ""
        words = f" One of: {', '.join(meta['options'])}." if meta["options"] else ""
        shown = f"`{value}`" if value else ""
        yield f"|`{name.partition('.')[2] or name}`|{shown}|{flag}|{meta['help']}{words}|"


def page():
    """Return the text of docs/settings.md."""
    known = {name: item for name, _, item in walk(Settings())}
    titles = {item.name: item.metadata["title"] for item in fields(Settings) if "title" in item.metadata}
    sections = {"": "The run", **titles}
    lines = []
    for section, title in sections.items():
        rows = [
            (name, item) for name, item in known.items() if (name.partition(".")[0] if "." in name else "") == section
        ]
        lines += table(section, title, rows)
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
