import json
from unicodedata import category

import pytest
from fixtures.pieces import CONTROL, tokenizer_of, trained_tokenizer
from fixtures.text import TEXTS
from hypothesis import given, settings
from hypothesis import strategies as st

from distill.encoders.catalog.bundle import released_folder
from distill.encoders.tokenizer import Tokenizer, without_spellings
from distill.errors import ExportError
from distill.export.hub.tokenizer_json import tokenizer_json

tokenizers = pytest.importorskip("tokenizers")

# Letters of many scripts, composed; spaces, marks that take no letter's place, and what stands for bos, eos and others.
LETTERS = "aéüßçñŁąŽőœÆ ЯйёїЖ αλώςΩ אבג ابتثج किताब กาเขียน"
LETTERS += " 中文字漢 ひらカタ 한국어 ①½ﬁＡ…— \t\n\u3000\u00a0.,?'\"<s>/_▁0123🎉𐌀"
MARKS = "\ue000\ue001\ue002\ue003\u200b\ufeff"


@pytest.fixture(scope="module")
def pair(tokenizer):
    """SentencePiece, and the package tokenizers with the file that was made of it."""
    return Both(tokenizer, fast(tokenizer))


class Both(tuple):
    def __new__(cls, *pair):
        return super().__new__(cls, pair)

    def __repr__(self):
        return "SentencePiece and tokenizers"


def fast(tokenizer):
    return tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(tokenizer)))


def ids(package, texts):
    return [encoding.ids for encoding in package.encode_batch(texts, add_special_tokens=False)]


def test_the_sample_is_cut_as_sentencepiece_cuts_it(pair, sample):
    texts = sample.passage_texts + [one.text for questions in sample.questions.values() for one in questions.values()]
    assert ids(pair[1], texts) == pair[0].encode(texts)


def test_texts_of_every_kind_are_cut_alike_with_bos_and_eos_about_them(pair):
    texts = [text for text in [*TEXTS, "<s> </s> <unk>", MARKS, " ▁ a ▁▁", *LETTERS] if "\ud800" not in text]
    rows, expected = ids(pair[1], texts), pair[0].encode(texts)
    assert all((row[0], row[-1]) == (1, 2) for row in rows if row)
    # Of a text of nothing the package gives nothing.
    assert rows == [row if len(row) > 2 else [] for row in expected] and sum(map(bool, rows)) > 80


def stray(text):
    """True where a vowel's mark stands on what is no letter: the package's map drops the two together."""
    pairs = zip(f" {text}", text, strict=False)
    return any(category(one).startswith("M") and category(before)[0] not in "LM" for before, one in pairs)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(text=st.text(st.sampled_from(LETTERS + MARKS), max_size=40).filter(lambda text: not stray(text)))
def test_any_text_is_cut_alike(pair, text):
    (expected,) = pair[0].encode([text])
    assert ids(pair[1], [text]) == [expected if len(expected) > 2 else []]


def test_the_released_tokenizer_is_cut_alike_in_all_languages(sample):
    tokenizer = without_spellings(Tokenizer.load(released_folder("released-small") / "tokenizer.model"))
    texts = [one.text for questions in sample.questions.values() for one in list(questions.values())[:20]]
    assert ids(fast(tokenizer), texts) == tokenizer.encode(texts)


def test_control_pieces_have_names_that_no_text_has():
    tokenizer = tokenizer_of(("▁", -1), ("a", -2), ("<pad>", 0, CONTROL), ("\ue000", -3), prefix=True)
    vocabulary = [piece for piece, _ in tokenizer_json(tokenizer)["model"]["vocab"]]
    # The first private character is a piece: the next two stand for bos and eos.
    assert vocabulary == ["\ue003<unk>", "\ue001", "\ue002", "▁", "a", "\ue003<pad>", "\ue000"]
    texts = ["a <pad> <s>", "\ue000a\ue001"]
    assert ids(fast(tokenizer), texts) == tokenizer.encode(texts)


def test_a_template_puts_bos_and_eos_around_every_text(tokenizer):
    package = tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(tokenizer, template=True)))
    texts = [text for text in TEXTS if "\ud800" not in text] + ["<s> </s> <unk>", MARKS]
    assert [encoding.ids for encoding in package.encode_batch(texts)] == tokenizer.encode(texts)
    package.enable_truncation(5)
    assert package.encode(TEXTS[4]).ids == [*tokenizer.encode(TEXTS[4:5])[0][:4], 2]


def test_pieces_of_several_words_are_kept(sample):
    options = {"vocab_size": 400, "split_by_whitespace": False, "hard_vocab_limit": False}
    tokenizer = trained_tokenizer(sample.passage_texts[:60], **options)
    assert not tokenizer_json(tokenizer)["pre_tokenizer"]["split"]
    texts = [one.text for one in sample.questions["en"].values()][:40]
    assert ids(fast(tokenizer), texts) == tokenizer.encode(texts)


@pytest.mark.parametrize(
    ("options", "named"), [({"model_type": "bpe"}, "model_type 2"), ({"byte_fallback": True}, "byte_fallback")]
)
def test_another_kind_of_tokenizer_is_refused(options, named, sample):
    tokenizer = trained_tokenizer(sample.passage_texts[:50], vocab_size=600, hard_vocab_limit=False, **options)
    with pytest.raises(ExportError, match=named):
        tokenizer_json(tokenizer)
