"""The commands that make an encoder smaller, or larger.

`compress`, `prune`, `subset`, `reduce`; `add-language`, `add-words` and `add-spellings`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from ..errors import InputError
from ..settings.choices import SPELLED
from ..settings.sections import Value
from .shared.options import (
    Command,
    corpus_option,
    folder_option,
    json_option,
    settings_from,
    settings_options,
    split_names,
)
from .shared.panels import PanelCommand
from .shared.reporting import ReportingCommand
from .shared.setting_options import SettingsCommand


@click.command(cls=PanelCommand)
@click.argument("source", metavar="RUN")
@settings_options("compress", "budget", "export")
@click.option(
    "--output",
    type=click.Path(file_okay=False),
    help="folder of the search [default: RUN/small; needed for an encoder]",
)
def compress(source: str, output: str | None, **values: Value | None) -> None:
    """A smaller bundle out of RUN's student, or out of an encoder, within a budget, its loss measured on dev.

    Vocabularies and table formats are tried first, without training; then students of other shapes are trained with
    stage 2. RUN/small keeps every trial, and the same command goes on where it was broken off; RUN/small/bundle is the
    one that was chosen, and RUN/report.html shows all. In place of RUN an encoder may stand, such as st:FOLDER: it is
    measured as it is, in the folder --output, and searched in its folder small.
    """
    from ..compression.compress import compress as search
    from ..compression.compress import is_run, places, settings_of
    from ..compression.of_encoder import compress_encoder, recipe_of
    from ..report.run_tables import print_search

    if is_run(source):
        result = search(source, settings_from(values, settings_of(source)), output)
        return print_search(result.as_dict(), *places(Path(source), output))
    if output is None:
        raise InputError(f"{source}: no folder of a run; for an encoder name one for what is made of it: --output DIR")
    settings = settings_from(values, recipe=recipe_of(source))
    print_search(compress_encoder(source, output, settings).as_dict(), *places(Path(output)))


@click.command(cls=SettingsCommand)
@click.argument("model")
@settings_options("prune")
@corpus_option('more text to keep, a text a line or .jsonl with {"text", "language"}; may be given again')
@click.option("--scripts", default="", help="keep all pieces of these Unicode scripts too, such as Latin,Thai")
@click.option("--least", type=click.IntRange(1), default=1, show_default=True, help="uses that a piece needs to stay")
@click.option("--most", type=click.IntRange(1), help="pieces that stay at most, those that the languages use most")
@json_option
@folder_option("folder for the pruned encoder")
def prune(
    model: str,
    corpus: tuple[str, ...],
    scripts: str,
    least: int,
    most: int | None,
    json_path: str | None,
    output: str,
    **values: Value | None,
) -> None:
    """A copy of MODEL with only the pieces that a data set's languages use, single characters and what is asked for.

    Counted are the train questions of --languages, all documents, and --corpus; neither dev nor test questions.
    """
    from ..data.corpus import read_corpus
    from ..data.loading import chosen_data
    from ..jobs.prune_vocabulary import prune_vocabulary
    from ..report.vocabulary_tables import print_pruning
    from ..students.vocabulary.pruning import PieceRule
    from ..system.files import write_json
    from ..system.progress import say

    settings = settings_from(values)
    dataset, languages = chosen_data(settings.data, settings.seed)
    texts = read_corpus(corpus)
    rule = PieceRule(least, tuple(split_names(scripts)), most or 0, written=bool(most))
    report = prune_vocabulary(model, output, dataset, languages, texts, rule, settings.seed)
    print_pruning(report)
    if json_path:
        write_json(json_path, report)
    say(f"encoder: {output}, {report['rows'][1]} of {report['rows'][0]} pieces")


@click.command(cls=ReportingCommand)
@click.argument("model")
@click.option("--languages", required=True, help="that stay, comma-separated, such as de,ru")
@folder_option("folder for the bundle")
def subset(model: str, languages: str, output: str) -> None:
    """A bundle of some of MODEL's languages, without data and without training; MODEL is a bundle, or a run's.

    Pieces stay that these languages use, and what all need, such as digits. Vectors of texts that lose no piece stay.
    """
    from ..jobs.subset_languages import subset_languages
    from ..system.progress import say

    result = subset_languages(model, output, split_names(languages))
    before, after = result.pieces
    say(f"{output}: {after} of {before} pieces, {result.bytes[1] / 1e6:.1f} of {result.bytes[0] / 1e6:.1f} MB")


@click.command(cls=SettingsCommand)
@click.argument("model")
@settings_options("reduce", "shape")
@folder_option("folder for the reduced encoder")
def reduce(model: str, output: str, **values: Value | None) -> None:
    """A copy of MODEL in another shape: sliced, factorised and refitted on the data set, not yet trained.

    Train it with distill transfer --start.
    """
    from ..data.loading import chosen_data
    from ..system.backend import start
    from ..system.progress import say

    settings = settings_from(values)
    start()
    from ..jobs.reduce_encoder import reduce_encoder
    from ..students.shape import Shape

    shape = Shape.of(settings.shape)
    dataset, languages = chosen_data(settings.data, settings.seed)
    reduced = reduce_encoder(model, output, shape, dataset, languages, settings.seed)
    say(f"encoder: {output}, {shape}, {reduced.after} of {reduced.before} weights")


def files_option(flag: str, meaning: str, name: str) -> Callable[[Command], Command]:
    """An option of files that may be given again."""
    meaning += "; may be given again"
    return click.option(flag, name, multiple=True, type=click.Path(), metavar="FILE", help=meaning)


@click.command("add-language", cls=PanelCommand)
@click.argument("model")
@click.argument("language")
@files_option("--text", "text in it, a text a line or .jsonl, that pieces are learned from", "text")
@files_option(
    "--parallel", "translations, FILE or FILE=WEIGHT: a .tsv headed by languages, .jsonl, a folder", "parallel"
)
@files_option("--dictionary", "the same of words; a cell may hold several, parted by ' | '", "dictionary")
@files_option("--add-words", "words that get a piece each, a word, a tab and its frequency a line", "word_lists")
@files_option("--keep", "text of other languages, language=FILE, that is to be cut as before", "keep")
@click.option("--teacher-language", default="en", show_default=True, help="the language of the translations")
@click.option(
    "--add-pieces", "learned", type=click.IntRange(1), default=4000, show_default=True, help="how many are learned"
)
@click.option(
    "--most-words", type=click.IntRange(0), default=8000, show_default=True, help="frequent words, a piece each"
)
@click.option(
    "--most-spellings",
    "spellings",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="further words, each read as pieces that are there, 25 bytes",
)
@click.option(
    "--aligner", help="e5 or another encoder that knows it, for rows by meaning; none [default: e5, if there]"
)
@click.option("--steps", type=click.IntRange(1), default=500, show_default=True, help="of training")
@click.option("--lines-a-step", "lines", type=click.IntRange(2), default=256, show_default=True, help="lines of each")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="of what is drawn")
@json_option
@folder_option("folder for the encoder: a bundle, where MODEL is one or is a run")
def add_language(
    model: str,
    language: str,
    text: tuple[str, ...],
    parallel: tuple[str, ...],
    dictionary: tuple[str, ...],
    word_lists: tuple[str, ...],
    keep: tuple[str, ...],
    teacher_language: str,
    learned: int,
    most_words: int,
    spellings: int,
    aligner: str | None,
    steps: int,
    lines: int,
    seed: int,
    json_path: str | None,
    output: str,
) -> None:
    """A copy of MODEL that knows LANGUAGE too; the languages that it has stay as they are.

    Pieces are learned from the text, their rows placed by meaning and trained on translations, nothing else. Texts of
    other languages have the vectors that they had, to the last bit, unless a new piece stands in one.
    """
    from ..languages.add_language import LanguagePlan
    from ..languages.add_language import add_language as add
    from ..languages.material import LanguageSources
    from ..report.vocabulary_tables import print_language
    from ..system.files import write_json
    from ..system.progress import say

    sources = LanguageSources(language, teacher_language, text, parallel, dictionary, word_lists, keep)
    plan = LanguagePlan(sources, learned, most_words, aligner, steps, lines, seed, spellings)
    report = add(model, plan, output)
    print_language(report)
    if json_path:
        write_json(json_path, report)
    say(f"encoder: {output}, {language} in {report['pieces'][1] - report['pieces'][0]} pieces")


@click.command("add-words", cls=PanelCommand)
@click.argument("model")
@click.argument("language")
@files_option(
    "--dictionary", "words with translations: a .tsv headed by languages, several parted by ' | '", "dictionary"
)
@files_option("--add-words", "a word, a tab and its frequency a line [default: the dictionary's words]", "word_lists")
@files_option("--text", "text in it, a text a line or .jsonl: which words stand with a capital, and how often", "text")
@files_option("--keep", "text of other languages, language=FILE, that is to be cut as before", "keep")
@click.option("--teacher-language", default="en", show_default=True, help="the language of the translations")
@click.option("--most-spellings", type=click.IntRange(1), default=20_000, show_default=True, help="35 bytes each")
@click.option("--aligner", help="e5 or another encoder that knows it, for words that no dictionary has")
@json_option
@folder_option("folder for the artefact")
def add_words(
    model: str,
    language: str,
    dictionary: tuple[str, ...],
    word_lists: tuple[str, ...],
    text: tuple[str, ...],
    keep: tuple[str, ...],
    teacher_language: str,
    most_spellings: int,
    aligner: str | None,
    json_path: str | None,
    output: str,
) -> None:
    """A copy of MODEL, a bundle or a run's, that reads more words of LANGUAGE, which it has, as what they mean.

    A word that is cut into several pieces is read as those of a translation, where that is nearer to what it means. No
    row or weight is added or changed, nothing is trained; what stands in the text of other languages is left out.
    """
    from ..languages.add_words import WordPlan
    from ..languages.add_words import add_words as add
    from ..languages.material import LanguageSources
    from ..report.vocabulary_tables import print_words
    from ..system.files import write_json
    from ..system.progress import say

    sources = LanguageSources(language, teacher_language, text, (), dictionary, word_lists, keep)
    report = add(model, WordPlan(sources, most_spellings, aligner), output)
    print_words(report)
    if json_path:
        write_json(json_path, report)
    say(f"encoder: {output}, {len(report['words'])} words of {language}")


@click.command("add-spellings", cls=PanelCommand)
@click.argument("model")
@files_option("--text", "text as it is written, language=FILE, a text a line or .jsonl", "text")
@files_option("--add-words", "words of a language, language=FILE, a word, a tab and its frequency a line", "word_lists")
@click.option("--typed-kinds", "kinds", default=",".join(SPELLED), show_default=True, help="how people type")
@click.option(
    "--most-spellings", type=click.IntRange(1), default=140_000, show_default=True, help="about 24 bytes each"
)
@click.option("--teacher-language", default="en", show_default=True, help="the language of the documents")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="of what is drawn")
@json_option
@folder_option("folder for the artefact")
def add_spellings(
    model: str,
    text: tuple[str, ...],
    word_lists: tuple[str, ...],
    kinds: str,
    most_spellings: int,
    teacher_language: str,
    seed: int,
    json_path: str | None,
    output: str,
) -> None:
    """A copy of MODEL, a bundle or a run's, that reads text as people type it: without accents, in Latin letters.

    Words as typed stand for the pieces of the words as they are written, so no row or weight is added or changed. Each
    language of the text has to be one of MODEL's; what stands in written text is cut as before.
    """
    from ..data.corpus import read_corpus
    from ..report.vocabulary_tables import print_spellings
    from ..spelling.add_spellings import SpellingPlan
    from ..spelling.add_spellings import add_spellings as add
    from ..spelling.files import read_word_lists
    from ..system.files import write_json
    from ..system.progress import say

    texts, words = read_corpus(text), read_word_lists(word_lists)
    plan = SpellingPlan(texts, words, split_names(kinds), most_spellings, pivot=teacher_language, seed=seed)
    report = add(model, plan, output)
    print_spellings(report)
    if json_path:
        write_json(json_path, report)
    say(f"encoder: {output}, {sum(sum(row.values()) for row in report['spellings'].values())} spellings")
