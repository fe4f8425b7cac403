import hashlib
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fixtures.folders import card_in, change_card, names

import distill
from distill.encoders.language_removal import LanguageRemoval
from distill.errors import InputError
from distill.export import encode
from distill.export.artefact import export_artefact
from distill.export.card import (
    JudgedCard,
    describe_lengths,
    make_card,
    p1_table,
    read_removal,
    render_readme,
    write_card,
    write_judged_card,
)
from distill.export.encode import BundleError, Encoder, TextError
from distill.export.form import Form
from distill.export.formats.format import format_of
from distill.export.gate import Figures, Gate, Scores
from distill.export.weights.precision import Precision
from distill.settings.sections import ExportSettings


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


# Language components in an artefact: its own `encode.py` removes what `LanguageRemoval.remove` removes.
TEXTS = ["Wo mündet die Donau?", "Where does the Danube end?", "a"]
FORMS = {"bundle": Form(precision=Precision("float32", "float32")), "onnx": Form("onnx")}


@pytest.fixture(scope="module")
def removal():
    random = np.random.default_rng(0)
    return LanguageRemoval.fit({name: random.normal(size=(9, 16)) for name in ("de", "th")}, rank=3, encoder="toy")


@pytest.fixture(scope="module")
def path(removal, tmp_path_factory):
    path = tmp_path_factory.mktemp("removal") / "lir.npz"
    removal.save(path)
    return path


@pytest.fixture(scope="module")
def make(student, sample, path, tmp_path_factory):
    """Artefacts with the first two directions of each language, each format made once."""
    folders = {}

    def exported(name):
        if name == "onnx":
            pytest.importorskip("onnxruntime")
        if name not in folders:
            folders[name] = tmp_path_factory.mktemp("removing") / "small"
            gate, form = Gate(sample, ("en",), ExportSettings(max_drop=100)), FORMS[name]
            export_artefact(student, folders[name], gate, form, removal=read_removal(path, 2, form))
        return folders[name]

    return exported


@pytest.mark.parametrize("name", FORMS)
def test_a_language_that_is_said_is_removed_and_without_one_nothing_is(make, removal, student, name):
    encoder = Encoder(make(name))
    plain = encoder.encode(TEXTS)
    np.testing.assert_allclose(np.sum(plain * student.encode(TEXTS), axis=1), 1, atol=1e-3)
    for language in ("de", "th"):
        got = encoder.encode(TEXTS, "question", language=language)
        np.testing.assert_allclose(got, removal.remove(plain, language, 2), atol=1e-5)
        assert got.dtype == np.float32 and np.abs(got - plain).max() > 0.01


def test_the_card_names_languages_rank_and_the_file(make):
    folder = make("bundle")
    assert card_in(folder)["removal"] == {"languages": ["de", "th"], "rank": 2, "encoder": "toy"}
    assert card_in(folder)["files"]["lir.npy"]["sha256"] == encode.sha256(folder / "lir.npy")
    assert "de, th" in (folder / "README.md").read_text(encoding="utf-8")


def test_a_language_without_components_is_refused(make, tiny_bundle):
    for folder, language, named in ((make("bundle"), "fr", "'fr'.*de,.th"), (tiny_bundle, "de", "'de'.*--removal")):
        with pytest.raises(TextError, match=named):
            Encoder(folder).encode(TEXTS, language=language)


def test_components_that_are_not_the_cards_are_refused(make, tmp_path):
    folder = shutil.copytree(make("bundle"), tmp_path / "copy")
    path = folder / "lir.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(BundleError, match=r"lir\.npy:.*sha256"):
        Encoder(folder)
    path.write_bytes(b"x" * len(whole))
    with pytest.raises(BundleError, match=r"lir\.npy:.*card\.json"):
        Encoder(folder, verify=False)
    path.write_bytes(whole)
    change_card(folder, removal={"languages": ["de"]})
    with pytest.raises(BundleError, match=r"lir\.npy:.*card\.json"):
        Encoder(folder)


def test_a_format_without_encode_py_and_a_rank_that_is_not_held_are_refused(path):
    for name in ("string", "mediapipe", "mediapipe-zip"):
        with pytest.raises(InputError, match=f"^--removal: .* {name} "):
            read_removal(path, 1, Form(name))
    with pytest.raises(InputError, match="^rank: "):
        read_removal(path, 4, Form())


def test_components_of_another_space_leave_nothing(student, sample, tmp_path):
    other = LanguageRemoval.fit({"de": np.eye(5)}, rank=1)
    with pytest.raises(InputError, match="16.*5"):
        export_artefact(student, tmp_path / "out", Gate(sample, ("en",), ExportSettings()), removal=other)
    assert names(tmp_path) == []
