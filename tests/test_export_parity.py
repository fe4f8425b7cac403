import zlib

import numpy as np
import pytest

from distill.config import ExportSettings
from distill.errors import ExportError
from distill.export.parity import check_parity, measure

LANGUAGES = ("de", "en")


class Oracle:
    """Every document has a vector of its own and every question its document's, but for `wrong` ones, a turned one."""

    name, dimension = "oracle", 64

    def __init__(self, dataset, wrong=(), turn=None):
        self.dataset, self.wrong, self.turn = dataset, set(wrong), turn
        self.document = {text: number for number, text in enumerate(dataset.document_texts)}
        for questions in dataset.questions.values():
            for question in questions.values():
                self.document[question.text] = dataset.passages[question.passage].document

    def encode(self, texts, role="question", progress=None):
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self.turned(text) if text in self.wrong else np.eye(self.dimension)[self.document[text]]
        return vectors

    def turned(self, text):
        if self.turn is None:
            # The next document's.
            return np.eye(self.dimension)[(self.document[text] + 1) % len(self.dataset.titles)]
        own, other = self.document[text], self.dimension - 1
        return np.cos(self.turn) * np.eye(self.dimension)[own] + np.sin(self.turn) * np.eye(self.dimension)[other]


class Noise:
    """A vector of its own for each text, and nothing of its meaning."""

    name, dimension = "noise", 64

    def encode(self, texts, role="question", progress=None):
        rows = np.array([np.random.default_rng(zlib.crc32(text.encode())).normal(size=64) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def asked(sample):
    """The texts of dev, by language."""
    return {lang: [sample.questions[lang][id].text for id in sample.splits["dev"]] for lang in LANGUAGES}


def settings(min_cosine=0.995, max_drop=1.0):
    return ExportSettings(min_cosine=min_cosine, max_drop=max_drop)


def test_the_same_encoder_passes(sample, asked):
    found = check_parity(Oracle(sample), Oracle(sample), sample, LANGUAGES, settings(1.0, 0.0))
    assert (found["texts"], found["cosine_mean"], found["cosine_min"]) == (40, 1.0, 1.0)
    assert found["p@1"] == {language: {"student": 1.0, "bundle": 1.0} for language in LANGUAGES}


def test_cosines_are_over_the_dev_questions_of_the_languages(sample, asked):
    # 4 of 40 are turned by 60 degrees, whose cosine is 1/2.
    found = measure(Oracle(sample), Oracle(sample, asked["de"][:4], np.pi / 3), sample, LANGUAGES)
    assert found["texts"] == len(asked["de"]) + len(asked["en"]) == 40
    assert found["cosine_mean"] == pytest.approx((36 + 4 * 0.5) / 40)
    assert found["cosine_min"] == pytest.approx(0.5)


def test_other_splits_are_not_looked_at(sample):
    sealed = [sample.questions["de"][id].text for split in ("train", "test") for id in sample.splits[split]]
    assert measure(Oracle(sample), Oracle(sample, sealed), sample, ("de",))["cosine_min"] == 1.0


def test_scores_are_of_each_encoder_and_language(sample, asked):
    found = measure(Oracle(sample), Oracle(sample, asked["en"][:5]), sample, LANGUAGES)
    assert found["p@1"] == {"de": {"student": 1.0, "bundle": 1.0}, "en": {"student": 1.0, "bundle": 0.75}}


def test_one_text_too_far_is_refused(sample, asked):
    bundle = Oracle(sample, asked["de"][:1], np.pi / 3)
    with pytest.raises(ExportError, match=r"least cosine 0\.5000 \(mean 0\.9875\) on 40 dev .* at least 0\.995"):
        check_parity(Oracle(sample), bundle, sample, LANGUAGES, settings())


def test_the_least_cosine_allowed_passes(sample, asked):
    bundle = Oracle(sample, asked["de"][:1], np.pi / 3)
    assert check_parity(Oracle(sample), bundle, sample, LANGUAGES, settings(min_cosine=0.4999))


def test_the_drop_is_a_mean_over_languages(sample, asked):
    # 3 of 20 wrong in one of two languages: 15 points and 0, so 7.5.
    bundle = Oracle(sample, asked["en"][:3])
    assert check_parity(Oracle(sample), bundle, sample, LANGUAGES, settings(-1, 7.6))
    with pytest.raises(ExportError, match=r"loses 7\.50 points of dev P@1, allowed are 7\.4"):
        check_parity(Oracle(sample), bundle, sample, LANGUAGES, settings(-1, 7.4))


def test_a_gain_is_no_drop(sample, asked):
    student = Oracle(sample, asked["en"][:3])
    assert check_parity(student, Oracle(sample), sample, LANGUAGES, settings(-1, 0.0))


def test_another_encoder_is_refused(sample):
    with pytest.raises(ExportError, match="differs from the student"):
        check_parity(Oracle(sample), Noise(), sample, LANGUAGES, settings())


def test_vectors_that_are_not_numbers_are_refused(sample):
    class Broken(Oracle):
        def encode(self, texts, role="question", progress=None):
            return super().encode(texts) * np.float32("nan")

    with pytest.raises(ExportError, match="least cosine nan"):
        check_parity(Oracle(sample), Broken(sample), sample, LANGUAGES, settings(-1, 100))


def test_figures_are_plain_numbers(sample):
    found = measure(Oracle(sample), Oracle(sample), sample, ("de",))
    assert {type(found[key]) for key in ("cosine_mean", "cosine_min")} == {float}
