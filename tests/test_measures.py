import pytest

from distill.errors import EncoderError, InputError
from distill.measures import require_one_dimension, require_samples


class Encoder:
    def __init__(self, dimension):
        self.dimension = dimension


def test_encoders_of_other_dimensions_are_named_with_both():
    require_one_dimension({"x": Encoder(3), "y": Encoder(3)})
    require_one_dimension({"x": Encoder(3)})
    with pytest.raises(EncoderError, match="x has 3 dimensions and y has 512, .*--any-dimension"):
        require_one_dimension({"x": Encoder(3), "y": Encoder(512)})


def test_each_language_needs_a_sample():
    require_samples({"de": ["a"], "en": ["b"], "th": ["c"]}, ("de", "en"))
    with pytest.raises(InputError, match="--corpus has no text in el, th: .* it has de, en"):
        require_samples({"en": ["a"], "de": ["b"]}, ("de", "el", "th"))
