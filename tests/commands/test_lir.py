"""The commands `distill lir fit`, `apply` and `fold`."""

import re
import shutil

import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.encoders.language_removal import LanguageRemoval

TEXTS = {"de": ["Wo mündet die Donau?", "Der Nil", "Die Elbe"], "th": ["แม่น้ำ", "ไนล์", "น้ำ", "แม่น้ำไนล์"]}


@pytest.fixture
def corpus(tmp_path):
    """The files, one named after its language and one not, as they are given."""
    (tmp_path / "de.txt").write_text("\n".join(TEXTS["de"]), encoding="utf-8")
    (tmp_path / "news.tha.txt").write_text("\n".join(TEXTS["th"]), encoding="utf-8")
    return ["--corpus", tmp_path / "de.txt", "--corpus", f"th={tmp_path / 'news.tha.txt'}"]


@pytest.fixture
def copy(tiny_folder, tmp_path):
    return shutil.copytree(tiny_folder, tmp_path / "encoder")


@pytest.fixture
def removal(tmp_path):
    """Of 16 dimensions, in a file."""
    random = np.random.default_rng(0)
    fitted = LanguageRemoval.fit({name: random.normal(size=(9, 16)) for name in ("de", "th")}, rank=2)
    fitted.save(tmp_path / "removal.npz")
    return fitted


def test_fit_writes_the_singular_vectors_of_each_languages_texts(distill, copy, corpus, tiny_encoder):
    left = distill("lir", "fit", copy, *corpus, "--rank", 2)
    assert left.code == 0, left.err
    assert f"{copy / 'lir.npz'}: 2 " in left.err.replace("\n", "") and "de 3, th 4" in left.err
    removal = LanguageRemoval.load(copy / "lir.npz")
    assert (removal.languages, removal.rank, removal.encoder) == (("de", "th"), 2, "tiny")
    for language, texts in TEXTS.items():
        _, _, right = np.linalg.svd(tiny_encoder.encode(texts))
        np.testing.assert_allclose(np.abs(np.sum(removal.components[language] * right[:2], axis=1)), 1, atol=1e-3)
    # Such a folder is still an encoder.
    assert np.array_equal(KerasEncoder.load(copy).encode(["a"]), tiny_encoder.encode(["a"]))


def test_the_file_of_a_run_lies_with_its_student(distill, copy, corpus, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("seed = 0\n")
    copy.rename(tmp_path / "run" / "student")
    assert distill("lir", "fit", tmp_path / "run", *corpus, "--rank", 1).code == 0
    assert LanguageRemoval.load(tmp_path / "run" / "student" / "lir.npz").rank == 1


def test_a_sample_of_the_texts_is_drawn_by_the_seed(distill, copy, tmp_path):
    lines = [f"river {number} " * (1 + number % 5) for number in range(50)]
    (tmp_path / "en.txt").write_text("\n".join(lines), encoding="utf-8")
    removals = []
    for seed in (1, 1, 2):
        flags = ["--corpus", tmp_path / "en.txt", "--sentences", 10, "--seed", seed, "--output", tmp_path / "lir.npz"]
        assert distill("lir", "fit", copy, *flags).code == 0
        removals.append(LanguageRemoval.load(tmp_path / "lir.npz"))
    assert [one.sentences for one in removals] == 3 * [{"en": 10}]
    assert np.array_equal(removals[0].components["en"], removals[1].components["en"])
    assert not np.allclose(removals[0].components["en"], removals[2].components["en"], atol=1e-4)


def test_what_cannot_be_fitted_is_refused(refused, corpus, copy, tiny_bundle, tmp_path):
    for model in ("muse", tiny_bundle):
        message = refused("lir", "fit", model, *corpus)
        assert f"{model}: " in message and "--output" in message
    # Too few texts before anything is encoded.
    assert "de: 3 " in refused("lir", "fit", "no-such-encoder", *corpus, "--output", tmp_path / "lir.npz")
    assert "--corpus" in refused("lir", "fit", copy)


def without(vectors, basis):
    """Unit rows without the directions in the columns of `basis`, by NumPy alone."""
    rest = vectors - (vectors @ basis) @ basis.T
    return rest / np.linalg.norm(rest, axis=1, keepdims=True)


def test_apply_removes_a_languages_directions(distill, removal, tmp_path):
    vectors = np.random.default_rng(1).normal(size=(5, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(tmp_path / "in.npy", vectors)
    flags = ["--removal", tmp_path / "removal.npz", "--language", "th", "--output", tmp_path / "out.npy"]
    for rank, flag in ((1, []), (2, ["--rank", 2])):
        assert distill("lir", "apply", tmp_path / "in.npy", *flags, *flag).code == 0
        expected = without(vectors, removal.components["th"][:rank].T)
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-6)


def test_what_cannot_be_removed_is_one_line_with_the_file(refused, removal, tmp_path):
    flags = ["--language", "de", "--removal", tmp_path / "removal.npz", "--output", tmp_path / "out.npy"]
    for array, named in ((np.eye(5), "in.npy: 5 .* 16"), (np.full((2, 16), np.nan), "in.npy: 2 of 2 ")):
        np.save(tmp_path / "in.npy", array)
        assert re.search(named, refused("lir", "apply", tmp_path / "in.npy", *flags))


def test_a_folded_encoder_removes_all_languages_directions(distill, copy, removal, tiny_encoder, tmp_path):
    removal.save(copy / "lir.npz")
    left = distill("lir", "fold", copy, "--output", tmp_path / "folded")
    assert left.code == 0 and "2 of 16 " in left.err.replace("\n", " "), left.err
    folded, texts = KerasEncoder.load(tmp_path / "folded"), [*TEXTS["de"], *TEXTS["th"]]
    basis = np.linalg.qr(np.concatenate([one[:1] for one in removal.components.values()]).T)[0]
    expected = without(tiny_encoder.encode(texts), basis)
    np.testing.assert_allclose(folded.encode(texts), expected, atol=1e-5)
    assert folded.name == "tiny"


@pytest.mark.parametrize("kind", ["ngram", "static"])
def test_a_folded_encoder_is_exported_as_any_other(wide, tokenizer, sample, tmp_path, randomised, kind):
    from distill.export.artefact import export_artefact
    from distill.export.gate import Gate
    from distill.settings.sections import ExportSettings
    from distill.students.project import fold_matrix
    from distill.students.static import StaticEncoder

    model = wide.model
    if kind == "static":
        model = randomised(StaticEncoder(vocabulary=len(tokenizer), width=40, hidden=36, dimension=40))
    random = np.random.default_rng(0)
    removal = LanguageRemoval.fit({name: random.normal(size=(9, 40)) for name in ("de", "th")}, rank=2)
    student = KerasEncoder(fold_matrix(model, removal.shared_matrix(2)), tokenizer)
    # The gate itself: tokens, cosines of at least .99, P@1.
    gate = Gate(sample, ("de", "en"), ExportSettings(max_drop=100, min_cosine=0.99))
    assert export_artefact(student, tmp_path / "out", gate).figures.cosine_min > 0.99
    from distill.export.encode import Encoder

    got = Encoder(tmp_path / "out").encode(TEXTS["de"])
    directions = np.concatenate([removal.components["de"], removal.components["th"]])
    # One int8 product of the whole matrix leaves .005 of them.
    assert np.abs(got @ directions.T).max() < 0.003


@pytest.mark.parametrize(
    ("model", "named"),
    [("muse", "muse: .*--removal"), ("ENCODER", "lir.npz: .*lir fit")] + [("ENCODER --removal OTHER", " 16 .* 5")],
)
def test_what_cannot_be_folded_is_refused(refused, copy, removal, tmp_path, model, named):
    LanguageRemoval.fit({"de": np.eye(5)}, rank=1).save(tmp_path / "other.npz")
    files = {"ENCODER": copy, "OTHER": tmp_path / "other.npz"}
    arguments = [files.get(word, word) for word in model.split()]
    assert re.search(named, refused("lir", "fold", *arguments, "--output", tmp_path / "out"))


def test_export_puts_the_requested_rank_into_the_formats_that_use_it(distill, refused, copy, removal, tmp_path):
    flags = ["--removal", tmp_path / "removal.npz", "--removal-rank", 2, "--output", tmp_path / "out"]
    assert "string" in refused("export", copy, *flags, "--format", "string")
    assert distill("export", copy, *flags, "--languages", "en", "--max-drop", 100).code == 0
    assert np.array_equal(np.load(tmp_path / "out" / "lir.npy"), removal.stack())
