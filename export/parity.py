"""Whether an artefact is still the student: vectors and P@1 on dev."""

import numpy as np

from ..errors import ExportError
from ..evaluation import evaluate

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
    texts = [question.text for language in languages for question in dataset.select(language, "dev")]
    cosines = np.sum(student.encode(texts) * bundle.encode(texts), axis=1)
    tables = [evaluate(encoder, dataset, "dev", languages, (UNIT,)).table()[UNIT] for encoder in (student, bundle)]
    scores = {lang: {"student": tables[0][lang]["p@1"], "bundle": tables[1][lang]["p@1"]} for lang in languages}
    return {
        "texts": len(texts),
        "cosine_mean": float(cosines.mean()),
        "cosine_min": float(cosines.min()),
        "p@1": scores,
    }
