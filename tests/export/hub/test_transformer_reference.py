import math

import numpy as np

from distill.export.hub.transformer_reference import gelu


def test_gelu_is_that_of_the_normal_distribution():
    x = np.linspace(-6, 6, 301, dtype=np.float32)
    expected = [value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in x.tolist()]
    np.testing.assert_allclose(gelu(x), expected, atol=1e-6)
