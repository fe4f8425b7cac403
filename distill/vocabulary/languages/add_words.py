"""Copy an artefact and add words of a language that it has, as aliases for the tokens of what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...encoders.catalog.bundle import find_artefact
from ...encoders.catalog.identity import describe_origin
from ...encoders.catalog.loading import load_encoder, load_keras_encoder, load_teacher
from ...encoders.spellings import Spelling
from ...encoders.tokenizer import list_spellings
from ...errors import InputError
from ...export.language_extension import write_with_spellings
from ...export.languages import FILE, TokenLanguages, read_languages
from ...export.student import read_checked_card
from ...export.subset import SPELLINGS_KEY
from ...settings.choices import WORDS
from ...system.backend import start
from ...system.files import require_writable
from ...system.types import File, Json
from .add_language import measure_others
from .material import LanguageSources, read_lexicon, require_known


@dataclass(frozen=True)
class WordPlan:
    """The files of a language's words, and how many words are added.

    Args:
        sources: The files of the language.
        most: The greatest number of words to add; each takes about 35 bytes.
        aligner: The encoder that finds the meaning of words that no dictionary has; None to leave such words out.

    Example:
        >>> import distill
        >>> distill.WordPlan(distill.LanguageSources("el", dictionary=("words.tsv",)), most=1000).most
        1000
    """

    sources: LanguageSources
    most: int = 20_000
    aligner: str | None = None


def add_words(model: str, plan: WordPlan, output: File) -> dict[str, Json]:
    """Write a copy of a bundle that reads more words of one of its languages, by what they mean.

    No embedding or weight is added or changed. A text that is cut into the same tokens as before keeps its vector.

    Args:
        model: A bundle, a run folder that holds one, or a name such as `multi12-ngram`.
        plan: The files of the language, and how many words are added.
        output: The folder to make.

    Returns:
        The words, and what the languages of the sample lose or gain.

    Raises:
        InputError: If the bundle lacks the language, if the files have no words, or if no word comes nearer to what it
            means.
        DataError: If a file cannot be read. The message names file and line.
        EncoderError: If the encoder is not a bundle, or has no unigram model.

    Example:
        >>> import distill, pathlib
        >>> _ = pathlib.Path("words.tsv").write_text("en\\tde\\nriver\\tFluss", encoding="utf-8")
        >>> plan = distill.WordPlan(distill.LanguageSources("de", dictionary=("words.tsv",)))
        >>> distill.add_words("my-run", plan, "with-words")["words"]
        ['▁fluss', '▁Fluss']
    """
    from .pieces import find_near_words
    from .word_aliases import spell_words

    require_writable(output)
    language, folder = plan.sources.language, find_artefact(model)
    card = read_checked_card(folder)
    known = read_languages(folder, card) if FILE in card["files"] else None
    require_known(language, known.languages if known else tuple(card.get("languages", ())), model)
    lexicon = read_lexicon(plan.sources)
    start()
    encoder = load_keras_encoder(model)
    first, before = encoder.tokenizer, list_spellings(encoder.tokenizer)
    near = find_near_words(first, first, lexicon, load_teacher(plan.aligner)) if plan.aligner else None
    tokenizer = spell_words(encoder, len(first), lexicon, near, plan.most)
    new = list_spellings(tokenizer)[len(before) :]
    if not new:
        raise InputError(f"{model}: no word of {language} comes nearer to what it means; give more of a dictionary")
    notes = note_words(card.get(SPELLINGS_KEY, {}), language, len(new))
    pieces = extend_languages(known, language, len(before), new)
    write_with_spellings(folder, Path(output), tokenizer, notes, describe_origin(model)["source"], pieces)
    languages = tuple(known.languages if known else card.get("languages", ()))
    measured = measure_others(load_encoder(folder), load_encoder(output), first, tokenizer, languages or (language,))
    words = [one.piece for one in new]
    return {"model": model, "language": language, "aligner": plan.aligner, "words": words, "sample": measured}


def note_words(notes: Mapping[str, Json], language: str, count: int) -> dict[str, Json]:
    """Return the entry of a card about aliases, with more words of a language."""
    kinds, counts = list(notes.get("kinds", ())), dict(notes.get("spellings", {}))
    words = dict(counts.get(WORDS, {}))
    counts[WORDS] = dict(sorted({**words, language: words.get(language, 0) + count}.items()))
    return {**notes, "kinds": [*(kind for kind in kinds if kind != WORDS), WORDS], "spellings": counts}


def extend_languages(
    pieces: TokenLanguages | None, language: str, before: int, new: Sequence[Spelling]
) -> TokenLanguages | None:
    """Return the languages of each token, with this one for tokens that new aliases stand for, and of the aliases."""
    if pieces is None:
        return None
    used = pieces.used.copy()
    used[[id for one in new for id in one.ids], pieces.languages.index(language)] = True
    return replace(pieces, used=used).with_more_spellings(before, len(new), language)
