"""An encoder of the documents' language behind a translator: the cost of translate-test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ...data.dataset import Question
from ..translation import SUFFIX, MachineTranslation, require_foreign_questions, require_translations
from ..translators import BEAM, is_served, parse_folders, require_beam
from .process import ROOT, WorkerSpec


@dataclass(frozen=True)
class TranslatorSettings:
    """The translators of a worker's kind `translated`.

    Attributes:
        translators: The translators as the user named them.
        folders: Their folders.
        beam: Number of hypotheses.
        root: Folder that our package is imported from.
    """

    translators: list[str]
    folders: list[str]
    beam: int
    root: str


@contextmanager
def translated_specs(
    specs: Mapping[str, WorkerSpec],
    questions: Sequence[Question],
    document_language: str,
    translation: TranslatorSettings | None,
) -> Iterator[dict[str, WorkerSpec]]:
    """Yield specifications that translate questions before they encode them, in one process.

    Questions in the documents' language, or in a language without a translator, stay as they are; a warning counts the
    latter.

    Args:
        specs: `{name: how the encoder is run}`.
        translation: The translators; None for none.

    Yields:
        `{"NAME, translated": specification}`, empty without a translation.

    Raises:
        InputError: If no question is in another language.
        DataError: If no other language has a translator.
    """
    if not translation:
        yield {}
        return
    foreign = [question for question in questions if question.language != document_language]
    require_foreign_questions(foreign, document_language)
    named = translation.translators
    by_language = parse_folders(named)
    served = [is_served(question.language, by_language) for question in foreign]
    require_translations(", ".join(named), foreign, served, MachineTranslation.remedy)
    with TemporaryDirectory() as folder:
        # The languages are too long for a command line.
        path = Path(folder) / "languages.json"
        path.write_text(json.dumps({q.text: q.language for q in foreign}))
        values = {**asdict(translation), "languages": str(path), "target": document_language}
        yield {f"{name}{SUFFIX}": _translate_spec(spec, values) for name, spec in specs.items()}


def _translate_spec(spec, values):
    note = "; ".join(filter(None, [spec.note, f"questions translated by {', '.join(values['translators'])}"]))
    return replace(spec, kind="translated", values={**values, "of": spec.as_values()}, note=note)


def translation_settings(translators: Sequence[str], beam: int | None = None) -> TranslatorSettings | None:
    """Return the translators that `--translator` names, before a process is started.

    Args:
        translators: `[LANGUAGE=]FOLDER` of each.
        beam: Number of hypotheses; None for the default.

    Returns:
        The settings; None if there is no translator.

    Raises:
        TranslatorError: If a folder is no translator.
        InputError: If a beam is given without a translator.
    """
    require_beam(translators, beam)
    if not translators:
        return None
    folders = parse_folders(translators)
    named = [f"{language}={folder}" if language else str(folder) for language, folder in folders.items()]
    return TranslatorSettings(named, list(dict.fromkeys(map(str, folders.values()))), beam or BEAM, str(ROOT))
