"""What the scripts here count question by question: which questions an encoder answers, and a base not."""

import numpy as np


def compare_hits(here, base):
    """P@1, and how many questions only this encoder and only the base answers, of two arrays of booleans."""
    only_here, only_base = int(np.sum(here & ~base)), int(np.sum(base & ~here))
    return {"p@1": float(np.mean(here)), "only_here": only_here, "only_base": only_base}
