import pytest

from distill.students.ngram import NGramEncoder


@pytest.fixture(scope="module")
def model(randomised):
    return randomised(NGramEncoder(vocabulary=20, width=6, channels=5, orders=(2, 3), hidden=9, dimension=8))
