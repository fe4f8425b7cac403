"""Write a bundle for some of an artefact's languages: fewer tokens, with nothing trained or rounded again."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from ..encoders.tokenizer import SPACE, Tokenizer, list_spellings, model_proto, with_spellings
from ..errors import EncoderError, ExportError, InputError
from ..students.vocabulary.pieces import MOST_TEXTS, prune_tokenizer, require_kept_vectors
from ..students.vocabulary.vocabularies import find_main_scripts, find_shared_tokens
from ..system.files import write_aside, write_json, write_text
from ..system.types import Booleans, File, Integers, Json
from . import encode
from .card import README, fill_page, remake_card
from .formats.format import format_of, load_artefact, locate_file
from .gate import Reference
from .languages import CARD_KEY, TokenLanguages, read_languages, write_languages
from .student import read_checked_card
from .weights.codecs import CODECS

# The entry of a card about spellings that were added.
SPELLINGS_KEY = "spelled"
# The number of tokens of a text that is made to compare both artefacts.
WORDS = 8


@dataclass(frozen=True)
class Subset:
    """The result of taking languages out of an artefact. `bytes` is the size in bytes before and after."""

    pieces: tuple[int, int]
    bytes: tuple[int, int]
    kept: dict[str, float]


def write_subset(folder: Path, output: File, languages: Sequence[str], source: str) -> Subset:
    """Write an artefact with only the tokens of some languages, and return the sizes and the shares that were kept.

    A text that loses none of its tokens keeps its vector, to the last bit: both are compared on texts of kept tokens.
    Raises `InputError` if a language is unknown, or no language would be left out; and `EncoderError` if the artefact
    does not say which languages use its tokens.
    """
    card, tokenizer = read_checked_card(folder), Tokenizer.load(folder / encode.TOKENIZER)
    pieces = read_languages(folder, card)
    wanted = pieces.of(tuple(dict.fromkeys(languages)))
    if set(wanted.languages) == set(pieces.languages):
        raise InputError(f"--languages: {folder} has no other languages; leave some out, or use it as it is")
    tokenizer, wanted = drop_other_spellings(tokenizer, wanted)
    smaller, old_ids = prune_tokenizer(tokenizer, select_tokens(tokenizer, wanted), always=())
    result = Subset((len(tokenizer), len(smaller)), (card["bytes"], 0), compute_kept_shares(pieces, old_ids))
    with write_aside(output) as aside:
        aside.mkdir()
        _write_model(folder, card, aside, old_ids)
        smaller.save(aside / encode.TOKENIZER)
        write_languages(
            aside,
            TokenLanguages(wanted.languages, wanted.used[old_ids], languages_of_spellings(tokenizer, wanted, old_ids)),
        )
        for name in ("encode.py", encode.REMOVAL):
            if name in card["files"]:
                shutil.copyfile(locate_file(folder, name), aside / name)
        rewritten = _card(card, aside, output, result, wanted.languages, source)
        write_json(aside / encode.CARD, rewritten)
        write_text(aside / README, render_page(rewritten, result))
        require_kept_vectors(_load(folder), _load(aside), _join_tokens(smaller))
    return Subset(result.pieces, (card["bytes"], rewritten["bytes"]), result.kept)


def _load(folder):
    return Reference(load_artefact(folder), Tokenizer.load(folder / encode.TOKENIZER))


def _join_tokens(tokenizer):
    """Return short texts of a tokenizer's normal tokens, most of which are cut into these again."""
    pieces = [piece.piece for piece in model_proto(tokenizer).pieces if piece.type == piece.NORMAL]
    step = max(1, len(pieces) // MOST_TEXTS)
    return ["".join(pieces[place::step][:WORDS]).replace(SPACE, " ") for place in range(min(step, MOST_TEXTS))]


def drop_other_spellings(tokenizer: Tokenizer, wanted: TokenLanguages) -> tuple[Tokenizer, TokenLanguages]:
    """Remove the spellings that only other languages use."""
    spellings = list_spellings(tokenizer)
    if wanted.spelled is None:
        return tokenizer, wanted
    if len(spellings) != len(wanted.spelled):
        raise EncoderError(
            f"{tokenizer.source}: {len(spellings)} spellings, but languages of {len(wanted.spelled)}; export it again"
        )
    kept = wanted.spelled.any(axis=1)
    rest = with_spellings(tokenizer, [spellings[place] for place in np.flatnonzero(kept)])
    return rest, replace(wanted, spelled=wanted.spelled[kept])


def languages_of_spellings(tokenizer: Tokenizer, wanted: TokenLanguages, old_ids: Integers) -> Booleans | None:
    """Return the languages, bool `(spellings, languages)`, of spellings whose tokens are all kept, or None."""
    if wanted.spelled is None:
        return None
    kept = set(old_ids.tolist())
    return wanted.spelled[[kept.issuperset(one.ids) for one in list_spellings(tokenizer)]]


def select_tokens(tokenizer: Tokenizer, wanted: TokenLanguages) -> set[int]:
    """Return the ids of the tokens that some languages use, and of those that every language needs."""
    proto, scripts = model_proto(tokenizer), set()
    for place in range(len(wanted.languages)):
        scripts |= find_main_scripts(proto, np.flatnonzero(wanted.used[:, place]).tolist())
    return set(np.flatnonzero(wanted.used.any(axis=1)).tolist()) | find_shared_tokens(proto, scripts)


def compute_kept_shares(pieces: TokenLanguages, old_ids: Integers) -> dict[str, float]:
    counts, before = pieces.used[old_ids].sum(axis=0), pieces.used.sum(axis=0)
    shares = zip(pieces.languages, counts / before.clip(1), strict=True)
    return {name: round(float(share), 4) for name, share in shares}


def _write_model(folder: Path, card: dict[str, Json], aside: Path, old_ids: Integers) -> None:
    format_ = format_of(card["format"])
    content = (folder / format_.file).read_bytes()
    try:
        codec = card["precision"]["table"]
        remade = partial(CODECS[codec].take_rows, kept=old_ids)
        content = format_.with_table(content, card["vocabulary"], codec, remade)
    except (ExportError, ValueError, IndexError, KeyError) as error:
        raise EncoderError(f"{folder}: no embeddings can be taken out of {format_.file}: {error}") from error
    (aside / format_.file).write_bytes(content)


def _card(
    card: dict[str, Json], folder: Path, output: File, result: Subset, languages: tuple[str, ...], source: str
) -> dict[str, Json]:
    rest, known = {key: value for key, value in card.items() if key != SPELLINGS_KEY}, list(languages)
    kept = {CARD_KEY: {"languages": known, "before": result.pieces[0], "kept": result.kept}}
    return remake_card(rest, folder, output, source, {"vocabulary": result.pieces[1], "languages": known, **kept})


def render_page(card: dict[str, Json], result: Subset) -> str:
    """Return the README of a subset."""
    rows = "\n".join(f"| {name} | {100 * share:.1f} |" for name, share in result.kept.items())
    return fill_page(
        PAGE,
        card,
        CARD_NOTE,
        languages=", ".join(card["languages"]),
        pieces=f"{result.pieces[1]} of {result.pieces[0]}",
        table=f"| language | tokens kept, % |\n|---|---|\n{rows}",
    )


CARD_NOTE = "`card.json` has the same facts and the sha256 of the files."
PAGE = """# {name}

A sentence encoder for {languages}. It turns a text into a vector of {dimension} numbers with unit length. It is
{source} with {pieces} of its tokens. A text that loses none of its tokens keeps its vector. A text in another
language is split into more tokens, or becomes `<unk>`.

{how}

- size: {size}
- source: {source}
- languages: {languages}

{table}

{derived}
"""
