"""Real parts, small: a SentencePiece model trained here, an encoder of mUSE's architecture, the sample data."""

import io

import numpy as np
import pytest


@pytest.fixture(scope="session")
def sample():
    from distill.data import load_dataset

    return load_dataset("sample")


@pytest.fixture(scope="session")
def tokenizer(sample):
    import sentencepiece

    from distill.tokenizer import Tokenizer

    texts = sample.passage_texts + [q.text for questions in sample.questions.values() for q in questions.values()]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=2000, character_coverage=0.9995, minloglevel=2
    )
    return Tokenizer(model.getvalue())


@pytest.fixture
def tiny(tokenizer):
    """An untrained `KerasEncoder` of mUSE's architecture, 16 dimensions."""
    return make_tiny(tokenizer)


@pytest.fixture(scope="session")
def tiny_folder(tokenizer, tmp_path_factory):
    """The same, saved: what a command line takes as `--base`."""
    folder = tmp_path_factory.mktemp("tiny") / "encoder"
    make_tiny(tokenizer).save(folder)
    return folder


def make_tiny(tokenizer, seed=0):
    import keras

    from distill.encoder import KerasEncoder
    from distill.students.ngram import NGramEncoder

    keras.utils.set_random_seed(seed)
    model = NGramEncoder(vocabulary=len(tokenizer), width=16, channels=8, orders=(2, 3), hidden=12, dimension=16)
    return KerasEncoder(model, tokenizer, "tiny")


def unit_rows(n, d, seed=0):
    """Random float32 rows of unit length."""
    rows = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
