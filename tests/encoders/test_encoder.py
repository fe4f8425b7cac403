import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from fixtures.encoders import rewritten

from distill import __version__
from distill.encoders.catalog.identity import weights_fingerprint
from distill.encoders.catalog.loading import load_encoder
from distill.encoders.encoder import CARD_FILE, MODEL_FILE, TOKENIZER_FILE, KerasEncoder, encode_ids
from distill.encoders.tokenizer import Tokenizer
from distill.errors import EncoderError, InputError
from distill.export.encode import Reading
from distill.students.embeddings import add_segments

TEXTS = ["Where does the Danube end?", "Nile", "", "Wo endet die Donau, und welche Länder quert sie?", "河", "a b"]


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return KerasEncoder.load(tiny_folder)


@pytest.fixture
def copy(tiny_folder, tmp_path):
    """A saved encoder to damage."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "encoder"))


def test_rows_are_float32_of_unit_length_each_that_of_its_text_alone_in_either_role(encoder):
    vectors = encoder.encode(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), encoder.dimension) == (6, 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert np.abs(vectors[:, None] - vectors[None])[~np.eye(len(TEXTS), dtype=bool)].max(axis=1).min() > 1e-3
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_allclose(vectors, alone, atol=1e-6)
    np.testing.assert_array_equal(encoder.encode(iter(TEXTS), role="document"), vectors)
    assert encoder.encode([]).shape == (0, 16)
    np.testing.assert_array_equal(encoder.encode(["a\ud800b"]), encoder.encode(["a\ufffdb"]))


def test_many_texts_of_many_lengths_keep_their_order_and_progress_adds_up_to_their_number(encoder):
    # More than one group by count, 256 a group, and by tokens.
    rows = [[1] + [3 + i % 50] * (1 + i % 40) + [2] for i in range(600)]
    vectors = encode_ids(encoder.model, rows)
    for i in (0, 39, 255, 256, 599):
        np.testing.assert_allclose(vectors[i], encode_ids(encoder.model, [rows[i]])[0], atol=1e-6)
    steps = []
    encoder.encode(TEXTS * 100, progress=steps.append)
    assert len(steps) > 1
    assert sum(steps) == 600


def test_a_saved_encoder_is_the_same_with_nothing_beside_it_and_not_overwritten(tiny, tmp_path):
    tiny.save(tmp_path / "encoder")
    loaded = KerasEncoder.load(tmp_path / "encoder")
    assert (loaded.name, loaded.dimension, loaded.tokenizer.proto) == ("tiny", 16, tiny.tokenizer.proto)
    for one, other in zip(loaded.model.weights, tiny.model.weights, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    assert [path.name for path in tmp_path.iterdir()] == ["encoder"]
    assert {path.name for path in (tmp_path / "encoder").iterdir()} == {MODEL_FILE, TOKENIZER_FILE, CARD_FILE}
    np.testing.assert_array_equal(loaded.encode(TEXTS), tiny.encode(TEXTS))
    tiny.name = "second"
    with pytest.raises(InputError, match=str(tmp_path / "encoder")):
        tiny.save(tmp_path / "encoder")
    card = json.loads((tmp_path / "encoder" / CARD_FILE).read_text(encoding="utf-8"))
    assert card == {"name": "tiny", "dimension": 16, "distill": __version__}


def test_a_saved_encoder_keeps_the_prompts_of_its_roles(encoder, tmp_path):
    reading = Reading({"question": "query: ", "document": "passage: "})
    KerasEncoder(encoder.model, Tokenizer(encoder.tokenizer.proto, reading=reading)).save(tmp_path / "prompted")
    loaded = load_encoder(tmp_path / "prompted")
    for role, prompt in reading.prompts.items():
        np.testing.assert_array_equal(loaded.encode(TEXTS, role), encoder.encode([prompt + text for text in TEXTS]))
    before = weights_fingerprint(tmp_path / "prompted")
    (tmp_path / "prompted" / "reading.json").write_bytes(Reading({"question": "q: "}).content())
    assert weights_fingerprint(tmp_path / "prompted") != before


def test_a_save_that_fails_leaves_nothing(tiny, tmp_path):
    tiny.tokenizer = None
    with pytest.raises(AttributeError):
        tiny.save(tmp_path / "encoder")
    assert list(tmp_path.iterdir()) == []


def test_without_a_card_the_folder_gives_the_name_and_one_that_is_not_there_is_refused(copy, tmp_path):
    (copy / CARD_FILE).unlink()
    renamed = copy.rename(copy.with_name("danube"))
    assert KerasEncoder.load(renamed).name == "danube"
    with pytest.raises(EncoderError, match=f"absent.{MODEL_FILE}"):
        KerasEncoder.load(tmp_path / "absent")


def flip(path):
    """Damage the middle of a file, where the zip's directory is not."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(255 - byte for byte in content[middle : middle + 64])
    path.write_bytes(content)


DAMAGE = {
    "text": lambda path: path.write_text("not a model"),
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:5000]),
    "damaged": flip,
    "no config": lambda path: rewritten(path, **{"config.json": None}),
    "no weights": lambda path: rewritten(path, **{"model.weights.h5": None}),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_model_file_is_refused(damage, copy):
    DAMAGE[damage](copy / MODEL_FILE)
    with pytest.raises(EncoderError, match=MODEL_FILE):
        KerasEncoder.load(copy)


@pytest.mark.parametrize("content", [None, b"not a model"])
def test_a_missing_or_damaged_tokenizer_is_refused(content, copy):
    (copy / TOKENIZER_FILE).unlink()
    if content:
        (copy / TOKENIZER_FILE).write_bytes(content)
    with pytest.raises(EncoderError, match=TOKENIZER_FILE):
        KerasEncoder.load(copy)


def test_a_context_is_the_second_segment_of_its_text_and_is_cut_first(tiny, tmp_path):
    assert not tiny.takes_context
    pieces, texts, contexts = len(tiny.tokenizer), ["Nile", "a b", "c"], ["Where does it end?", "", "c"]
    with pytest.raises(EncoderError):
        tiny.encode(texts, "document", contexts=contexts)
    limited = Tokenizer(tiny.tokenizer.proto, reading=Reading({}, 6, None))
    both = KerasEncoder(add_segments(tiny.model), limited, "both")
    both.model.get_layer("segments").set_weights([np.random.default_rng(5).normal(size=(2, 16))])
    alone, behind = tiny.tokenizer.encode(texts), tiny.tokenizer.encode(contexts)
    whole = KerasEncoder(both.model, tiny.tokenizer).tokenize(texts, "document", contexts)
    assert whole == [
        alone[0] + [pieces + id for id in behind[0][1:]],
        alone[1],
        alone[2] + [pieces + behind[2][1], *[pieces + behind[2][-1]]],
    ]
    assert both.tokenize(texts, "document", contexts)[0] == [*whole[0][:5], whole[0][-1]] and len(whole[0]) > 6
    both.save(tmp_path / "both")
    loaded = KerasEncoder.load(tmp_path / "both")
    vectors = loaded.encode(texts, "document", contexts=contexts)
    assert loaded.takes_context and np.abs(vectors - loaded.encode(texts, "document"))[[0, 2]].max(axis=1).min() > 1e-3
    np.testing.assert_allclose(vectors, encode_ids(both.model, both.tokenize(texts, "document", contexts)), atol=1e-6)
