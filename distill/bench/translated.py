"""An encoder of the documents' language behind a translator, as the benchmark runs it: what Translate-Test costs."""

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..evaluation.translation import SUFFIX, MachineTranslation, require_others, require_some
from ..evaluation.translators import BEAM, folders_of, is_served, require_beam
from .process import ROOT


@contextmanager
def translated_specs(specs, questions, document_language, translation):
    """Yield `{"NAME, translated": Spec}` of `{NAME: Spec}`: tokenise, translate and encode in one process.

    `questions` are the `Question`s to ask: those in `document_language`, or in a language without a translator, stay as
    they are; a warning counts the latter. `translation`: `sources.translation_settings`, of nothing there is nothing.
    Raises `InputError` where no question is in another language, `DataError` where no other language has a translator.
    """
    if not translation:
        yield {}
        return
    asked = [question for question in questions if question.language != document_language]
    require_others(asked, document_language)
    named = translation["translators"]
    by_language = folders_of(named)
    served = [is_served(question.language, by_language) for question in asked]
    require_some(", ".join(named), asked, served, MachineTranslation.remedy)
    with TemporaryDirectory() as folder:
        # Too much for a command line.
        path = Path(folder) / "languages.json"
        path.write_text(json.dumps({q.text: q.language for q in asked}))
        values = {**translation, "languages": str(path)}
        yield {f"{name}{SUFFIX}": _translated(spec, values) for name, spec in specs.items()}


def _translated(spec, values):
    of = {"kind": spec.kind, "path": str(spec.path), **spec.values}
    note = "; ".join(filter(None, [spec.note, f"questions translated by {', '.join(values['translators'])}"]))
    return replace(spec, kind="translated", values={**values, "of": of}, note=note)


def translation_settings(translators, beam=None):
    """What a worker's kind `translated` needs of what `--translator` names; None where that is nothing.

    Raises `TranslatorError` before anything is started.
    """
    require_beam(translators, beam)
    if not translators:
        return None
    folders = folders_of(translators)
    named = [f"{language}={folder}" if language else str(folder) for language, folder in folders.items()]
    told = {"folders": list(dict.fromkeys(map(str, folders.values()))), "beam": beam or BEAM, "root": str(ROOT)}
    return {"translators": named, **told}
