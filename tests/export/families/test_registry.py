"""A student with the table that its codec stores best."""

import numpy as np
import pytest

from distill.export.families.registry import prepare_table
from distill.export.weights.precision import Precision
from distill.export.weights.products import compute_rotation
from distill.students.ngram import NGramEncoder
from distill.students.static import StaticEncoder
from distill.students.transformer import TransformerEncoder

BLOCKS = {"depth": 1, "heads": 3, "head_size": 4, "inner": 16, "positions": 7, "dense": "linear"}


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        (NGramEncoder, {"channels": 12, "orders": (2, 3), "hidden": 16}),
        (NGramEncoder, {"channels": 12, "orders": (3,), "hidden": 16, "rank": 11, "space": 24}),
        (StaticEncoder, {"hidden": 16}),
        (StaticEncoder, {"hidden": 16, "channels": 8, "order": 5, "space": 24}),
        (TransformerEncoder, {**BLOCKS, "rank": 11, "width": 24}),
        (TransformerEncoder, BLOCKS),
    ],
)
def test_a_student_with_a_turned_table_computes_the_same(kind, sizes, randomised):
    model = randomised(kind(**{"vocabulary": 300, "width": 21, "dimension": 20, **sizes}), 0.5)
    copy = prepare_table(model, Precision(table="int4-pq5"))
    before, after = (student.get_layer("embedding").get_weights()[0] for student in (model, copy))
    # Of one row in 8 no codeword is made.
    assert after == pytest.approx(before @ compute_rotation(before[37:], 5), abs=1e-5)
    ids = np.array([[5, 299, 0, 5, 17, 40], [37, 36, 1, -1, -1, -1]], dtype=np.int32)
    assert np.asarray(copy(ids)) == pytest.approx(np.asarray(model(ids)), abs=1e-5)
    # Positions are added to a transformer's rows, which a factor turns back before.
    rank = {"rank": 21} if sizes is BLOCKS else {}
    assert (
        copy.get_config() == {**model.get_config(), **rank} and prepare_table(model, Precision(table="int4")) is model
    )
