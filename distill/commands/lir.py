"""`distill lir`: the commands of language information removal."""

from __future__ import annotations

import click

from ..settings.sections import Value
from .shared.options import corpus_option, folder_option, settings_from, settings_options, writable
from .shared.setting_options import SettingsCommand

FILE = "lir.npz"
rank_option = click.option(
    "--rank", type=click.IntRange(1), default=1, show_default=True, help="directions of a language that are removed"
)


@click.group()
def lir() -> None:
    """Language information removal: what all texts of a language share, taken off their vectors (Yang et al., 2021)."""


@lir.command(cls=SettingsCommand)
@click.argument("model")
@settings_options("lir-fit")
@corpus_option('sample text, a text a line or .jsonl with {"text", "language"}; may be given again', True)
@click.option("--rank", type=click.IntRange(1), default=4, show_default=True, help="directions a language to keep")
@click.option("--sentences", type=click.IntRange(1), default=10_000, show_default=True, help="at most, of a language")
@click.option("--output", type=click.Path(dir_okay=False), help=f"[default: {FILE} beside MODEL]")
def fit(
    model: str, corpus: tuple[str, ...], rank: int, sentences: int, output: str | None, **values: Value | None
) -> None:
    """The directions that MODEL's vectors of a language share, from sample text of each language.

    A file's language is its name without the ending (de.txt), or given before it (de=news.deu.txt). Any text will do;
    the paper takes 10,000 sentences of Wikipedia. Without --output the file is written into MODEL's own folder.
    """
    from ..data.corpus import read_corpus
    from ..jobs.language_removal import fit_removal
    from ..system.progress import say

    settings = settings_from(values)
    fitted = fit_removal(model, read_corpus(corpus), output, rank, sentences, settings.seed)
    removal = fitted.removal
    counts = ", ".join(f"{language} {count}" for language, count in removal.sentences.items())
    say(f"{fitted.path}: {removal.rank} directions of {removal.dimension} numbers a language, from texts: {counts}")


@lir.command()
@click.argument("vectors", type=click.Path(dir_okay=False))
@click.option("--removal", required=True, type=click.Path(dir_okay=False), help="what distill lir fit wrote")
@click.option("--language", required=True, help="of all the texts")
@rank_option
@click.option(
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    callback=writable,
    help=".npy, float32 (n, d)",
)
def apply(vectors: str, removal: str, language: str, rank: int, output: str) -> None:
    """The VECTORS of distill encode (.npy, unit rows) without a language's directions, at unit length again."""
    from ..jobs.language_removal import remove_language
    from ..system.progress import say

    count, dimension = remove_language(vectors, output, removal, language, rank)
    say(f"{output}: {count} vectors of {dimension}, without {rank} directions of {language}")


@lir.command()
@click.argument("model")
@click.option("--removal", type=click.Path(dir_okay=False), help=f"of distill lir fit [default: {FILE} beside MODEL]")
@rank_option
@folder_option("folder for the encoder")
def fold(model: str, removal: str | None, rank: int, output: str) -> None:
    """A copy of MODEL that removes all languages' directions itself, for text whose language is not known.

    It is evaluated, trained on, exported and timed as any other encoder.
    """
    from ..jobs.language_removal import fold_removal
    from ..system.progress import say

    folded = fold_removal(model, output, removal, rank)
    named = ", ".join(folded.languages)
    say(f"encoder: {output}, without {folded.gone} of {folded.dimension} directions, of {named}")
