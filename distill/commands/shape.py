"""The commands that make an encoder smaller or larger.

`compress`, `prune`, `subset`, `reduce`; `add-language`, `add-words` and `add-spellings`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from ..errors import InputError
from ..settings.choices import SPELLED
from ..settings.sections import Value
from .shared.command import command
from .shared.help import count_option, option
from .shared.options import (
    Command,
    corpus_option,
    folder_option,
    json_option,
    settings_options,
    split_names,
    take_settings,
    write_figures,
)


@command(
    examples=[
        "distill compress runs/my-run --max-size 5MB",
        "distill compress st:my-model --max-size 10MB --output smaller",
    ]
)
@click.argument("source", metavar="RUN")
@settings_options("compress", "budget", "export", inherited=("data", "student", "export"))
@option(
    "--output",
    panel="files",
    main=True,
    type=click.Path(file_okay=False),
    help="Folder of the search, or for an encoder of the run that holds it. [default: RUN/small]",
)
@json_option
def compress(source: str, output: str | None, json_path: str | None, **values: Value | None) -> None:
    """Search for a smaller bundle within a budget of size and time.

    RUN is the folder of a run, whose student is compressed, or an encoder such as st:FOLDER. Smaller vocabularies and
    tables are tried first, without training; then students of other shapes are trained. The loss of each is measured on
    dev.

    RUN/small keeps all trials and RUN/small/bundle the best bundle; RUN/report.html shows them. An encoder needs
    --output, which takes the place of RUN. If the command is interrupted, run it again: it continues where it stopped.
    """
    from ..jobs.compression.compress import compress as search
    from ..jobs.compression.compress import is_run, output_paths, settings_of
    from ..jobs.run import compress_encoder, recipe_of
    from ..report.run_tables import print_search

    if is_run(source):
        result, where = (
            search(source, take_settings(values, settings_of(source)), output),
            output_paths(Path(source), output),
        )
    elif output is None:
        raise InputError(f"{source}: no folder of a run; to compress an encoder name a folder: --output DIR")
    else:
        settings = take_settings(values, recipe=recipe_of(source))
        result, where = compress_encoder(source, output, settings), output_paths(Path(output))
    figures = result.as_dict()
    write_figures(json_path, figures, lambda: print_search(figures, *where))


@command(
    examples=[
        "distill prune runs/my-run --languages de,es --output pruned",
        "distill prune muse --dataset my-data --corpus de.txt --scripts Latin --least 2 --output pruned",
    ]
)
@click.argument("model")
@settings_options("prune")
@corpus_option("More text whose tokens to keep.")
@option(
    "--scripts",
    panel="vocabulary",
    default="",
    help="Also keep all tokens of these Unicode scripts, such as Latin,Thai.",
)
@count_option("--least", panel="vocabulary", default=1, help="Keep tokens that the text uses at least this often.")
@count_option(
    "--most", panel="vocabulary", help="Keep at most this many tokens, the most frequent ones. [default: no limit]"
)
@json_option
@folder_option("Folder of the pruned encoder.")
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
    """Remove the tokens that a data set does not use.

    Kept are the tokens of the train questions in --languages, of all documents and of --corpus, and single characters.
    Dev and test questions are not counted.
    """
    from ..data.corpus import read_corpus
    from ..data.loading import choose_data
    from ..jobs.reduce_encoder import prune_vocabulary
    from ..report.run_tables import print_pruning
    from ..students.vocabulary.pruning import PieceRule
    from ..system.progress import say

    settings = take_settings(values)
    dataset, languages = choose_data(settings.data, settings.seed)
    texts = read_corpus(corpus)
    rule = PieceRule(least, tuple(split_names(scripts)), most or 0, written=bool(most))
    report = prune_vocabulary(model, output, dataset, languages, texts, rule, settings.seed)
    write_figures(json_path, report, lambda: print_pruning(report))
    say(f"encoder: {output}, {report['rows'][1]} of {report['rows'][0]} tokens")


@command(examples=["distill subset multi12-ngram --languages de,es --output german-spanish"])
@click.argument("model")
@option("--languages", panel="data", required=True, help="Languages to keep, comma-separated, such as de,ru.")
@folder_option("Folder of the bundle.")
def subset(model: str, languages: str, output: str) -> None:
    """Keep some of the languages of a bundle, without data.

    MODEL is a bundle or a run. The tokens that these languages use stay, and those that all need, such as digits.
    Nothing is trained: a text that loses no token keeps its vector.
    """
    from ..jobs.reduce_encoder import subset_languages
    from ..system.progress import say

    result = subset_languages(model, output, split_names(languages))
    before, after = result.pieces
    say(f"{output}: {after} of {before} tokens, {result.bytes[1] / 1e6:.1f} of {result.bytes[0] / 1e6:.1f} MB")


@command(examples=["distill reduce runs/my-run --channels 128 --output reduced"])
@click.argument("model")
@settings_options("reduce", "shape")
@folder_option("Folder of the reduced encoder.")
def reduce(model: str, output: str, **values: Value | None) -> None:
    """Cut an encoder to a smaller shape, to be trained next.

    Its weights are sliced, factorised and refitted on the data set. Train the result with distill transfer --start.
    """
    from ..data.loading import choose_data
    from ..system.backend import start
    from ..system.progress import say

    settings = take_settings(values)
    start()
    from ..jobs.reduce_encoder import reduce_encoder
    from ..students.shape import Shape

    shape = Shape.of(settings.shape)
    dataset, languages = choose_data(settings.data, settings.seed)
    reduced = reduce_encoder(model, output, shape, dataset, languages, settings.seed)
    say(f"encoder: {output}, {shape}, {reduced.after} of {reduced.before} weights")


def files_option(flag: str, meaning: str, name: str, panel: str) -> Callable[[Command], Command]:
    """Return a decorator that adds an option of files, which may be repeated."""
    help = f"{meaning} May be repeated."
    return option(flag, name, panel=panel, main=True, multiple=True, type=click.Path(), metavar="FILE", help=help)


KEEP = "Text of other languages, language=FILE, that must be split into the same tokens as before."
WORDS = "Words with their frequency: a word, a tab and a number per line."
teacher_language_option = option("--teacher-language", panel="data", default="en", help="Language of the translations.")
seed_option = count_option("--seed", panel="files", least=0, default=0, help="Seed of all random draws.")


@command(
    "add-language",
    examples=[
        "distill add-language multi12-ngram fi --text fi.txt --parallel en-fi.tsv --output with-finnish",
        "distill add-language runs/my-run fi --text fi.txt --parallel en-fi.tsv --dictionary words.tsv --output fi",
    ],
)
@click.argument("model")
@click.argument("language")
@files_option("--text", "Text in the language to learn tokens from: one text per line, or .jsonl.", "text", "data")
@files_option(
    "--parallel",
    "Translations, FILE or FILE=WEIGHT: a .tsv headed by languages, a .jsonl file or a folder.",
    "parallel",
    "data",
)
@files_option(
    "--dictionary",
    "Translations of words, in the same form; a cell may hold several, separated by ' | '.",
    "dictionary",
    "data",
)
@files_option("--keep", KEEP, "keep", "data")
@teacher_language_option
@files_option("--add-words", f"{WORDS} Each gets a token of its own.", "word_lists", "vocabulary")
@count_option(
    "--add-pieces", "learned", panel="vocabulary", default=4000, help="Number of tokens to learn from the text."
)
@count_option(
    "--most-words", panel="vocabulary", least=0, default=8000, help="Most frequent words that get a token of their own."
)
@count_option(
    "--most-spellings",
    "spellings",
    panel="vocabulary",
    least=0,
    default=0,
    help="Number of further words that are read as existing tokens, for 25 bytes per word.",
)
@option(
    "--aligner",
    panel="vocabulary",
    help="Encoder that knows the language, such as e5, to initialise embeddings by meaning; or none. [default: e5 if "
    "it is installed]",
)
@count_option("--steps", panel="training", default=500, help="Number of training steps.")
@count_option(
    "--lines-a-step", "lines", panel="training", least=2, default=256, help="Number of lines per training step."
)
@seed_option
@json_option
@folder_option("Folder of the encoder; it is a bundle if MODEL is a bundle or a run.")
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
    """Teach an encoder a new language.

    Tokens of LANGUAGE are learned from its text; only their embeddings are trained, on translations. A text in another
    language keeps its vector, to the last bit, unless it contains a new token.
    """
    from ..report.run_tables import print_language
    from ..system.progress import say
    from ..vocabulary.languages.add_language import LanguagePlan
    from ..vocabulary.languages.add_language import add_language as add
    from ..vocabulary.languages.material import LanguageSources

    sources = LanguageSources(language, teacher_language, text, parallel, dictionary, word_lists, keep)
    plan = LanguagePlan(sources, learned, most_words, aligner, steps, lines, seed, spellings)
    report = add(model, plan, output)
    write_figures(json_path, report, lambda: print_language(report))
    say(f"encoder: {output}, {language} in {report['pieces'][1] - report['pieces'][0]} tokens")


@command(
    "add-words",
    examples=[
        "distill add-words multi12-ngram de --dictionary de-en.tsv --output more-words",
        "distill add-words multi12-ngram de --dictionary de-en.tsv --add-words de.tsv --aligner e5 --output more-words",
    ],
)
@click.argument("model")
@click.argument("language")
@files_option(
    "--dictionary",
    "Words with translations: a .tsv headed by languages, where a cell may hold several, separated by ' | '.",
    "dictionary",
    "data",
)
@files_option(
    "--text",
    "Text in the language, which shows how often words occur, and with a capital: one text per line, or .jsonl.",
    "text",
    "data",
)
@files_option("--keep", KEEP, "keep", "data")
@teacher_language_option
@files_option("--add-words", f"{WORDS} [default: the dictionary's words]", "word_lists", "vocabulary")
@count_option("--most-spellings", panel="vocabulary", default=20_000, help="Most words to add, for 35 bytes per word.")
@option(
    "--aligner",
    panel="vocabulary",
    help="Encoder that knows the language, such as e5, for words that no dictionary has.",
)
@json_option
@folder_option("Folder of the artefact.")
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
    """Teach an encoder words of a language it knows.

    MODEL is a bundle or a run. A word that is split into several tokens is read as the tokens of a translation, if
    those are nearer to its meaning. No weight is added or changed and nothing is trained. Words that occur in text of
    other languages are left out.
    """
    from ..report.run_tables import print_words
    from ..system.progress import say
    from ..vocabulary.languages.add_words import WordPlan
    from ..vocabulary.languages.add_words import add_words as add
    from ..vocabulary.languages.material import LanguageSources

    sources = LanguageSources(language, teacher_language, text, (), dictionary, word_lists, keep)
    report = add(model, WordPlan(sources, most_spellings, aligner), output)
    write_figures(json_path, report, lambda: print_words(report))
    say(f"encoder: {output}, {len(report['words'])} words of {language}")


@command(
    "add-spellings",
    examples=[
        "distill add-spellings multi12-ngram --text de=de.txt --text el=el.txt --output with-spellings",
        "distill add-spellings multi12-ngram --text el=el.txt --typed-kinds latin --output with-latin",
    ],
)
@click.argument("model")
@files_option("--text", "Correctly written text, language=FILE: one text per line, or .jsonl.", "text", "data")
@option("--teacher-language", panel="data", default="en", help="Language of the documents.")
@files_option("--add-words", f"language=FILE. {WORDS}", "word_lists", "vocabulary")
@option(
    "--typed-kinds",
    "kinds",
    panel="vocabulary",
    default=",".join(SPELLED),
    help="Ways of typing to learn, comma-separated.",
)
@count_option(
    "--most-spellings",
    panel="vocabulary",
    default=140_000,
    help="Most spellings to add, for about 24 bytes per spelling.",
)
@seed_option
@json_option
@folder_option("Folder of the artefact.")
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
    """Teach an encoder text as people type it, without accents or in Latin letters.

    MODEL is a bundle or a run that knows the languages of the text. A word as it is typed is read as the tokens of the
    word as it is written, so no weight is added or changed. Words that occur in written text keep their tokens.
    """
    from ..data.corpus import read_corpus, read_word_lists
    from ..report.run_tables import print_spellings
    from ..system.progress import say
    from ..vocabulary.languages.add_spellings import SpellingPlan
    from ..vocabulary.languages.add_spellings import add_spellings as add

    texts, words = read_corpus(text), read_word_lists(word_lists)
    plan = SpellingPlan(texts, words, split_names(kinds), most_spellings, pivot=teacher_language, seed=seed)
    report = add(model, plan, output)
    write_figures(json_path, report, lambda: print_spellings(report))
    say(f"encoder: {output}, {sum(sum(row.values()) for row in report['spellings'].values())} spellings")
