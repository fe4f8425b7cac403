"""Whether an artefact, loaded with its own runtime, is still the student: ids, vectors and P@1 on dev."""

import numpy as np

from ..errors import ExportError
from ..evaluation.evaluate import encode_questions, encode_units, evaluation_size, rank
from ..evaluation.mcnemar import compare
from .encode import shortened
from .weights.codecs import CODECS

UNIT, SPLIT = "document", "dev"


def measure(student, artefact, dataset, languages, progress=None):
    """What the gate judges, as plain values: ids that differ, cosines, and P@1 by language with McNemar's test.

    `artefact` is an `Encoder` with `tokenize(text) -> ids` and `max_length`, None for any. An artefact that takes
    texts of some length only is one for questions: the student encodes the documents then, and cosines leave the
    questions out that were cut.
    """
    asked, expected = (
        encode_questions(encoder, dataset, SPLIT, languages, progress) for encoder in (artefact, student)
    )
    units = encode_units(student, dataset, (UNIT,), progress)
    searched = units if artefact.max_length else encode_units(artefact, dataset, (UNIT,), progress)
    p1 = compare(_ranks(expected, units, dataset), _ranks(asked, searched, dataset))
    return {
        "dataset": dataset.name,
        **compare_ids(student, artefact, dataset, languages),
        **compare_vectors(asked, expected, _whole(student, artefact, dataset, languages)),
        "documents_by": "student" if artefact.max_length else "artefact",
        "p@1": {language: _named(row) for language, row in p1.items()},
        # Rounded, so that a loss of just what is allowed is not more than that.
        "drop": round(100 * float(np.mean([row.a - row.b for row in p1.values()])), 6),
    }


def _named(row):
    return {"student": row.a, "artefact": row.b, "p": row.p, "p_holm": row.p_holm, "significant": row.significant}


def size(dataset, languages, max_length=None):
    """How many texts `measure` encodes, for a progress bar."""
    both = 2 * evaluation_size(dataset, [SPLIT], languages, (UNIT,))
    return both - len(dataset.titles) if max_length else both


def _ranks(asked, units, dataset):
    return rank(asked, units, dataset, SPLIT, (UNIT,))[UNIT]


def compare_ids(student, artefact, dataset, languages):
    """Number of dev questions, and of those whose ids are not the student's."""
    texts = _texts(dataset, languages)
    pairs = zip(texts, student.tokenizer.encode(texts), strict=True)
    different = [text for text, ids in pairs if list(artefact.tokenize(text)) != shortened(ids, artefact.max_length)]
    return {"texts": len(texts), "other_ids": len(different), "other_ids_example": different[0] if different else None}


def compare_vectors(asked, expected, whole):
    """Least and mean cosine of `{language: (q, d)}` and `{language: (q, d)}` where `whole`, bool `(all q,)`."""
    cosines = np.concatenate([np.sum(asked[language] * expected[language], axis=1) for language in asked])[whole]
    return {
        "cut": int(np.sum(~whole)),
        "cosine_mean": float(cosines.mean()) if len(cosines) else 0.0,
        "cosine_min": float(cosines.min()) if len(cosines) else 0.0,
    }


def _texts(dataset, languages):
    return [question.text for language in languages for question in dataset.select(language, SPLIT)]


def _whole(student, artefact, dataset, languages):
    lengths = [len(ids) for ids in student.tokenizer.encode(_texts(dataset, languages))]
    return np.array(lengths) <= (artefact.max_length or np.inf)


def verdict(measured, settings, table):
    """Why an artefact is refused, a list of sentences: empty when it passes. `table` is the table's format."""
    return [reason for reason in _reasons(measured, settings, table) if reason]


def require_passed(measured, settings, table, force=False):
    """Raise `ExportError` where the artefact that was `measured` is refused; with `force` return its `verdict`."""
    reasons = verdict(measured, settings, table)
    if reasons and not force:
        raise ExportError(f"the exported encoder is not the student: {'; '.join(reasons)}")
    return reasons


def _reasons(measured, settings, table):
    least = settings.min_cosine or CODECS[table].least_cosine
    yield measured["other_ids"] and (
        f"the tokens of {measured['other_ids']} of {measured['texts']} dev questions are not the student's, "
        f"the first {measured['other_ids_example']!r}"
    )
    # Not `<`: a vector that is no number fails too.
    yield not measured["cosine_min"] >= least and (
        f"least cosine to the student {measured['cosine_min']:.4f} (mean {measured['cosine_mean']:.4f}) "
        f"on {measured['texts'] - measured['cut']} dev questions, expected at least {least}"
    )
    yield measured["drop"] > settings.max_drop and (
        f"{measured['drop']:.2f} points of mean dev P@1 are lost, allowed are {settings.max_drop}"
    )
    worse = [
        language for language, row in measured["p@1"].items() if row["significant"] and row["artefact"] < row["student"]
    ]
    yield worse and f"dev P@1 is significantly worse in {', '.join(worse)} (McNemar, Holm)"
