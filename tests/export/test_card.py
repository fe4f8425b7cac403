import hashlib
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from fixtures.folders import card_in

import distill
from distill.export.card import (
    JudgedCard,
    describe_lengths,
    make_card,
    p1_table,
    render_readme,
    write_card,
    write_judged_card,
)
from distill.export.form import Form
from distill.export.formats.format import format_of
from distill.export.gate import Figures, Scores
from distill.export.weights.precision import Precision


class Tokens(list):
    """A tokenizer as far as a card looks at it."""

    reading = SimpleNamespace(longest=None)


STUDENT = SimpleNamespace(dimension=512, tokenizer=Tokens([None] * 2000), origin=None)
NOTES = {"source": "sample-en", "dataset": "sample", "languages": ["de", "en"], "teacher": "en", "seed": 7}
ROW = Scores(0.915, 0.9, 0.5, 0.777, significant=False)
FIGURES = Figures(
    dataset="sample",
    texts=40,
    other_ids=0,
    other_ids_example=None,
    cut=6,
    cosine_mean=0.99987,
    cosine_min=0.99912,
    documents_by="artefact",
    p1={"de": ROW, "en": replace(ROW, student=0.8, artefact=0.85, p_holm=1.0)},
    drop=1.0,
)
HOW_TO = {
    "bundle": "pip install numpy sentencepiece ai-edge-litert",
    "onnx": "pip install numpy sentencepiece onnxruntime",
    "string": "SELECT_TFTEXT_OPS",
    "mediapipe": "`encoder.tflite` is for MediaPipe's TextEmbedder",
    "mediapipe-zip": " 64 tokens",
    "c": "cc -std=c99",
    "web": "python -m http.server",
    "java": "javac -d classes",
    "npm": "npm pack",
    "sentence-transformers": "pip install sentence-transformers",
    "model2vec": "pip install model2vec",
    "fastembed": "pip install fastembed",
}


@pytest.fixture
def folder(tmp_path):
    """Two files of known size and content."""
    (tmp_path / "encoder.tflite").write_bytes(b"abc" * 1_000_000)
    (tmp_path / "a.model").write_bytes(b"12345")
    return tmp_path


@pytest.fixture
def card(folder):
    return make_card("small", STUDENT, Form(), folder, NOTES)


def page_of(card, *refused):
    return render_readme(JudgedCard(card, FIGURES, refused))


def test_the_page_has_what_is_known_and_why_the_artefact_was_refused(card, folder):
    page = page_of(replace(card, notes={**NOTES, "teacher_model": "e5, centred"}))
    assert page.split("\n- teacher_model: ")[1].startswith("e5, centred\n- seed")
    page = page_of(replace(card, notes={}))
    assert "source" not in page and "seed" not in page and "teacher" not in page
    reasons = ("too far", "2.00 points {lost}")
    lines = page_of(card, *reasons).splitlines()
    assert [line.rpartition("**: ")[2] for line in lines if line.startswith("- **")] == list(reasons)
    # A name with braces is only a name, and one in any script stays readable.
    assert page_of(replace(card, name="{seed} {0}")).startswith("# {seed} {0}\n")
    write_card(folder, make_card("многоязычный", STUDENT, Form(), folder))
    assert '"name": "многоязычный"' in (folder / "card.json").read_text(encoding="utf-8")


def test_the_card_says_what_it_is(folder):
    form = Form("bundle", Precision("float32", "int4"), signatures=(8, 32))
    card = make_card("small", STUDENT, form, folder, NOTES).as_dict()
    files = card.pop("files")
    assert card == {
        "name": "small",
        "format": "bundle",
        "precision": {"dense": "float32", "table": "int4"},
        "dimension": 512,
        "vocabulary": 2000,
        "max_length": 32,
        "signatures": [8, 32],
        "distill": distill.__version__,
        "licence": "Apache-2.0",
        **NOTES,
        "bytes": 3_000_005,
    }
    assert list(card)[-2:] == ["seed", "bytes"] and list(files) == ["a.model", "encoder.tflite"]
    assert files["a.model"] == {"bytes": 5, "sha256": hashlib.sha256(b"12345").hexdigest()}
    assert files["encoder.tflite"]["sha256"] == hashlib.sha256(b"abc" * 1_000_000).hexdigest()


def test_the_card_is_json_and_the_page_comes_with_the_gates_figures(folder, card):
    write_card(folder, card)
    assert card_in(folder) == card.as_dict() and not (folder / "README.md").exists()
    judged = JudgedCard(card, FIGURES, ("too far",))
    write_judged_card(folder, judged)
    assert card_in(folder) == {**card.as_dict(), "dev": FIGURES.as_dict(), "refused": ["too far"]}
    assert (folder / "README.md").read_text(encoding="utf-8") == render_readme(judged)


def test_the_page_has_size_origin_and_figures(card):
    page = page_of(card)
    assert page.startswith("# small\n") and " 512 " in page
    assert (
        "- format: bundle, dense layers int8, table uint8\n- texts: of any length\n- size: 3.0 MB\n"
        "- cosine to the student: 0.99987, least 0.99912 (34 dev questions of sample)\n"
        "- source: sample-en\n- dataset: sample\n- languages: de, en\n- teacher: en\n- seed: 7\n"
    ) in page
    assert "force" not in page and "Apache-2.0." in page and "{" not in page
    assert p1_table(FIGURES.p1) == (
        "| language | student | artefact | p |\n|---|---|---|---|\n"
        "| de | 91.5 | 90.0 | 0.777 |\n| en | 80.0 | 85.0 | 1.000 |"
    )
    assert f"\n{p1_table(FIGURES.p1)}\n" in page


@pytest.mark.parametrize("name", HOW_TO)
def test_the_page_says_how_to_use_it(folder, name):
    precision = Precision("float32", "float32") if format_of(name).library else Precision()
    form = Form(name, precision, max_length=64 if name == "mediapipe-zip" else None)
    page = page_of(make_card("small", STUDENT, form, folder))
    assert [other for other in HOW_TO if HOW_TO[other] in page] == [name]
    assert ("# float32 (1, 512)" in page) == (name in ("bundle", "onnx"))


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (Form(), "of any length"),
        (Form(max_length=64), "up to 64 tokens"),
        (Form(signatures=(8, 32)), "up to 32 tokens, signatures of 8, 32"),
        (Form("mediapipe-zip"), "up to 512 tokens"),
    ],
)
def test_lengths_in_words(folder, form, words):
    assert describe_lengths(form) == words
    assert f"- texts: {words}\n" in page_of(make_card("small", STUDENT, form, folder))


def test_the_page_says_how_much_of_a_text_is_read(folder):
    tokens = Tokens([None] * 2000)
    tokens.reading = SimpleNamespace(longest=512)
    student = SimpleNamespace(dimension=512, tokenizer=tokens, origin=None)
    pages = [page_of(make_card("small", student, form, folder)) for form in (Form("java"), Form(max_length=64))]
    lines = [re.search("^- texts: (.*)$", page, re.M)[1] for page in pages]
    assert "512" in lines[0] and "512" not in lines[1]


def test_the_page_of_a_real_bundle_can_be_followed(tiny_bundle):
    """The Python on the page runs as it stands, in the bundle's folder."""
    import subprocess
    import sys

    page = (tiny_bundle / "README.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0] + "print(vectors.shape, vectors.dtype)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tiny_bundle, capture_output=True, text=True, timeout=120)
    assert done.stdout == "(1, 16) float32\n", done.stderr
