"""What an artefact without spellings costs: by hand, and in a card, its page and its line."""

import numpy as np
import pytest
from fixtures.encoders import made_student
from fixtures.folders import card_in
from fixtures.pieces import spelled_tokenizer

from distill.encoders.tokenizer import Tokenizer
from distill.export.artefact import export_artefact
from distill.export.card import remake_card
from distill.export.form import Form
from distill.export.gate import Cost, Gate, format_costs, spelling_cost
from distill.settings.sections import ExportSettings


class ByName:
    """A document has a vector of its own; a question has its document's, or the next one's where it is `lost`."""

    name, dimension, max_length = "by name", 64, None

    def __init__(self, dataset, lost=()):
        self.places = {text: place for place, text in enumerate(dataset.document_texts)}
        for by_id in dataset.questions.values():
            for question in by_id.values():
                place = dataset.passages[question.passage].document
                self.places[question.text] = (place + (question.text in lost)) % len(dataset.titles)

    def encode(self, texts, role="question", progress=None):
        return np.eye(self.dimension, dtype=np.float32)[[self.places[text] for text in texts]]


def test_by_hand(sample):
    gate = Gate(sample, ("de", "en"), ExportSettings())
    dev = [sample.questions["de"][id].text for id in sample.splits["dev"]]
    costs = spelling_cost(ByName(sample), ByName(sample, dev[:5]), gate)
    share = 1 - 5 / len(dev)
    assert costs == {"de": Cost(1.0, pytest.approx(share), pytest.approx(share)), "en": Cost(1.0, 1.0, 1.0)}
    assert format_costs({"el": Cost(0.382, 0.282, 0.873)}) == "el 38.2 to 28.2 (0.873)"


def test_an_artefact_without_spellings_is_measured_as_such_and_says_what_is_lost(
    tokenizer, randomised, sample, tmp_path
):
    dev = sample.questions["de"][sample.splits["dev"][0]].text
    # The first words of a question, read as others.
    spelled = spelled_tokenizer(tokenizer, **{f"_{dev.split()[0]}_{dev.split()[1]}": "the Nile"})
    assert spelled.encode([dev]) != tokenizer.encode([dev])
    student = made_student("static", spelled, randomised)
    gate = Gate(sample, ("de",), ExportSettings())
    judged = export_artefact(student, tmp_path / "out", gate, Form(spelled=False))
    assert judged.refused == () and judged.figures.cosine_mean > 0.999 > 0.995 > judged.costs["de"].cosine
    card = card_in(tmp_path / "out")
    assert (
        card["without_spellings"]["de"]["cosine"] == judged.costs["de"].cosine and "spellings.npz" not in card["files"]
    )
    assert Tokenizer.load(tmp_path / "out" / "tokenizer.model").encode([dev]) == tokenizer.encode([dev])
    derived = remake_card(card, tmp_path / "out", tmp_path / "derived", "out", {})
    assert derived.keys().isdisjoint(("dev", "refused", "without_spellings"))
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "without its words and spellings" in page and format_costs(judged.costs) in page
    # With them the vectors of MODEL, and no such entry.
    whole = export_artefact(student, tmp_path / "whole", gate, Form())
    assert whole.costs == {} and "without_spellings" not in card_in(tmp_path / "whole")
