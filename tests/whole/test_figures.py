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
SCORE = re.compile(r"(?<![\d.])\d\d\.\d(?!\d| MB| ms)")


# As prose calls peers.
ALIASES = {"mUSE": "mUSE-small", "e5": "e5-small, 4 bits"}


@dataclass
class Stated:
    """What the JSON says of an encoder: quantities by unit, and scores."""

    quantities: dict
    scores: set


def stated():
    known = {name: Stated({"MB": {of["megabytes"]}, "ms": set()}, set()) for name, of in FIGURES["encoders"].items()}
    for run in FIGURES["times"]:
        for name, value in run["milliseconds"].items():
            known[name].quantities["ms"].add(value)
    for fact in FIGURES["facts"]:
        known[fact["encoder"]].quantities.setdefault(fact["unit"], set()).add(fact["value"])
    for measured in FIGURES["scores"].values():
        for name, row in measured["values"].items():
            if name in known:
                known[name].scores.update(row.values())
    return known


def named_in(sentence, known):
    """What is known of the encoders that a sentence names."""
    names = [name for name in known if f"`{name}`" in sentence]
    return [known[name] for name in {*names, *(name for alias, name in ALIASES.items() if alias in sentence)}]


def sentences(text):
    """The sentences of a page that name an encoder that ships, without code blocks and generated tables."""
    plain = FENCE.sub("", SCRIPT["BLOCK"].sub("", text))
    paragraphs = re.split(r"\n\s*\n|\n(?=[-|]|\d+\.)", plain)
    every = [one for part in paragraphs for one in re.split(r"(?<=[.;:!?])\s+(?=[A-Z`])", part.replace("\n", " "))]
    return [one for one in every if any(f"`{name}`" in one for name in SHIPPED)]


def contradictions(text, known):
    """The sizes, times and scores that a page states of encoders that ship and that the JSON lacks."""
    wrong = []
    for sentence in sentences(text):
        named = named_in(sentence, known)
        for value, unit in QUANTITY.findall(sentence):
            digits = len(value.partition(".")[2])
            measured = {round(one, digits) for encoder in named for one in encoder.quantities[unit]}
            if float(value) not in measured:
                wrong.append(f"{value} {unit}: {sentence}")
        if re.search(r"P@1|mAP\b", sentence):
            scores = {score for encoder in named for score in encoder.scores}
            facts = {one for encoder in named for one in encoder.quantities.get("%", ())}
            wrong += [f"{one}: {sentence}" for one in SCORE.findall(sentence) if float(one) not in scores | facts]
    return wrong


def test_the_script_changes_no_page():
    for page in SCRIPT["pages"]():
        text = page.read_text(encoding="utf-8")
        assert SCRIPT["fill"](text, FIGURES) == text, f"{page.name}: run benchmarks/figures.py"


def test_each_set_of_figures_is_on_a_page():
    texts = [page.read_text(encoding="utf-8") for page in SCRIPT["pages"]()]
    named = {name for text in texts for name in re.findall("<!-- figures: (.*) -->", text)}
    assert named >= {*FIGURES["scores"], "front", "times"} and named <= set(SCRIPT["TABLES"])
    assert "<!-- figures: readme -->" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_no_page_says_otherwise():
    known = stated()
    pages = [page for page in SCRIPT["pages"]() if page.name != "paper-tables.md"]
    wrong = [f"{page.name}: {one}" for page in pages for one in contradictions(page.read_text(encoding="utf-8"), known)]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("`multi12-ngram` has 25.3 MB and takes .17 ms.", 0),
        ("`multi12-ngram` has 23 MB.", 1),
        ("A bundle has 23 MB. `multi12-ngram` is one.", 0),
        ("`multi12-static` takes 0.35 ms.", 1),
        ("P@1 of `multi12-ngram` is 53.4, not 52.2.", 1),
        ("```\n`multi12-ngram` has 23 MB.\n```", 0),
        ("| `multi12-ngram` | 23 MB |\n| other | 24 MB |", 1),
    ],
)
def test_a_contradiction_is_seen(text, count):
    assert len(contradictions(text, stated())) == count


def test_sizes_are_those_of_the_cards():
    for name in SHIPPED:
        of = FIGURES["encoders"][name]
        card = json.loads((ROOT / of["folder"] / "card.json").read_text(encoding="utf-8"))
        assert (round(card["bytes"] / 1e6, 1), card["dimension"]) == (of["megabytes"], of["dimension"])


def test_pages_state_the_size_of_an_installation():
    size = FIGURES["installation"]
    pages = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/installation.md")}
    assert all(f"{size['compiled']} MB" in text for text in pages.values())
    assert f"has {size['megabytes']} before" in pages["docs/installation.md"]
    assert f"training and export: {size['train']}\n" in pages["docs/installation.md"]
    assert f"as well: {(size['megabytes'] + size['train']) / 1024:.1f} GB" in pages["README.md"]


def test_means_are_those_of_their_languages():
    for name in ("mlqa", "sample", "flores", "mteb"):
        for encoder, row in FIGURES["scores"][name]["values"].items():
            *languages, mean = row
            wanted = [row[one] for one in languages if one != "en" or mean == "mean of 12"]
            if wanted:
                # Rounded figures are half a digit off at most.
                assert sum(wanted) / len(wanted) == pytest.approx(row[mean], abs=0.1), (name, encoder)


def test_scores_come_from_what_evaluate_writes():
    values = {"x": dict.fromkeys(["en", "de", "ar", "mean of 2"])}
    figures = {"scores": {"mlqa": {"unit": "passage-sum", "values": values}}}
    of = {"en": {"p@1": 0.9}, "de": {"p@1": 0.5}, "ar": {"p@1": 0.2505}}
    SCRIPT["take_scores"](figures, "mlqa", {"retrieval": {"encoders": {"x": {"units": {"passage-sum": of}}}}})
    assert values["x"] == {"en": 90.0, "de": 50.0, "ar": 25.1, "mean of 2": 37.5}


def test_the_picture_is_of_the_figures_as_they_are(tmp_path):
    PICTURE["draw"](FIGURES, tmp_path / "quality.svg")
    drawn, shown = ((place / "quality.svg").read_text(encoding="utf-8") for place in (tmp_path, ROOT / "docs"))
    words, expected = (re.findall(r"<text[^>]*>([^<]*)</text>", svg) for svg in (shown, drawn))
    assert words == expected, "python benchmarks/picture.py docs/quality.svg"
    for name, megabytes, milliseconds, others, _ in SCRIPT["points"](FIGURES):
        assert milliseconds and f"{megabytes} MB, {others} %" in words and name in words
