"""An index in fewer bits, with its text deflated, whose best passages are scored again by their text."""

import json
import zlib

import numpy as np
import pytest

from distill.encoders.catalog.loading import load_encoder
from distill.errors import DataError, InputError
from distill.retrieval.codes import unpack
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import COMPACT, IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import FILE, Index
from distill.system.sections import read_sections, write_sections

MODEL = "multi12-static"
WORDS = ["river", "castle", "bread", "night", "copper", "garden", "letter", "winter", "horse", "market"]
TEXTS = [
    f"The {a} is near the {b}. Its {c} is {n} years old."
    for n, (a, b, c) in enumerate(zip(WORDS, WORDS[3:], WORDS[5:], strict=False))
]
TEXTS = [f"{text} {tail}" for text in TEXTS for tail in map(str.capitalize, WORDS)]
QUESTIONS = ["Where is the castle?", "Wie alt ist das Pferd?", "garden"]


def write(path, numbers):
    rows = [{"id": str(n), "text": TEXTS[n]} for n in numbers]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compact")
    build_index(
        folder / "kb", IndexChange([write(folder / "all.jsonl", range(len(TEXTS)))]), MODEL, IndexSettings(bits=COMPACT)
    )
    return folder


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(MODEL)


def test_a_number_is_a_bit_and_text_is_deflated_by_block(folder, encoder):
    index = Index(folder / "kb")
    assert index.numbers[3:8] == [1, 2, 1, 32, 20] and index.card["bits"] == 1
    vectors = encoder.encode(TEXTS, "document")
    codes = index.array("passage_vectors")
    np.testing.assert_array_equal(np.unpackbits(codes, axis=1, bitorder="little"), vectors >= 0)
    np.testing.assert_allclose(
        index.array("passage_scales"), (vectors**2).sum(axis=1) / np.abs(vectors).sum(axis=1), rtol=1e-5
    )
    values = np.where(vectors >= 0, 1, -1) * index.array("passage_scales")[:, None]
    np.testing.assert_allclose(index.vectors("passage", slice(3, 7)), values[3:7], rtol=1e-6)
    ends = index.array("text_blocks").tolist()
    blocks = [zlib.decompress(index.array("text")[a:b].tobytes(), -15) for a, b in zip(ends, ends[1:], strict=False)]
    assert blocks == ["".join(TEXTS[at : at + 32]).encode() for at in range(0, len(TEXTS), 32)]
    assert [index.text(row).decode() for row in range(len(TEXTS))] == TEXTS


def test_the_best_are_scored_by_their_text_as_if_stored_in_float32(folder, encoder):
    answers = Answers(folder / "kb")
    sections, starts = answers.index.sections, answers.index.array("sentence_starts").astype(int)
    values = {
        kind: unpack(sections[f"{kind}_vectors"], 1, encoder.dimension) * sections[f"{kind}_scales"][:, None]
        for kind in ("passage", "sentence")
    }
    sentences = [
        answers.index.text(row)[a:b].decode() for row in range(len(TEXTS)) for a, b in answers.index.bounds(row)
    ]
    wholes, parts = encoder.encode(TEXTS, "document"), encoder.encode(sentences, "document")
    weight = encoder.passage_weight

    def both(by_passage, by_sentence):
        return 2 * (weight * by_passage + np.maximum.reduceat(by_sentence, starts[:-1])) / (1 + weight)

    for answer, vector in zip(answers.answers(QUESTIONS, 3), encoder.encode(QUESTIONS), strict=True):
        hits = answer.hits
        coded = both(values["passage"] @ vector, values["sentence"] @ vector)
        first = np.argsort(-coded, kind="stable")[:20]
        products = parts @ vector
        exact = both(wholes @ vector, products)
        best = first[np.argsort(-exact[first], kind="stable")][:3]
        assert [hit.row for hit in hits] == best.tolist(), answer.question
        np.testing.assert_allclose([hit.score for hit in hits], exact[best], atol=1e-6)
        row = best[0]
        start, end = hits[0].sentence
        assert hits[0].text[start:end] == sentences[starts[row] + products[starts[row] : starts[row + 1]].argmax()]


def test_a_compact_index_is_added_to_without_encoding_again(folder, tmp_path, monkeypatch):
    kb = tmp_path / "kb"
    build_index(kb, IndexChange([write(tmp_path / "one.jsonl", range(40))]), MODEL, IndexSettings(bits=COMPACT))
    build_index(kb, IndexChange([write(tmp_path / "two.jsonl", range(40, len(TEXTS)))]), MODEL)
    assert (kb / FILE).read_bytes() == (folder / "kb" / FILE).read_bytes()
    before = (kb / FILE).read_bytes()
    with pytest.raises(InputError, match="--compact"):
        build_index(kb, IndexChange([tmp_path / "one.jsonl"]), MODEL, IndexSettings(bits=8))
    assert (kb / FILE).read_bytes() == before


@pytest.mark.parametrize("change", ["bits", "deflated", "short"])
def test_a_compact_index_that_is_broken_is_refused(folder, tmp_path, change):
    sections = {name: np.array(array) for name, array in read_sections(folder / "kb" / FILE).items()}
    if change == "bits":
        sections["numbers"][3] = 3
    elif change == "deflated":
        sections["text"][:] = 255
    else:
        sections["text_lengths"][0] += 1
    write_sections(tmp_path / FILE, sections)
    with pytest.raises(DataError, match=FILE):
        Index(tmp_path).text(0)
