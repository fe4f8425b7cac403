import functools
import http.server
import tarfile
import threading

import numpy as np
import pytest
from fixtures.vectors import unit

from distill.errors import EncoderError
from distill.teachers.hub import HubEncoder, is_hub

tf = pytest.importorskip("tensorflow")
text = pytest.importorskip("tensorflow_text")

TEXTS = ["Where does the Danube end?", "Nile", "Wo endet die Donau?", "ดานูบ", "Donau " * 40]
WIDTH = 6


@pytest.fixture(scope="module")
def table(tokenizer):
    return np.random.default_rng(0).normal(size=(len(tokenizer), WIDTH)).astype(np.float32)


class Sentences(tf.Module):
    """String in, vector out: SentencePiece, a row of a table each piece, their sum. Not of unit length."""

    def __init__(self, tokenizer, table):
        super().__init__()
        self.tokenizer, self.table = tokenizer, tf.Variable(table)

    def vectors(self, texts):
        return tf.reduce_sum(tf.gather(self.table, self.tokenizer.tokenize(texts)), axis=1)


def save(folder, tokenizer, table, output=lambda vectors: vectors, signature=None, kind="fast"):
    """A SavedModel with its tokenizer inside: called directly, or by `signature` only."""
    make = {"fast": text.FastSentencepieceTokenizer, "classic": text.SentencepieceTokenizer}[kind]
    module = Sentences(make(tokenizer.proto, add_bos=True, add_eos=True), table)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def call(texts):
        return output(module.vectors(texts))

    if signature:
        tf.saved_model.save(module, str(folder), signatures={signature: call})
    else:
        module.__call__ = call
        tf.saved_model.save(module, str(folder))
    return folder


@pytest.fixture(scope="module")
def folder(tokenizer, table, tmp_path_factory):
    return save(tmp_path_factory.mktemp("hub") / "sentences", tokenizer, table)


@pytest.fixture(scope="module")
def encoder(folder):
    return HubEncoder(folder)


@pytest.fixture(scope="module")
def expected(tokenizer, table):
    return unit(summed(tokenizer, table, TEXTS))


def summed(tokenizer, table, texts):
    return np.array([table[ids].sum(axis=0) for ids in tokenizer.encode(texts)])


def test_vectors_dimension_and_name_are_the_saved_models(encoder, folder, expected, sample, tokenizer, table):
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    np.testing.assert_array_equal(encoder.encode(TEXTS, role="document"), vectors)
    texts = [question.text for question in sample.questions["th"].values()][:75] + ["Nile"]
    steps = []
    vectors = encoder.encode(texts, progress=steps.append)
    np.testing.assert_allclose(vectors, unit(summed(tokenizer, table, texts)), atol=1e-6)
    assert len(steps) > 1 and sum(steps) == len(texts)
    assert encoder.encode([]).shape == (0, WIDTH)
    np.testing.assert_array_equal(encoder.encode(["a\ud800b"]), encoder.encode(["a\ufffdb"]))
    assert (encoder.dimension, encoder.name, encoder.takes_context) == (WIDTH, "sentences", False)
    assert HubEncoder(f"{folder}/", name="danube").name == "danube"


# A loaded dictionary comes in any order: many others, so that the first is none by chance.
LOADED = {
    "the classic tokenizer": {"kind": "classic"},
    "no call": {"output": lambda v: {"vectors": v}, "signature": "serving_default"},
    "several outputs": {"output": lambda v: {"outputs": v, **{name: v[:, :2] for name in "abcdyz"}}},
}


@pytest.mark.parametrize("options", LOADED.values(), ids=LOADED)
def test_other_saved_models_are_loaded_too(options, tokenizer, table, expected, tmp_path):
    encoder = HubEncoder(save(tmp_path / "other", tokenizer, table, **options))
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6)


def test_a_zero_vector_stays_finite(tokenizer, table, tmp_path):
    zero = HubEncoder(save(tmp_path / "zero", tokenizer, np.zeros_like(table)))
    np.testing.assert_array_equal(zero.encode(["a"]), np.zeros((1, WIDTH)))


@pytest.fixture
def handle(folder, tmp_path, monkeypatch):
    """A TF-Hub handle: the SavedModel as the archive that a server at this address gives."""
    with tarfile.open(tmp_path / "module", "w:gz") as archive:
        archive.add(folder, arcname=".")
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path / "cache"))
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/module"
    server.shutdown()
    server.server_close()


def test_a_handle_is_downloaded_and_one_that_is_not_there_refused(handle, expected):
    assert is_hub(handle)
    encoder = HubEncoder(handle)
    assert encoder.name == "module"
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6)
    with pytest.raises(EncoderError, match="/modul: .*404"):
        HubEncoder(handle[:-1])


def test_a_folder_with_a_saved_model_and_an_address_are_hub_and_nothing_else(folder, tiny_folder, tmp_path):
    addresses = "https://tfhub.dev/google/x/3", "http://localhost/x", "gs://bucket/x"
    assert all(is_hub(source) for source in (folder, str(folder), *addresses))
    assert not any(is_hub(source) for source in (tiny_folder, tmp_path, tmp_path / "absent", "muse"))


@pytest.mark.parametrize("content", [None, b"not a SavedModel"])
def test_a_folder_without_a_saved_model_or_a_damaged_one_is_refused(tmp_path, content):
    if content:
        (tmp_path / "saved_model.pb").write_bytes(content)
    with pytest.raises(EncoderError, match=tmp_path.name):
        HubEncoder(tmp_path)


REFUSED = {
    "no call": ({"output": lambda v: {"x": v}, "signature": "tokenize"}, ".*__call__"),
    "outputs of other names": ({"output": lambda v: {"pooled": v, "first": v[:, :2]}}, ".*first, pooled"),
    "one number a text": ({"output": lambda v: v[:, 0]}, r".*\(1,\)"),
    "a sequence a text": ({"output": lambda v: v[:, None]}, rf".*\(1, 1, {WIDTH}\)"),
    "ragged": ({"output": tf.RaggedTensor.from_tensor}, ""),
}


@pytest.mark.parametrize("options, said", REFUSED.values(), ids=REFUSED)
def test_a_saved_model_without_vectors_of_texts_is_refused(options, said, tokenizer, table, tmp_path):
    save(tmp_path / "other", tokenizer, table, **options)
    with pytest.raises(EncoderError, match=f"other: {said}"):
        HubEncoder(tmp_path / "other")


def test_a_saved_model_that_takes_numbers_is_refused(tmp_path):
    module = tf.Module()
    module.__call__ = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    tf.saved_model.save(module, str(tmp_path / "numbers"))
    with pytest.raises(EncoderError, match="numbers: "):
        HubEncoder(tmp_path / "numbers")


class Answers(Sentences):
    """Two towers: a response is its text and half of its context."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "input")])
    def question(self, input):
        return {"outputs": self.vectors(input)}

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string, "input"), tf.TensorSpec([None], tf.string, "context")]
    )
    def response(self, input, context):
        return {"outputs": self.vectors(input) + self.vectors(context) / 2}


# USE-QA's name for the tower of questions, and that of LAReQA's encoders.
@pytest.fixture(scope="module", params=["question_encoder", "query_encoder"])
def towers(request, tokenizer, table, tmp_path_factory):
    module = Answers(text.FastSentencepieceTokenizer(tokenizer.proto, add_bos=True, add_eos=True), table)
    folder = tmp_path_factory.mktemp("hub") / "towers"
    signatures = {request.param: module.question, "response_encoder": module.response}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    return HubEncoder(folder)


def test_two_towers_take_a_documents_context_which_is_its_own_text_without_one(towers, expected, tokenizer, table):
    contexts = ["The Danube ends in the Black Sea.", "A river.", "", "Thai", "x"]
    both = unit(summed(tokenizer, table, TEXTS) + summed(tokenizer, table, contexts) / 2)
    assert towers.takes_context
    np.testing.assert_allclose(towers.encode(TEXTS, "document", contexts=contexts), both, atol=1e-5)
    # 1.5 times, which the length takes out.
    np.testing.assert_allclose(towers.encode(TEXTS, "document"), expected, atol=1e-5)
    np.testing.assert_allclose(towers.encode(TEXTS, "question"), expected, atol=1e-5)
