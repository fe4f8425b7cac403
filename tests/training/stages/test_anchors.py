from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from fixtures.data import small_dataset

from distill.data.more_questions import Triplets
from distill.settings.sections import TeacherSettings
from distill.training.stages.anchors import anchors_by_epoch, more_anchors, own_anchors

SETTINGS = TeacherSettings(bm25_epochs=2, online_epochs=2, negatives=2)
BM25_EPOCH, ONLINE_EPOCH = 1, 3


def source(pairs, weight=1.0):
    return Triplets("pairs", weight, *zip(*pairs, strict=True))


def numbered(count, name="", weight=1.0):
    return source([(f"{name} question {n}", f"{name} passage {n}") for n in range(count)], weight)


def anchors(sources, count=5, **settings):
    return more_anchors(sources, "en", replace(SETTINGS, **settings), 0, count)


def axes(rows):
    """Each text a vector of its own, in no order."""
    return np.random.default_rng(1).permutation(np.eye(200, dtype=np.float32))[rows]


PAIRS = [
    ("Where does it end?", "The Danube ends in the Black Sea."),
    ("What ends in the sea?", "the danube  ends in the Black Sea."),
    ("where does it END?", "The Nile ends in the Mediterranean."),
    ("Has the moon air?", "The moon has no air."),
]


def test_the_pool_holds_each_passage_once():
    pool = anchors([source(PAIRS[:2]), source(PAIRS[2:])])
    assert pool.questions == [question for question, _ in PAIRS]
    assert pool.passages == [PAIRS[place][1] for place in (0, 2, 3)]
    assert pool.gold.tolist() == [0, 0, 1, 2]
    assert pool.texts == pool.questions + pool.passages


@pytest.mark.parametrize("epoch", [BM25_EPOCH, ONLINE_EPOCH])
@pytest.mark.parametrize("positives", ["gold", "maxp"])
def test_what_answers_the_same_question_is_no_negative(epoch, positives):
    stage = anchors([source(PAIRS)], triplets_an_epoch=0, margin=2.0, positives=positives)
    rows, positive, negatives = stage.triplets(epoch, axes)
    assert (rows.tolist(), positive.tolist()) == ([0, 1, 2, 3], [0, 0, 1, 2])
    # The first and the third are one question, with two answers.
    assert [set(row) - {-1} for row in negatives.tolist()] == [{2}, {1, 2}, {2}, {0, 1}]


@pytest.mark.parametrize("epoch", [BM25_EPOCH, ONLINE_EPOCH])
def test_a_copy_of_the_right_passage_in_another_document_is_no_negative(epoch):
    documents = [["The Danube ends in the sea.", "It floods."], ["The Nile ends."], ["The Danube  ends in the sea."]]
    data = small_dataset(documents, [("Where does the Danube end?", 0), ("Where does the Nile end?", 2)])
    _, _, negatives = own_anchors(data, "en", replace(SETTINGS, margin=2.0), 0).triplets(epoch, axes)
    assert set(negatives[0].tolist()) == {2, -1} and set(negatives[1].tolist()) - {-1} <= {0, 1, 3}


def test_each_passage_of_the_document_is_a_positive_and_the_sentence_of_the_question_alone():
    documents = [["The Danube ends in the sea. It floods in May.", "It is long."], ["The Nile ends."]]
    data = small_dataset(documents, [("Where does it end?", 0), ("When does it flood?", 0), ("How long?", 1)])
    answers = ("the sea", "May", "long")
    known = {id: replace(of, answers=(answers[int(id)],)) for id, of in data.questions["en"].items()}
    data, settings = replace(data, questions={"en": known}), replace(SETTINGS, answer_sentences=True)
    pool = own_anchors(data, "en", replace(settings, positives="every-passage"), 0)
    rows, positive, _ = pool.triplets(BM25_EPOCH, axes)
    of_each = [[pool.passages[place] for place in positive[rows == row]] for row in range(3)]
    sentences = ["The Danube ends in the sea.", "It floods in May."]
    assert of_each[:2] == [[documents[0][0], sentence, documents[0][1]] for sentence in sentences]
    assert of_each[2] == documents[0]


def test_bm25_negatives_share_words_and_are_drawn_anew_each_epoch():
    sentences = [f"number {n} of the {kind}" for kind in ("river", "castle") for n in range(20)]
    stage = anchors([source([(f"which {s.split()[-1]} is it", s) for s in sentences])], triplets_an_epoch=0)
    drawn = [stage.triplets(epoch, axes)[2] for epoch in (1, 2)]
    assert np.any(drawn[0] != drawn[1])
    # All of its own kind answer the same question: what is left shares no word but is there.
    assert all((negatives[:20] >= 20).all() and (negatives[20:] < 20).all() for negatives in drawn)


def asked(stage, epochs):
    return [stage.rows_of(epoch).tolist() for epoch in range(1, epochs + 1)]


def test_an_epoch_asks_as_many_pairs_as_the_data_set_has_questions_or_as_is_said():
    epochs, same, other = (asked(more_anchors([numbered(20)], "en", SETTINGS, seed, 5), 4) for seed in (0, 0, 1))
    assert [len(rows) for rows in epochs] == [5] * 4 and epochs == same != other
    # All before one comes again, in no order.
    assert sorted(sum(epochs, [])) == list(range(20)) != sum(epochs, [])
    for count, expected in ((7, 7), (0, 20), (20, 20), (100, 20)):
        [rows] = asked(anchors([numbered(20)], triplets_an_epoch=count), 1)
        assert len(set(rows)) == len(rows) == expected


def test_sources_are_drawn_by_weight():
    stage = anchors([numbered(100, "a"), numbered(100, "b", 3.0)], triplets_an_epoch=50)
    counts = Counter(row >= 100 for row in sum(asked(stage, 40), []))
    assert counts[True] / 2000 == pytest.approx(0.75, abs=0.03)


def test_only_what_an_epoch_asks_is_encoded():
    given = []

    def vectors(rows):
        given.append(rows.tolist())
        return axes(rows)

    stage = anchors([numbered(20)], count=5, margin=2.0, negatives=19)
    stage.triplets(BM25_EPOCH, vectors)
    rows, positive, negatives = stage.triplets(ONLINE_EPOCH, vectors)
    assert given == [rows.tolist() + list(range(20, 40))]
    assert positive.tolist() == rows.tolist()
    assert [sorted(row) for row in negatives.tolist()] == [[n for n in range(20) if n != row] for row in rows]


def test_online_negatives_are_those_of_the_pairs_that_are_asked():
    # Each question lies nearest to the passage after its own.
    near = np.eye(40, dtype=np.float32)
    near[:20] = near[20:] * 0.6 + np.roll(near[20:], -1, axis=0) * 0.8
    stage = anchors([numbered(20)], count=5, negatives=1, margin=0.0)
    rows, _, negatives = stage.triplets(ONLINE_EPOCH, lambda rows: near[rows])
    assert negatives[:, 0].tolist() == ((rows + 1) % 20).tolist()


def test_own_anchors_are_the_train_questions_and_all_passages(sample):
    stage = own_anchors(sample, "de", SETTINGS, 0)
    questions = sample.select("de", "train")
    assert stage.texts == [question.text for question in questions] + sample.passage_texts
    assert stage.queries == [sample.questions["en"][question.id].text for question in questions]
    assert stage.gold.tolist() == [question.passage for question in questions]
    assert stage.rows_of(1).tolist() == stage.rows_of(7).tolist() == list(range(len(questions)))


def test_own_anchors_ask_in_all_languages_and_of_whole_documents(sample):
    settings = replace(SETTINGS, questions="all", train_unit="document")
    stage = own_anchors(sample, "en", settings, 0)
    questions = [question for language in sample.languages for question in sample.select(language, "train")]
    assert stage.questions == [question.text for question in questions]
    # BM25 asks the translation in the documents' language.
    assert stage.queries == [sample.questions["en"][question.id].text for question in questions]
    assert stage.passages == sample.document_texts
    documents = [int(sample.document_of[question.passage]) for question in questions]
    assert stage.gold.tolist() == documents == [int(row[0]) for row in stage.positives]
    # No other document is closed to a question, but for those that answer the same words.
    row = next(row for row, question in enumerate(questions) if stage.questions.count(question.text) == 1)
    assert stage.forbidden[1][stage.forbidden[0] == row].tolist() == [documents[row]]


def test_passages_are_of_bm25s_epochs_and_then_documents_of_the_others(sample):
    settings = replace(SETTINGS, train_unit="passage-then-document")
    passages, documents = anchors_by_epoch(sample, "en", settings, 0)
    assert (passages.passages, documents.passages) == (sample.passage_texts, sample.document_texts)
    # Two epochs of BM25 and two online ones.
    assert [passages.ask_in(epoch) for epoch in range(1, 6)] == [True, True, False, False, False]
    assert [documents.ask_in(epoch) for epoch in range(1, 6)] == [False, False, True, True, False]
    [alone] = anchors_by_epoch(sample, "en", SETTINGS, 0)
    assert all(alone.ask_in(epoch) for epoch in range(1, 6)) and alone.passages == sample.passage_texts


def test_a_quota_is_of_online_epochs_and_needs_no_draw(sample):
    stage = own_anchors(sample, "en", replace(SETTINGS, negatives=3, hard_quota=1, margin=2.0), 0)
    vectors = np.random.default_rng(0).normal(size=(len(stage.texts), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = vectors[: len(stage.questions)] @ vectors[len(stage.questions) :].T
    _, positive, negatives = stage.triplets(ONLINE_EPOCH, lambda rows: vectors[rows])
    gold = scores[np.arange(len(scores)), positive]
    for row, (hard, *semi) in enumerate(negatives.tolist()):
        assert hard == -1 or scores[row, hard] > gold[row]
        assert all(one == -1 or scores[row, one] <= gold[row] for one in semi)
    assert (negatives[:, 0] >= 0).mean() > 0.5 and (negatives[:, 1:] >= 0).mean() > 0.5


def test_maxp_chooses_the_positive_in_online_epochs_only(sample):
    stage = own_anchors(sample, "en", replace(SETTINGS, positives="maxp"), 0)
    vectors = np.random.default_rng(0).normal(size=(len(stage.texts), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries, passages = vectors[: len(stage.questions)], vectors[len(stage.questions) :]
    _, lexical, _ = stage.triplets(SETTINGS.bm25_epochs, lambda rows: vectors[rows])
    _, positive, negatives = stage.triplets(ONLINE_EPOCH, lambda rows: vectors[rows])
    assert lexical.tolist() == stage.gold.tolist() != positive.tolist()
    for row, scores in enumerate(queries @ passages.T):
        document = np.flatnonzero(sample.document_of == sample.document_of[stage.gold[row]])
        assert positive[row] == document[np.argmax(scores[document])]
        assert not set(document) & set(negatives[row].tolist())


def test_bm25_can_leave_inflection_out():
    """As written the first query shares no word with any passage, and they come in order; stemmed, with the last."""
    pairs = [("Haus?", "Am Markt."), *((f"Frage {n}", f"Nummer {n} hier") for n in range(9)), ("Was?", "alte Häuser")]
    drawn = {
        words: more_anchors([source(pairs)], "de", replace(SETTINGS, negatives=1, bm25_words=words), 0, 5).lexical[0]
        for words in ("plain", "morphology")
    }
    assert drawn["plain"].tolist() == [1, 2, 3, 4]
    assert drawn["morphology"].tolist() == [10, 1, 2, 3]


@pytest.mark.parametrize("epoch", [BM25_EPOCH, ONLINE_EPOCH])
def test_a_question_has_a_triplet_for_every_passage_of_its_document(epoch):
    documents = [["The Danube is long.", "It ends in the sea."], ["The Nile is old.", "It ends.", "It floods."]]
    data = small_dataset(documents, [("Where does the Danube end?", 1), ("How old is the Nile?", 2)])
    stage = own_anchors(data, "en", replace(SETTINGS, positives="every-passage", margin=2.0), 0)
    rows, positives, negatives = stage.triplets(epoch, axes)
    assert rows.tolist() == [0, 0, 1, 1, 1]
    assert positives.tolist() == [0, 1, 2, 3, 4]
    # A passage of the same document is no negative.
    assert all(set(row) - {-1} <= {2, 3, 4} for row in negatives[:2].tolist())
    assert all(set(row) - {-1} <= {0, 1} for row in negatives[2:].tolist()) and (negatives[:, 0] >= 0).all()
