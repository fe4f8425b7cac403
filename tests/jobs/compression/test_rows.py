from dataclasses import replace

from distill.jobs.compression.candidates import Candidate
from distill.jobs.compression.rows import BundleRow, ShapeProbe, TrialRow, rank_candidates

TRIED = TrialRow(Candidate("used", "pq8"), 70, 20, 0.5, 12.5, {"de": 0.25, "en": 0.75}, seconds=1.5)
# As a file of the first version has it.
STORED = {
    "name": "full-used-pq8", "vocabulary": "used", "table": "pq8", "shape": "full", "trained": False, "pieces": 70,
    "table_bytes": 20, "p@1": 0.5, "drop": 12.5, "languages": {"de": 0.25, "en": 0.75}, "seconds": 1.5,
}  # fmt: skip


def test_a_row_is_stored_as_it_always_was():
    assert list(TRIED.as_dict().items()) == list(STORED.items())
    assert TrialRow.of(STORED) == TRIED
    probe = {"other_bytes": 9, "width": 8, "dense": 7, "ms": 0.5, "seconds": 2.0}
    assert ShapeProbe.of(probe).as_dict() == probe


def test_a_bundles_row_has_its_time_once_it_is_measured():
    more = {"bytes": 99, "mcnemar": {"de": {"p": 1.0}}, "refused": []}
    stored = {**STORED, **more}
    bundle = BundleRow.of(stored)
    assert (bundle.as_dict(), bundle.p1, bundle.drop) == (stored, 0.5, 12.5)
    assert replace(bundle, ms=0.25).as_dict() == {**stored, "ms": 0.25}


def test_the_order_is_by_p1_and_of_equals_the_smaller_first():
    rows = [("all", "uint8", 0.9, 100), ("used", "pq8", 0.7, 20), ("used", "int4", 0.9, 50)]
    tried = [replace(TRIED, candidate=Candidate(v, t), p1=p, table_bytes=b) for v, t, p, b in rows]
    assert [one.table for one in rank_candidates(tried)] == ["int4", "uint8", "pq8"]
