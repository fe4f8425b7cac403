import tracemalloc
from itertools import product

import numpy as np
import pytest
from fixtures.vectors import unit_rows

from distill.data.dataset import Question, normalise
from distill.errors import DataError
from distill.retrieval.blocks import CELLS
from distill.training.stages.negatives import (
    draw_negatives,
    find_bm25_candidates,
    find_false_negatives,
    mine_maxp_candidates,
    mine_online_negatives,
    mine_quota_negatives,
    select_pairs,
)

NONE = np.zeros(0, dtype=int), np.zeros(0, dtype=int)


def ask(text, passage):
    return Question(f"{text} {passage}", "en", text, passage)


def pairs(forbidden):
    return sorted((int(query), int(passage)) for query, passage in zip(*forbidden, strict=True))


def bm25_negatives(queries, passages, forbidden, n, seed=0, stopwords="en"):
    """As an epoch takes them."""
    return draw_negatives(find_bm25_candidates(queries, passages, forbidden, n, stopwords or "de"), n, seed)


def maxp_triplets(*given, seed=0, cells=CELLS):
    """Positives, and as many negatives as `given[5]`, drawn."""
    positives, candidates = mine_maxp_candidates(*given, cells)
    return positives, draw_negatives(candidates, given[5], seed)


def test_the_answers_document_and_that_of_an_identical_question_are_forbidden():
    document_of = np.array([0, 0, 1, 2, 2, 2])
    forbidden = find_false_negatives([ask("first", 1), ask("second", 3)], document_of)
    assert pairs(forbidden) == [(0, 0), (0, 1), (1, 3), (1, 4), (1, 5)]
    assert normalise("Ｗho  won\tthe CUP ?\n") == normalise("who won the cup ?") != normalise("who lost the cup ?")
    document_of = np.array([0, 1, 1, 2])
    forbidden = find_false_negatives([ask("Who won?", 0), ask("who  WON?", 1), ask("Where?", 3)], document_of)
    assert pairs(forbidden) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 3)]
    # The last passage is a copy of the first.
    forbidden = find_false_negatives([ask("Where?", 0), ask("Why?", 1)], document_of, np.array([0, 1, 2, 0]))
    assert pairs(forbidden) == [(0, 0), (0, 3), (1, 1), (1, 2)]
    # Of chosen questions they are numbered anew.
    forbidden = np.array([0, 0, 1, 3, 3]), np.array([5, 6, 7, 8, 9])
    assert pairs(select_pairs(forbidden, np.array([3, 1, 3, 2]))) == [(0, 8), (0, 9), (1, 7), (2, 8), (2, 9)]
    for got, whole in zip(select_pairs(forbidden, np.arange(4)), forbidden, strict=True):
        np.testing.assert_array_equal(got, whole)


WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay"]


def bm25_scores(query, texts, k1=1.5, b=0.75):
    """Robertson's BM25 with Lucene's never-negative idf, over words that are split at spaces."""
    split = [text.split() for text in texts]
    mean_length = np.mean([len(words) for words in split])
    scores = np.zeros(len(texts))
    for word in query.split():
        within = sum(word in words for words in split)
        idf = np.log(1 + (len(texts) - within + 0.5) / (within + 0.5))
        for row, words in enumerate(split):
            tf = words.count(word)
            scores[row] += idf * tf / (tf + k1 * (1 - b + b * len(words) / mean_length))
    return scores


def test_bm25_negatives_are_drawn_from_the_four_times_n_best():
    random = np.random.default_rng(3)
    texts = [" ".join(random.choice(WORDS, size=random.integers(5, 15))) for _ in range(30)]
    query = "ant fox jay"
    scores = bm25_scores(query, texts)
    order = np.argsort(-scores)
    assert scores[order[4]] > scores[order[5]]  # no tie at the border
    # With the best of all forbidden, the four candidates are the next four.
    best = np.array([0]), order[:1]
    drawn = {int(bm25_negatives([query], texts, best, 1, seed, stopwords=None)[0, 0]) for seed in range(60)}
    assert drawn == {int(row) for row in order[1:5]}
    once, again = (bm25_negatives([query], texts, best, 3, 7) for _ in range(2))
    np.testing.assert_array_equal(once, again)


def test_common_english_words_do_not_count_as_shared():
    texts = ["king kong", "king crab", "king prawn", "king size", "of the in the is", "it is of the and", "the of is"]
    drawn = [
        {int(bm25_negatives(["is the king of it"], texts, NONE, 1, seed, words)[0, 0]) for seed in range(40)}
        for words in ("en", None)
    ]
    assert drawn[0] == {0, 1, 2, 3}
    assert drawn[1] >= {4, 5, 6}


def test_bm25_negatives_are_never_from_the_answers_document_nor_an_identical_questions(sample):
    questions = sample.select("en", "train")
    # The same question asked of another document, as where two articles answer it.
    twin = questions[0]
    elsewhere = next(q for q in questions if sample.document_of[q.passage] != sample.document_of[twin.passage])
    questions = [*questions, ask(twin.text.upper(), elsewhere.passage)]
    forbidden = find_false_negatives(questions, sample.document_of)
    negatives = bm25_negatives([q.text for q in questions], sample.passage_texts, forbidden, 5)
    for row, question in enumerate(questions):
        same = [other for other in questions if other.text.casefold() == question.text.casefold()]
        documents = {int(sample.document_of[other.passage]) for other in same}
        assert (negatives[row] >= 0).all()
        assert documents.isdisjoint(sample.document_of[negatives[row]].tolist())


def test_bm25_gives_minus_1_where_none_is_left_and_passages_without_a_word_are_refused():
    texts = ["red tomato", "green apple", "red cherry"]
    negatives = bm25_negatives(["red", "green"], texts, (np.array([0, 0, 1, 1, 1]), np.array([0, 2, 0, 1, 2])), 2)
    assert negatives.tolist() == [[1, -1], [-1, -1]]
    # Of a query whose words no passage has any will do.
    for query in ("zeppelin", "is the of"):
        assert bm25_negatives([query], texts, (np.array([0]), np.array([1])), 1)[0, 0] in {0, 2}
    with pytest.raises(DataError, match="--bm25-epochs 0$"):
        bm25_negatives(["who"], ["the of", "a"], NONE, 1)


N, MARGIN = 2, 0.2


@pytest.fixture(scope="module")
def space():
    """Twenty questions, ever farther from their passages among sixty, and forbidden pairs that hold the gold ones."""
    random = np.random.default_rng(0)
    passages = unit_rows(60, 5, seed=1)
    gold = random.permutation(60)[:20]
    questions = passages[gold] + np.linspace(0.2, 0.9, 20, dtype=np.float32)[:, None] * unit_rows(20, 5, seed=2)
    questions /= np.linalg.norm(questions, axis=1, keepdims=True)
    others = random.integers(0, 60, (20, 2))
    rows = np.repeat(np.arange(20), 3)
    return questions, passages, gold, (rows, np.column_stack([gold, others]).ravel())


def hard_and_semi_hard(questions, passages, gold, forbidden, margin):
    """By definition, each question's passages with d(a, n) < d(a, p) + margin, nearest first."""
    banned, negatives = set(pairs(forbidden)), []
    for query in range(len(questions)):
        distance = [1 - float(questions[query].astype(np.float64) @ passage) for passage in passages]
        limit = distance[gold[query]] + margin
        allowed = [row for row in range(len(passages)) if distance[row] < limit and (query, row) not in banned]
        negatives.append(sorted(allowed, key=lambda row: distance[row]))
    return negatives


def test_online_negatives_are_the_hardest_and_never_forbidden(space):
    hard = [len(rows) for rows in hard_and_semi_hard(*space, 0.0)]
    both = [len(rows) for rows in hard_and_semi_hard(*space, MARGIN)]
    assert max(hard) > 0 and max(both) > 4 * N and min(both) < N
    allowed = hard_and_semi_hard(*space, MARGIN)
    draws = [mine_online_negatives(*space, N, MARGIN, seed) for seed in range(80)]
    drawn = np.concatenate(draws, axis=1)
    for query in range(20):
        assert set(drawn[query].tolist()) - {-1} == set(allowed[query][: 4 * N])
        kept = draws[0][query][draws[0][query] >= 0].tolist()
        assert len(kept) == len(set(kept)) == min(N, len(allowed[query]))
    np.testing.assert_array_equal(draws[1], mine_online_negatives(*space, N, MARGIN, 1, block=(3, 7)))
    banned = set(pairs(space[3]))
    # A margin beyond every distance lets everything in but what is forbidden.
    negatives = mine_online_negatives(*space, 15, 3.0)
    assert (negatives >= 0).all()
    assert not [pair for pair in ((q, int(p)) for q in range(20) for p in negatives[q]) if pair in banned]


@pytest.mark.parametrize("quotas", [(2, 3), (0, 2), (1, 0)])
@pytest.mark.parametrize("cells", [CELLS, 1])
def test_a_quota_takes_the_nearest_hard_and_the_nearest_semi_hard_negatives(space, quotas, cells):
    hard, both = hard_and_semi_hard(*space, 0.0), hard_and_semi_hard(*space, MARGIN)
    taken = mine_quota_negatives(*space, quotas, MARGIN, cells)
    full = 0
    for query in range(20):
        semi = [row for row in both[query] if row not in hard[query]]
        for columns, expected in ((taken[query, : quotas[0]], hard[query]), (taken[query, quotas[0] :], semi)):
            missing = max(0, len(columns) - len(expected))
            assert columns.tolist() == expected[: len(columns)] + [-1] * missing
            full += not missing
    assert full


def test_a_passage_just_beyond_the_margin_is_too_easy():
    # Distances 0.25 (gold), 0.5, 0.75, in numbers that float32 holds exactly.
    question = np.array([[1.0, 0.0]], dtype=np.float32)
    passages = np.array([[0.75, 0.6614378], [0.5, 0.8660254], [0.25, 0.9682458]], dtype=np.float32)
    gold, forbidden = np.array([0]), (np.array([0]), np.array([0]))
    assert mine_online_negatives(question, passages, gold, forbidden, 2, 0.25).tolist() == [[-1, -1]]
    assert mine_online_negatives(question, passages, gold, forbidden, 2, 0.2501).tolist() == [[1, -1]]
    assert sorted(mine_online_negatives(question, passages, gold, forbidden, 2, 0.51)[0].tolist()) == [1, 2]
    # One that is nearer than the positive is a negative without any margin.
    gold, forbidden = np.array([1]), (np.array([0]), np.array([1]))
    assert mine_online_negatives(question, passages, gold, forbidden, 2, 0.0).tolist() == [[0, -1]]


@pytest.mark.parametrize("unit, n, size", [("passage", 2000, 4000), ("document", 600, 20_000)])
def test_mining_never_holds_the_whole_matrix(unit, n, size):
    questions, passages, gold = unit_rows(n, 4, seed=1), unit_rows(size, 4, seed=2), np.arange(n)
    tracemalloc.start()
    if unit == "passage":
        mine_online_negatives(questions, passages, gold, (gold, gold), 1, 0.3, block=(200, 400))
    else:
        maxp_triplets(questions, passages, np.arange(size) // 5, gold, (gold, gold), 1, 0.3, cells=2**18)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * size * 4 / 8  # an eighth of the whole float32 score matrix


# Cosines to the question (1, 0) are the first numbers. Documents: {0, 1}, {2, 3, 4}, {5}, {6, 7}.
COSINES = [0.5, 0.75, 0.875, 0.25, 0.75, 0.625, 0.125, 0.25]
DOCUMENT_OF = np.array([0, 0, 1, 1, 1, 2, 3, 3])
QUESTION = np.array([[1, 0]], dtype=np.float32)


def on_circle(cosines):
    """Unit vectors of two dimensions with these first numbers."""
    first = np.array(cosines, dtype=np.float32)
    return np.stack([first, np.sqrt(1 - first**2)], axis=1)


def own_document(gold):
    passages = np.flatnonzero(DOCUMENT_OF[gold] == DOCUMENT_OF)
    return np.zeros(len(passages), dtype=int), passages


def by_best_passage(gold, n, margin, seed=0, passages=COSINES):
    positive, negatives = maxp_triplets(
        QUESTION, on_circle(passages), DOCUMENT_OF, np.array([gold]), own_document(gold), n, margin, seed=seed
    )
    return int(positive[0]), sorted(set(negatives[0].tolist()) - {-1})


def test_documents_are_mined_by_their_best_passages():
    # Gold 0 has .5, its neighbour 1 has .75.
    assert by_best_passage(0, 3, 0.0)[0] == by_best_passage(1, 3, 0.0)[0] == 1
    assert by_best_passage(3, 3, 0.0)[0] == 2
    # Nearer than .75 is document 1 alone, by its passage 2; passage 4, with .75, would be semi-hard.
    assert by_best_passage(0, 3, 0.0) == (1, [2])
    # Down to .625, which is document 2, at a margin above .125, and .25, passage 7, above .5.
    assert by_best_passage(0, 3, 0.126) == (1, [2, 5])
    assert by_best_passage(0, 3, 0.501) == (1, [2, 5, 7])
    # From gold's .5, document 3 with .25 would be within .3; from the best passage's .75 it is not.
    assert by_best_passage(0, 3, 0.3) == (1, [2, 5])
    gold = mine_online_negatives(QUESTION, on_circle(COSINES), np.array([0]), own_document(0), 5, 0.3)
    assert set(gold[0].tolist()) == {2, 3, 4, 5, 7}
    cosines = [0.5, 0.5, 0.75, 0.25, 0.75, 0.5, 0.125, 0.125]
    assert by_best_passage(1, 3, 2.0, passages=cosines) == (0, [2, 5, 6])
    forbidden = np.array([0, 0, 0]), np.array([0, 1, 3])
    positive, negatives = maxp_triplets(QUESTION, on_circle(COSINES), DOCUMENT_OF, np.array([0]), forbidden, 3, 2.0)
    assert positive.tolist() == [1] and set(negatives[0].tolist()) == {5, 7, -1}


def test_negatives_are_drawn_from_the_four_times_n_hardest_documents():
    cosines = np.linspace(0.9, 0.1, 12, dtype=np.float32)
    gold, forbidden = np.array([7]), (np.array([0]), np.array([7]))
    given = QUESTION, on_circle(cosines), np.arange(12), gold, forbidden, 1, 2.0
    assert {int(maxp_triplets(*given, seed=seed)[1][0, 0]) for seed in range(60)} == {0, 1, 2, 3}


@pytest.mark.parametrize("cells", [60, 130, 2**24])
def test_documents_of_many_questions_are_scored_as_by_loops(cells):
    random = np.random.default_rng(4)
    document_of = np.sort(np.concatenate([np.arange(15), random.integers(0, 15, 45)]))
    questions, passages, gold = unit_rows(30, 4, 5), unit_rows(60, 4, 6), random.integers(0, 60, 30)
    repeated = [ask(str(number % 25), passage) for number, passage in enumerate(gold)]
    forbidden = find_false_negatives(repeated, document_of)
    drawn = [
        maxp_triplets(questions, passages, document_of, gold, forbidden, N, MARGIN, seed=seed, cells=cells)
        for seed in range(60)
    ]
    for row, scores in enumerate(questions @ passages.T):
        best = [max(np.flatnonzero(document_of == d), key=lambda p: scores[p]) for d in range(15)]
        nearest = best[document_of[gold[row]]]
        closed = {document_of[p] for r, p in zip(*forbidden, strict=True) if r == row}
        near = [best[d] for d in range(15) if d not in closed and scores[best[d]] > scores[nearest] - MARGIN]
        hardest = sorted(near, key=lambda p: -scores[p])[: 4 * N]
        assert {int(positive[row]) for positive, _ in drawn} == {nearest}
        assert set(np.concatenate([negatives[row] for _, negatives in drawn]).tolist()) - {-1} == set(hardest)
        assert all((negatives[row] >= 0).sum() == min(N, len(near)) for _, negatives in drawn)


def test_every_pair_of_candidates_can_be_drawn_and_minus_1_where_they_are_missing():
    candidates = np.array([[-1, 4, -1, 6, 8], [-1, -1, -1, -1, 3], [-1] * 5])
    for seed in range(20):
        drawn = draw_negatives(candidates, 2, seed)
        assert set(drawn[0].tolist()) < {4, 6, 8}
        assert drawn[1].tolist() == [3, -1]
        assert drawn[2].tolist() == [-1, -1]
    pairs_drawn = {tuple(draw_negatives(np.array([[5, 6, 7]]), 2, seed)[0].tolist()) for seed in range(60)}
    assert pairs_drawn == {pair for pair in product([5, 6, 7], repeat=2) if pair[0] != pair[1]}
