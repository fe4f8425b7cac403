"""Tokens that tell a translation model the languages: those of M2M100, NLLB and mBART-50.

Fan et al. (2021), M2M-100; NLLB Team (2022), with the codes of FLORES-200; Tang et al. (2020), mBART-50.
"""

from __future__ import annotations

import re
from collections.abc import Collection

# The forms of a token in the three models: __de__, deu_Latn, de_DE.
TOKEN = re.compile(r"__[a-z]{2,3}__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}")
# The code of FLORES-200 for two letters: the largest language of a macrolanguage, in its most common script.
CODES = """
af=afr_Latn am=amh_Ethi ar=arb_Arab az=azj_Latn be=bel_Cyrl bg=bul_Cyrl bn=ben_Beng bo=bod_Tibt bs=bos_Latn
ca=cat_Latn cs=ces_Latn cy=cym_Latn da=dan_Latn de=deu_Latn dz=dzo_Tibt el=ell_Grek en=eng_Latn eo=epo_Latn
es=spa_Latn et=est_Latn eu=eus_Latn fa=pes_Arab fi=fin_Latn fr=fra_Latn ga=gle_Latn gl=glg_Latn gu=guj_Gujr
ha=hau_Latn he=heb_Hebr hi=hin_Deva hr=hrv_Latn hu=hun_Latn hy=hye_Armn id=ind_Latn ig=ibo_Latn is=isl_Latn
it=ita_Latn ja=jpn_Jpan jv=jav_Latn ka=kat_Geor kk=kaz_Cyrl km=khm_Khmr kn=kan_Knda ko=kor_Hang ky=kir_Cyrl
lb=ltz_Latn lo=lao_Laoo lt=lit_Latn lv=lvs_Latn mk=mkd_Cyrl ml=mal_Mlym mn=khk_Cyrl mr=mar_Deva ms=zsm_Latn
mt=mlt_Latn my=mya_Mymr nb=nob_Latn ne=npi_Deva nl=nld_Latn nn=nno_Latn no=nob_Latn pa=pan_Guru pl=pol_Latn
ps=pbt_Arab pt=por_Latn ro=ron_Latn ru=rus_Cyrl sd=snd_Arab si=sin_Sinh sk=slk_Latn sl=slv_Latn so=som_Latn
sq=als_Latn sr=srp_Cyrl sv=swe_Latn sw=swh_Latn ta=tam_Taml te=tel_Telu tg=tgk_Cyrl th=tha_Thai tl=tgl_Latn
tr=tur_Latn uk=ukr_Cyrl ur=urd_Arab uz=uzn_Latn vi=vie_Latn xh=xho_Latn yi=ydd_Hebr yo=yor_Latn zh=zho_Hans
zu=zul_Latn
"""
FLORES_200 = {code: token for code, token in (pair.split("=") for pair in CODES.split())}


def list_language_tokens(pieces: Collection[str]) -> frozenset[str]:
    """Return the tokens of a model that have the form of a language token."""
    return frozenset(piece for piece in pieces if TOKEN.fullmatch(piece))


def find_language_token(language: str, tokens: Collection[str]) -> str | None:
    """Find the token of a language.

    Args:
        language: The language, such as `de` or `zh-TW`, or a token itself.

    Returns:
        The token, or None if the model has none for the language.
    """
    if language in tokens:
        return language
    code = language.lower().partition("-")[0].partition("_")[0]
    of_country = sorted(token for token in tokens if re.fullmatch(rf"{re.escape(code)}_[A-Z]{{2}}", token))
    named = [f"__{code}__", FLORES_200.get(code), *of_country]
    return next((token for token in named if token in tokens), None)
