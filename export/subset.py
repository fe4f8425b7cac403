"""A bundle of some of an artefact's languages: fewer pieces and rows, nothing trained and nothing rounded anew."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from ..encoders.tokenizer import Tokenizer, model_proto, spellings_of, with_spellings
from ..errors import EncoderError, ExportError, InputError
from ..students.origin import derivation, origin_in
from ..students.vocabulary.pieces import pruned
from ..students.vocabulary.shared_pieces import own_scripts, shared_pieces
from ..system.files import write_aside, write_json, write_text
from ..system.types import Booleans, File, Integers, Json
from . import encode
from .card import README, stored_files
from .formats.registry import format_of
from .languages import CARD_KEY, PieceLanguages, read_languages, write_languages
from .student import checked_card
from .weights.codecs import CODECS

# Figures of the whole, which are not the subset's, and what the whole's spellings are.
MEASURED, SPELLED = ("dev", "refused"), "spelled"


@dataclass(frozen=True)
class Subset:
    """Pieces and bytes, before and after, and the share of each language's pieces that stayed."""

    pieces: tuple[int, int]
    bytes: tuple[int, int]
    kept: dict[str, float]


def write_subset(folder: Path, output: File, languages: Sequence[str], source: str) -> Subset:
    """Write the artefact in `folder` with the pieces of these languages alone to `output`.

    A text none of whose pieces is lost has the same vector, to the last bit. `source` is named in the card. Raises
    `InputError` for a language that there is not, or where nothing would be left out, and `EncoderError` for an
    artefact that does not say which languages use its pieces.
    """
    card, tokenizer = checked_card(folder), Tokenizer.load(folder / encode.TOKENIZER)
    pieces = read_languages(folder, card)
    wanted = pieces.of(tuple(dict.fromkeys(languages)))
    if set(wanted.languages) == set(pieces.languages):
        raise InputError(f"--languages: {folder} has no others; leave some out, or take it as it is")
    tokenizer, wanted = with_own_words(tokenizer, wanted)
    smaller, old_ids = pruned(tokenizer, kept_pieces(tokenizer, wanted), always=())
    result = Subset((len(tokenizer), len(smaller)), (card["bytes"], 0), kept_shares(pieces, old_ids))
    with write_aside(output) as aside:
        aside.mkdir()
        _write_model(folder, card, aside, old_ids)
        smaller.save(aside / encode.TOKENIZER)
        write_languages(
            aside, PieceLanguages(wanted.languages, wanted.used[old_ids], spelled_of(tokenizer, wanted, old_ids))
        )
        for name in ("encode.py", encode.REMOVAL):
            if name in card["files"]:
                shutil.copyfile(folder / name, aside / name)
        rewritten = _card(card, aside, Path(output).resolve().name, result, wanted.languages, source)
        write_json(aside / encode.CARD, rewritten)
        write_text(aside / README, page(rewritten, result))
    return Subset(result.pieces, (card["bytes"], rewritten["bytes"]), result.kept)


def with_own_words(tokenizer: Tokenizer, wanted: PieceLanguages) -> tuple[Tokenizer, PieceLanguages]:
    """Return the tokenizer without words that stand for pieces in other languages alone, and the languages of the rest.

    Raises `EncoderError` for languages of other spellings.
    """
    spellings = spellings_of(tokenizer)
    if wanted.spelled is None:
        return tokenizer, wanted
    if len(spellings) != len(wanted.spelled):
        raise EncoderError(
            f"{tokenizer.source}: {len(spellings)} spellings, and languages of {len(wanted.spelled)}; export it again"
        )
    kept = wanted.spelled.any(axis=1)
    rest = with_spellings(tokenizer, [spellings[place] for place in np.flatnonzero(kept)])
    return rest, replace(wanted, spelled=wanted.spelled[kept])


def spelled_of(tokenizer: Tokenizer, wanted: PieceLanguages, old_ids: Integers) -> Booleans | None:
    """Return the languages of the spellings whose pieces are kept."""
    if wanted.spelled is None:
        return None
    kept = set(old_ids.tolist())
    return wanted.spelled[[kept.issuperset(one.ids) for one in spellings_of(tokenizer)]]


def kept_pieces(tokenizer: Tokenizer, wanted: PieceLanguages) -> set[int]:
    """Return the ids that languages use, with those that every language needs."""
    proto, scripts = model_proto(tokenizer), set()
    for place in range(len(wanted.languages)):
        scripts |= own_scripts(proto, np.flatnonzero(wanted.used[:, place]).tolist())
    return set(np.flatnonzero(wanted.used.any(axis=1)).tolist()) | shared_pieces(proto, scripts)


def kept_shares(pieces: PieceLanguages, old_ids: Integers) -> dict[str, float]:
    """Return the share of each language's pieces that are among those kept."""
    counts, before = pieces.used[old_ids].sum(axis=0), pieces.used.sum(axis=0)
    shares = zip(pieces.languages, counts / before.clip(1), strict=True)
    return {name: round(float(share), 4) for name, share in shares}


def _write_model(folder: Path, card: dict[str, Json], aside: Path, old_ids: Integers) -> None:
    format_ = format_of(card["format"])
    content = (folder / format_.file).read_bytes()
    try:
        codec = card["precision"]["table"]
        remade = partial(CODECS[codec].taken, kept=old_ids)
        content = format_.with_table(content, card["vocabulary"], codec, remade)
    except (ExportError, ValueError, IndexError, KeyError) as error:
        raise EncoderError(f"{folder}: no rows can be taken out of {format_.file}: {error}") from error
    (aside / format_.file).write_bytes(content)


def _card(
    card: dict[str, Json], folder: Path, name: str, result: Subset, languages: tuple[str, ...], source: str
) -> dict[str, Json]:
    files = {name: asdict(file) for name, file in stored_files(folder).items()}
    rest = {key: value for key, value in card.items() if key not in (*MEASURED, SPELLED)}
    return {
        **rest,
        "name": name,
        "vocabulary": result.pieces[1],
        "languages": list(languages),
        "source": source,
        CARD_KEY: {"languages": list(languages), "before": result.pieces[0], "kept": result.kept},
        "bytes": sum(file["bytes"] for file in files.values()),
        "files": files,
    }


def page(card: dict[str, Json], result: Subset) -> str:
    """Return a subset's card as a page of Markdown."""
    how = format_of(card["format"]).how_to.format(dimension=card["dimension"], max_length=card["max_length"])
    rows = "\n".join(f"| {name} | {100 * share:.1f} |" for name, share in result.kept.items())
    return PAGE.format(
        **{key: card[key] for key in ("name", "dimension", "source")},
        derived=derivation(origin_in(card), SAID),
        how=how,
        languages=", ".join(card["languages"]),
        pieces=f"{result.pieces[1]} of {result.pieces[0]}",
        size=f"{card['bytes'] / 1e6:.1f} MB",
        table=f"| language | pieces kept, % |\n|---|---|\n{rows}",
    )


SAID = "`card.json` says the same with the files' sha256."
PAGE = """# {name}

A sentence encoder for {languages}: text in, {dimension} numbers of unit length out. It is {source} with {pieces} of its
pieces: a text that loses none has the same vector. One in another language is cut finer, or is `<unk>`.

{how}

- size: {size}
- source: {source}
- languages: {languages}

{table}

{derived}
"""
