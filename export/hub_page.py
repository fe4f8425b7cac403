"""Write the README of a folder for the model hub: YAML metadata for the hub and text for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..students.origin import ALL_OF, UNKNOWN, describe_origin
from ..system.types import File, Json
from .card import ORIGIN, README, Card, JudgedCard, costs_line, p1_table
from .encode import read_card
from .formats.format import format_of
from .formats.sentence import CODE
from .gate import Figures
from .hub.modules import LENGTHS

# The names of data sets on the hub, by the names or folders that notes use.
DATASETS = {
    "xquad": "google/xquad",
    "massive": "AmazonScience/massive",
    "mkqa-questions": "apple/mkqa",
    "mintaka-dev": "AmazonScience/mintaka",
}
TEXTS = ("dataset", "parallel_text", "triplets")
CODE_OPTION = ", trust_remote_code=True"
CARD_NOTE = "`card.json` lists the sha256 of every file."
LICENCES = ", and the data it learned from have licences of their own"
# The section of a README on what an encoder learned from; an encoder derived from it inherits the section.
LEARNED_HEADING = "## What it learned from"


def render_hub_page(judged: JudgedCard) -> str:
    """Return the README of an artefact for the model hub. Raises `ValueError` if the artefact was not measured."""
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
        derived=describe_origin(card.origin, CARD_NOTE, LICENCES if _has_learned_section(card) else ""),
    )


def read_origin_notes(folder: File) -> tuple[dict[str, Json], str]:
    """Read an artefact's card entries on where it comes from, and its README's section on what it learned from."""
    path = Path(folder) / README
    card: dict[str, Json] = {**read_card(Path(folder))}
    page = path.read_text(encoding="utf-8") if path.is_file() else ""
    _, head, after = page.partition(f"\n{LEARNED_HEADING}\n")
    section, _, _ = after.partition("\n## ")
    return {key: card[key] for key in ORIGIN if key in card}, f"{head}{section}".rstrip() + "\n" if head else ""


def _has_learned_section(card: Card) -> bool:
    return LEARNED_HEADING in card.form.about


def _metadata(card: Card, figures: Figures) -> dict[str, Json]:
    library = format_of(card.form.format).library
    code = CODE.name in card.files
    tags = ["sentence-transformers", "sentence-similarity", "feature-extraction", "question-answering", "distill"]
    tags += [] if library in tags else [library]
    return {
        "language": list(card.notes.get("languages", figures.p1)),
        **_licence_terms(card),
        "library_name": library,
        "pipeline_tag": "sentence-similarity",
        "tags": [*tags, *(["custom_code"] if code else [] if _has_attention(card) else ["static-embeddings"])],
        **({"datasets": names} if (names := _datasets(card.notes)) else {}),
        "model-index": [{"name": card.name, "results": [_result(*one, figures) for one in figures.p1.items()]}],
    }


def _licence_terms(card: Card) -> dict[str, Json]:
    """Return the licence in the hub's terms; the data may add licences of their own."""
    if ALL_OF in card.origin.licence:
        return {"license": "other", "license_name": card.origin.licence}
    licence = card.origin.licence.lower()
    if _has_learned_section(card):
        return {"license": "other", "license_name": f"{licence}-and-those-of-its-data"}
    return {"license": "other", "license_name": licence} if licence == UNKNOWN else {"license": licence}


def _has_attention(card: Card) -> bool:
    return any(name.endswith(LENGTHS) for name in card.files)


def _datasets(notes: Mapping[str, Json]) -> list[str]:
    values = [value for key in TEXTS for value in _as_list(notes.get(key))]
    parts = {part for value in values for part in value.split("/")}
    return [hub for name, hub in DATASETS.items() if name in parts]


def _as_list(value: Json) -> list[str]:
    return value if isinstance(value, list) else [] if value is None else [str(value)]


def _result(language, scores, figures: Figures) -> dict[str, Json]:
    return {
        "task": {"type": "text-retrieval", "name": "Retrieval of documents that answer a question"},
        "dataset": {"type": figures.dataset, "name": f"{figures.dataset}, dev questions", "config": language},
        "metrics": [{"type": "precision_at_1", "name": "P@1", "value": round(scores.artefact, 4)}],
    }


def _facts(judged: JudgedCard, figures: Figures) -> Iterator[str]:
    card = judged.card
    lengths = "long texts are truncated" if _has_attention(card) else "texts may have any length"
    yield f"vectors of {card.dimension} numbers with unit length; {lengths}; {card.vocabulary:,} tokens"
    yield f"{card.bytes / 1e6:.1f} MB, weights in float32, from the encoder {card.notes.get('source', card.name)}"
    than = "it" if card.form.spelled else "it without its words and spellings"
    yield f"cosine to {than}: {figures.cosine_mean:.5f}, least {figures.cosine_min:.5f}"
    if judged.costs:
        yield costs_line(judged)
    yield (
        f"dev questions of {figures.dataset} that `tokenizer.json` tokenizes differently from SentencePiece: "
        f"{figures.other_ids} of {figures.texts}; letters with marks have to be composed (NFC)"
    )
    if CODE.name in card.files:
        yield f"opening the folder runs `{CODE.name}`; its sha256 is {card.files[CODE.name].sha256}"
    for key in ORIGIN[1:]:
        if key in card.notes:
            yield f"{key}: {', '.join(_as_list(card.notes[key]))}"
    for reason in judged.refused:
        yield f"**refused by the gate and kept by force**: {reason}"


def _yaml(value: Mapping[str, Json]) -> Iterator[str]:
    """Yield a mapping as lines of YAML: JSON is valid YAML, and a list of strings gets one line per item."""
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

A sentence encoder for retrieval question answering, made by `distill`. It encodes questions in many languages; the
document whose vector has the largest cosine to the question's vector answers the question.

{how}

{facts}

P@1 on dev questions in per cent, with one vector per document, for the encoder and for this folder, and McNemar's p
(Holm-corrected) between the two:

{table}
{about}
{derived}
"""
