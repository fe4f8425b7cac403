"""A copy of an encoder that reads text as people type it: more ways to cut text, and no row or weight more."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..catalog.bundle import find_artefact
from ..catalog.identity import describe_origin
from ..catalog.loading import load_encoder
from ..data.corpus import sample_texts
from ..encoders.encoder import Encoder
from ..encoders.tokenizer import Tokenizer, list_spellings, with_spellings, without_spellings
from ..errors import InputError
from ..export.languages import FILE, find_token_languages, read_languages
from ..export.spelled import write_with_spellings
from ..export.student import read_checked_card
from ..settings.choices import SPELLED
from ..students.vocabulary.new_pieces import unigram_proto
from ..system.backend import start
from ..system.progress import say, task
from ..system.types import File, Floats, Json
from ..typed.kinds import UNSPACED, has_kind, require_kinds, typed
from ..typed.latin import chinese_words
from .candidates import JOINED, LATIN, Candidate, Candidates
from .protection import protected
from .written import Pieces, joined_words, written_phrases, written_pieces, written_words

# Lines of a language that are read, and of the one whose documents are searched; those of the last that are held out.
MOST_LINES, MOST_PIVOT, HELD = 20_000, 40_000, 200
# Candidates beyond the number that is asked for, as some are left out.
SPARE = 1.1
# Fewer lines than these have few of the words that a spelling must leave alone.
FEW = 100
# Pieces of a language that may follow a word without a blank.
JOINED_WORDS = 4000


@dataclass(frozen=True)
class SpellingPlan:
    """The material of spellings, and how many there are to be.

    Args:
        texts: as they are written, by language.
        words: lists of words by language, with their frequencies.
        kinds: how people type, some of `choices.SPELLED`.
        most: spellings, at most, about 24 bytes each.
        phrases: of a language that is written without blanks, at most.
        pivot: the language of the documents, whose text is read further than that of others.
        seed: of what is drawn.
    """

    texts: Mapping[str, Sequence[str]]
    words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    kinds: tuple[str, ...] = SPELLED
    most: int = 140_000
    phrases: int = 12_000
    pivot: str = "en"
    seed: int = 0


def add_spellings(model: str, plan: SpellingPlan, output: File) -> dict[str, Json]:
    """Write a copy of a bundle that reads text as people type it: without accents, in Latin letters.

    Words as typed stand for the pieces of the words as they are written, so no row or weight is added or changed. Its
    vectors are those that it had wherever a text is cut as it was.

    Args:
        model: a bundle, a run folder that holds one, or a name such as `released`.
        plan: the text that spellings are made of.
        output: the folder that is made.

    Returns:
        The numbers of spellings by kind and language, and the cosines of held-out lines to what they are as written.

    Raises:
        InputError: without text, for a language that the encoder lacks, for words that nobody types otherwise, and
            where no spelling is new.
        EncoderError: for an encoder that is no bundle, or has no unigram model.

    Example:
        >>> import distill
        >>> texts = {"de": ["Über die Brücke führt eine Straße.", "Die Donau mündet ins Schwarze Meer."] * 10}
        >>> plan = distill.SpellingPlan(texts, kinds=("no-accents",), most=1000)
        >>> distill.add_spellings("released-small", plan, "as-typed")["kinds"]
        ['no-accents']
    """
    require_material(plan)
    start()
    folder = find_artefact(model)
    card = read_checked_card(folder)
    known = read_languages(folder, card) if FILE in card["files"] else None
    require_known(plan, known.languages if known else tuple(card.get("languages", ())), model)
    tokenizer = unspelled(Tokenizer.load(folder / "tokenizer.model"), model)
    read, held = divided(plan)
    used = known or find_token_languages(tokenizer, read)
    columns = {name: np.flatnonzero(used.used[:, used.languages.index(name)]) for name in read}
    candidates = candidates_of(Pieces(tokenizer), columns, read, plan)
    with task("spellings that written text has", None) as advance:
        spelled = protected(tokenizer, foremost(candidates, round(SPARE * plan.most)), read, advance)
    spelled = shortened(spelled, candidates, plan.most)
    if not list_spellings(spelled):
        raise InputError(f"{model}: no spelling is new; give text of languages that are typed otherwise than written")
    notes: dict[str, Json] = {"kinds": list(plan.kinds), "spellings": counts_of(spelled, candidates)}
    write_with_spellings(
        folder, Path(output), spelled, notes, describe_origin(model)["source"], known and replace(known, spelled=None)
    )
    figures = cosines(load_encoder(folder), load_encoder(output), held, plan.kinds)
    return {"model": model, "seed": plan.seed, **notes, "cosine": figures}


def require_material(plan: SpellingPlan) -> None:
    """Raise `InputError` for kinds that there are not, and without text."""
    if not plan.kinds or not set(plan.kinds) <= set(SPELLED):
        raise InputError(f"--typed-kinds: expected some of {', '.join(SPELLED)}, got {', '.join(plan.kinds) or 'none'}")
    if not plan.texts:
        raise InputError("--text: no text to learn from; give some as it is written, language=FILE such as de=news.txt")


def unspelled(tokenizer: Tokenizer, model: str) -> Tokenizer:
    """Return a model's tokenizer without its spellings, and say if there are any. Raises `EncoderError`."""
    unigram_proto(tokenizer)
    if many := len(list_spellings(tokenizer)):
        say(f"the new spellings stand in place of the {many:,} that {model} has")
    return without_spellings(tokenizer)


def require_known(plan: SpellingPlan, languages: Sequence[str], model: str) -> None:
    """Raise `InputError` for text in a language that a model lacks, which says its languages; for words without use.

    Also where a package is not installed that the kinds need.
    """
    if unknown := sorted(set(plan.texts) - set(languages or plan.texts)):
        raise InputError(f"--text: {model} has no {', '.join(unknown)}; it has {', '.join(languages)}")
    if bare := sorted(set(plan.words) - set(plan.texts)):
        raise InputError(f"--add-words: no --text in {', '.join(bare)}; give some, or leave the words out")
    if idle := sorted(name for name in plan.words if LATIN not in plan.kinds or not has_kind(name, LATIN)):
        raise InputError(f"--add-words: words are typed in Latin letters, {', '.join(idle)} not; leave them out")
    require_kinds(plan.texts, plan.kinds)


def divided(plan: SpellingPlan) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return by language the lines that are read, and those that are held out to tell what came of it."""
    read, held = {}, {}
    for language, texts in plan.texts.items():
        most = MOST_PIVOT if language == plan.pivot else MOST_LINES
        lines = list(dict.fromkeys(sample_texts(list(texts), most, plan.seed)))
        random.Random(f"{plan.seed}\n{language}").shuffle(lines)
        if len(lines) < FEW:
            say(f"--text: {len(lines)} lines in {language} are too few to tell which spellings written text has")
        many = min(HELD, len(lines) // 10)
        read[language], held[language] = lines[many:], lines[:many]
    return read, {language: lines for language, lines in held.items() if lines}


def candidates_of(
    pieces: Pieces, used: Mapping[str, np.ndarray], texts: Mapping[str, Sequence[str]], plan: SpellingPlan
) -> Candidates:
    """Return all spellings of what languages use, the ids of each under `used`."""
    candidates = Candidates(pieces)
    with task("spellings", len(texts)) as advance:
        for language, lines in texts.items():
            counts, bare = pieces.counts(lines), language in UNSPACED
            rows = list(written_pieces(pieces, used[language], counts))
            for kind in (kind for kind in plan.kinds if kind != JOINED and has_kind(language, kind)):
                candidates.add_typed(rows, language, kind)
                if kind == LATIN:
                    candidates.add_typed(written_words(pieces, plan.words.get(language, {}), bare), language, kind)
                if kind == LATIN and language == "zh":
                    phrases = written_phrases(pieces, [chinese_words(line) for line in lines], plan.phrases)
                    candidates.add_typed(phrases, language, kind)
            if JOINED in plan.kinds and not bare:
                candidates.add_joined(joined_words(pieces, counts, JOINED_WORDS), language)
            advance()
    return candidates


def foremost(candidates: Mapping[str, Candidate], most: int) -> dict[str, Candidate]:
    """Return at most so many candidates: those in a language's own letters first, then of each language as many.

    Of a language's own those of the largest shares.
    """
    order, ranks = [], Counter[str]()
    for piece in sorted(candidates, key=lambda piece: (-candidates[piece].share, piece)):
        kind, language = candidates[piece].cell
        order.append((kind == LATIN, ranks[f"{kind} {language}"], piece))
        ranks[f"{kind} {language}"] += 1
    return {piece: candidates[piece] for _, _, piece in sorted(order)[:most]}


def shortened(spelled: Tokenizer, candidates: Mapping[str, Candidate], most: int) -> Tokenizer:
    """Return the tokenizer with the foremost of its spellings, at most so many."""
    spellings = list_spellings(spelled)
    chosen = foremost({one.piece: candidates[one.piece] for one in spellings}, most)
    return with_spellings(spelled, [one for one in spellings if one.piece in chosen])


def counts_of(spelled: Tokenizer, candidates: Mapping[str, Candidate]) -> dict[str, dict[str, int]]:
    """Return how many spellings there are, by kind and language."""
    counts: dict[str, Counter[str]] = {}
    for one in list_spellings(spelled):
        kind, language = candidates[one.piece].cell
        counts.setdefault(kind, Counter())[language] += 1
    return {kind: dict(sorted(row.items())) for kind, row in sorted(counts.items())}


def cosines(
    before: Encoder, after: Encoder, held: Mapping[str, Sequence[str]], kinds: Sequence[str]
) -> dict[str, dict[str, list[float]]]:
    """Return the mean cosine of lines to what they were as written, `{kind: {language: [before, after]}}`.

    Under "written" that of the lines as they are, which is 1 before.
    """
    table: dict[str, dict[str, list[float]]] = {"written": {}}
    with task("lines as people type them", len(held)) as advance:
        for language, lines in held.items():
            written = before.encode(lines)
            table["written"][language] = [1.0, _cosine(written, after.encode(lines))]
            for kind in (kind for kind in kinds if has_kind(language, kind)):
                as_typed = [typed(line, language, kind) for line in lines]
                row = [_cosine(written, encoder.encode(as_typed)) for encoder in (before, after)]
                table.setdefault(kind, {})[language] = row
            advance()
    return table


def _cosine(vectors: Floats, others: Floats) -> float:
    """The mean cosine of unit rows, row by row."""
    return float((vectors * others).sum(axis=1).mean())
