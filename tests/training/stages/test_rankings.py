import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.data.pairs import Pairs
from distill.errors import DataError
from distill.training.stages.mined_pairs import rank_by_bm25, rank_by_encoder

EN = ("The Danube ends in the Black Sea.", "Bread is made of flour.", "The Rhine ends in Holland.")
DE = ("Die Donau endet im Schwarzen Meer.", "Brot ist aus Mehl.", "Der Rhein endet in Holland.")


def asked(language, text, id="q"):
    return Question(id, language, text, 0)


def pool(*questions, languages=("en", "de")):
    """Rows 0 to 2 are in the first language, 3 to 5 in the second."""
    texts = {"en": EN, "de": DE}

    return Pairs(
        questions,
        tuple(text for language in languages for text in texts[language]),
        np.repeat(np.array(languages), 3),
        np.tile(np.arange(3), len(languages)),
        tuple(np.array([0]) for _ in questions),
        tuple(np.zeros(0, dtype=int) for _ in questions),
    )


def data(*questions):
    by_language = {}
    for question in questions:
        by_language.setdefault(question.language, {})[question.id] = question
    return Dataset("toy", "en", ("one",), tuple(Passage(str(i), text, 0) for i, text in enumerate(EN)), by_language)


def bm25(*questions, among=None, k=3, **more):
    return rank_by_bm25(pool(*(among or questions), **more), data(*questions), k).tolist()


def test_bm25_ranks_what_shares_more_words_first_and_nothing_else():
    assert bm25(asked("en", "Where does the Rhine, which ends nowhere, end?")) == [[2, 0, -1]]
    assert bm25(asked("en", "Volga"), asked("en", "?", "other")) == [[-1] * 3] * 2


def test_passages_are_asked_in_their_own_language_by_the_parallel_question_else_by_itself():
    english, german = asked("en", "flour"), asked("de", "Mehl")
    assert bm25(english, german, k=2) == [[1, -1], [4, -1]]
    russian, english = asked("ru", "Из чего Donau?"), asked("en", "What is flour?")
    assert bm25(russian, english, among=[russian], k=2) == [[1, -1]]
    assert bm25(asked("de", "Mehl"), english, among=[asked("de", "Mehl")], languages=("en",)) == [[1, -1, -1]]
    assert bm25(asked("fr", "flour, Danube"), k=2) == [[1, 0]]


def test_a_language_without_words_is_named():
    pairs = pool(asked("en", "Rhine"))
    silent = Pairs(pairs.questions, ("!",) * 6, pairs.languages, pairs.content, pairs.positives, pairs.negatives)
    with pytest.raises(DataError, match="words"):
        rank_by_bm25(silent, data(*pairs.questions), 2)


def test_an_encoder_ranks_all_languages_together(tiny):
    pairs = pool(asked("en", "Where does the Rhine end?"), asked("de", "Woraus ist Brot?"))
    scores = tiny.encode([q.text for q in pairs.questions]) @ tiny.encode(list(EN + DE), "document").T
    assert rank_by_encoder(tiny, pairs, 4).tolist() == np.argsort(-scores, axis=1)[:, :4].tolist()
    assert (rank_by_encoder(tiny, pairs, 9)[:, 6:] == -1).all()
