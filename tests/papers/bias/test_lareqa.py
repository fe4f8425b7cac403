from dataclasses import asdict

import ir_measures
import numpy as np
import pytest

from distill.data.pool import make_pool
from distill.errors import EncoderError
from distill.papers.bias.counting import count_above, count_candidates
from distill.papers.bias.lareqa import (
    LanguageUsage,
    TargetRemoval,
    average_precision,
    encode_pool,
    mean_average_precision,
    measure_usage,
    rank_pool,
)

# Twelve sentences, four a language: de 0 to 3, en 4 to 7, th 8 to 11. x is answered by 0, 4 and 8, y by 1 and 5.
LANGUAGES = ("de", "en", "th")
# The best places of each question's ranking, all further sentences below; in the pool's order.
RANKINGS = {
    ("de", "x"): [0, 1, 4, 2, 8, 3],
    ("de", "y"): [4, 1, 8, 9, 5],
    ("en", "x"): [4, 0, 8, 5],
    ("en", "y"): [8, 9, 10, 11, 5, 0, 1],
    ("th", "x"): [9, 8, 0, 4],
}
# 8 has the score of 9, so that it stands behind it.
TIE = (("th", "x"), 8, 9)


@pytest.fixture(scope="module")
def pool():
    texts = {language: [f"{language} {number}" for number in range(4)] for language in LANGUAGES}
    rows = {
        "de": [("x", "Was?", [0]), ("y", "Wo?", [1])],
        "en": [("x", "What?", [0]), ("y", "Where?", [1])],
        "th": [("x", "อะไร", [0])],
    }
    return make_pool("toys", {language: (texts[language], texts[language], rows[language]) for language in LANGUAGES})


@pytest.fixture(scope="module")
def questions():
    """Question vectors whose dot products with `candidates` are the wanted scores."""
    scores = np.zeros((5, 12), dtype=np.float32)
    for row, (question, ranking) in enumerate(RANKINGS.items()):
        scores[row] = -np.arange(12)
        scores[row, ranking] = 20 - np.arange(len(ranking))
        if question == TIE[0]:
            scores[row, TIE[1]] = scores[row, TIE[2]]
    return scores


@pytest.fixture(scope="module")
def candidates():
    return np.eye(12, dtype=np.float32)


@pytest.fixture(scope="module")
def ranking(pool, questions, candidates):
    return rank_pool(questions, candidates, pool, top=4)


def test_average_precision_is_equation_1_and_its_mean_by_question_language(ranking, pool, questions, candidates):
    expected = [(1 / 1 + 2 / 3 + 3 / 5) / 3, (1 / 2 + 2 / 5) / 2, 1, (1 / 5 + 2 / 7) / 2, (1 / 2 + 2 / 3 + 3 / 4) / 3]
    np.testing.assert_allclose(ranking.average_precisions, expected, rtol=1e-12)
    precision = mean_average_precision(questions, candidates, pool)
    assert precision == ranking.figures().precision and precision.map == pytest.approx(np.mean(expected))
    by_language = {"de": np.mean(expected[:2]), "en": np.mean(expected[2:4]), "th": expected[4]}
    assert precision.languages == pytest.approx(by_language)
    # Nor has a question without a target left one.
    above, keep = np.array([[3, 0], [3, 0]]), np.array([[True, False], [False, False]])
    np.testing.assert_array_equal(average_precision(above, keep), [1 / 4, np.nan])


def test_a_right_sentence_of_any_language_may_be_first_and_the_best_gives_the_reciprocal_rank(ranking):
    np.testing.assert_array_equal(ranking.scores("p@1"), [1, 0, 1, 0, 0])
    np.testing.assert_array_equal(ranking.scores("p@2"), [1, 1, 1, 0, 1])
    assert ranking.figures().p1 == {"de": 0.5, "en": 0.5, "th": 0}
    np.testing.assert_allclose(ranking.scores("mrr@10"), [1, 1 / 2, 1, 1 / 5, 1 / 2])
    np.testing.assert_allclose(ranking.scores("mrr@4"), [1, 1 / 2, 1, 0, 1 / 2])


def test_discounted_gains_are_divided_by_the_best_there_can_be(ranking):
    """Ranks 1, 3, 5; 2, 5; 1, 2, 3; 5, 7; 2, 3, 4; a gain is 1 / log2(1 + rank)."""
    three, two = 1 + 1 / np.log2(3) + 1 / 2, 1 + 1 / np.log2(3)
    expected = [
        (1 + 1 / 2 + 1 / np.log2(6)) / three,
        (1 / np.log2(3) + 1 / np.log2(6)) / two,
        1,
        (1 / np.log2(6) + 1 / 3) / two,
        (1 / np.log2(3) + 1 / 2 + 1 / np.log2(5)) / three,
    ]
    np.testing.assert_allclose(ranking.scores("ndcg@10"), expected, rtol=1e-12)
    # Of two places one is right at best, so that one is all.
    np.testing.assert_allclose(ranking.scores("ndcg@1"), [1, 0, 1, 0, 0])


def test_one_target_removed_or_alone_and_monolingual_pools(ranking, candidates):
    same = [(1 / 2 + 2 / 4) / 2, 1 / 4, 1, 1 / 6, (1 / 2 + 2 / 3) / 2]
    # Of x two other languages' can be removed, of y one.
    rand = [((1 + 2 / 4) / 2 + (1 + 2 / 3) / 2) / 2, 1 / 2, 1, 1 / 5, (1 / 2 + 2 / 3) / 2]
    expected = {"same": np.mean(same), "rand": np.mean(rand), "delta": (0.615 - 0.5) / 0.615}
    assert asdict(ranking.remove_targets()) == pytest.approx(expected, rel=1e-12)
    assert ranking.one_target() == {
        "de": pytest.approx({"de": (1 + 1 / 2) / 2, "en": (1 / 2 + 1 / 4) / 2, "th": 1 / 3}),
        "en": pytest.approx({"de": (1 + 1 / 6) / 2, "en": (1 + 1 / 5) / 2, "th": 1}),
        "th": pytest.approx({"de": 1 / 2, "en": 1 / 2, "th": 1 / 2}),
    }
    assert ranking.monolingual() == pytest.approx({"de": 1, "en": 1, "th": 1 / 2})
    # One language: nothing of another language can be removed.
    pool = make_pool("one", {"en": (["a", "b"], ["a", "b"], [("x", "?", [0])])})
    one = rank_pool(np.ones((1, 2), np.float32), candidates[:2, :2], pool)
    assert one.remove_targets() == TargetRemoval(None, None, None)


def test_shares_of_the_first_places_and_the_first_and_wrong_sentences_above(ranking):
    assert ranking.share() == {
        "de": pytest.approx({"de": 0.5, "en": 0.25, "th": 0.25}),
        "en": pytest.approx({"de": 0.125, "en": 0.25, "th": 0.625}),
        "th": pytest.approx({"de": 0.25, "en": 0.25, "th": 0.5}),
    }
    # In German 0 and 4 are first, in English 4 and 8, in Thai 9, which ties with 8.
    assert ranking.first_share() == {
        "de": pytest.approx({"de": 0.5, "en": 0.5, "th": 0}),
        "en": pytest.approx({"de": 0, "en": 0.5, "th": 0.5}),
        "th": pytest.approx({"de": 0, "en": 0, "th": 1}),
    }
    used = ranking.figures().usage
    # Own: de 2 of 4 places, en 1, th 2; of the first 1/2, 1/2 and 1.
    assert (used["share"].self_usage, used["first_share"].self_usage) == pytest.approx(((0.5 + 0.25 + 0.5) / 3, 2 / 3))
    assert used["share"].languages["en"] == LanguageUsage(0.25, "th", 0.625)
    # y in German: 4 above 1; 4, 8 and 9 above 5; and there is no third target.
    np.testing.assert_array_equal(ranking.counts.above[1], [[0, 1, 0], [0, 1, 2], [0, 0, 0]])


def test_candidates_that_tie_at_the_last_place_share_it_and_more_places_are_all(pool, questions, candidates):
    scores = np.zeros((5, 12), dtype=np.float32)
    scores[:, 0] = 1  # de first; then eleven that tie for one place: de 3, en 4, th 4
    shares = count_candidates(scores, candidates, pool, top=2).share
    np.testing.assert_allclose(shares, np.tile([(1 + 3 / 11) / 2, 2 / 11, 2 / 11], (5, 1)), rtol=1e-6)
    np.testing.assert_allclose(count_candidates(questions, candidates, pool, top=100).share, 1 / 3, rtol=1e-6)


def test_scores_that_differ_in_their_last_bit_are_a_tie():
    data = {"de": (["c"], ["c"], [("x", "?", [0])]), "en": (["a", "b"], ["a", "b"], [("y", "?", [0])])}
    right = np.float32(0.7)
    scores = np.array([[1, 0, 0], [np.nextafter(right, np.float32(0)), right, 0.1]], dtype=np.float32)
    counts = count_candidates(scores, np.eye(3, dtype=np.float32), make_pool("two", data))
    assert counts.above[:, 0].tolist() == [[0, 0], [1, 0]] and counts.first.tolist() == [[1, 0], [0.5, 0.5]]


@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_blocks_change_nothing(pool, questions, candidates, ranking, block):
    again = count_candidates(questions, candidates, pool, top=4, block=block)
    np.testing.assert_array_equal(again.above, ranking.counts.above)
    np.testing.assert_array_equal(again.share, ranking.counts.share)
    np.testing.assert_array_equal(again.first, ranking.counts.first)
    np.testing.assert_array_equal(count_above(questions, candidates, pool, block), again.above.sum(axis=2))


def random_pool(random, languages=3, sentences=13, questions=9):
    data = {}
    for language in range(languages):
        texts = [f"{language} {number}" for number in range(sentences)]
        some = random.permutation(questions)[: questions - 2]
        rows = [(f"q{id}", "?", [int(random.integers(sentences))]) for id in sorted(some)]
        data[f"l{language}"] = (texts, texts, rows)
    return make_pool("random", data)


@pytest.mark.parametrize("seed", range(5))
def test_map_is_that_of_trec_eval_with_ties(seed):
    """Many ties; trec_eval puts the higher name first, so wrong sentences are named higher: ties count against."""
    random = np.random.default_rng(seed)
    pool = random_pool(random)
    scores = random.integers(0, 6, size=(len(pool.questions), len(pool.sentences))).astype(np.float32)
    ranking = rank_pool(scores, np.eye(len(pool.sentences), dtype=np.float32), pool)
    qrels, run = {}, {}
    for row, targets in enumerate(pool.targets):
        names = [f"{'right' if column in targets else 'wrong'}{column}" for column in range(len(pool.sentences))]
        qrels[str(row)] = {name: int(name.startswith("right")) for name in names}
        run[str(row)] = dict(zip(names, map(float, scores[row]), strict=True))
    figures = {ir_measures.AP: ranking.average_precisions, ir_measures.nDCG @ 10: ranking.scores("ndcg@10")}
    for measure, values in figures.items():
        expected = {int(one.query_id): one.value for one in ir_measures.iter_calc([measure], qrels, run)}
        np.testing.assert_allclose(values, [expected[row] for row in range(len(expected))], rtol=1e-9)


class Towers:
    name, takes_context = "towers", True

    def __init__(self, context=True, broken=None):
        self.takes_context, self.broken, self.calls = context, broken, []

    def encode(self, texts, role="question", progress=None, **extra):
        self.calls.append((role, tuple(texts), extra))
        vectors = np.ones((len(texts), 2), dtype=np.float32)
        if role == self.broken:
            vectors[1, 0] = np.nan
        return vectors


def test_a_sentence_comes_with_its_paragraph_where_that_is_taken():
    pool = make_pool("toys", {"en": (["a.", "b."], ["a. b.", "a. b."], [("x", "?", [1])])})
    with_context, without = Towers(), Towers(context=False)
    for encoder in (with_context, without):
        encode_pool(encoder, pool)
    assert with_context.calls == [
        ("question", ("?",), {}),
        ("document", ("a.", "b."), {"contexts": ("a. b.", "a. b.")}),
    ]
    assert without.calls[1] == ("document", ("a.", "b."), {})


@pytest.mark.parametrize("role", ["question", "document"])
def test_vectors_that_are_no_numbers_are_refused(pool, role):
    with pytest.raises(EncoderError, match="^towers: 1 .* text 1;"):
        encode_pool(Towers(context=False, broken=role), pool)


def test_own_and_most_used_other_language_of_each_row_where_there_is_one():
    share = {
        "de": {"de": 0.5, "en": 0.2, "th": 0.3},
        "en": {"de": 0.05, "en": 0.9, "th": 0.05},
        "th": {"de": 0.6, "en": 0.3, "th": 0.1},
    }
    assert measure_usage(share).as_dict() == {
        "own": pytest.approx((0.5 + 0.9 + 0.1) / 3),
        "languages": {
            "de": {"own": 0.5, "other": "th", "other_share": 0.3},
            "en": {"own": 0.9, "other": "de", "other_share": 0.05},
            "th": {"own": 0.1, "other": "de", "other_share": 0.6},
        },
    }
    assert measure_usage({"en": {"en": 1.0}}).languages == {"en": LanguageUsage(1.0, None, None)}
