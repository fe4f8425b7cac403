"""Options in named panels: a command's help shows those that matter, `--help-all` every one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

import click

from ...settings.sections import Settings
from .setting_options import ASSIGNED, SettingOption, SettingsCommand

HELP = "help"
FILES = "files"
# In the order in which they are shown: those of the settings' sections between the others.
TITLES = {
    FILES: "Recipe and files",
    **{item.name: item.metadata["title"] for item in fields(Settings) if "title" in item.metadata},
    "search": "Search",
    "encoder": "Encoder",
    "index": "An index",
    "hits": "What is printed",
    "documents": "Documents",
    "passages": "Passages",
    "stored": "What is stored",
    "engine": "Who encodes",
    HELP: "Help",
}
# The panels of the options that are no settings, by their parameters.
SECTIONS = {
    **dict.fromkeys(("config", "name", "runs", "resume", "checkpoint_seconds", "seed", ASSIGNED), FILES),
    **dict.fromkeys(("output", "study", "json_path", "report", "trec"), FILES),
    **dict.fromkeys(("corpus", "split", "text", "parallel", "dictionary", "keep"), "data"),
    **dict.fromkeys(("teacher_path", "teacher_language", "centre"), "teacher"),
    **dict.fromkeys(("start_path", "labels", "steps", "lines"), "student"),
    **dict.fromkeys(("translations", "translators", "beam"), "translation"),
    **dict.fromkeys(("tasks", "units", "metrics", "typed", "document_model", "reader"), "evaluation"),
    **dict.fromkeys(("label_column", "lir_ranks", "lir_rescaled"), "evaluation"),
    **dict.fromkeys(("stage", "space_path", "trials"), "search"),
    **dict.fromkeys(("model", "question_model", "score"), "encoder"),
    **dict.fromkeys(("folder", "where", "hybrid", "by_ranges", "title", "about"), "index"),
    **dict.fromkeys(("top", "as_json", "threshold", "marked_by"), "hits"),
    **dict.fromkeys(("documents", "remove", "sync", "strict"), "documents"),
    **dict.fromkeys(("text_field", "title_field", "id_field"), "documents"),
    **dict.fromkeys(("length", "overlap", "language"), "passages"),
    **dict.fromkeys(("compact", "words", "word_model"), "stored"),
    **dict.fromkeys(
        ("learned", "most_words", "word_lists", "aligner", "kinds", "most_spellings", "spellings"), "vocabulary"
    ),
    **dict.fromkeys(("engine", "workers", "ray_address"), "engine"),
}
# Parameters that are no settings and that a short help shows.
MAIN = frozenset(
    ("config", "name", "resume", "output", "study", "documents", "corpus", ASSIGNED)
    + ("teacher_path", "teacher_language", "start_path", "labels", "stage", "space_path", "trials")
)
# A command of no more options shows them all.
FEW = 25
# Characters of the column of flags, at most.
COLUMN = 26
WHOLE = "distill.every-option"


def panels(options: Iterable[click.Option]) -> dict[str, list[click.Option]]:
    """`{title: options}`, each option in one panel, in the order of `TITLES`."""
    members: dict[str, list[click.Option]] = {title: [] for title in TITLES.values()}
    for option in options:
        members[TITLES[_section(option)]].append(option)
    return {title: part for title, part in members.items() if part}


def _section(option):
    name = option.name
    if {"--help", "--help-all"} & set(option.opts):
        return HELP
    if isinstance(option, SettingOption):
        return option.setting.rpartition(".")[0].partition(".")[0] or FILES
    return SECTIONS[name]


def _is_main(option):
    return option.main if isinstance(option, SettingOption) else option.name in MAIN


def _show_all(context, option, value):
    if value and not context.resilient_parsing:
        context.meta[WHOLE] = True
        click.echo(context.get_help())
        context.exit()


HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show every option."
)


class PanelCommand(SettingsCommand):
    """A command whose help has its options in `panels`, of many the main ones; `--help-all` shows all settings."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, `--help-all` the last."""
        return [*super().get_params(ctx), HELP_ALL]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the panels, their second columns one below the other."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        whole = ctx.meta.get(WHOLE, False) or len(options) <= FEW
        shown = [option for option in options if whole or _is_main(option) or _section(option) == HELP]
        records = {option: record for option in shown if (record := option.get_help_record(ctx))}
        width = min(COLUMN, max(len(flags) for flags, _ in records.values()))
        for title, part in panels(records).items():
            with formatter.section(title):
                formatter.write_dl([(f"{records[option][0]:<{width}}", records[option][1]) for option in part], COLUMN)
        for option in self.set_options(ctx) if ctx.meta.get(WHOLE, False) else ():
            with formatter.section(f"Settings by --set, or in a config, beside those above ({option.settings_page})"):
                formatter.write_dl(option.described(options), COLUMN)
        if more := len(options) - len(shown):
            formatter.write_paragraph()
            formatter.write_text(f"{more} more options: {ctx.command_path} --help-all")
