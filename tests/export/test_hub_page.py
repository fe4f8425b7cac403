import shutil
from dataclasses import replace

import pytest
from fixtures.folders import card_in

from distill.errors import EncoderError, ExportError, InputError
from distill.export.card import JudgedCard, make_card
from distill.export.form import Form
from distill.export.formats.format import load_artefact
from distill.export.gate import Figures, Scores, require_passed
from distill.export.hub_page import read_origin_notes, render_hub_page
from distill.export.weights.precision import Precision
from distill.settings.sections import ExportSettings

FLOAT = Precision("float32", "float32")
ROW = Scores(0.9, 0.875, 0.5, 0.75, significant=False)
FIGURES = Figures("xquad", 400, 2, "ª̀", 0, 0.99999, 0.9999, "artefact", {"de": ROW, "en": ROW}, 0.0)


def test_the_head_says_what_the_hub_reads_and_the_page_the_codes_hash(artefacts, student):
    folder = artefacts(Form("sentence-transformers", FLOAT))
    head, page = (folder / "README.md").read_text(encoding="utf-8").removeprefix("---\n").split("\n---\n", 1)
    lines = head.splitlines()
    assert lines[:4] == ["language:", '- "de"', '- "en"', 'license: "apache-2.0"']
    assert {'library_name: "sentence-transformers"', 'pipeline_tag: "sentence-similarity"', '- "custom_code"'} <= {
        *lines
    }
    assert card_in(folder)["files"]["distill_ngram.py"]["sha256"] in page and "trust_remote_code=True" in page


def test_the_page_has_data_figures_and_what_the_bundle_says_of_itself(student, tmp_path):
    form = Form("model2vec", FLOAT, about="\n## What it learned from\n\nNews.\n")
    notes = {"dataset": "xquad", "languages": ["de", "en"], "parallel_text": ["massive/utterances.tsv", "a/b.tsv"]}
    page = render_hub_page(JudgedCard(make_card("small", student, form, tmp_path, notes), FIGURES))
    assert '- "google/xquad"\n- "AmazonScience/massive"\n' in page and '"value": 0.875' in page
    assert "2 of 400" in page and page.index("## What it learned from") > page.index("| de | 90.0 | 87.5 |")


def test_a_bundles_card_and_page_are_read(tiny_bundle):
    notes, about = read_origin_notes(tiny_bundle)
    assert notes.keys() <= {"source", "dataset"} and about == ""


def test_a_share_of_questions_may_be_cut_otherwise():
    settings = ExportSettings()
    assert require_passed(FIGURES, settings, "float32", others=0.005) == ()
    for figures, others in ((FIGURES, 0.0), (replace(FIGURES, other_ids=3), 0.005)):
        with pytest.raises(ExportError, match=f"{figures.other_ids} of 400"):
            require_passed(figures, settings, "float32", others=others)


def test_other_weights_than_float32_are_refused():
    with pytest.raises(InputError, match="--precision, --table"):
        Form("sentence-transformers")


@pytest.mark.parametrize("name", ["distill_ngram.py", "tokenizer.json"])
def test_a_changed_file_is_refused(artefacts, tmp_path, name):
    folder = shutil.copytree(artefacts(Form("sentence-transformers", FLOAT)), tmp_path / "copy")
    path = folder / name
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(EncoderError, match=name):
        load_artefact(folder)
