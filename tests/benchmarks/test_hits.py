"""benchmarks/hits.py: which questions an encoder answers, and a base not."""

import sys

import numpy as np
from fixtures.commands import ROOT


def test_hits_are_counted_question_by_question(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from hits import compare_hits

    sys.modules.pop("hits")
    here, base = np.array([1, 1, 1, 0, 0], bool), np.array([0, 0, 1, 1, 0], bool)
    assert compare_hits(here, base) == {"p@1": 0.6, "only_here": 2, "only_base": 1}
