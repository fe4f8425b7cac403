"""The best passages are those of all scores in float64, by either kernel; an index that is not one is refused."""

import json

import numpy as np
import pytest

from distill.errors import DataError, InputError
from distill.retrieval import codes
from distill.retrieval.codes import quantise
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import IndexChange, build_index
from distill.search_engine.indexing.index_file import FILE, Index
from distill.search_engine.indexing.searching import Searcher
from distill.system.sections import read_sections, write_sections

MODEL = "multi12-static"


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    rows = [
        {
            "id": "a",
            "title": "Nile",
            "lang": "en",
            "text": "The Nile flows north. It ends in the sea. Its banks are green.",
        },
        {
            "id": "b",
            "title": "Danube",
            "lang": "de",
            "tags": ["river", 7],
            "text": "Die Donau fließt nach Osten. Sie endet im Schwarzen Meer.",
        },
        {
            "id": "c",
            "title": "Castle",
            "lang": "en",
            "straße": "Café",
            "x": [None, True],
            "text": "The castle was built of stone. Its tower burned down in 1702.",
        },
    ]
    (folder / "all.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    build_index(folder / "kb", IndexChange([folder / "all.jsonl"]), MODEL)
    return folder / "kb"


@pytest.fixture(params=["numkong", "numpy"])
def kernel(request, monkeypatch):
    if request.param == "numkong":
        pytest.importorskip("numkong")
    monkeypatch.setattr(codes, "has_kernel", lambda: request.param == "numkong")


class Stored:
    """An index's arrays of vectors drawn here: every fourth passage is there twice."""

    def __init__(self, score, passages=3000, dimension=24, weight=1):
        random = np.random.default_rng(0)
        counts = random.integers(1, 5, passages)
        starts = np.append(0, np.cumsum(counts))
        vectors = {
            "passage": random.normal(size=(passages, dimension)),
            "sentence": random.normal(size=(starts[-1], dimension)),
        }
        self.sections = {"sentence_starts": starts.astype(np.uint32)}
        for kind, rows in vectors.items():
            if kind == "passage":
                rows[3::4] = rows[2::4]
            unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
            self.sections[f"{kind}_vectors"], self.sections[f"{kind}_scales"] = quantise(unit)
        self.score, self.has_sentences, self.path, self.array = score, True, FILE, self.sections.__getitem__
        self.bits, self.axes, self.scored_again, self.passage_weight = 8, dimension, 0, weight

    def scores(self, question):
        """By NumPy, float64, of all passages."""
        product = {
            kind: self.array(f"{kind}_vectors") @ question.astype(float) * self.array(f"{kind}_scales")
            for kind in ("passage", "sentence")
        }
        best = np.array(
            [
                product["sentence"][a:b].max()
                for a, b in zip(self.array("sentence_starts"), self.array("sentence_starts")[1:], strict=False)
            ]
        )
        both = (self.passage_weight * product["passage"] + best) * 2 / (1 + self.passage_weight)
        return {"vector": product["passage"], "sentence": best, "sum": both}[self.score]


@pytest.mark.parametrize("weight", [1, 0.35])
@pytest.mark.parametrize("score", ["vector", "sentence", "sum"])
def test_the_best_are_those_of_all_scores(kernel, score, weight):
    stored = Stored(score, weight=weight)
    searcher, random = Searcher(stored), np.random.default_rng(1)
    mask = random.random(3000) < 0.5
    for question in random.normal(size=(8, 24)).astype(np.float32):
        question /= np.linalg.norm(question)
        scores = stored.scores(question).astype(np.float32)
        for k, allowed in ((1, None), (10, None), (10, mask), (5000, mask)):
            order = np.lexsort((np.arange(3000), -scores))
            rows = [row for row in order if allowed is None or allowed[row]][:k]
            best = searcher.search(question, k, allowed)
            assert best.rows.tolist() == rows
            np.testing.assert_allclose(best.scores, scores[rows], atol=1e-6)
    starts = stored.array("sentence_starts")
    products = stored.array("sentence_vectors") @ question.astype(float) * stored.array("sentence_scales")
    assert best.sentences[0] == np.argmax(products[starts[rows[0]] : starts[rows[0] + 1]])


def test_an_answer_has_its_document_and_its_best_sentence(kb):
    answers = Answers(kb)
    hits = next(answers.answers(["Wohin fließt die Donau?"], 2)).hits
    assert hits[0].fields == {"id": "b", "title": "Danube", "lang": "de", "tags": ["river", 7]}
    start, end = hits[0].sentence
    assert hits[0].text[start:end] == "Die Donau fließt nach Osten." and len(hits) == 2
    for where, ids in (
        ([("lang", "en")], "ac"),
        ([("lang", "EN")], "ac"),
        ([("lang", "en"), ("title", "Nile")], "a"),
        ([("title", "nile")], ""),
        ([("tags", "7")], "b"),
        ([("tags", "7.0")], "b"),
        ([("tags", "07")], ""),
        ({"tags": 7}, "b"),
        ({"x": None}, "c"),
        ([("tags", "river"), ("tags", "7")], "b"),
        ([("tags", "7"), ("tags", "sea")], ""),
        ([("title", "Castle"), ("title", "Nile")], ""),
        ([("lang", "fr")], ""),
        ([("stra\u00dfe", "Cafe\u0301")], "c"),
        ([("x", "null"), ("x", "true")], "c"),
    ):
        hits = next(answers.answers(["Wohin fließt die Donau?"], 5, where)).hits
        assert sorted(hit.fields["id"] for hit in hits) == list(ids)


def test_a_question_is_asked_without_its_soft_hyphens(kb):
    answers, questions = Answers(kb), []
    encode = answers.encoder.encode
    answers.encoder.encode = lambda texts, role: questions.extend(texts) or encode(texts, role)
    list(answers.answers(["Wo en\xaddet die Donau?"], 1))
    assert questions == ["Wo endet die Donau?"]


def test_an_index_that_is_broken_or_none_is_refused(kb, tmp_path):
    path, sections = tmp_path / FILE, {name: np.array(array) for name, array in read_sections(kb / FILE).items()}
    content = (kb / FILE).read_bytes()
    for length in (0, 7, 500, 2000, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(DataError, match=FILE):
            Index(tmp_path)
    wrong = {
        "card": np.frombuffer(b"{}", np.uint8),
        "numbers": np.zeros(16, np.int32),
        "text": sections["text"][:-1],
        "documents": sections["documents"][1:],
        "passage_vectors": sections["passage_vectors"][:, 1:],
        "sentence_starts": sections["sentence_starts"][1:],
        "text_blocks": sections["text_blocks"][:0],
        "document_of": sections["document_of"] + np.uint32(1),
        "document_starts": sections["document_starts"][[0, 2, 1, 3]],
    }
    for name, array in wrong.items():
        for changed in (sections | {name: array}, {other: sections[other] for other in sections if other != name}):
            write_sections(path, changed)
            with pytest.raises(DataError, match=FILE):
                Index(tmp_path)
    write_sections(path, {"table": np.zeros(3, np.int8)})
    with pytest.raises(DataError, match=FILE):
        Index(tmp_path)
    with pytest.raises(InputError, match="nowhere"):
        Index(tmp_path / "nowhere")


def test_a_number_of_an_earlier_index_that_json_has_not_is_null(kb, tmp_path):
    sections = {name: np.array(array) for name, array in read_sections(kb / FILE).items()}
    content = sections["documents"].tobytes().replace(b'"lang": "en", "stra', b'"lang":  NaN, "stra')
    write_sections(tmp_path / FILE, sections | {"documents": np.frombuffer(content, np.uint8)})
    index = Index(tmp_path)
    assert index.fields(2)["lang"] is None and index.mask([("lang", "null")]).sum() == 1
