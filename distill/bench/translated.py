"""An encoder of the documents' language behind a translator, as the benchmark runs it: what Translate-Test costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..data.dataset import Question
from ..evaluation.translation import SUFFIX, MachineTranslation, require_others, require_some
from ..evaluation.translators import BEAM, folders_of, is_served, require_beam
from .process import ROOT, Spec


@dataclass(frozen=True)
class Translation:
    """The translators of a worker's kind `translated`: as the user named them, their folders, hypotheses, our root."""

    translators: list[str]
    folders: list[str]
    beam: int
    root: str


@contextmanager
def translated_specs(
    specs: Mapping[str, Spec], questions: Sequence[Question], document_language: str, translation: Translation | None
) -> Iterator[dict[str, Spec]]:
    """Yield `{"NAME, translated": Spec}` of `{NAME: Spec}`: tokenise, translate and encode in one process.

    Of the `questions` those in `document_language`, or in a language without a translator, stay as
    they are; a warning counts the latter. Without a `translation` there are none.
    Raises `InputError` where no question is in another language, `DataError` where no other language has a translator.
    """
    if not translation:
        yield {}
        return
    foreign = [question for question in questions if question.language != document_language]
    require_others(foreign, document_language)
    named = translation.translators
    by_language = folders_of(named)
    served = [is_served(question.language, by_language) for question in foreign]
    require_some(", ".join(named), foreign, served, MachineTranslation.remedy)
    with TemporaryDirectory() as folder:
        # Too much for a command line.
        path = Path(folder) / "languages.json"
        path.write_text(json.dumps({q.text: q.language for q in foreign}))
        values = {**asdict(translation), "languages": str(path), "target": document_language}
        yield {f"{name}{SUFFIX}": _translated(spec, values) for name, spec in specs.items()}


def _translated(spec, values):
    note = "; ".join(filter(None, [spec.note, f"questions translated by {', '.join(values['translators'])}"]))
    return replace(spec, kind="translated", values={**values, "of": spec.as_values()}, note=note)


def translation_settings(translators: Sequence[str], beam: int | None = None) -> Translation | None:
    """Return the translators that `--translator` names, None where it names none.

    Raises `TranslatorError` before anything is started.
    """
    require_beam(translators, beam)
    if not translators:
        return None
    folders = folders_of(translators)
    named = [f"{language}={folder}" if language else str(folder) for language, folder in folders.items()]
    return Translation(named, list(dict.fromkeys(map(str, folders.values()))), beam or BEAM, str(ROOT))
