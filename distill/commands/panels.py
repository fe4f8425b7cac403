"""Options in named panels: a command's help shows those that matter, `--help-all` every one."""

from __future__ import annotations

from collections.abc import Iterable

import click

HELP = "help"
# By the sections of the settings, in the order in which they are shown.
TITLES = {
    "files": "Recipe and files",
    "data": "Data",
    "teacher": "Teacher (stage 1)",
    "pairs": "Teacher by pairs of many languages (--loss softmax)",
    "student": "Student (stage 2)",
    "scorer": "Scores of another encoder (--scorer)",
    "vocabulary": "The student's pieces",
    "shape": "The student's shape",
    "training": "How steps are computed",
    "export": "Bundle",
    "translation": "Questions in translation",
    "evaluation": "What is measured",
    "budget": "A bundle within a budget",
    "search": "Search",
    "encoder": "Encoder",
    "index": "An index (--index)",
    "collection": "A data set in its place",
    "hits": "What is printed",
    "documents": "Documents",
    "passages": "Passages",
    "stored": "What is stored",
    "engine": "Who encodes",
    HELP: "Help",
}
# Of the options that are no settings, and of the seed and the recipe, by their parameters.
SECTIONS = {
    **dict.fromkeys(("recipe", "config", "name", "runs", "resume", "checkpoint_seconds", "seed"), "files"),
    **dict.fromkeys(("output", "study", "json_path", "report"), "files"),
    **dict.fromkeys(("corpus", "split", "text", "parallel", "dictionary", "keep"), "data"),
    **dict.fromkeys(("teacher_path", "teacher_language", "centre"), "teacher"),
    **dict.fromkeys(("start_path", "labels", "steps", "lines"), "student"),
    **dict.fromkeys(("translations", "translators", "beam"), "translation"),
    **dict.fromkeys(("tasks", "units", "metrics", "typed", "document_model", "reader"), "evaluation"),
    **dict.fromkeys(("label_column", "lir_ranks", "lir_rescaled"), "evaluation"),
    **dict.fromkeys(("stage", "space_path", "trials"), "search"),
    **dict.fromkeys(("model", "score"), "encoder"),
    **dict.fromkeys(("folder", "where", "hybrid"), "index"),
    **dict.fromkeys(("dataset", "document_language", "documents_by"), "collection"),
    **dict.fromkeys(("top", "as_json", "threshold", "marked_by"), "hits"),
    **dict.fromkeys(("documents", "remove", "sync", "strict"), "documents"),
    **dict.fromkeys(("text_field", "title_field", "id_field"), "documents"),
    **dict.fromkeys(("length", "overlap", "language"), "passages"),
    **dict.fromkeys(("compact", "words"), "stored"),
    **dict.fromkeys(
        ("learned", "most_words", "word_lists", "aligner", "kinds", "most_spellings", "spellings"), "vocabulary"
    ),
    **dict.fromkeys(("engine", "workers", "ray_address"), "engine"),
}
# Parameters that a short help shows.
MAIN = {
    *("recipe", "config", "name", "resume", "output", "study", "documents"),
    *("data__dataset", "data__languages", "data__document_language", "corpus"),
    *("teacher__language", "teacher__base", "teacher__model", "teacher_path", "teacher_language"),
    *("teacher__bm25_epochs", "teacher__online_epochs", "teacher__loss"),
    *("student__epochs", "student__parallel", "student__start", "start_path", "labels"),
    *("vocabulary__add_languages", "export__table"),
    *("budget__max_size", "budget__max_ms", "stage", "space_path", "trials"),
}
# A command of no more options shows them all.
FEW = 25
# Characters of the column of flags, at most.
COLUMN = 26
WHOLE = "distill.every-option"
# Commands that may wait for what they are asked.
WAITING = {"search"}


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
    return name.partition("__")[0] if "__" in name else SECTIONS[name]


def _show_all(context, option, value):
    if value and not context.resilient_parsing:
        context.meta[WHOLE] = True
        click.echo(context.get_help())
        context.exit()


HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show every option."
)


class Told(click.Command):
    """A command that off a terminal says now and then that it is still at work, whatever else it tells."""

    def invoke(self, ctx: click.Context) -> None:
        """Do what the command does, which returns nothing."""
        from ..system.progress import phase

        if self.name in WAITING:
            super().invoke(ctx)
            return
        with phase(str(self.name)):
            super().invoke(ctx)


class PanelCommand(Told):
    """A command whose help has its options in `panels`, of many those in `MAIN`."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, `--help-all` the last."""
        return [*super().get_params(ctx), HELP_ALL]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the panels, their second columns one below the other."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        whole = ctx.meta.get(WHOLE, False) or len(options) <= FEW
        shown = [option for option in options if whole or option.name in MAIN or _section(option) == HELP]
        records = {option: record for option in shown if (record := option.get_help_record(ctx))}
        width = min(COLUMN, max(len(flags) for flags, _ in records.values()))
        for title, part in panels(records).items():
            with formatter.section(title):
                formatter.write_dl([(f"{records[option][0]:<{width}}", records[option][1]) for option in part], COLUMN)
        if more := len(options) - len(shown):
            formatter.write_paragraph()
            formatter.write_text(f"{more} more options: {ctx.command_path} --help-all")
