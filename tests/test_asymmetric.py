import numpy as np
import pytest

from distill.asymmetric import AsymmetricEncoder, with_documents
from distill.errors import EncoderError


class Fixed:
    def __init__(self, name, value, dimension=2, context=False):
        self.name, self.value, self.dimension, self.takes_context = name, value, dimension, context

    def encode(self, texts, role="question", progress=None, **extra):
        return np.full((len(texts), self.dimension), self.value + 10 * len(extra), dtype=np.float32)


def test_questions_and_documents_are_encoded_by_their_own():
    both = AsymmetricEncoder(Fixed("small", 1), Fixed("large", 2))
    assert (both.name, both.dimension, both.takes_context) == ("small, documents by large", 2, False)
    np.testing.assert_array_equal(both.encode(["a", "b"]), [[1, 1], [1, 1]])
    np.testing.assert_array_equal(both.encode(["a"], "document"), [[2, 2]])


def test_a_context_is_the_documents_encoders():
    both = AsymmetricEncoder(Fixed("small", 1), Fixed("large", 2, context=True))
    assert both.takes_context
    np.testing.assert_array_equal(both.encode(["a"], "document", contexts=["b"]), [[12, 12]])


def test_both_have_to_be_of_one_space():
    with pytest.raises(EncoderError, match="documents of large have 3 dimensions and questions of small 2: both have"):
        AsymmetricEncoder(Fixed("small", 1), Fixed("large", 2, dimension=3))


def test_without_another_an_encoder_is_itself(tiny_folder):
    own = Fixed("small", 1)
    assert with_documents(own, None) is own
    both = with_documents(Fixed("small", 1, dimension=16), tiny_folder)
    assert both.document.dimension == 16
