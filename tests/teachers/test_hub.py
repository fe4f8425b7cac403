import functools
import http.server
import tarfile
import threading

import numpy as np
import pytest

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
    return in_numpy(tokenizer, table, TEXTS)


def in_numpy(tokenizer, table, texts):
    sums = np.stack([table[ids].sum(axis=0) for ids in tokenizer.encode(texts)])
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def test_vectors_are_the_saved_models_scaled_to_unit_length(encoder, expected):
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-6)


def test_the_classic_sentencepiece_tokenizer_is_loaded_too(tokenizer, table, expected, tmp_path):
    classic = HubEncoder(save(tmp_path / "classic", tokenizer, table, kind="classic"))
    np.testing.assert_allclose(classic.encode(TEXTS), expected, atol=1e-6)


def test_more_texts_than_a_batch_keep_their_order(encoder, sample, tokenizer, table):
    texts = [question.text for question in sample.questions["th"].values()][:75] + ["Nile"]
    np.testing.assert_allclose(encoder.encode(texts), in_numpy(tokenizer, table, texts), atol=1e-6)


def test_dimension_and_name_are_the_saved_models(encoder):
    assert (encoder.dimension, encoder.name) == (WIDTH, "sentences")


def test_a_given_name_is_kept(folder):
    assert HubEncoder(f"{folder}/", name="danube").name == "danube"


def test_no_texts_give_no_rows(encoder):
    assert encoder.encode([]).shape == (0, WIDTH)


def test_a_lone_surrogate_is_encoded_as_the_replacement_character(encoder):
    np.testing.assert_array_equal(encoder.encode(["a\ud800b"]), encoder.encode(["a\ufffdb"]))


def test_a_zero_vector_stays_finite(tokenizer, table, tmp_path):
    zero = HubEncoder(save(tmp_path / "zero", tokenizer, np.zeros_like(table)))
    np.testing.assert_array_equal(zero.encode(["a"]), np.zeros((1, WIDTH)))


def test_progress_adds_up_to_the_number_of_texts(encoder):
    steps = []
    encoder.encode(["a"] * 70, progress=steps.append)
    assert len(steps) > 1
    assert sum(steps) == 70


def test_questions_and_documents_share_one_tower(encoder):
    np.testing.assert_array_equal(encoder.encode(TEXTS, role="document"), encoder.encode(TEXTS, role="question"))


def test_a_serving_default_signature_is_used_when_it_cannot_be_called(tokenizer, table, expected, tmp_path):
    save(tmp_path / "served", tokenizer, table, lambda vectors: {"vectors": vectors}, signature="serving_default")
    np.testing.assert_allclose(HubEncoder(tmp_path / "served").encode(TEXTS), expected, atol=1e-6)


def test_of_several_outputs_the_one_named_outputs_is_taken(tokenizer, table, expected, tmp_path):
    # A loaded dictionary comes in any order: many others, so that the first is none by chance.
    save(tmp_path / "several", tokenizer, table, lambda v: {"outputs": v, **{name: v[:, :2] for name in "abcdyz"}})
    np.testing.assert_allclose(HubEncoder(tmp_path / "several").encode(TEXTS), expected, atol=1e-6)


def test_several_outputs_of_other_names_are_refused(tokenizer, table, tmp_path):
    save(tmp_path / "several", tokenizer, table, lambda v: {"pooled": v, "first": v[:, :2]})
    with pytest.raises(EncoderError, match="first, pooled"):
        HubEncoder(tmp_path / "several")


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


def test_a_handle_is_downloaded(handle, expected):
    assert is_hub(handle)
    encoder = HubEncoder(handle)
    assert encoder.name == "module"
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6)


def test_a_handle_that_is_not_there_is_refused(handle):
    with pytest.raises(EncoderError, match="/modul: .*404"):
        HubEncoder(handle[:-1])


def test_a_folder_with_a_saved_model_is_hub(folder):
    assert is_hub(folder)
    assert is_hub(str(folder))


@pytest.mark.parametrize("source", ["https://tfhub.dev/google/x/3", "http://localhost/x", "gs://bucket/x"])
def test_an_address_is_hub(source):
    assert is_hub(source)


def test_other_folders_and_names_are_not_hub(tiny_folder, tmp_path):
    assert not any(is_hub(source) for source in (tiny_folder, tmp_path, tmp_path / "absent", "muse"))


@pytest.mark.parametrize("content", [None, b"not a SavedModel"])
def test_a_folder_without_a_saved_model_or_a_damaged_one_is_refused(tmp_path, content):
    if content:
        (tmp_path / "saved_model.pb").write_bytes(content)
    with pytest.raises(EncoderError, match=tmp_path.name):
        HubEncoder(tmp_path)


def test_a_saved_model_that_cannot_be_called_is_refused(tokenizer, table, tmp_path):
    save(tmp_path / "other", tokenizer, table, lambda vectors: {"x": vectors}, signature="tokenize")
    with pytest.raises(EncoderError, match="other: .*__call__"):
        HubEncoder(tmp_path / "other")


@pytest.mark.parametrize(
    "output, shape",
    [(lambda v: v[:, 0], r"\(1,\)"), (lambda v: v[:, None], rf"\(1, 1, {WIDTH}\)")],
    ids=["one number a text", "a sequence a text"],
)
def test_an_output_of_another_rank_is_refused_with_its_shape(output, shape, tokenizer, table, tmp_path):
    save(tmp_path / "rank", tokenizer, table, output)
    with pytest.raises(EncoderError, match=f"rank: .*{shape}"):
        HubEncoder(tmp_path / "rank")


def test_a_ragged_output_is_refused(tokenizer, table, tmp_path):
    module = Sentences(text.FastSentencepieceTokenizer(tokenizer.proto), table)
    signature = [tf.TensorSpec([None], tf.string)]
    module.__call__ = tf.function(lambda texts: module.tokenizer.tokenize(texts), input_signature=signature)
    tf.saved_model.save(module, str(tmp_path / "ragged"))
    with pytest.raises(EncoderError, match="ragged: "):
        HubEncoder(tmp_path / "ragged")


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


@pytest.fixture(scope="module")
def towers(tokenizer, table, tmp_path_factory):
    module = Answers(text.FastSentencepieceTokenizer(tokenizer.proto, add_bos=True, add_eos=True), table)
    folder = tmp_path_factory.mktemp("hub") / "towers"
    signatures = {"question_encoder": module.question, "response_encoder": module.response}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    return HubEncoder(folder)


def summed(tokenizer, table, texts):
    return np.array([table[ids].sum(axis=0) for ids in tokenizer.encode(texts)])


def test_two_towers_take_a_documents_context(towers, tokenizer, table):
    contexts = ["The Danube ends in the Black Sea.", "A river.", "", "Thai", "x"]
    expected = summed(tokenizer, table, TEXTS) + summed(tokenizer, table, contexts) / 2
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert towers.takes_context
    np.testing.assert_allclose(towers.encode(TEXTS, "document", contexts=contexts), expected, atol=1e-5)


def test_a_document_without_a_context_is_its_own(towers, tokenizer, table):
    expected = summed(tokenizer, table, TEXTS)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)  # 1.5 times, which the length takes out
    np.testing.assert_allclose(towers.encode(TEXTS, "document"), expected, atol=1e-5)


def test_two_towers_answer_questions_without_context(towers, tokenizer, table):
    expected = summed(tokenizer, table, TEXTS)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(towers.encode(TEXTS, "question"), expected, atol=1e-5)


def test_one_tower_takes_no_context(encoder):
    assert not encoder.takes_context
