"""The page of a folder for the hub of models: YAML that the hub reads, and what a person should know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..students.origin import UNKNOWN, derivation
from ..system.types import File, Json
from .card import ORIGIN, README, Card, JudgedCard, costs_line, p1_table
from .encode import read_card
from .formats.registry import format_of
from .formats.sentence import CODE
from .gate import Figures
from .hub.modules import LENGTHS

# Data by their names on the hub, where these are known, by the names or the folders that notes have.
DATASETS = {
    "xquad": "google/xquad",
    "massive": "AmazonScience/massive",
    "mkqa-questions": "apple/mkqa",
    "mintaka-dev": "AmazonScience/mintaka",
}
TEXTS = ("dataset", "parallel_text", "triplets")
CODE_OPTION = ", trust_remote_code=True"
SAID = "`card.json` has the sha256 of every file."
LICENCES = ", and what it learned from has licences of its own"
# The section of a page on what an encoder learned from, which what is made of it has too; figures are its own.
LEARNED = "## What it learned from"


def hub_page(judged: JudgedCard) -> str:
    """Return the page of an artefact for the hub. Raises `ValueError` for one that was not measured."""
    card, figures = judged.card, judged.figures
    if figures is None:
        raise ValueError(f"{card.name}: no figures for its page")
    options = CODE_OPTION if CODE.name in card.files else ""
    return PAGE.format(
        head="\n".join(_yaml(_metadata(card, figures))),
        name=card.name,
        dimension=card.dimension,
        how=format_of(card.form.format).how_to.format(folder=card.name, options=options),
        facts="\n".join(f"- {line}" for line in _facts(judged, figures)),
        table=p1_table(figures.p1),
        about=f"\n{card.form.about.strip()}\n" if card.form.about.strip() else "",
        derived=derivation(card.origin, SAID, LICENCES if _learned(card) else ""),
    )


def said_of(folder: File) -> tuple[dict[str, Json], str]:
    """Return what the card of an artefact says of where it comes from, and what its page says that it learned from."""
    path = Path(folder) / README
    card: dict[str, Json] = {**read_card(Path(folder))}
    page = path.read_text(encoding="utf-8") if path.is_file() else ""
    _, head, after = page.partition(f"\n{LEARNED}\n")
    section, _, _ = after.partition("\n## ")
    return {key: card[key] for key in ORIGIN if key in card}, f"{head}{section}".rstrip() + "\n" if head else ""


def _learned(card: Card) -> bool:
    return LEARNED in card.form.about


def _metadata(card: Card, figures: Figures) -> dict[str, Json]:
    library = format_of(card.form.format).library
    code = CODE.name in card.files
    tags = ["sentence-transformers", "sentence-similarity", "feature-extraction", "question-answering", "distill"]
    tags += [] if library in tags else [library]
    return {
        "language": list(card.notes.get("languages", figures.p1)),
        **_terms(card),
        "library_name": library,
        "pipeline_tag": "sentence-similarity",
        "tags": [*tags, *(["custom_code"] if code else [] if _has_attention(card) else ["static-embeddings"])],
        **({"datasets": names} if (names := _datasets(card.notes)) else {}),
        "model-index": [{"name": card.name, "results": [_result(*one, figures) for one in figures.p1.items()]}],
    }


def _terms(card: Card) -> dict[str, Json]:
    """The licence on the hub's terms; that of data stands beside it."""
    licence = card.origin.licence.lower()
    if _learned(card):
        return {"license": "other", "license_name": f"{licence}-and-those-of-its-data"}
    return {"license": "other", "license_name": licence} if licence == UNKNOWN else {"license": licence}


def _has_attention(card: Card) -> bool:
    return any(name.endswith(LENGTHS) for name in card.files)


def _datasets(notes: Mapping[str, Json]) -> list[str]:
    values = [value for key in TEXTS for value in _listed(notes.get(key))]
    parts = {part for value in values for part in value.split("/")}
    return [hub for name, hub in DATASETS.items() if name in parts]


def _listed(value: Json) -> list[str]:
    return value if isinstance(value, list) else [] if value is None else [str(value)]


def _result(language, scores, figures: Figures) -> dict[str, Json]:
    return {
        "task": {"type": "text-retrieval", "name": "Retrieval of documents that answer a question"},
        "dataset": {"type": figures.dataset, "name": f"{figures.dataset}, dev questions", "config": language},
        "metrics": [{"type": "precision_at_1", "name": "P@1", "value": round(scores.artefact, 4)}],
    }


def _facts(judged: JudgedCard, figures: Figures) -> Iterator[str]:
    card = judged.card
    lengths = "of which long ones are cut" if _has_attention(card) else "of any length"
    yield f"{card.dimension} numbers of unit length, of texts {lengths}; {card.vocabulary:,} pieces"
    yield f"{card.bytes / 1e6:.1f} MB, weights in float32, from the encoder {card.notes.get('source', card.name)}"
    than = "it" if card.form.spelled else "it without its words and spellings"
    yield f"cosine to {than}: {figures.cosine_mean:.5f}, least {figures.cosine_min:.5f}"
    if judged.costs:
        yield costs_line(judged)
    yield (
        f"dev questions of {figures.dataset} that `tokenizer.json` cuts otherwise than SentencePiece: "
        f"{figures.other_ids} of {figures.texts}; letters and their marks have to be composed (NFC)"
    )
    if CODE.name in card.files:
        yield f"`{CODE.name}` is run where the folder is opened; its sha256 is {card.files[CODE.name].sha256}"
    for key in ORIGIN[1:]:
        if key in card.notes:
            yield f"{key}: {', '.join(_listed(card.notes[key]))}"
    for reason in judged.refused:
        yield f"**refused by the gate and kept by force**: {reason}"


def _yaml(value: Mapping[str, Json]) -> Iterator[str]:
    """The lines of a mapping: JSON is YAML, so a value is one line of it, and a list of names one a line."""
    for key, content in value.items():
        if isinstance(content, list) and all(isinstance(one, str) for one in content):
            yield f"{key}:"
            yield from (f"- {json.dumps(one, ensure_ascii=False)}" for one in content)
        else:
            yield f"{key}: {json.dumps(content, ensure_ascii=False)}"


PAGE = """---
{head}
---

# {name}

A sentence encoder for retrieval question answering, made by `distill`: questions in many languages, and the document
whose vector has the largest cosine to the question's answers it.

{how}

{facts}

P@1 on dev in per cent, one vector a document, of the encoder and of this folder, and McNemar's p (Holm-corrected)
between the two:

{table}
{about}
{derived}
"""
