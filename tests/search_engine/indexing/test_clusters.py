"""An index laid out for ranges: codes near their vectors, records with what the index has, and what is refused."""

import zlib

import numpy as np
import pytest

from distill.errors import InputError
from distill.search_engine.indexing.building import COMPACT, IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.cluster_coder import Coder
from distill.search_engine.indexing.clusters import write_clusters
from distill.search_engine.indexing.index_file import Index
from distill.search_engine.make_page import make_page
from distill.system.sections import read_sections

MODEL = "multi12-static"


def test_codes_of_vectors_stand_near_them_by_plain_products():
    """Twelve directions of 48 with some noise: axes are left out, and the codes give the vectors back."""
    random = np.random.default_rng(0)
    base = random.normal(size=(12, 48))
    vectors = (random.normal(size=(600, 12)) @ base).astype(np.float32)
    coder = Coder.learn(vectors, 4, random)
    turning = coder.axes[0] * coder.axes[1][:, None]
    assert coder.width == 32 and turning.shape == (32, 48)
    question = random.normal(size=48).astype(np.float32)
    np.testing.assert_allclose((coder.turn(vectors) @ (turning @ question)), vectors @ question, rtol=0.02, atol=0.3)
    lists, codes = coder.codes(vectors)
    centroids = coder.centroids[0] * coder.centroids[1][:, None]
    words = (coder.books[0] * coder.books[1][:, None]).reshape(32, 256, 1)
    decoded = centroids[lists] + np.concatenate([words[place, codes[:, place]] for place in range(32)], 1)
    error = np.linalg.norm(decoded - coder.turn(vectors), axis=1) / np.linalg.norm(coder.turn(vectors), axis=1)
    assert np.median(error) < 0.05


def test_records_have_what_the_index_has(small_kb, tmp_path):
    write_clusters(small_kb, tmp_path / "clusters.bin")
    sections, index = read_sections(tmp_path / "clusters.bin"), Index(small_kb)
    (tmp_path / "core.bin").write_bytes(sections["core"][:-4])
    core = read_sections(tmp_path / "core.bin")
    starts, width = core["list_starts"], int(core["numbers"][2])
    first = sections["lists"][: starts[1] - 4]
    count = len(first) // 36
    reference = int(first[: 4 * count].view("<u4")[-1])
    place, units = 64 * (reference % 2**24), reference // 2**24
    record = sections["records"][place : place + 64 * units]
    # Behind each part stands its CRC-32, which begins with that of the core and the part's place.
    seed = zlib.crc32(sections["core"][:-4].tobytes())
    checks = [part[-4:].view("<u4")[0] for part in (sections["core"], sections["lists"][: starts[1]], record)]
    assert checks == [seed, zlib.crc32(first.tobytes(), seed), zlib.crc32(record[:-4].tobytes(), seed ^ place)]
    assert units < 128 and place > 0
    size, row, sentences, vectors, text, document = record[:24].view("<u4").tolist()
    assert vectors == (1 + sentences) * width and sentences == len(index.bounds(row))
    rest = record[:size].tobytes()
    assert rest[-document - text : -document] == index.text(row)
    starts, owner = index.array("document_starts"), int(index.array("document_of")[row])
    assert rest[-document:] == index.array("documents")[slice(*starts[owner : owner + 2])].tobytes()


def test_what_has_no_page_of_ranges_is_refused(small_kb, tmp_path):
    compact = tmp_path / "compact"
    (tmp_path / "a.txt").write_text("Lake Geneva lies in the Alps.", encoding="utf-8")
    build_index(compact, IndexChange([tmp_path / "a.txt"]), MODEL, IndexSettings(bits=COMPACT))
    with pytest.raises(InputError, match="fewer bits"):
        write_clusters(compact, tmp_path / "clusters.bin")
    with pytest.raises(InputError, match="compact"):
        make_page(IndexChange([tmp_path / "a.txt"]), tmp_path / "site", MODEL, compact=True, by_ranges=True)
    assert not (tmp_path / "clusters.bin").exists() and not (tmp_path / "site").exists()
