import re

import pytest

from distill.evaluation.translators import FLORES_200, TOKEN, find_language_token, list_language_tokens

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
