"""`distill lir`: commands for language information removal."""

from __future__ import annotations

import click

from ..settings.sections import Value
from .shared.command import group
from .shared.help import count_option, option
from .shared.options import corpus_option, folder_option, require_writable_path, settings_options, take_settings

FILE = "lir.npz"
rank_option = count_option(
    "--rank", panel="encoder", default=1, help="Number of directions to remove for each language."
)


@group(
    examples=[
        "distill lir fit multi12-ngram --corpus de.txt --corpus es.txt --output lir.npz",
        "distill lir apply vectors.npy --removal lir.npz --language de --output neutral.npy",
    ]
)
def lir() -> None:
    """Remove what vectors say of their language (LIR).

    All texts of a language share some directions; language information removal (Yang et al., 2021) takes them off.
    """


@lir.command(examples=["distill lir fit multi12-ngram --corpus de.txt --corpus es=news.txt --output lir.npz"])
@click.argument("model")
@settings_options("lir-fit")
@corpus_option("Sample text of each language.", True)
@count_option("--rank", panel="encoder", default=4, help="Number of directions to keep for each language.")
@count_option("--sentences", panel="data", default=10_000, help="Most sentences to use per language.")
@option("--output", panel="files", type=click.Path(dir_okay=False), help=f"The file. [default: {FILE} beside MODEL]")
def fit(
    model: str, corpus: tuple[str, ...], rank: int, sentences: int, output: str | None, **values: Value | None
) -> None:
    """Find the directions that the vectors of each language share.

    A file's language is its name without the ending (de.txt) or is given before it (de=news.txt). Any text will do; the
    paper takes 10,000 sentences of Wikipedia.
    """
    from ..data.corpus import read_corpus
    from ..jobs.language_removal import fit_removal
    from ..system.progress import say

    settings = take_settings(values)
    fitted = fit_removal(model, read_corpus(corpus), output, rank, sentences, settings.seed)
    removal = fitted.removal
    counts = ", ".join(f"{language} {count}" for language, count in removal.sentences.items())
    directions = f"{removal.rank} direction{'' if removal.rank == 1 else 's'}"
    say(f"{fitted.path}: {directions} per language, of {removal.dimension} numbers; texts: {counts}")


@lir.command(examples=["distill lir apply vectors.npy --removal lir.npz --language de --output neutral.npy"])
@click.argument("vectors", type=click.Path(dir_okay=False))
@option("--removal", panel="files", required=True, type=click.Path(dir_okay=False), help="The file that lir fit wrote.")
@option("--language", panel="encoder", required=True, help="The language of all texts.")
@rank_option
@option(
    "--output",
    panel="files",
    required=True,
    type=click.Path(dir_okay=False),
    callback=require_writable_path,
    help="The .npy file of the new vectors: float32, shape (texts, dimensions), unit length.",
)
def apply(vectors: str, removal: str, language: str, rank: int, output: str) -> None:
    """Remove the directions of one language from vectors.

    VECTORS is a .npy file of distill encode. The new vectors have unit length again.
    """
    from ..jobs.language_removal import remove_language
    from ..system.progress import say

    count, dimension = remove_language(vectors, output, removal, language, rank)
    say(f"{output}: {count} vectors of {dimension}, without {rank} directions of {language}")


@lir.command(examples=["distill lir fold multi12-ngram --removal lir.npz --output neutral"])
@click.argument("model")
@option(
    "--removal",
    panel="files",
    type=click.Path(dir_okay=False),
    help=f"The file that lir fit wrote. [default: {FILE} beside MODEL]",
)
@rank_option
@folder_option("Folder of the encoder.")
def fold(model: str, removal: str | None, rank: int, output: str) -> None:
    """Copy an encoder so that it removes all languages' directions itself.

    The copy needs no language for a text. It is evaluated, trained, exported and timed as any other encoder.
    """
    from ..jobs.language_removal import fold_removal
    from ..system.progress import say

    folded = fold_removal(model, output, removal, rank)
    named = ", ".join(folded.languages)
    say(f"encoder: {output}, without {folded.gone} of {folded.dimension} directions, of {named}")
