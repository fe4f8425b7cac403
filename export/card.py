"""An artefact's card: what is in the folder, where it comes from and what it was measured to be."""

from .. import __version__
from ..system.files import write_json, write_text
from .encode import CARD, sha256
from .formats.registry import format_of

README = "README.md"
LICENCE = "Apache-2.0"
# What of a card says where the encoder comes from.
ORIGIN = (
    "source",
    "documents",
    "dataset",
    "languages",
    "teacher",
    "teacher_model",
    "triplets",
    "parallel_text",
    "seed",
)


def card_of(name, student, form, folder, notes=None):
    """The card, a dict, of the files that lie in `folder`; `notes` says where they come from."""
    return {
        "name": name,
        "format": form.format,
        "precision": {"dense": form.precision.dense, "table": form.precision.table},
        "dimension": student.dimension,
        "vocabulary": len(student.tokenizer),
        "max_length": form.longest,
        "signatures": list(form.signatures),
        "distill": __version__,
        "licence": LICENCE,
        **(notes or {}),
        "bytes": sum(path.stat().st_size for path in folder.iterdir()),
        "files": {
            path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in sorted(folder.iterdir())
        },
    }


def write_card(folder, card):
    """Write `card.json`, and the README that says the same to a person once the gate's figures are in it."""
    write_json(folder / CARD, card)
    if "dev" in card:
        write_text(folder / README, readme(card))


def readme(card):
    """The card as a page of Markdown."""
    dev, precision = card["dev"], card["precision"]
    facts = {key: card[key] for key in ORIGIN if key in card}
    removal = [card["removal"]] if "removal" in card else []
    lines = [
        f"- format: {card['format']}, dense layers {precision['dense']}, table {precision['table']}",
        f"- texts: {lengths(card)}",
        f"- size: {card['bytes'] / 1e6:.1f} MB",
        f"- cosine to the student: {dev['cosine_mean']:.5f}, least {dev['cosine_min']:.5f} "
        f"({dev['texts'] - dev['cut']} dev questions of {dev['dataset']})",
        *(f"- `encode(texts, language=…)` removes what is of: {', '.join(said['languages'])}" for said in removal),
        *(f"- {key}: {', '.join(value) if isinstance(value, list) else value}" for key, value in facts.items()),
        *(f"- **refused by the gate and kept by force**: {reason}" for reason in card["refused"]),
    ]
    return PAGE.format(
        **card, how=format_of(card["format"]).how_to.format(**card), facts="\n".join(lines), table=p1_table(dev["p@1"])
    )


def lengths(card):
    """The number of tokens that a text may have, in words."""
    if card["signatures"]:
        return f"up to {card['max_length']} tokens, signatures of {', '.join(map(str, card['signatures']))}"
    return f"up to {card['max_length']} tokens" if card["max_length"] else "of any length"


def p1_table(rows):
    lines = [
        f"| {language} | {100 * row['student']:.1f} | {100 * row['artefact']:.1f} | {row['p_holm']:.3f} |"
        for language, row in rows.items()
    ]
    return "\n".join(["| language | student | artefact | p |", "|---|---|---|---|", *lines])


PAGE = """# {name}

A sentence encoder for retrieval question answering: text in, {dimension} numbers of unit length out.
The document whose vector has the largest dot product with the question's answers it.

{how}

{facts}

P@1 on dev in per cent, one vector a document, and McNemar's p (Holm-corrected) between the two:

{table}

`card.json` says the same with the files' sha256. The weights derive from Google's multilingual Universal Sentence
Encoder, {licence}.
"""
