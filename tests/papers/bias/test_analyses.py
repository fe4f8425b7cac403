from contextlib import contextmanager

import numpy as np
import pytest

from distill.data.pool import make_pool
from distill.encoders.removal_fitting import fit_highest_rank
from distill.papers.bias.analyses import Samples, as_metrics_section, measure_bias
from distill.papers.bias.lareqa import MeanPrecision

LANGUAGES = ("de", "en")
# Six meanings on axes of their own; a language adds its own axis, longer than any meaning.
MEANINGS, OFFSET = 6, 2.0


@pytest.fixture(scope="module")
def pool():
    rows = {}
    for language in LANGUAGES:
        texts = [f"{language} {number}" for number in range(MEANINGS)]
        questions = [(f"q{number}", f"{language} {number}?", [number]) for number in range(MEANINGS)]
        rows[language] = (texts, texts, questions)
    return make_pool("toys", rows)


class Weak:
    """A weakly aligned encoder: the language is most of a vector, so that any sentence of it is nearer."""

    name, dimension = "weak", MEANINGS + len(LANGUAGES)

    def encode(self, texts, role="question", progress=None):
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            language, number = text.rstrip("?").split()
            row[int(number)], row[MEANINGS + LANGUAGES.index(language)] = 1, OFFSET
        if progress:
            progress(len(texts))
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def figures(pool):
    return measure_bias(Weak(), pool, "en")


def test_a_weakly_aligned_encoder_prefers_its_own_language_and_removing_it_aligns_it(pool, figures):
    # The own sentence is first, the five others of the language tie before the translation: (1 + 2 / 7) / 2.
    assert figures.lareqa.precision.map == pytest.approx((1 + 2 / 7) / 2)
    assert figures.lareqa.monolingual == pytest.approx({"de": 1, "en": 1})
    assert figures.lareqa.removed.same == pytest.approx(1 / 6)  # the other language's, behind five wrong ones
    assert figures.language_id.accuracy == 1
    # The first direction of a language is its offset and the mean of its meanings; the rest is the meaning.
    ranks = figures.lir.ranks
    assert list(ranks) == [0, 1, 2, 3, 4]
    assert ranks[0] == figures.lareqa.precision
    assert ranks[1] == MeanPrecision(pytest.approx(1), pytest.approx({"de": 1, "en": 1}))
    # As it is, the languages lie apart in the plane; what is left of a meaning lies together in both.
    values = {name: of["questions"][0][0] for name, of in figures.pca.points.items()}
    assert values["de"] * values["en"] < 0
    left = {name: np.array(sorted(of["questions"])) for name, of in figures.lir.pca.points.items()}
    np.testing.assert_allclose(left["de"], left["en"], atol=1e-5)
    assert measure_bias(Weak(), pool, "en") == figures
    assert as_metrics_section(pool, "dev", {"weak": figures.as_dict()}) == {
        "name": "toys",
        "split": "dev",
        "languages": ["de", "en"],
        "questions": {"de": 6, "en": 6},
        "candidates": {"de": 6, "en": 6},
        "top": 12,
        "encoders": {"weak": figures.as_dict()},
    }


def test_the_sample_is_the_pools_sentences_or_what_is_given(pool, figures):
    """Samples of the wrong language take the wrong direction off: nothing is aligned."""
    assert figures.lir.corpus == "the pool's own sentences"
    wrong = {
        language: [f"{other} {number}" for number in range(6)]
        for language, other in zip(LANGUAGES, LANGUAGES[::-1], strict=True)
    }
    lir = measure_bias(Weak(), pool, "en", Samples("wrong", wrong)).lir
    assert lir.corpus == "wrong"
    assert lir.ranks[1].map < 0.7


def test_progress_is_told(pool, monkeypatch):
    told = []

    @contextmanager
    def task(name, total):
        told.append([name, total, 0])

        def advance(steps=1):
            told[-1][2] += steps

        yield advance

    monkeypatch.setattr("distill.papers.bias.analyses.task", task)
    texts = {language: [f"{language} {number}" for number in range(5)] for language in LANGUAGES}
    measure_bias(Weak(), pool, samples=Samples("news", texts), name="mine")
    assert told == [["lareqa: encode for mine", 24 + 10, 24 + 10], ["lareqa: analyse mine", 7, 7]]


def test_samples_that_span_less_than_four_directions_are_fitted_as_far_as_they_go(capsys):
    random = np.random.default_rng(0)
    wide, narrow = random.normal(size=(9, 6)), random.normal(size=(2, 6))
    assert fit_highest_rank({"de": wide, "en": wide}).rank == 4
    assert capsys.readouterr().err == ""
    assert fit_highest_rank({"de": wide, "en": narrow}).rank == 2
    assert "3, 4" in capsys.readouterr().err
    assert fit_highest_rank({"de": wide, "en": np.zeros((3, 6))}) is None


def test_a_pool_of_few_sentences_has_fewer_ranks_and_may_be_too_small_to_tell_languages_in():
    rows = {
        language: ([f"{language} {number}" for number in range(2)], ["", ""], [("q0", f"{language} 0?", [0])])
        for language in LANGUAGES
    }
    figures = measure_bias(Weak(), make_pool("few", rows), "en")
    assert list(figures.lir.ranks) == [0, 1, 2]
    assert figures.language_id.accuracy is not None
    # Two vectors a language: a third of six is less than one of each of three.
    rows = {name: ([f"de {n}"], [""], [("q0", f"de {n}?", [0])]) for n, name in enumerate(("de", "en", "th"))}
    figures = measure_bias(Weak(), make_pool("few", rows), "en")
    assert figures.language_id.accuracy is None and list(figures.lir.ranks) == [0, 1]
