import re
import shutil

import pytest

from distill.errors import TranslatorError
from distill.evaluation import translators
from distill.evaluation.translators import (
    BATCH,
    FLORES_200,
    TOKEN,
    ManyToManyTranslator,
    MarianTranslator,
    find_language_token,
    list_language_tokens,
    load_translators,
    parse_folders,
)

WORDS = {"Wie": "How", "alt": "old", "ist": "is", "der": "the", "Fluss": "river", "Burg?": "castle?"}


@pytest.fixture(scope="module")
def folder(word_translator):
    return word_translator(WORDS)


@pytest.fixture
def copied(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def empty(tmp_path):
    """A folder that has the names of a translator's files."""
    (tmp_path / "empty").mkdir()
    for name in ("model.bin", "source.spm", "target.spm"):
        (tmp_path / "empty" / name).touch()
    return tmp_path / "empty"


@pytest.mark.parametrize("beam", [1, 4])
def test_a_model_translates(folder, beam):
    translations = MarianTranslator(folder, beam).translate(["Wie alt ist der Fluss", "Burg?", "der der"], "de")
    assert translations == ["How old is the river", "castle?", "the the"]


def test_many_texts_of_any_length_keep_their_order_and_a_model_may_end_them_itself(folder, word_translator):
    names = list(WORDS)
    texts = [" ".join(names[(n + place) % 6] for place in range(1 + n % 7)) for n in range(2 * BATCH + 3)]
    expected, steps = [" ".join(WORDS[word] for word in text.split()) for text in texts], []
    assert MarianTranslator(folder).translate(texts, "de", steps.append) == expected
    assert steps == [BATCH, BATCH, 3]
    assert MarianTranslator(word_translator(WORDS, ends=True)).translate(["der Fluss"]) == ["the river"]


def test_odd_texts_and_one_that_is_too_long_for_a_model(folder):
    first, _, third = MarianTranslator(folder).translate(["", "\ud800", "alt ist"])
    assert (first, third) == ("", "old is")
    assert MarianTranslator(folder).translate([]) == []
    with pytest.raises(TranslatorError, match="^words-en: "):
        MarianTranslator(folder).translate(["alt " * 300])


@pytest.mark.parametrize("missing", ["model.bin", "source.spm", "target.spm"])
def test_a_missing_file_is_named(empty, missing):
    (empty / missing).unlink()
    with pytest.raises(TranslatorError, match=rf"empty: no {missing}\b"):
        MarianTranslator(empty)


@pytest.mark.parametrize("broken", ["model.bin", "source.spm", "target.spm", "source_vocabulary.json"])
def test_a_broken_file_is_refused(copied, broken):
    (copied / broken).write_bytes(b"\x00no")
    with pytest.raises(TranslatorError, match="copy: "):
        MarianTranslator(copied)


def test_the_missing_package_is_named(empty, monkeypatch):
    monkeypatch.setattr(translators, "find_spec", lambda name: None)
    with pytest.raises(TranslatorError, match="ctranslate2"):
        MarianTranslator(empty)


def test_each_language_has_its_own_or_the_one_of_all(folder, word_translator):
    thai = word_translator({"alt": "thai"})
    loaded = load_translators([f"th={thai}", folder], beam=1)
    assert loaded.name == "words-en"
    assert [loaded.translate(["alt"], language) for language in ("th", "de")] == [["thai"], ["old"]]
    loaded = load_translators([f"th={thai}"])
    assert loaded.serves("th") and not loaded.serves("de")
    with pytest.raises(TranslatorError, match="de=FOLDER"):
        loaded.translate(["alt"], "de")


def test_only_texts_in_another_language_are_translated(folder):
    loaded = load_translators([f"de={folder}"])
    texts = ["alt", "is alt?", "der", "ist"]
    assert loaded.translate_each(texts, {"alt": "de", "der": "th", "ist": "de"}) == ["old", "is alt?", "der", "is"]


def test_folders_are_told_from_languages_and_a_missing_one_is_named(tmp_path, empty):
    both = tmp_path / "a=b"
    shutil.copytree(empty, both)
    assert parse_folders([f"de={empty}", both]) == {"de": empty, None: both}
    with pytest.raises(TranslatorError, match="de=.*de="):
        parse_folders([f"de={empty}", f"de={both}"])
    for one, said in (("de=", "^de=: .*LANGUAGE=FOLDER"), ("=x", "^=x: .*LANGUAGE=FOLDER"), ("nowhere", "^nowhere: ")):
        with pytest.raises(TranslatorError, match=said):
            load_translators([one])


# As M2M100, NLLB and mBART-50 write them: Thai, German, English.
TOKENS = [("__th__", "__de__", "__en__"), ("tha_Thai", "deu_Latn", "eng_Latn"), ("th_TH", "de_DE", "en_XX")]


@pytest.mark.parametrize("tokens", TOKENS)
def test_a_model_of_many_languages_is_told_which_two(many_translator, tokens):
    folder = many_translator(WORDS, tokens)
    translators = load_translators([folder], target="en")
    assert translators.translate(["Wie alt ist der Fluss", "Burg?"], "de") == ["How old is the river", "castle?"]
    model = ManyToManyTranslator(folder, "en")
    assert model.tokenise(["alt ist"], "th") == [[tokens[0], "▁alt", "▁ist", "</s>"]]
    # With its token and its end a text has as many pieces as there are positions.
    assert [len(row) for row in model.tokenise(["alt " * 600], "de")] == [512]
    assert model.prefix == [tokens[2]]


def test_a_language_without_a_token_is_named(many_translator):
    folder = many_translator(WORDS, TOKENS[0])
    for call in (
        lambda: ManyToManyTranslator(folder, "fi"),
        lambda: ManyToManyTranslator(folder, "en").source_prefix("fi"),
    ):
        with pytest.raises(TranslatorError, match="^many: .*'fi'"):
            call()


def test_a_broken_vocabulary_and_a_missing_file_of_many_languages_are_named(many_translator, tmp_path):
    shutil.copytree(many_translator(WORDS, TOKENS[1]), tmp_path / "copy")
    (tmp_path / "copy" / "shared_vocabulary.json").unlink()
    with pytest.raises(TranslatorError, match=r"copy: no shared_vocabulary\.json "):
        load_translators([tmp_path / "copy"])


M2M100 = {"__de__", "__en__", "__zh__", "__tl__"}
NLLB = {"deu_Latn", "eng_Latn", "zho_Hans", "zho_Hant", "npi_Deva"}
MBART = {"de_DE", "en_XX", "zh_CN", "pt_XX"}


@pytest.mark.parametrize(
    ("language", "tokens", "token"),
    [
        *(("de", tokens, token) for tokens, token in ((M2M100, "__de__"), (NLLB, "deu_Latn"), (MBART, "de_DE"))),
        *(("zh-TW", tokens, token) for tokens, token in ((M2M100, "__zh__"), (NLLB, "zho_Hans"), (MBART, "zh_CN"))),
        # A token itself says which of two scripts.
        ("zho_Hant", NLLB, "zho_Hant"),
        ("pt", MBART, "pt_XX"),
        ("ne", NLLB, "npi_Deva"),
        *(("fi", tokens, None) for tokens in (M2M100, NLLB, MBART)),
        ("", MBART, None),
    ],
)
def test_a_languages_token_is_the_models_own(language, tokens, token):
    assert find_language_token(language, tokens) == token


def test_tokens_are_told_from_words():
    words = {"▁de", "__", "de", "Deu_Latn", "deu_latn", "d_DE", "madeupword0", "</s>"}
    assert list_language_tokens([*M2M100, *NLLB, *MBART, *words]) == M2M100 | NLLB | MBART


def test_every_code_has_the_form_of_a_token():
    assert len(set(FLORES_200.values())) == len(FLORES_200) - 1, "no and nb alone are one"
    assert all(TOKEN.fullmatch(token) and re.fullmatch("[a-z]{2}", code) for code, token in FLORES_200.items())
