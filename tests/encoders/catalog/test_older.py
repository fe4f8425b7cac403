"""What was written before a family of networks had a folder of its own is read, and gives the vectors that it gave.

`fixtures/older.tar.xz` holds encoders, their exports and a run of commit 41ab613, two small transformers of commit
9095797, and the vectors of that code.
"""

import tarfile
from pathlib import Path

import numpy as np
import pytest

from distill.encoders.catalog.loading import load_encoder, load_keras_encoder

OLDER = Path(__file__).resolve().parents[2] / "fixtures" / "older.tar.xz"
SAVED = ("ngram", "static", "run", "transformer", "modern-transformer")
EXPORTED = ("ngram-bundle", "static-bundle", "ngram-onnx", "static-onnx", "ngram-c", "run/bundle")
# Of int8 another processor's rounding moves a vector.
LEAST = {True: 0.999999, False: 0.9995}


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    folder = tmp_path_factory.mktemp("older")
    with tarfile.open(OLDER) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def known(older):
    return np.load(older / "vectors.npz")


def least_cosine(vectors, expected):
    return np.sum(vectors * expected, axis=1).min()


@pytest.mark.parametrize("name", (*SAVED, *EXPORTED))
def test_an_encoder_of_before_gives_the_vectors_of_before(older, known, name):
    vectors = load_encoder(older / name).encode(known["texts"].tolist())
    assert least_cosine(vectors, known[name.replace("/", "-")]) > LEAST[name in SAVED]


@pytest.mark.parametrize("name", [name for name in EXPORTED[:4]])
def test_the_student_in_an_export_of_before_is_the_one_of_before(older, known, name):
    vectors = load_keras_encoder(older / name).encode(known["texts"].tolist())
    assert least_cosine(vectors, known[f"{name}-student"]) > LEAST[True]
