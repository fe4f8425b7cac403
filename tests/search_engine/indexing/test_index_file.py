"""An index that is well-formed and wrong is refused when it is opened, or answers: nothing else comes of it."""

import json

import numpy as np
import pytest
from fixtures.plain_c import consistent

from distill.encoders.catalog.loading import load_encoder
from distill.errors import DataError, InputError
from distill.search_engine.indexing.building import COMPACT, IndexChange, IndexSettings, build_index
from distill.search_engine.indexing.index_file import FILE, Index
from distill.system.sections import read_sections, write_sections

MODEL = "multi12-static"
TEXTS = ["The Danube ends in the Black Sea. It is long.", "The Nile is longer! Who knows?", "Bread needs an oven."]
FORMS = {
    "plain": IndexSettings(),
    "vector": IndexSettings(score="vector"),
    "compact": IndexSettings(bits=COMPACT),
    "four": IndexSettings(bits=4, score="sentence"),
    "hybrid": IndexSettings(hybrid=True),
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """Folders of small indexes by their form."""
    folder = tmp_path_factory.mktemp("forms")
    rows = [{"id": str(number), "text": text} for number, text in enumerate(TEXTS * 3)]
    (folder / "all.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    for name, given in FORMS.items():
        build_index(folder / name, IndexChange([folder / "all.jsonl"]), MODEL, given)
    return {name: folder / name for name in FORMS}


def test_whatever_is_wrong_with_a_well_formed_file_it_is_refused_or_answers(forms):
    contents = [(folder / FILE).read_bytes() for folder in forms.values()]
    said = consistent.outcomes(contents, load_encoder(MODEL), 400, seed=1)
    assert said.keys() == {"answered", "DataError"} and said["answered"] >= 20


@pytest.mark.parametrize("name", FORMS)
def test_each_section_has_its_type(forms, tmp_path, name):
    sections = read_sections(forms[name] / FILE)
    others = {"uint8": "int8", "int8": "uint8", "uint32": "int32", "int32": "uint32"}
    for section, array in sections.items():
        write_sections(tmp_path / FILE, sections | {section: array.astype(others.get(array.dtype.name, np.int32))})
        with pytest.raises(DataError, match=FILE):
            Index(tmp_path)


@pytest.mark.parametrize("scale", [np.nan, np.inf, -1.0, 3.0])
@pytest.mark.parametrize("section", ["passage_scales", "sentence_scales"])
def test_a_scale_is_one_that_a_unit_row_has(forms, tmp_path, section, scale):
    sections = read_sections(forms["compact"] / FILE)
    write_sections(tmp_path / FILE, sections | {section: np.append(sections[section][1:], np.float32(scale))})
    with pytest.raises(DataError, match=section):
        Index(tmp_path)


@pytest.mark.parametrize(
    ("form", "section", "place", "number"),
    [
        ("plain", "text_lengths", 0, 3),
        ("plain", "sentence_bounds", (0, 1), 10**6),
        ("plain", "sentence_bounds", (0, 0), 40),
        ("plain", "document_of", -1, 99),
        ("plain", "numbers", 2, 256),
        ("plain", "numbers", 6, 0),
        ("plain", "numbers", 7, -1),
        ("hybrid", "bm25.rows", 0, 99),
        ("hybrid", "bm25.starts", 1, 2**31),
    ],
)
def test_a_number_that_leads_elsewhere_is_refused(forms, tmp_path, form, section, place, number):
    sections = read_sections(forms[form] / FILE)
    changed = sections[section].copy()
    changed[place] = number
    write_sections(tmp_path / FILE, sections | {section: changed})
    with pytest.raises(DataError, match=FILE):
        Index(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("passages", True), ("passages", -1), ("documents", "3"), ("score", "vector"), ("fingerprint", None)),
        *(("format", 2), ("bits", 1), ("length", 0.5)),
    ],
)
def test_a_card_says_what_the_numbers_say(forms, tmp_path, name, value):
    sections = read_sections(forms["plain"] / FILE)
    card = json.dumps(json.loads(sections["card"].tobytes()) | {name: value}).encode()
    write_sections(tmp_path / FILE, sections | {"card": np.frombuffer(card, dtype=np.uint8)})
    with pytest.raises(DataError, match=FILE):
        Index(tmp_path)


def test_a_document_has_an_id_that_is_a_text(forms, tmp_path):
    sections = read_sections(forms["plain"] / FILE)
    documents = sections["documents"].tobytes().replace(b'{"id": "0"', b'{"id":  0 ')
    write_sections(tmp_path / FILE, sections | {"documents": np.frombuffer(documents, dtype=np.uint8)})
    with pytest.raises(DataError, match="document 0"):
        Index(tmp_path).fields(0)


def test_documents_are_added_by_what_the_card_says_and_not_where_it_says_nothing(forms, tmp_path):
    sections = read_sections(forms["plain"] / FILE)
    for name, value, kind in (("length", None, DataError), ("length", 0, InputError)):
        card = json.loads(sections["card"].tobytes()) | {name: value}
        card = json.dumps({key: each for key, each in card.items() if each is not None}).encode()
        (tmp_path / name).mkdir(exist_ok=True)
        write_sections(tmp_path / name / FILE, sections | {"card": np.frombuffer(card, dtype=np.uint8)})
        with pytest.raises(kind, match=name):
            build_index(tmp_path / name, IndexChange([forms["plain"].parent / "all.jsonl"]), MODEL)
