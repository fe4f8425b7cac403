import io
import json
import shutil

import numpy as np
import pytest

import distill
from distill.config import ExportSettings
from distill.encoder import KerasEncoder
from distill.errors import EncoderError, ExportError, InputError
from distill.export import bundle as module
from distill.export import encode
from distill.export.bundle import export_bundle, load_bundle, size_of
from distill.export.tflite import convert

LANGUAGES = ("de", "en")
NOTES = {"dataset": "sample", "seed": 7}
# A lone surrogate is what broken JSON leaves; ten thousand words are longer than anything trained on.
TEXTS = ["", "?", "Where does the Danube end?", "多瑙河在哪里结束？", "broken \ud800 text", "word " * 10_000]


@pytest.fixture(scope="module")
def student(tiny_folder):
    return KerasEncoder.load(tiny_folder)


@pytest.fixture(scope="module")
def exported(student, sample, tmp_path_factory):
    """The bundle's folder, alone in its parent, and what `export_bundle` returned."""
    folder = tmp_path_factory.mktemp("exported") / "small"
    return folder, export_bundle(student, folder, sample, LANGUAGES, ExportSettings(), NOTES)


@pytest.fixture(scope="module")
def other_content(student):
    """The flatbuffer of an encoder that has the student's shape and other weights."""
    other = type(student.model).from_config(student.model.get_config())
    random = np.random.default_rng(9)
    other.set_weights([random.normal(size=weight.shape) for weight in other.get_weights()])
    return convert(other)


@pytest.fixture
def copy(exported, tmp_path):
    """A bundle to break."""
    return shutil.copytree(exported[0], tmp_path / "copy")


@pytest.fixture(scope="module")
def small_tokenizer(sample):
    """Of 500 pieces, where the encoder has 2,000."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample.passage_texts), model_writer=model, vocab_size=500, minloglevel=2
    )
    return model.getvalue()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def config_of(folder):
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def test_the_folder_holds_all_it_needs(exported):
    assert names(exported[0]) == ["README.md", "config.json", "encode.py", "encoder.tflite", "tokenizer.model"]


def test_nothing_is_left_beside_it(exported):
    assert names(exported[0].parent) == ["small"]


def test_the_tokenizer_is_the_students(exported, student):
    assert (exported[0] / "tokenizer.model").read_bytes() == student.tokenizer.proto


def test_it_ships_the_code_that_was_checked(exported):
    with open(encode.__file__, "rb") as source:
        assert (exported[0] / "encode.py").read_bytes() == source.read()


def test_the_config_says_what_it_is(exported):
    folder, parity = exported
    assert config_of(folder) == {
        "name": "small",
        "dimension": 16,
        "vocabulary": 2000,
        "distill": distill.__version__,
        "parity": parity,
        **NOTES,
    }


def test_parity_was_measured_on_dev(exported, sample):
    assert exported[1]["texts"] == len(LANGUAGES) * len(sample.splits["dev"])
    assert 0.995 <= exported[1]["cosine_min"] <= exported[1]["cosine_mean"] <= 1.00001


def test_the_readme_shows_use_size_and_origin(exported):
    folder, parity = exported
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# small\n")
    assert "pip install numpy sentencepiece ai-edge-litert" in readme
    assert f"- size: {sum(p.stat().st_size for p in folder.iterdir()) / 1e6:.1f} MB" in readme
    assert f"{parity['cosine_mean']:.5f}" in readme and "(40 dev questions)" in readme
    assert "- dataset: sample\n- seed: 7\n" in readme
    assert "Apache-2.0" in readme


def test_vectors_are_the_students(exported, student):
    got, expected = load_bundle(exported[0]).encode(TEXTS), student.encode(TEXTS)
    assert (got.shape, got.dtype) == ((len(TEXTS), 16), np.float32)
    assert np.linalg.norm(got, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    assert np.sum(got * expected, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-3)


def test_it_is_an_encoder(exported):
    loaded = load_bundle(exported[0])
    assert (loaded.name, loaded.dimension) == ("small", 16)


def test_threads_change_no_vector(exported):
    one, two = (load_bundle(exported[0], threads) for threads in (1, 2))
    assert two.encode(TEXTS[:3]) == pytest.approx(one.encode(TEXTS[:3]), abs=1e-6)


def test_sizes_by_hand(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"12345")
    (tmp_path / "y").write_bytes(b"123")
    assert (size_of(tmp_path), size_of(tmp_path / "y"), size_of(str(tmp_path / "a"))) == (8, 3, 5)


def test_another_encoders_artefact_is_refused_and_nothing_is_left(
    student, sample, tmp_path, monkeypatch, other_content
):
    monkeypatch.setattr(module, "convert", lambda model: other_content)
    with pytest.raises(ExportError, match="differs from the student: least cosine"):
        export_bundle(student, tmp_path / "bundle", sample, LANGUAGES, ExportSettings())
    assert names(tmp_path) == []


def test_a_folder_that_holds_something_is_not_replaced(student, sample, copy):
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    with pytest.raises(InputError, match="copy is a folder that is not empty; choose another name or remove it"):
        export_bundle(student, copy, sample, LANGUAGES, ExportSettings())
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    assert names(copy.parent) == ["copy"]


def test_a_loss_in_retrieval_is_refused(student, sample, tmp_path, monkeypatch, other_content):
    # Vectors that point elsewhere are allowed here, so only P@1 can tell: a student of its own that answers all.
    monkeypatch.setattr(module, "convert", lambda model: other_content)
    with pytest.raises(ExportError, match="points of dev P@1, allowed are 0.0"):
        export_bundle(Knowing(student, sample), tmp_path / "b", sample, LANGUAGES, ExportSettings(-1.0, 0.0))
    assert names(tmp_path) == []


class Knowing(KerasEncoder):
    """A student that gives a question its document's vector."""

    def __init__(self, student, dataset):
        super().__init__(student.model, student.tokenizer)
        self.answers = {
            question.text: dataset.document_texts[dataset.passages[question.passage].document]
            for questions in dataset.questions.values()
            for question in questions.values()
        }

    def encode(self, texts, role="question", progress=None):
        return super().encode([self.answers.get(text, text) for text in texts], role, progress)


def test_an_interrupted_export_leaves_nothing(student, sample, tmp_path, monkeypatch, exported):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    content = (exported[0] / "encoder.tflite").read_bytes()
    monkeypatch.setattr(module, "convert", lambda model: content)
    monkeypatch.setattr(module, "check_parity", interrupt)
    with pytest.raises(KeyboardInterrupt):
        export_bundle(student, tmp_path / "bundle", sample, LANGUAGES, ExportSettings())
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["encoder.tflite", "tokenizer.model", "config.json"])
def test_a_missing_file_is_named(copy, name):
    (copy / name).unlink()
    with pytest.raises(EncoderError, match=f"copy: {name} is missing; export the bundle again"):
        load_bundle(copy)


def test_a_folder_that_is_not_there_is_no_bundle(tmp_path):
    with pytest.raises(EncoderError, match="nowhere: encoder.tflite is missing"):
        load_bundle(tmp_path / "nowhere")


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_a_truncated_model_is_refused(copy, kept):
    path = copy / "encoder.tflite"
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(EncoderError, match="encoder.tflite: the runtime cannot load it: "):
        load_bundle(copy)


def test_a_model_that_is_no_flatbuffer_is_refused(copy):
    (copy / "encoder.tflite").write_bytes(b"no model" * 1000)
    with pytest.raises(EncoderError, match="encoder.tflite: the runtime cannot load it: "):
        load_bundle(copy)


def test_a_tokenizer_of_another_size_is_refused(copy, small_tokenizer):
    (copy / "tokenizer.model").write_bytes(small_tokenizer)
    with pytest.raises(EncoderError, match="tokenizer.model: 500 pieces, but the encoder has 2000; export the bundle"):
        load_bundle(copy)


@pytest.mark.parametrize("content", [b"", b"no tokenizer" * 100])
def test_a_tokenizer_that_is_none_is_refused(copy, content):
    (copy / "tokenizer.model").write_bytes(content)
    with pytest.raises(EncoderError, match="tokenizer.model: not a SentencePiece model; export the bundle again"):
        load_bundle(copy)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"1", b"{}", b'{"name": "x", "dimension": 16}', b"\xff\xfe{}"])
def test_a_config_that_is_none_is_refused(copy, content):
    (copy / "config.json").write_bytes(content)
    with pytest.raises(EncoderError, match="config.json: not a bundle's config: .*; export the bundle again"):
        load_bundle(copy)


@pytest.mark.parametrize("changed", [{"dimension": 17}, {"dimension": "many"}, {"vocabulary": "many"}])
def test_a_config_of_another_encoder_is_refused(copy, changed):
    (copy / "config.json").write_text(json.dumps({**config_of(copy), **changed}), encoding="utf-8")
    with pytest.raises(EncoderError, match="export the bundle again"):
        load_bundle(copy)
