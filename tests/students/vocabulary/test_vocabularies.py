import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.students import ngram  # noqa: F401  registers the layers
from distill.students.shape import Shape
from distill.students.vocabulary.vocabularies import NEW, Vocabularies

GEORGIAN = ["სად იწყება მდინარე ნილოსი?", "სად მთავრდება დუნაი?", "სად იწყება დუნაი?", "ნილოსი სად მთავრდება?"]


@pytest.fixture(scope="module")
def tiny(tiny_folder):
    return KerasEncoder.load(tiny_folder)


@pytest.mark.parametrize("aligned", [False, True])
def test_a_static_student_has_its_new_pieces_as_the_aligner_made_them(tiny, sample, aligned):
    corpus = {"de": 5 * GEORGIAN}
    words = Vocabularies(tiny, sample, ("en", "de"), corpus, ["de"], 120, tiny if aligned else None)
    encoder = words.vocabulary("all" + NEW)
    # Without rows of its own a piece is what the old ones, here letters or unknown, say of it.
    plain = Vocabularies(tiny, sample, ("en", "de"), corpus, ["de"], 120)
    students = [one.start(encoder, Shape(static=True, rank=4, hidden=4)) for one in (words, plain)]
    tables = [one.model.get_layer("embedding").get_weights()[0][len(tiny.tokenizer) :] for one in students]
    assert len(tables[0]) > 5
    assert np.allclose(*tables) != aligned
