"""Precisions that an export tries one after another."""

import pytest

from distill.export.weights.precision import Precision

FINER = {
    Precision("int8", "uint8"): [],
    Precision("int8", "float32"): [],
    Precision("int8", "int4"): [Precision("int8", "uint8")],
    Precision("float32", "pq8"): [Precision("float32", "int4"), Precision("float32", "uint8")],
    Precision("int4", "int4-pq5"): [Precision("int8", table) for table in ("int4-pq5", "int4", "uint8")],
}


@pytest.mark.parametrize("precision", FINER, ids=str)
def test_finer_precisions_have_more_bits_layers_before_tables(precision):
    assert precision.list_finer() == FINER[precision]
