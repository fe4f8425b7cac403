"""An encoder of the documents' language behind a translator, as the benchmark runs it: what Translate-Test costs."""

import json
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..translation import SUFFIX


@contextmanager
def translated_specs(specs, questions, document_language, translation):
    """Yield `{"NAME, translated": Spec}` of `{NAME: Spec}`: tokenise, translate and encode in one process.

    `questions` are the `Question`s to ask: those in `document_language`, or in a language without a translator, stay as
    they are. `translation`: `sources.translation_settings`, of nothing there is nothing.
    """
    if not translation:
        yield {}
        return
    with TemporaryDirectory() as folder:
        # Too much for a command line.
        path = Path(folder) / "languages.json"
        path.write_text(json.dumps({q.text: q.language for q in questions if q.language != document_language}))
        values = {**translation, "languages": str(path)}
        yield {f"{name}{SUFFIX}": _translated(spec, values) for name, spec in specs.items()}


def _translated(spec, values):
    of = {"kind": spec.kind, "path": str(spec.path), **spec.values}
    note = "; ".join(filter(None, [spec.note, f"questions translated by {', '.join(values['translators'])}"]))
    return replace(spec, kind="translated", values={**values, "of": of}, note=note)
