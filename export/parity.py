"""Whether an artefact is still the student: vectors and P@1 on dev."""

import numpy as np

from ..errors import ExportError
from ..evaluation import encode_questions, encode_units, rank
from ..metrics import precision_at

UNIT = "document"


def check_parity(student, bundle, dataset, languages, settings):
    """Cosines and P@1 by language of both, on dev; raises `ExportError` where they part too far."""
    measured = measure(student, bundle, dataset, languages)
    least, mean = measured["cosine_min"], measured["cosine_mean"]
    if not least >= settings.min_cosine:
        raise ExportError(
            f"the exported encoder differs from the student: least cosine {least:.4f} (mean {mean:.4f}) "
            f"on {measured['texts']} dev questions, expected at least {settings.min_cosine}"
        )
    drop = 100 * float(np.mean([row["student"] - row["bundle"] for row in measured["p@1"].values()]))
    if drop > settings.max_drop:
        raise ExportError(f"the exported encoder loses {drop:.2f} points of dev P@1, allowed are {settings.max_drop}")
    return measured


def measure(student, bundle, dataset, languages):
    """Number of texts, mean and least cosine, and P@1 of both by language; each text is encoded once by each."""
    (student_asked, student_p1), (bundle_asked, bundle_p1) = (
        _asked(encoder, dataset, languages) for encoder in (student, bundle)
    )
    cosines = np.concatenate([np.sum(student_asked[lang] * bundle_asked[lang], axis=1) for lang in languages])
    return {
        "texts": len(cosines),
        "cosine_mean": float(cosines.mean()),
        "cosine_min": float(cosines.min()),
        "p@1": {lang: {"student": student_p1[lang], "bundle": bundle_p1[lang]} for lang in languages},
    }


def _asked(encoder, dataset, languages):
    """An encoder's dev question vectors and P@1, both by language."""
    asked = encode_questions(encoder, dataset, "dev", languages)
    ranks = rank(asked, encode_units(encoder, dataset, (UNIT,)), dataset, "dev", (UNIT,))[UNIT]
    return asked, {language: precision_at(found, 1) for language, found in ranks.items()}
