"""Copy an encoder and add token aliases for noisy text. The copy has no more embeddings or weights than the encoder."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...data.corpus import sample_texts
from ...encoders.catalog.bundle import find_artefact
from ...encoders.catalog.identity import describe_origin
from ...encoders.catalog.loading import load_encoder
from ...encoders.encoder import Encoder
from ...encoders.tokenizer import Tokenizer, list_spellings, with_spellings, without_spellings
from ...errors import InputError
from ...export.language_extension import write_with_spellings
from ...export.languages import FILE, find_token_languages, read_languages
from ...export.student import read_checked_card
from ...settings.choices import SPELLED
from ...students.vocabulary.new_pieces import load_unigram_proto
from ...system.backend import start
from ...system.files import require_writable
from ...system.progress import say, task
from ...system.types import File, Floats, Json
from ..typed.kinds import UNSPACED, add_noise, has_kind, require_kinds, split_chinese
from .spelling_candidates import (
    JOINED,
    LATIN,
    Candidate,
    Candidates,
    TokenTable,
    add_unused_aliases,
    collect_joined_words,
    collect_phrases,
    collect_tokens,
    collect_words,
)

# The greatest number of lines that are read of a language, of the language of the documents, and held out.
MOST_LINES, MOST_PIVOT, HELD = 20_000, 40_000, 200
# The factor by which more candidates are tried than are asked for, as some are left out later.
SPARE = 1.1
# With fewer lines than these, few of the words are known that an alias must leave alone.
FEW = 100
# The number of tokens of a language that may follow a word without a blank.
JOINED_WORDS = 4000


@dataclass(frozen=True)
class SpellingPlan:
    """The texts that spellings are made from, and how many spellings there may be.

    Args:
        texts: Lines as they are written, by language.
        words: Word lists by language, with the frequency of each word.
        kinds: The kinds of noise, some of `choices.SPELLED`.
        most: The greatest number of spellings; each takes about 24 bytes.
        phrases: The greatest number of phrases of a language that is written without blanks.
        pivot: The language of the documents, of which more lines are read than of the others.
        seed: The seed of all random draws.

    Example:
        >>> import distill
        >>> plan = distill.SpellingPlan({"de": ["Über die Brücke führt eine Straße."]}, kinds=("no-accents",))
        >>> plan.most, plan.pivot
        (140000, 'en')
    """

    texts: Mapping[str, Sequence[str]]
    words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    kinds: tuple[str, ...] = SPELLED
    most: int = 140_000
    phrases: int = 12_000
    pivot: str = "en"
    seed: int = 0


def add_spellings(model: str, plan: SpellingPlan, output: File) -> dict[str, Json]:
    """Write a copy of a bundle that reads noisy text, such as text without accents or in Latin letters.

    The copy knows spellings: a noisy form of a word stands for the tokens of the written form. No embedding or weight
    is added or changed. A text that is cut into the same tokens as before keeps its vector.

    Args:
        model: A bundle, a run folder that holds one, or a name such as `multi12-ngram`.
        plan: The texts that spellings are made from.
        output: The folder to make.

    Returns:
        The number of spellings by kind and language, and the cosine similarity of held-out noisy lines to the lines as
        they are written.

    Raises:
        InputError: If there is no text, if the encoder lacks a language, if the words have no noisy form, or if no
            spelling is new.
        EncoderError: If the encoder is not a bundle, or has no unigram model.

    Example:
        >>> import distill
        >>> texts = {"de": ["Über die Brücke führt eine Straße.", "Die Donau mündet ins Schwarze Meer."] * 10}
        >>> plan = distill.SpellingPlan(texts, kinds=("lower-case",), most=1000)
        >>> result = distill.add_spellings("my-run", plan, "as-typed")
    """
    require_writable(output)
    require_material(plan)
    start()
    folder = find_artefact(model)
    card = read_checked_card(folder)
    known = read_languages(folder, card) if FILE in card["files"] else None
    require_known(plan, known.languages if known else tuple(card.get("languages", ())), model)
    tokenizer = remove_aliases(Tokenizer.load(folder / "tokenizer.model"), model)
    read, held = divide_lines(plan)
    used = known or find_token_languages(tokenizer, read)
    columns = {name: np.flatnonzero(used.used[:, used.languages.index(name)]) for name in read}
    candidates = collect_candidates(TokenTable(tokenizer), columns, read, plan)
    with task("spellings that written text has", None) as advance:
        spelled = add_unused_aliases(tokenizer, choose_candidates(candidates, round(SPARE * plan.most)), read, advance)
    spelled = keep_best_aliases(spelled, candidates, plan.most)
    if not list_spellings(spelled):
        raise InputError(f"{model}: no spelling is new; give text of languages that are typed otherwise than written")
    notes: dict[str, Json] = {"kinds": list(plan.kinds), "spellings": count_aliases(spelled, candidates)}
    write_with_spellings(
        folder, Path(output), spelled, notes, describe_origin(model)["source"], known and replace(known, spelled=None)
    )
    figures = measure_cosines(load_encoder(folder), load_encoder(output), held, plan.kinds)
    return {"model": model, "seed": plan.seed, **notes, "cosine": figures}


def require_material(plan: SpellingPlan) -> None:
    """Raise `InputError` for unknown kinds of noise, and if there is no text."""
    if not plan.kinds or not set(plan.kinds) <= set(SPELLED):
        raise InputError(f"--typed-kinds: expected some of {', '.join(SPELLED)}, got {', '.join(plan.kinds) or 'none'}")
    if not plan.texts:
        raise InputError("--text: no text to learn from; give some as it is written, language=FILE such as de=news.txt")


def remove_aliases(tokenizer: Tokenizer, model: str) -> Tokenizer:
    """Remove the aliases from the tokenizer of a model, and report them if there are any."""
    load_unigram_proto(tokenizer)
    if count := len(list_spellings(tokenizer)):
        say(f"the new spellings stand in place of the {count:,} that {model} has")
    return without_spellings(tokenizer)


def require_known(plan: SpellingPlan, languages: Sequence[str], model: str) -> None:
    """Raise `InputError` for a plan that does not suit a model's languages, or that a missing package is needed for."""
    if unknown := sorted(set(plan.texts) - set(languages or plan.texts)):
        raise InputError(f"--text: {model} has no {', '.join(unknown)}; it has {', '.join(languages)}")
    if bare := sorted(set(plan.words) - set(plan.texts)):
        raise InputError(f"--add-words: no --text in {', '.join(bare)}; give some, or leave the words out")
    if idle := sorted(name for name in plan.words if LATIN not in plan.kinds or not has_kind(name, LATIN)):
        raise InputError(f"--add-words: words are typed in Latin letters, {', '.join(idle)} not; leave them out")
    require_kinds(plan.texts, plan.kinds)


def divide_lines(plan: SpellingPlan) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Divide the lines of each language into those that are read and those that are held out to measure the result."""
    read, held = {}, {}
    for language, texts in plan.texts.items():
        most = MOST_PIVOT if language == plan.pivot else MOST_LINES
        lines = list(dict.fromkeys(sample_texts(list(texts), most, plan.seed)))
        random.Random(f"{plan.seed}\n{language}").shuffle(lines)
        if len(lines) < FEW:
            say(f"--text: {len(lines)} lines in {language} are too few to tell which spellings written text has")
        count = min(HELD, len(lines) // 10)
        read[language], held[language] = lines[count:], lines[:count]
    return read, {language: lines for language, lines in held.items() if lines}


def collect_candidates(
    pieces: TokenTable, used: Mapping[str, np.ndarray], texts: Mapping[str, Sequence[str]], plan: SpellingPlan
) -> Candidates:
    """Collect every alias of the token ids that the languages use."""
    candidates = Candidates(pieces)
    with task("spellings", len(texts)) as advance:
        for language, lines in texts.items():
            counts, bare = pieces.counts(lines), language in UNSPACED
            rows = list(collect_tokens(pieces, used[language], counts))
            for kind in (kind for kind in plan.kinds if kind != JOINED and has_kind(language, kind)):
                candidates.add_typed(rows, language, kind)
                if kind == LATIN:
                    candidates.add_typed(collect_words(pieces, plan.words.get(language, {}), bare), language, kind)
                if kind == LATIN and language == "zh":
                    phrases = collect_phrases(pieces, [split_chinese(line) for line in lines], plan.phrases)
                    candidates.add_typed(phrases, language, kind)
            if JOINED in plan.kinds and not bare:
                candidates.add_joined(collect_joined_words(pieces, counts, JOINED_WORDS), language)
            advance()
    return candidates


def choose_candidates(candidates: Mapping[str, Candidate], most: int) -> dict[str, Candidate]:
    """Choose the most useful candidates.

    Candidates in the letters of their own language come first, then the same number for each language. Within a
    language and a kind, those with the largest shares come first.
    """
    order, ranks = [], Counter[str]()
    for piece in sorted(candidates, key=lambda piece: (-candidates[piece].share, piece)):
        kind, language = candidates[piece].cell
        order.append((kind == LATIN, ranks[f"{kind} {language}"], piece))
        ranks[f"{kind} {language}"] += 1
    return {piece: candidates[piece] for _, _, piece in sorted(order)[:most]}


def keep_best_aliases(spelled: Tokenizer, candidates: Mapping[str, Candidate], most: int) -> Tokenizer:
    """Keep the most useful aliases of a tokenizer."""
    spellings = list_spellings(spelled)
    chosen = choose_candidates({one.piece: candidates[one.piece] for one in spellings}, most)
    return with_spellings(spelled, [one for one in spellings if one.piece in chosen])


def count_aliases(spelled: Tokenizer, candidates: Mapping[str, Candidate]) -> dict[str, dict[str, int]]:
    """Count the aliases of a tokenizer. Returns the counts, `{kind: {language: number}}`."""
    counts: dict[str, Counter[str]] = {}
    for one in list_spellings(spelled):
        kind, language = candidates[one.piece].cell
        counts.setdefault(kind, Counter())[language] += 1
    return {kind: dict(sorted(row.items())) for kind, row in sorted(counts.items())}


def measure_cosines(
    before: Encoder, after: Encoder, held: Mapping[str, Sequence[str]], kinds: Sequence[str]
) -> dict[str, dict[str, list[float]]]:
    """Measure how near noisy lines are to the same lines as they are written: `{kind: {language: [before, after]}}`.

    Under the kind "written" are the lines without noise, whose cosine is 1 before.
    """
    table: dict[str, dict[str, list[float]]] = {"written": {}}
    with task("lines as people type them", len(held)) as advance:
        for language, lines in held.items():
            written = before.encode(lines)
            table["written"][language] = [1.0, _mean_cosine(written, after.encode(lines))]
            for kind in (kind for kind in kinds if has_kind(language, kind)):
                as_typed = [add_noise(line, language, kind) for line in lines]
                row = [_mean_cosine(written, encoder.encode(as_typed)) for encoder in (before, after)]
                table.setdefault(kind, {})[language] = row
            advance()
    return table


def _mean_cosine(vectors: Floats, others: Floats) -> float:
    """Return the mean cosine of unit vectors and others, row by row."""
    return float((vectors * others).sum(axis=1).mean())
