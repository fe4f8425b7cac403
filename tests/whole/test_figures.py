"""The figures of the encoders that ship: one JSON, whose tables, picture and prose agree with it and with the cards."""

import json
import re
import runpy
from dataclasses import dataclass

import pytest
from fixtures.commands import ROOT

SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "figures.py"))
PICTURE = runpy.run_path(str(ROOT / "benchmarks" / "picture.py"))
FIGURES = SCRIPT["read_figures"]()
SHIPPED = [name for name, of in FIGURES["encoders"].items() if of["shipped"]]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUANTITY = re.compile(r"(?<![\d.])(\d*\.?\d+) (MB|ms)\b")
SCORE = re.compile(r"(?<![\d.])\d\d\.\d(?!\d)")


@dataclass
class Stated:
    """What the JSON says: quantities of each encoder by unit, and all scores."""

    quantities: dict
    scores: set


def stated():
    quantities = {name: {"MB": {of["megabytes"]}, "ms": set()} for name, of in FIGURES["encoders"].items()}
    for run in FIGURES["times"]:
        for name, value in run["milliseconds"].items():
            quantities[name]["ms"].add(value)
    for fact in FIGURES["facts"]:
        quantities[fact["encoder"]][fact["unit"]].add(fact["value"])
    rows = [row for measured in FIGURES["scores"].values() for row in measured["values"].values()]
    scores = {value for row in rows for value in row.values()} | {one for row in SCRIPT["peers"](FIGURES) for one in row}
    return Stated(quantities, scores)


def sentences(text):
    """The sentences of a page that name an encoder that ships, without code blocks and generated tables."""
    plain = FENCE.sub("", SCRIPT["BLOCK"].sub("", text))
    paragraphs = re.split(r"\n\s*\n|\n(?=[-|])", plain)
    every = [one for part in paragraphs for one in re.split(r"(?<=[.;:!?])\s+(?=[A-Z`])", part.replace("\n", " "))]
    return [one for one in every if any(f"`{name}`" in one for name in SHIPPED)]


def contradictions(text, known):
    """The sizes, times and scores that a page states of encoders that ship and that the JSON lacks."""
    wrong = []
    for sentence in sentences(text):
        named = [name for name in known.quantities if name in sentence]
        for value, unit in QUANTITY.findall(sentence):
            digits = len(value.partition(".")[2])
            measured = {round(one, digits) for name in named for one in known.quantities[name][unit]}
            if float(value) not in measured:
                wrong.append(f"{value} {unit}: {sentence}")
        if re.search(r"P@1|mAP\b", sentence):
            wrong += [f"{one}: {sentence}" for one in SCORE.findall(sentence) if float(one) not in known.scores]
    return wrong


def test_the_script_changes_no_page():
    for page in SCRIPT["pages"]():
        text = page.read_text(encoding="utf-8")
        assert SCRIPT["fill"](text, FIGURES) == text, f"{page.name}: run benchmarks/figures.py"


def test_readme_and_the_page_of_figures_hold_its_tables():
    names = {page: set(re.findall("<!-- figures: (.*) -->", (ROOT / page).read_text())) for page in PAGES}
    assert "readme" in names["README.md"]
    assert names["docs/figures.md"] >= {*FIGURES["scores"], "front", "times"}


PAGES = ("README.md", "docs/figures.md")


def test_no_page_says_otherwise():
    known = stated()
    texts = {page.name: page.read_text(encoding="utf-8") for page in SCRIPT["pages"]() if page.name != "paper-tables.md"}
    wrong = [f"{name}: {one}" for name, text in texts.items() for one in contradictions(text, known)]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("`released` has 25.3 MB and takes .35 ms.", 0),
        ("`released` has 23 MB.", 1),
        ("A bundle has 23 MB. `released` is one.", 0),
        ("`released-small` takes 0.35 ms.", 1),
        ("P@1 of `released` is 53.0, not 52.4.", 1),
        ("```\n`released` has 23 MB.\n```", 0),
        ("| `released` | 23 MB |\n| other | 24 MB |", 1),
    ],
)
def test_a_contradiction_is_seen(text, count):
    assert len(contradictions(text, stated())) == count


def test_sizes_are_those_of_the_cards():
    for name in SHIPPED:
        of = FIGURES["encoders"][name]
        card = json.loads((ROOT / of["folder"] / "card.json").read_text(encoding="utf-8"))
        assert (round(card["bytes"] / 1e6, 1), card["dimension"]) == (of["megabytes"], of["dimension"])


def test_means_are_those_of_their_languages():
    for name in ("mlqa", "sample", "flores", "mteb"):
        for encoder, row in FIGURES["scores"][name]["values"].items():
            *languages, mean = row
            wanted = [row[one] for one in languages if one != "en" or mean == "mean of 12"]
            if wanted:
                # Rounded figures are half a digit off at most.
                assert sum(wanted) / len(wanted) == pytest.approx(row[mean], abs=0.1), (name, encoder)


def test_scores_come_from_what_evaluate_writes():
    figures = {"scores": {"mlqa": {"unit": "passage-sum", "values": {"x": dict.fromkeys(["en", "de", "ar", "mean of 2"])}}}}
    of = {"en": {"p@1": 0.9}, "de": {"p@1": 0.5}, "ar": {"p@1": 0.2505}}
    SCRIPT["take_scores"](figures, "mlqa", {"retrieval": {"encoders": {"x": {"units": {"passage-sum": of}}}}})
    assert figures["scores"]["mlqa"]["values"]["x"] == {"en": 90.0, "de": 50.0, "ar": 25.1, "mean of 2": 37.5}


def test_the_picture_is_of_the_figures_as_they_are(tmp_path):
    PICTURE["draw"](FIGURES, tmp_path / "quality.svg")
    drawn, shown = ((place / "quality.svg").read_text(encoding="utf-8") for place in (tmp_path, ROOT / "docs"))
    words, expected = (re.findall(r"<text[^>]*>([^<]*)</text>", svg) for svg in (shown, drawn))
    assert words == expected, "python benchmarks/picture.py docs/quality.svg"
    for name, megabytes, milliseconds, others, _ in SCRIPT["points"](FIGURES):
        assert milliseconds and f"{megabytes} MB, {others} %" in words and name in words
