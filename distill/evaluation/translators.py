"""Translators into the documents' language, by name, that CTranslate2 runs: Marian models, M2M100, NLLB, mBART-50."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np

from ..errors import InputError, TranslatorError, first_line
from ..system.files import usable_path
from ..system.reading import read_json
from ..system.text import well_formed
from ..system.types import File, Progress
from ..words.language_tokens import language_token, language_tokens

MODEL, SOURCE, TARGET, CONFIG = "model.bin", "source.spm", "target.spm", "config.json"
# Of a model of many languages: pieces of all of them, and its vocabulary, with a token a language.
SHARED, VOCABULARY = "sentencepiece.bpe.model", "shared_vocabulary.json"
# Texts a call, of like length.
BATCH = 32
# Pieces of a text, as many as Marian models have positions for, and of its translation.
LONGEST, LONGEST_TRANSLATION = 512, 256
BEAM = 4


class Translator(Protocol):
    """`translate` gives n texts of one language in the language that it translates into."""

    name: str

    def translate(self, texts: Sequence[str], language: str, progress: Progress | None = None) -> list[str]: ...


class PieceTranslator:
    """A model in a folder that CTranslate2 runs on pieces; a subclass cuts texts into them and joins them again.

    The same texts give the same translations: the best of `beam` hypotheses, 1 is greedy, nothing is drawn. Raises
    `TranslatorError` where ctranslate2 is not installed, a file is missing, or none of these.
    """

    def __init__(self, folder: File, pieces: Sequence[str], beam: int = BEAM, threads: int = 0) -> None:
        folder = require_folder(folder)
        import ctranslate2
        import sentencepiece

        self.name, self.beam = folder.resolve().name, beam
        config = read_json(folder / CONFIG) if (folder / CONFIG).is_file() else {}
        if not isinstance(config, dict) or not isinstance(config.get("eos_token", ""), str):
            raise TranslatorError(f"{folder / CONFIG}: expected an object, with 'eos_token' a string where it is there")
        # Of what was converted from Transformers the caller ends each text; Marian's own says that it does it itself.
        self.end = [] if config.get("add_source_eos") else [config.get("eos_token", "</s>")]
        try:
            self.pieces = [sentencepiece.SentencePieceProcessor(model_file=str(folder / name)) for name in pieces]
            self.model = ctranslate2.Translator(str(folder), device="cpu", intra_threads=threads)
        except (RuntimeError, ValueError, OSError) as error:
            raise TranslatorError(f"{folder}: not a translator: {first_line(error)}") from error

    def translate(
        self, texts: Sequence[str], language: str | None = None, progress: Progress | None = None
    ) -> list[str]:
        """Return the translations of `texts` in order; the model has to know `language`. `progress(n)` a batch."""
        rows = self.rows(texts, language)
        order, translations = np.argsort([len(row) for row in rows], kind="stable"), [""] * len(rows)
        for start in range(0, len(rows), BATCH):
            places = order[start : start + BATCH]
            for place, text in zip(places, self._translated([rows[place] for place in places]), strict=True):
                translations[place] = text
            if progress:
                progress(len(places))
        return translations

    def rows(self, texts: Sequence[str], language: str | None) -> list[list[str]]:
        """Return the pieces of each text, of which more than 512 with its ends are cut."""
        head = self.head(language)
        many = LONGEST - len(head) - 1
        return [head + row[:many] + self.end for row in self.pieces[0].encode(_known(texts), out_type=str)]

    def head(self, language: str | None) -> list[str]:
        """Return what stands before each text of a language. Raises `TranslatorError` for one it does not know."""
        return []

    @property
    def prefix(self) -> list[str]:
        """The pieces that each translation begins with, no part of it."""
        return []

    def _translated(self, rows):
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
        return [self.pieces[-1].decode(self._without_prefix(result.hypotheses[0])) for result in results]

    def _without_prefix(self, pieces):
        many = len(self.prefix)
        return pieces[many:] if pieces[:many] == self.prefix else pieces


class MarianTranslator(PieceTranslator):
    """A folder with CTranslate2's `model.bin` and the SentencePiece models `source.spm` and `target.spm`.

    `ct2-transformers-converter --copy_files source.spm target.spm` makes one of an OPUS-MT model. A text of more than
    511 pieces is cut. Errors as of `PieceTranslator`.
    """

    def __init__(self, folder: File, beam: int = BEAM, threads: int = 0) -> None:
        super().__init__(folder, (SOURCE, TARGET), beam, threads)


class ManyToManyTranslator(PieceTranslator):
    """A folder with CTranslate2's `model.bin` and `shared_vocabulary.json` and a `sentencepiece.bpe.model`.

    `ct2-transformers-converter --copy_files sentencepiece.bpe.model` makes one of M2M100, NLLB or mBART-50. A text is
    its language's token, at most 510 pieces, the end; a translation begins with the token of `target`. Raises
    `TranslatorError` as `PieceTranslator` and where the vocabulary has no token of the target.
    """

    def __init__(self, folder: File, target: str, beam: int = BEAM, threads: int = 0) -> None:
        super().__init__(folder, (SHARED,), beam, threads)
        vocabulary = read_json(Path(folder) / VOCABULARY)
        if not isinstance(vocabulary, list) or not all(isinstance(piece, str) for piece in vocabulary):
            raise TranslatorError(f"{Path(folder) / VOCABULARY}: expected a list of pieces, as CTranslate2 writes it")
        self.tokens, self.target = language_tokens(vocabulary), target
        self._token(target)

    @property
    def prefix(self) -> list[str]:
        """The target's token."""
        return [self._token(self.target)]

    def head(self, language: str | None) -> list[str]:
        """As `PieceTranslator.head`."""
        return [self._token(language or "")]

    def _token(self, language):
        token = language_token(language, self.tokens)
        if token is None:
            raise TranslatorError(
                f"{self.name}: no token of the language {language!r} in its {VOCABULARY}, which has {len(self.tokens)} "
                "as M2M100, NLLB and mBART-50 write them; give another translator of it, as LANGUAGE=FOLDER"
            )
        return token


def _known(texts):
    return [well_formed(text) for text in texts]


class Translators:
    """Translators by language, `None` is of all others: itself a `Translator`."""

    def __init__(self, by_language: Mapping[str | None, Translator]) -> None:
        self._by_language = by_language
        self.name = ", ".join(dict.fromkeys(translator.name for translator in by_language.values()))

    def serves(self, language: str) -> bool:
        """True of a language that one of the translators is of."""
        return is_served(language, self._by_language)

    def translate(self, texts: Sequence[str], language: str, progress: Progress | None = None) -> list[str]:
        """As `Translator.translate`. Raises `TranslatorError` for a language that none is of."""
        if not self.serves(language):
            raise TranslatorError(
                f"no translator of {language}; give one as {language}=FOLDER, or one of all as FOLDER"
            )
        translators = self._by_language
        return translators[language if language in translators else None].translate(texts, language, progress)

    def of_each(self, texts: Sequence[str], languages: Mapping[str, str]) -> list[str]:
        """The texts, those that `languages` has, `{text: its language}`, translated. A language without one stays."""
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
    """True where one of the translators `by_language`, `None` is of all others, is of a language."""
    return language in by_language or None in by_language


def load_translators(sources: Iterable[File], beam: int = BEAM, threads: int = 0, target: str = "en") -> Translators:
    """`Translators` of `FOLDER` or `LANGUAGE=FOLDER`, those of many languages into `target`.

    Raises `TranslatorError` as `MarianTranslator` and `ManyToManyTranslator` do.
    """

    def loaded_from(folder: Path) -> PieceTranslator:
        if (folder / SHARED).is_file():
            return ManyToManyTranslator(folder, target, beam, threads)
        return MarianTranslator(folder, beam, threads)

    folders = folders_of(sources)
    loaded = {folder: loaded_from(folder) for folder in dict.fromkeys(folders.values())}
    return Translators({language: loaded[folder] for language, folder in folders.items()})


def folders_of(sources: Iterable[File]) -> dict[str | None, Path]:
    """`{language or None: folder}`, each with a translator's files. Raises `TranslatorError`."""
    names = [str(one) for one in sources]
    folders = dict(map(_named, names))
    if len(folders) < len(names):
        raise TranslatorError(f"{', '.join(names)}: two translators of one language; give each language one")
    return {language: require_folder(folder) for language, folder in folders.items()}


def _named(one):
    """The language, None where none is said, and the folder; a folder of just that name is a folder."""
    language, equals, folder = one.partition("=")
    if not equals or "/" in language or os.sep in language or usable_path(one).is_dir():
        return None, usable_path(one)
    if not language.strip() or not folder:
        raise TranslatorError(f"{one}: expected a folder, or LANGUAGE=FOLDER such as de=opus-mt-de-en")
    return language.strip(), Path(folder)


def require_beam(translators: Sequence[File], beam: int | None) -> None:
    """Raise `InputError` for a beam that no translator takes."""
    if beam is not None and not translators:
        raise InputError("--beam is of --translator, which is not given; leave it out")


def require_folder(folder: File) -> Path:
    """The path, if CTranslate2 is there and the folder has a translator's files; else `TranslatorError`."""
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
        raise TranslatorError("ctranslate2 is not installed; run: pip install ctranslate2 (or 'distill[translate]')")
    return folder
