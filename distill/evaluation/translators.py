"""Translation models that CTranslate2 runs: Marian, M2M100, NLLB and mBART-50.

A token tells a model the languages: Fan et al. (2021), M2M-100; NLLB Team (2022), with the codes of FLORES-200; Tang et
al. (2020), mBART-50.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np

from ..errors import InputError, TranslatorError, first_line
from ..system.files import usable_path
from ..system.input_files import read_json
from ..system.text import make_well_formed
from ..system.types import File, Progress

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
MODEL, SOURCE, TARGET, CONFIG = "model.bin", "source.spm", "target.spm", "config.json"
# Files of a model of many languages: its SentencePiece model, and its vocabulary with a token for each language.
SHARED, VOCABULARY = "sentencepiece.bpe.model", "shared_vocabulary.json"
# Texts of similar length that are translated in one call.
BATCH = 32
# Most tokens of a text, which is the number of positions of Marian models, and of its translation.
LONGEST, LONGEST_TRANSLATION = 512, 256
BEAM = 4


def list_language_tokens(pieces: Collection[str]) -> frozenset[str]:
    """Return the tokens of a model that have the form of a language token."""
    return frozenset(piece for piece in pieces if TOKEN.fullmatch(piece))


def find_language_token(language: str, tokens: Collection[str]) -> str | None:
    """Find the token of a language, such as `de` or `zh-TW`, or of a token itself; None if the model has none."""
    if language in tokens:
        return language
    code = language.lower().partition("-")[0].partition("_")[0]
    of_country = sorted(token for token in tokens if re.fullmatch(rf"{re.escape(code)}_[A-Z]{{2}}", token))
    named = [f"__{code}__", FLORES_200.get(code), *of_country]
    return next((token for token in named if token in tokens), None)


class Translator(Protocol):
    """A translator of texts in one language into the language that it was made for."""

    name: str

    def translate(self, texts: Sequence[str], language: str, progress: Progress | None = None) -> list[str]:
        """Translate texts. `progress` is called with the number of texts after each batch."""
        ...


class CTranslate2Translator:
    """A model in a folder that CTranslate2 runs on SentencePiece tokens.

    The same texts always give the same translations: the best of `beam` hypotheses, and nothing is drawn. Raises
    `TranslatorError` if ctranslate2 is not installed, or a file is missing or unusable.

    Args:
        pieces: Names of the SentencePiece models in it, the source's first and the target's last.
        beam: Number of hypotheses, where 1 is greedy.
        threads: Number of threads; 0 lets CTranslate2 choose.
    """

    def __init__(self, folder: File, pieces: Sequence[str], beam: int = BEAM, threads: int = 0) -> None:
        folder = require_folder(folder)
        import ctranslate2
        import sentencepiece

        self.name, self.beam = folder.resolve().name, beam
        config = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
        if not isinstance(config, dict) or not isinstance(config.get("eos_token", ""), str):
            raise TranslatorError(
                f"{folder / CONFIG}: expected an object, in which 'eos_token', if it is there, is a string"
            )
        # With models converted from Transformers the caller has to end each text; Marian's own models do it themselves.
        self.end = [] if config.get("add_source_eos") else [config.get("eos_token", "</s>")]
        try:
            self.processors = [sentencepiece.SentencePieceProcessor(model_file=str(folder / name)) for name in pieces]
            self.model = ctranslate2.Translator(str(folder), device="cpu", intra_threads=threads)
        except (RuntimeError, ValueError, OSError) as error:
            raise TranslatorError(f"{folder}: not a translator: {first_line(error)}") from error

    def translate(
        self, texts: Sequence[str], language: str | None = None, progress: Progress | None = None
    ) -> list[str]:
        rows = self.tokenise(texts, language)
        order, translations = np.argsort([len(row) for row in rows], kind="stable"), [""] * len(rows)
        for start in range(0, len(rows), BATCH):
            places = order[start : start + BATCH]
            for place, text in zip(places, self._translate_rows([rows[place] for place in places]), strict=True):
                translations[place] = text
            if progress:
                progress(len(places))
        return translations

    def tokenise(self, texts: Sequence[str], language: str | None) -> list[list[str]]:
        """Return the tokens of each text, cut to 512 with its start and end tokens."""
        head = self.source_prefix(language)
        count = LONGEST - len(head) - 1
        return [head + row[:count] + self.end for row in self.processors[0].encode(_find_known(texts), out_type=str)]

    def source_prefix(self, language: str | None) -> list[str]:
        """Return the tokens that begin each text of a language; raise `TranslatorError` for an unknown language."""
        return []

    @property
    def prefix(self) -> list[str]:
        """Return the tokens that begin each translation and are not part of it."""
        return []

    def _translate_rows(self, rows):
        try:
            results = self.model.translate_batch(
                rows,
                target_prefix=[self.prefix] * len(rows) if self.prefix else None,
                beam_size=self.beam,
                max_input_length=LONGEST,
                max_decoding_length=LONGEST_TRANSLATION,
            )
        except (RuntimeError, ValueError) as error:
            raise TranslatorError(f"{self.name}: cannot translate: {first_line(error)}") from error
        return [self.processors[-1].decode(self._without_prefix(result.hypotheses[0])) for result in results]

    def _without_prefix(self, pieces):
        count = len(self.prefix)
        return pieces[count:] if pieces[:count] == self.prefix else pieces


class MarianTranslator(CTranslate2Translator):
    """A Marian model: CTranslate2's `model.bin`, with the SentencePiece models `source.spm` and `target.spm`.

    `ct2-transformers-converter --copy_files source.spm target.spm` makes such a folder of an OPUS-MT model. Texts of
    more than 511 tokens are cut. Raises `TranslatorError` if ctranslate2 is not installed, or a file is missing or
    unusable.
    """

    def __init__(self, folder: File, beam: int = BEAM, threads: int = 0) -> None:
        super().__init__(folder, (SOURCE, TARGET), beam, threads)


class ManyToManyTranslator(CTranslate2Translator):
    """A model of many languages: `model.bin`, `shared_vocabulary.json` and `sentencepiece.bpe.model` in a folder.

    `ct2-transformers-converter --copy_files sentencepiece.bpe.model` makes such a folder of M2M100, NLLB or mBART-50. A
    text is encoded as the token of its language, at most 510 tokens, and the end token. A translation begins with the
    token of the target language. Raises `TranslatorError` if ctranslate2 is not installed, a file is missing or
    unusable, or the vocabulary has no token of the target language.
    """

    def __init__(self, folder: File, target: str, beam: int = BEAM, threads: int = 0) -> None:
        super().__init__(folder, (SHARED,), beam, threads)
        vocabulary = read_json(Path(folder) / VOCABULARY)
        if not isinstance(vocabulary, list) or not all(isinstance(piece, str) for piece in vocabulary):
            raise TranslatorError(f"{Path(folder) / VOCABULARY}: expected a list of tokens, as CTranslate2 writes it")
        self.tokens, self.target = list_language_tokens(vocabulary), target
        self._token(target)

    @property
    def prefix(self) -> list[str]:
        """Return the token of the target language."""
        return [self._token(self.target)]

    def source_prefix(self, language: str | None) -> list[str]:
        """Return the token of a language; raise `TranslatorError` for an unknown language."""
        return [self._token(language or "")]

    def _token(self, language):
        token = find_language_token(language, self.tokens)
        if token is None:
            raise TranslatorError(
                f"{self.name}: its {VOCABULARY} has no token for the language {language!r}; it has {len(self.tokens)} "
                "as M2M100, NLLB and mBART-50 write them; give another translator for it, as LANGUAGE=FOLDER"
            )
        return token


def _find_known(texts):
    return [make_well_formed(text) for text in texts]


class Translators:
    """Translators by language, which together are a translator; None stands for all other languages."""

    def __init__(self, by_language: Mapping[str | None, Translator]) -> None:
        self._by_language = by_language
        self.name = ", ".join(dict.fromkeys(translator.name for translator in by_language.values()))

    def serves(self, language: str) -> bool:
        """Return True if one of the translators translates from a language."""
        return is_served(language, self._by_language)

    def translate(self, texts: Sequence[str], language: str, progress: Progress | None = None) -> list[str]:
        if not self.serves(language):
            raise TranslatorError(
                f"no translator for {language}; give one as {language}=FOLDER, or one for all languages as FOLDER"
            )
        translators = self._by_language
        return translators[language if language in translators else None].translate(texts, language, progress)

    def translate_each(self, texts: Sequence[str], languages: Mapping[str, str]) -> list[str]:
        """Translate each text from its own language; texts without one, or without its translator, stay as they are."""
        translations = list(texts)
        for language in dict.fromkeys(languages.get(text) for text in texts):
            places = [place for place, text in enumerate(texts) if languages.get(text) == language]
            if language is not None and self.serves(language):
                for place, text in zip(
                    places, self.translate([texts[place] for place in places], language), strict=True
                ):
                    translations[place] = text
        return translations


def is_served(language: str, by_language: Mapping[str | None, Translator | Path]) -> bool:
    """Return True if a language has a translator; None stands for all other languages."""
    return language in by_language or None in by_language


def load_translators(sources: Iterable[File], beam: int = BEAM, threads: int = 0, target: str = "en") -> Translators:
    """Load translators by language from `FOLDER` or `LANGUAGE=FOLDER` of each, or raise `TranslatorError`."""

    def loaded_from(folder: Path) -> CTranslate2Translator:
        if (folder / SHARED).is_file():
            return ManyToManyTranslator(folder, target, beam, threads)
        return MarianTranslator(folder, beam, threads)

    folders = parse_folders(sources)
    loaded = {folder: loaded_from(folder) for folder in dict.fromkeys(folders.values())}
    return Translators({language: loaded[folder] for language, folder in folders.items()})


def parse_folders(sources: Iterable[File]) -> dict[str | None, Path]:
    """Return `{language or None: folder}` of `[LANGUAGE=]FOLDER`; raise `TranslatorError` if one is no translator."""
    names = [str(one) for one in sources]
    folders = dict(map(_split_name, names))
    if len(folders) < len(names):
        raise TranslatorError(f"{', '.join(names)}: two translators for one language; give one per language")
    return {language: require_folder(folder) for language, folder in folders.items()}


def _split_name(one):
    """Split `[LANGUAGE=]FOLDER`, without taking the name of an existing folder apart."""
    language, equals, folder = one.partition("=")
    if not equals or "/" in language or os.sep in language or usable_path(one).is_dir():
        return None, usable_path(one)
    if not language.strip() or not folder:
        raise TranslatorError(f"{one}: expected a folder, or LANGUAGE=FOLDER such as de=opus-mt-de-en")
    return language.strip(), Path(folder)


def require_beam(translators: Sequence[File], beam: int | None) -> None:
    """Raise `InputError` if a beam is given without a translator."""
    if beam is not None and not translators:
        raise InputError("--beam needs --translator; leave it out")


def require_folder(folder: File) -> Path:
    """Return the path of a translator's folder; raise `TranslatorError` if files or ctranslate2 are missing."""
    folder = Path(folder)
    needed = (MODEL, SHARED, VOCABULARY) if (folder / SHARED).is_file() else (MODEL, SOURCE, TARGET)
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing:
        what = f"no {', no '.join(missing)} in it" if folder.is_dir() else "no such folder"
        raise TranslatorError(
            f"{folder}: {what}; expected a translator that CTranslate2 runs, with {MODEL}, {SOURCE} and {TARGET}, or "
            f"of many languages with {MODEL}, {SHARED} and {VOCABULARY}"
        )
    if find_spec("ctranslate2") is None:
        raise TranslatorError("ctranslate2 is not installed; run: pip install ctranslate2")
    return folder
