"""A batch holds the texts of documents as an index stores them."""

import numpy as np

from distill.search_engine.documents.document import Document, add_passages
from distill.search_engine.indexing.batches import TEXTS, VECTORS, Batches, write_texts
from distill.system.sections import read_sections
from distill.vocabulary.words.cutting import Cut


def cut_up(text, cut):
    return add_passages(Document("1", text, "", {"id": "1"}), cut)


def test_offsets_are_bytes(tmp_path):
    text = " Größe ä. Straße ö! Öl ü? Ende."
    write_texts(tmp_path / "texts", [cut_up(text, Cut(length=50))], None)
    write_texts(tmp_path / "short", [cut_up(text, Cut(length=19, overlap=10))], None)
    for name, count in (("texts", 1), ("short", 3)):
        arrays, content = read_sections(tmp_path / name), text.encode()
        assert len(arrays["text_lengths"]) == count
        stored, at = arrays["text"].tobytes(), 0
        for offset, length in zip(arrays["passage_offsets"].tolist(), arrays["text_lengths"].tolist(), strict=True):
            assert content[offset : offset + length] == stored[at : at + length]
            at += length
        start, end = arrays["sentence_bounds"][1].tolist()
        assert stored[start:end].decode() == "Straße ö!"


def test_soft_hyphens_are_stored_and_not_encoded(tmp_path):
    text = "Fähr\xadver\xadbindung. Neu."
    write_texts(tmp_path / f"key{TEXTS}", [cut_up(text, Cut())], None)
    assert Batches(tmp_path, ["key"], True, 8).read(0) == ["Fährverbindung. Neu.", "Fährverbindung.", "Neu."]
    assert read_sections(tmp_path / f"key{TEXTS}")["text"].tobytes().decode() == text


def test_vectors_in_parts_are_stored_as_at_once(tmp_path):
    text = "The Nile ends. It is long. The Danube begins."
    vectors = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    stored = []
    for key, parts in (("whole", [vectors]), ("parts", [vectors[:3], vectors[3:]])):
        write_texts(tmp_path / f"{key}{TEXTS}", [cut_up(text, Cut())], None)
        batches = Batches(tmp_path, [key], True, 8)
        assert batches.rows(0) == len(vectors)
        batches.write(0, parts, None)
        stored.append(read_sections(tmp_path / f"{key}{VECTORS}"))
    one, other = stored
    assert one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)
    assert len(one["passage_vectors"]) == 1 and len(one["sentence_vectors"]) == 3
