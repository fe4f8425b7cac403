"""`distill lir`: the commands of language information removal."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import InputError
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
    from ..catalog.loading import load_encoder
    from ..data.corpus import read_corpus, sampled
    from ..evaluation.bias.fitting import removal_of, require_enough
    from ..system.files import require_writable
    from ..system.progress import say

    settings = settings_from(values)
    path = output or beside(model)
    require_writable(path)
    texts = {name: sampled(lines, sentences, settings.seed) for name, lines in read_corpus(corpus).items()}
    require_enough(texts, rank)
    removal = removal_of(load_encoder(model), texts, rank)
    removal.save(path)
    counts = ", ".join(f"{language} {count}" for language, count in removal.sentences.items())
    say(f"{path}: {removal.rank} directions of {removal.dimension} numbers a language, from texts: {counts}")


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
    from ..evaluation.bias.removal import LanguageRemoval, checked
    from ..system.arrays import read_vectors, write_vectors
    from ..system.progress import say

    stored, rows = LanguageRemoval.load(removal), checked(read_vectors(vectors), vectors)
    stored.require_dimension(rows.shape[1], vectors)
    write_vectors(output, stored.remove(rows, language, rank))
    say(f"{output}: {rows.shape[0]} vectors of {rows.shape[1]}, without {rank} directions of {language}")


@lir.command()
@click.argument("model")
@click.option("--removal", type=click.Path(dir_okay=False), help=f"of distill lir fit [default: {FILE} beside MODEL]")
@rank_option
@folder_option("folder for the encoder")
def fold(model: str, removal: str | None, rank: int, output: str) -> None:
    """A copy of MODEL that removes all languages' directions itself, for text whose language is not known.

    It is evaluated, trained on, exported and timed as any other encoder.
    """
    from ..catalog.kinds import require_trainable
    from ..catalog.loading import load_keras_encoder
    from ..encoders.encoder import KerasEncoder
    from ..evaluation.bias.removal import LanguageRemoval
    from ..system.progress import say

    require_trainable(model)
    stored = LanguageRemoval.load(removal or beside(model, "--removal"))
    matrix = stored.shared(rank)
    encoder = load_keras_encoder(model)
    stored.require_own(encoder)
    from ..students.project import folded

    KerasEncoder(folded(encoder.model, matrix), encoder.tokenizer, encoder.name).save(output)
    gone = encoder.dimension - round(float(matrix.trace()))
    say(f"encoder: {output}, without {gone} of {encoder.dimension} directions, of {', '.join(stored.languages)}")


def beside(model: str, flag: str = "--output") -> Path:
    """`lir.npz` in the folder of a saved encoder or of a run's student. Raises `InputError` where MODEL is neither."""
    from ..catalog.kinds import require_kind
    from ..encoders.encoder import MODEL_FILE

    kind = require_kind(model)
    folder = kind.folder(model) if kind.trainable else None
    # The files of an artefact are those that its card names.
    if folder is None or not (folder / MODEL_FILE).exists():
        raise InputError(f"{model}: no folder of a saved encoder that {FILE} could lie in; give {flag}")
    return folder / FILE
