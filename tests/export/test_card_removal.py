"""Language components in an artefact: its own `encode.py` removes what `LanguageRemoval.remove` removes."""

import shutil

import numpy as np
import pytest
from fixtures.folders import card_in, change_card, names

from distill.encoders.language_removal import LanguageRemoval
from distill.errors import InputError
from distill.export import encode
from distill.export.artefact import export_artefact
from distill.export.card import read_removal
from distill.export.encode import BundleError, Encoder, TextError
from distill.export.form import Form
from distill.export.gate import Gate
from distill.export.weights.precision import Precision
from distill.settings.sections import ExportSettings

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
