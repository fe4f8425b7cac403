import numpy as np
import pytest

from distill.bias import described, measure_bias, steps
from distill.pool import pool_of

LANGUAGES = ("de", "en")
# Six meanings on axes of their own; a language adds its own axis, longer than any meaning.
MEANINGS, OFFSET = 6, 2.0


@pytest.fixture(scope="module")
def pool():
    found = {}
    for language in LANGUAGES:
        texts = [f"{language} {number}" for number in range(MEANINGS)]
        asked = [(f"q{number}", f"{language} {number}?", [number]) for number in range(MEANINGS)]
        found[language] = (texts, texts, asked)
    return pool_of("toys", found)


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
def found(pool):
    return measure_bias(Weak(), pool, "en")


def test_a_weakly_aligned_encoder_prefers_its_own_language(found):
    # The own sentence is first, the five others of the language tie before the translation: (1 + 2 / 7) / 2.
    assert found["map"] == pytest.approx((1 + 2 / 7) / 2)
    assert found["monolingual"] == pytest.approx({"de": 1, "en": 1})
    assert found["removed"]["same"] == pytest.approx(1 / 6)  # the other language's, behind five wrong ones
    assert found["language_id"]["accuracy"] == 1


def test_removing_the_language_aligns_it(found):
    """The first direction of a language is its offset and the mean of its meanings; the rest is the meaning."""
    ranks = found["lir"]["ranks"]
    assert list(ranks) == ["0", "1", "2", "3", "4"]
    assert ranks["0"] == {"map": found["map"], "languages": found["languages"]}
    assert ranks["1"] == {"map": pytest.approx(1), "languages": pytest.approx({"de": 1, "en": 1})}


def test_the_sample_is_the_pools_sentences_or_what_is_given(pool, found):
    """Samples of the wrong language take the wrong direction off: nothing is aligned."""
    assert found["lir"]["corpus"] == "the pool's own sentences"
    wrong = {
        language: [f"{other} {number}" for number in range(6)]
        for language, other in zip(LANGUAGES, LANGUAGES[::-1], strict=True)
    }
    given = measure_bias(Weak(), pool, "en", ("wrong", wrong))["lir"]
    assert given["corpus"] == "wrong"
    assert given["ranks"]["1"]["map"] < 0.7


def test_progress_is_told(pool):
    texts, stages = [], []
    measure_bias(Weak(), pool, progress=texts.append, analysed=lambda: stages.append(1))
    assert sum(texts) == len(pool.questions) + len(pool.sentences)
    assert len(stages) == steps()


def test_the_same_figures_twice(pool, found):
    assert measure_bias(Weak(), pool, "en") == found


def test_what_metrics_json_says_of_the_pool(pool, found):
    assert described(pool, "dev", {"weak": found}) == {
        "name": "toys",
        "split": "dev",
        "languages": ["de", "en"],
        "questions": {"de": 6, "en": 6},
        "candidates": {"de": 6, "en": 6},
        "top": 100,
        "encoders": {"weak": found},
    }
