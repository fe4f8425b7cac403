"""Scores of another encoder as labels, in both stages: against NumPy, on a scorer whose space nobody shares."""

from dataclasses import replace

import numpy as np
import pytest
from fixtures.encoders import Words
from scipy.special import log_softmax

from distill.data.contexts import read_contexts
from distill.data.loading import load_dataset
from distill.data.pairs import make_gold_pairs
from distill.data.parallel import Parallel
from distill.settings.sections import ScorerSettings, Settings, StudentSettings, TeacherSettings
from distill.settings.store import change_settings
from distill.training.session import Scorer, Session
from distill.training.stages.lines import label_translations
from distill.training.stages.pair_stage import Batch, PairOptions, PairStage
from distill.training.stages.targets import Targets, add_scores
from distill.training.stages.transfer_stage import TransferStage
from distill.training.stages.triplet_stage import TripletStage
from distill.training.trainer import select_packed

SCORED = ScorerSettings("words", weight=0.7, temperature=0.1, learner_temperature=0.3, margin_weight=0.4)
SETTINGS = TeacherSettings(bm25_epochs=1, online_epochs=1)
# Of another dimension than the encoders that learn.
WORDS = Words(20)


def session(**more):
    return Session(scorer=Scorer(WORDS, replace(SCORED, **more)))


def by_hand(scores, labels, positive, known):
    """One query: the divergence over the columns that are `known`, and the errors of the negatives' margins."""
    q, p = log_softmax(scores[known] / 0.3), log_softmax(labels[known] / 0.1)
    others = np.array([column for column in known if column != positive], dtype=int)
    margin, label = (each[positive] - each[others] for each in (scores, labels))
    return 0.7 * np.sum(np.exp(p) * (p - q)) + 0.4 * np.mean((margin - label) ** 2)


def total(loss):
    """Of stage 1 a scalar, of stage 2 its terms."""
    return float(sum(loss.values()) if isinstance(loss, dict) else loss)


def vectors_of(used, x):
    return np.asarray(used.small.encode_packed(**select_packed(x)))


def test_triplets_learn_the_scorers_ranking_and_margins(base, sample):
    stages = [TripletStage(base, sample, "en", SETTINGS, 0, one) for one in (Session(), session())]
    train, passages = [q.text for q in sample.select("en", "train")], sample.passage_texts
    first = len(train)
    # The last negative of the second is filling.
    rows = np.array([4, 9]), first + np.array([3, 1]), first + np.array([[5, 6], [7, -1 - first]])
    plain, x = (stage.batch(*rows) for stage in stages)
    vectors = vectors_of(stages[1].used, x)
    questions, answers = WORDS.encode([train[4], train[9]]), WORDS.encode(passages, "document")
    losses = []
    for row, columns in enumerate(([3, 5, 6], [1, 7])):
        places = [x["positive"][row], *x["negatives"][row][: len(columns) - 1]]
        scores = vectors[places] @ vectors[x["anchor"][row]]
        labels = answers[columns] @ questions[row]
        losses.append(by_hand(scores, labels, 0, np.arange(len(columns))))
    without = total(stages[0].trainer.batch_loss(vectors, plain))
    assert total(stages[1].trainer.batch_loss(vectors, x)) == pytest.approx(without + np.mean(losses), rel=1e-4)


def test_the_scorer_filters_and_chooses_negatives_of_triplets(base, sample):
    plain = TripletStage(base, sample, "en", SETTINGS, 0)
    stage = TripletStage(base, sample, "en", SETTINGS, 0, session(filter_margin=0.05))
    train = [q.text for q in sample.select("en", "train")]
    vectors = np.concatenate([WORDS.encode(train), WORDS.encode(sample.passage_texts, "document")])
    (anchor, positive, before), (_, _, after) = plain.triplets(1), stage.triplets(1)
    near, far = (
        np.sum(vectors[anchor] * vectors[positive], axis=1),
        np.einsum("qd,qnd->qn", vectors[anchor], vectors[before]),
    )
    closed = (before >= 0) & (far > near[:, None] + 0.05)
    assert 0 < closed.sum() < closed.size
    np.testing.assert_array_equal(after, np.where(closed, -1, before))
    # In online epochs: the nearest by the scorer, none of the question's own document.
    chosen = TripletStage(base, sample, "en", replace(SETTINGS, margin=2.0), 0, session(negatives=True)).triplets(2)[2]
    scores, documents = vectors[: len(train)] @ vectors[len(train) :].T, sample.document_of
    for row in range(0, len(train), 9):
        others = documents != documents[positive[row] - len(train)]
        twelfth = np.sort(scores[row][others])[-12]
        assert (scores[row][chosen[row][chosen[row] >= 0] - len(train)] >= twelfth - 1e-6).all()


@pytest.fixture(scope="module")
def pairs(sentence_data):
    data = load_dataset(sentence_data)
    return data, make_gold_pairs(data, read_contexts(data, sentence_data, ("de", "en")), ("en", "de"))


def stage_of(base, pairs, one, **more):
    values = {"teacher.loss": "softmax", "teacher.batch_size": 3, "pairs.batches": "x-y", "pairs.scale": 4.0}
    known = change_settings(Settings(), {**values, **more})
    return PairStage(base, *pairs, PairOptions(known.teacher, known.pairs), ("en", "de"), session=one)


ROWS = np.array([0, 9, 3]), np.array([0, 1, 15]), np.array([[5], [2], [-1]])


def test_pairs_learn_the_scorers_ranking_and_margins_whole_and_in_parts(base, pairs):
    stages = [stage_of(base, pairs, one) for one in (Session(), session())]
    plain, x = (Batch(stage, *ROWS).makers()[0]() for stage in stages)
    vectors = vectors_of(stages[1].towers.used, x)
    scores, losses = vectors[x["question"]] @ vectors[x["passage"]].T, []
    passages = WORDS.encode([pairs[1].passages[row] for row in (0, 1, 15, 5, 2)], "document")
    labels = WORDS.encode([pairs[1].questions[row].text for row in ROWS[0]]) @ passages.T
    for row in range(3):
        losses.append(by_hand(scores[row], np.append(labels[row], 0), row, np.arange(5)))
    without = total(stages[0].trainer.batch_loss(vectors, plain))
    expected = without + np.mean(losses)
    assert total(stages[1].trainer.batch_loss(vectors, x)) == pytest.approx(expected, rel=1e-4)
    parts = Batch(stage_of(base, pairs, session(), **{"pairs.chunk_size": 1}), *ROWS).makers()
    assert total(stages[1].trainer.batch_loss(vectors, parts[0]())) == pytest.approx(expected, rel=1e-4)


def test_the_scorer_filters_and_mines_for_pairs(base, pairs):
    stage = stage_of(base, pairs, session(filter_margin=0.01, negatives=True), **{"pairs.filters": []})
    texts = [[pairs[1].questions[row].text for row in ROWS[0]], [pairs[1].passages[row] for row in (0, 1, 15, 5, 2)]]
    labels = WORDS.encode(texts[0]) @ WORDS.encode(texts[1], "document").T
    closed = np.pad(labels > np.diagonal(labels)[:, None] + 0.01, ((0, 0), (0, 1)), constant_values=True)
    np.testing.assert_array_equal(Batch(stage, *ROWS).whole()["same"], closed)
    assert closed[:, :5].any() and set(stage.filter.take_counts()) == {"scorer"}
    np.testing.assert_array_equal(stage.vectors(ROWS[0], np.array([0, 1, 15, 5, 2])), WORDS.encode(sum(texts, [])))


def test_a_student_learns_the_scorers_ranking_of_a_steps_documents_and_of_its_lines(base, sample):
    settings = StudentSettings(objectives=("dq",), lines_a_step=2, gamma=3.0)
    source = Parallel("a", 1.0, ("eins", "zwei", "one"), ("de", "de", "en"), ("one", "two", "one"))
    lines, teacher = label_translations([source], Words(), 1.0), Words()
    targets = Targets.of(teacher, sample, "en", settings.units, lines)
    stages = []
    for scorer in (None, Scorer(WORDS, SCORED)):
        scored = add_scores(targets, scorer, sample, "en", settings.units)
        stages.append(TransferStage(base, scored, sample, ["en", "de"], settings, 0))
    rows, drawn = np.array([3, 150, 40]), np.array([1, 2])
    plain, x = (stage.batch(rows, drawn) for stage in stages)
    vectors, losses = vectors_of(stages[1].used, x), []
    asked_in_english = {q.id: q.text for q in sample.select("en", "train")}
    questions = [asked_in_english[stages[1].samples[row].id] for row in rows]
    documents = [sample.passage_texts[stages[1].samples[row].passage] for row in rows]
    labels = WORDS.encode(questions) @ WORDS.encode(documents, "document").T
    scores = vectors[:3] @ teacher.encode(documents, "document").T
    losses += [by_hand(scores[row], labels[row], row, np.arange(3)) for row in range(3)]
    labels = WORDS.encode(["two", "one"]) @ WORDS.encode(["two", "one"]).T
    scores = vectors[3:5] @ teacher.encode(["two", "one"]).T
    losses += [by_hand(scores[row], labels[row], row, np.arange(2)) for row in range(2)]
    without = total(stages[0].trainer.batch_loss(vectors, plain))
    assert total(stages[1].trainer.batch_loss(vectors, x)) == pytest.approx(without + 3 * np.mean(losses), rel=1e-3)
