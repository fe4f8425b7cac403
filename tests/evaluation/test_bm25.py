import math
import re

import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.encoders.catalog.kinds import require_kind
from distill.errors import EncoderError
from distill.evaluation.bm25 import Bm25
from distill.evaluation.evaluate import QueryNoise, evaluate
from distill.settings.choices import ALL_UNITS

# Documents of two, one and two passages; a sentence ends with a full stop.
PASSAGES = [
    (0, "Der Fluss ist alt. Die Brücke am Fluss ist neu und lang."),
    (0, "Die Burg steht am Fluss."),
    (1, "Brot und Tee. Das Brot ist alt, der Tee neu. Tee mit Brot am Abend."),
    (2, "Die neue Burg. Eine Mauer."),
    (2, "Ein Garten."),
]
QUESTIONS = [("alt Fluss", 0), ("Burg Fluss", 1), ("Tee Brot alt", 2), ("Mauer Garten", 4), ("nichts davon", 3)]


@pytest.fixture(scope="module")
def rivers():
    passages = [
        Passage(str(row), text, of, tuple(match.span() for match in re.finditer(r"[^.\s][^.]*\.", text)))
        for row, (of, text) in enumerate(PASSAGES)
    ]
    questions = {str(row): Question(str(row), "de", text, of, ("Burg",)) for row, (text, of) in enumerate(QUESTIONS)}
    splits = {"dev": tuple(questions)}
    return Dataset("rivers", "de", ("a", "b", "c"), tuple(passages), {"de": questions}, splits)


def scores(texts, query):
    """Robertson's BM25 with Lucene's idf, k1 1.5 and b .75, written out."""
    rows = [re.findall(r"\w{2,}", text.lower()) for text in texts]
    mean = np.mean([len(row) for row in rows])
    total = np.zeros(len(rows))
    for term in re.findall(r"\w{2,}", query.lower()):
        count = sum(term in row for row in rows)
        for place, row in enumerate(rows):
            often = row.count(term)
            norm = often + 1.5 * (0.25 + 0.75 * len(row) / mean)
            total[place] += math.log(1 + (len(rows) - count + 0.5) / (count + 0.5)) * often / norm
    return total


def place(values, target):
    return sum(value >= values[target] - 1e-9 for value in values)


def expected(query, gold):
    """The rank of each unit, by loops."""
    texts = [text for _, text in PASSAGES]
    of = [document for document, _ in PASSAGES]
    documents = [" ".join(text for document, text in PASSAGES if document == number) for number in range(3)]
    cut = [(row, part.strip()) for row, text in enumerate(texts) for part in re.findall(r"[^.]*\.", text)]
    parts = scores([part for _, part in cut], query)
    passage = scores(texts, query)
    sentence = [max(value for value, (row, _) in zip(parts, cut, strict=True) if row == n) for n in range(5)]
    both = [one + other for one, other in zip(passage, sentence, strict=True)]

    def best(values):
        return [max(value for value, document in zip(values, of, strict=True) if document == n) for n in range(3)]

    return {
        "document": place(scores(documents, query), of[gold]),
        "passage": place(passage, gold),
        "maxp": place(best(passage), of[gold]),
        "passage-sentence": place(sentence, gold),
        "document-sentence": place(best(sentence), of[gold]),
        "passage-sum": place(both, gold),
        "document-sum": place(best(both), of[gold]),
    }


def test_bm25_stands_in_an_encoders_place_in_every_unit(rivers):
    done = []
    measured = evaluate(Bm25("bm25"), rivers, "dev", ["de"], ALL_UNITS, lambda steps: done.append(steps), ["r@1kt"])
    rows = [expected(*question) for question in QUESTIONS]
    for unit in ALL_UNITS:
        assert measured.ranks[unit]["de"].tolist() == [row[unit] for row in rows], unit
    # The documents, passages and sentences, and the questions: what a progress bar counts.
    assert sum(done) == 3 + 5 + 9 + 5
    # All passages are fewer than 1,000 words, so every answer is within them.
    assert measured.recall["r@1kt"]["de"][1].tolist() == [1] * 5


def test_bm25_is_asked_as_people_type_too(rivers):
    typed = evaluate(Bm25("bm25"), rivers, "dev", ["de"], ["passage"], typed=QueryNoise(("lower-case",))).typed
    assert typed["lower-case"]["passage"]["de"].tolist() == [expected(*question)["passage"] for question in QUESTIONS]


def test_what_needs_vectors_refuses_bm25():
    with pytest.raises(EncoderError, match="bm25"):
        Bm25("bm25").encode(["Fluss"])
    with pytest.raises(EncoderError, match="bm25-morphology"):
        require_kind("bm25-morphology")
