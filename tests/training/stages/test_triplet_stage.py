from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fixtures.data import small_dataset
from fixtures.vectors import same

from distill.data.more_questions import Triplets
from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer
from distill.errors import DataError
from distill.export.encode import Reading
from distill.retrieval.bm25 import build_bm25_index
from distill.settings.sections import TeacherSettings
from distill.students.embeddings import UsedRows
from distill.training.dev_score import DevScore
from distill.training.log import RunLog
from distill.training.session import Session
from distill.training.stages.triplet_stage import TripletStage, teach

SETTINGS = TeacherSettings(bm25_epochs=4, online_epochs=2, learning_rate=1e-3)
BM25_EPOCH, ONLINE_EPOCH = 1, 5
DOCUMENTS = [["The Danube ends in the Black Sea."], ["The Nile ends in the Mediterranean."], ["The moon has no air."]]


@pytest.fixture(scope="module")
def stage(base, sample):
    return TripletStage(base, sample, "en", SETTINGS, seed=0)


@pytest.fixture(scope="module")
def learnable(sample):
    """Few questions, the same in train and dev, so that a small encoder shows within seconds that it learns."""
    ids = sample.splits["train"][:48]
    return replace(sample, splits={"train": ids, "dev": ids, "test": ids})


@pytest.fixture(scope="module")
def taught(base, learnable):
    before = [w.copy() for w in base.model.get_weights()]
    log = RunLog()
    teacher = teach(base, learnable, "en", SETTINGS, seed=0, session=Session(log))
    return SimpleNamespace(teacher=teacher, rows=log.of("teacher"), before=before)


def negatives_of(stage, epoch):
    """Of the data set's own questions, as its passages, -1 for none."""
    negatives = stage.triplets(epoch)[2]
    return np.where(negatives >= 0, negatives - len(stage.anchors[0].questions), -1)


def batch_of(stage, sample, rows, negatives):
    """Of the sample's own questions and passages, whatever the epoch."""
    first = len(sample.splits["train"])
    gold = np.array([question.passage for question in sample.select("en", "train")])
    return stage.batch(rows, first + gold[rows], np.where(negatives >= 0, first + negatives, -1))


# Training


def test_the_base_learns_its_best_epoch_is_left_and_what_no_text_has_stays(taught, learnable, base):
    assert [row["epoch"] for row in taught.rows] == [0, 1, 2, 3, 4, 5, 6]
    assert taught.rows[4]["loss"] < 0.9 * taught.rows[1]["loss"]
    # Measured with the full table, by the vectors that a user gets.
    dev = DevScore(taught.teacher.tokenizer, learnable, ["en"], SETTINGS.unit)
    score = dev.score(UsedRows(taught.teacher.model, dev.tokens))
    best = max((row["p@1"], row["mrr@10"]) for row in taught.rows)
    assert (score["p@1"], score["mrr@10"]) == pytest.approx(best)
    assert best > (taught.rows[0]["p@1"], taught.rows[0]["mrr@10"])
    assert same(base.model.get_weights(), taught.before)
    assert taught.teacher.tokenizer is base.tokenizer and taught.teacher.name == "teacher"
    assert [w.shape for w in taught.teacher.model.weights] == [w.shape for w in base.model.weights]
    texts = learnable.passage_texts + [q.text for q in learnable.select("en", "train")]
    used = {id for ids in base.tokenizer.encode(texts) for id in ids}
    unused = [id for id in range(len(base.tokenizer)) if id not in used]
    tables = [encoder.model.get_layer("embedding").get_weights()[0] for encoder in (taught.teacher, base)]
    assert len(unused) > 100
    np.testing.assert_array_equal(tables[0][unused], tables[1][unused])


def test_what_has_nothing_to_learn_from_is_not_trained(base, learnable, sample):
    none = teach(base, learnable, "en", replace(SETTINGS, bm25_epochs=0, online_epochs=0))
    assert same(none.model.get_weights(), base.model.get_weights())
    data = small_dataset([["The Danube ends in the Black Sea."]], [("Where does the Danube end?", 0)])
    teacher = teach(base, data, "en", SETTINGS)
    assert same(teacher.model.get_weights(), base.model.get_weights())


@pytest.mark.parametrize("weights", ["table", "network"])
def test_the_table_or_the_rest_can_be_trained_alone(base, sample, weights):
    stage = TripletStage(base, sample, "en", replace(SETTINGS, trained_weights=weights), seed=0)
    table = stage.used.small.get_layer("embedding").trainable_weights
    others = [weight for weight in stage.trainer.trainable_variables if weight not in table]
    assert (bool(table), bool(others)) == (weights == "table", weights == "network")


def test_passages_are_learned_with_bm25_and_documents_afterwards(base):
    documents = [["The Danube is long.", "It ends in the Black Sea."], ["The Nile is longer.", "It ends in Egypt."]]
    data = small_dataset(documents, [("Where does the Danube end?", 1), ("Where does the Nile end?", 3)])
    settings = replace(SETTINGS, bm25_epochs=1, online_epochs=1, negatives=1, margin=2.0)
    stage = TripletStage(base, data, "en", replace(settings, train_unit="passage-then-document"), seed=0)
    texts = [text for anchors in stage.anchors for text in anchors.texts]
    chosen = [[[texts[row] for row in column.ravel()] for column in stage.triplets(epoch)] for epoch in (1, 2)]
    questions, positives, negatives = chosen[0]
    assert positives == ["It ends in the Black Sea.", "It ends in Egypt."]
    assert set(negatives) <= {*data.passage_texts} and questions == chosen[1][0]
    assert chosen[1][1:] == [data.document_texts, data.document_texts[::-1]]


def test_the_authors_data_are_triplets_of_the_other_languages_every_passage_and_three_negatives_of_bm25(base):
    """Counted by hand: 2 questions x 2 other languages x 2 passages of their document x 3 negatives are 24 triplets."""
    documents = [
        ["The Danube is long.", "It ends in the Black Sea."],
        ["The Nile is longer.", "It ends in Egypt."],
        ["A tax is old.", "The Nile ends there.", "The Danube ends here.", "A mouse is grey."],
    ]
    data = small_dataset(documents, [("Where does the Danube end?", 1), ("Where does the Nile end?", 3)])
    questions = {"de": ("Wo endet die Donau?", "Wo endet der Nil?"), "es": ("¿Dónde acaba?", "¿Y el Nilo?")}
    english = data.questions["en"]
    others = {
        language: {id: replace(english[id], language=language, text=text) for id, text in enumerate_ids(texts)}
        for language, texts in questions.items()
    }
    data = replace(data, questions={"en": english, **others})
    settings = replace(SETTINGS, questions="others", positives="every-passage", bm25_negatives=3, batch_size=5)
    stage = TripletStage(base, data, "en", replace(settings, triplets_apart=True), seed=0)
    batches = [make() for make in stage.batches(BM25_EPOCH)]
    # 24 triplets in batches of 5.
    assert [len(x["anchor"]) for x in batches] == [5, 5, 5, 5, 4] and stage.mined["triplets"] == 24
    assert all(x["negatives"].shape[1] == 1 for x in batches)
    anchors = Counter(tuple(unpacked(stage, x)[i]) for x in batches for i in x["anchor"])
    texts = [text for texts in questions.values() for text in texts]
    assert anchors == dict.fromkeys(map(tuple, base.tokenizer.encode(texts)), 6)
    # The best three of BM25 by the English question: those that say Danube or Nile, and end, of other documents.
    [anchors] = stage.anchors
    _, _, negatives = anchors.triplets(BM25_EPOCH, lambda rows: None)
    best = build_bm25_index(data.passage_texts, ["en"] * 8, "plain").scores([english["0"].text])
    ranked = [row for row in np.argsort(-next(iter(best)), kind="stable") if row not in (0, 1)]
    assert set(negatives[0].tolist()) == {int(row) for row in ranked[:3]}


def test_questions_of_other_languages_are_needed(base):
    data = small_dataset(DOCUMENTS, [("Where does the Danube end?", 0)])
    with pytest.raises(DataError, match="^small: .* en,"):
        TripletStage(base, data, "en", replace(SETTINGS, questions="others"), seed=0)


def enumerate_ids(texts):
    return [(str(number), text) for number, text in enumerate(texts)]


def test_the_learning_rate_rises_and_falls_by_the_schedule(base):
    questions = [("Where does the Danube end?", 0), ("Where does the Nile end?", 1), ("What has no air?", 2)]
    settings = replace(SETTINGS, bm25_epochs=2, online_epochs=0, batch_size=1, schedule="linear", warmup_share=0.5)
    log = RunLog()
    teach(base, small_dataset(DOCUMENTS, questions), "en", settings, session=Session(log))
    # Of six steps three rise; the third of the others is the last.
    assert [row["learning_rate"] for row in log.of("teacher")[1:]] == pytest.approx([1e-3, 1e-3 / 3])


def test_questions_without_negatives_are_left_out_of_the_batches(base):
    # The first three are one text that any document answers.
    questions = [("Is it so?", 0), ("Is it so?", 1), ("Is it so?", 2), ("Where does the Nile end?", 1)]
    data = small_dataset(DOCUMENTS, questions)
    stage = TripletStage(base, data, "en", SETTINGS, seed=0)
    for epoch in (BM25_EPOCH, ONLINE_EPOCH):
        anchors = [unpacked(stage, x)[i] for x in (make() for make in stage.batches(epoch)) for i in x["anchor"]]
        assert anchors == base.tokenizer.encode(["Where does the Nile end?"])


# Negatives


@pytest.mark.parametrize("epoch", [BM25_EPOCH, ONLINE_EPOCH])
def test_negatives_are_distinct_of_other_documents_and_drawn_anew(stage, sample, epoch):
    negatives = negatives_of(stage, epoch)
    assert negatives.shape == (134, 3)
    for question, row in zip(sample.select("en", "train"), negatives, strict=True):
        document = sample.passages[question.passage].document
        given = row[row >= 0].tolist()
        assert len(set(given)) == len(given) and document not in sample.document_of[given]
    assert np.any(negatives_of(stage, epoch) != negatives_of(stage, epoch + 1))
    np.testing.assert_array_equal(negatives_of(stage, epoch), negatives_of(stage, epoch))


def test_bm25_asks_in_the_documents_language_and_negatives_follow_the_encoder_in_online_epochs_only(base, sample):
    stage, german = (TripletStage(base, sample, language, SETTINGS, seed=0) for language in ("en", "de"))
    np.testing.assert_array_equal(negatives_of(german, BM25_EPOCH), negatives_of(stage, BM25_EPOCH))
    lexical, online = (negatives_of(stage, SETTINGS.bm25_epochs), negatives_of(stage, SETTINGS.bm25_epochs + 1))
    rng = np.random.default_rng(0)
    stage.used.small.set_weights([rng.normal(scale=0.3, size=w.shape) for w in stage.used.small.get_weights()])
    np.testing.assert_array_equal(negatives_of(stage, SETTINGS.bm25_epochs), lexical)
    assert np.any(negatives_of(stage, SETTINGS.bm25_epochs + 1) != online)


def test_online_negatives_are_the_hardest_within_the_margin(stage, base, sample):
    questions = sample.select("en", "train")
    similarity = base.encode([q.text for q in questions]) @ base.encode(sample.passage_texts).T
    for number, (question, row) in enumerate(zip(questions, negatives_of(stage, ONLINE_EPOCH), strict=True)):
        other = sample.document_of != sample.document_of[question.passage]
        least = similarity[number, question.passage] - SETTINGS.margin
        allowed = similarity[number][other & (similarity[number] > least)]
        hardest = np.sort(allowed)[::-1][: 4 * SETTINGS.negatives]
        given = row[row >= 0]
        assert len(given) == min(SETTINGS.negatives, len(allowed))
        assert np.all(similarity[number, given] >= hardest.min(initial=2.0) - 1e-6)


# Batches


def unpacked(stage, x):
    """The texts of a batch as lists of the full model's ids."""
    rows = [x["ids"][(x["segments"] == number) & (x["ids"] >= 0)] for number in range(len(x["counts"]))]
    assert [len(row) for row in rows] == x["counts"][:, 0].tolist()
    return [stage.used.rows[row].tolist() for row in rows]


@pytest.mark.parametrize("epoch", [BM25_EPOCH, ONLINE_EPOCH])
def test_an_epoch_asks_each_question_once_in_batches_of_distinct_texts(stage, base, sample, epoch):
    anchors = []
    for make in stage.batches(epoch):
        x = make()
        texts = [tuple(ids) for ids in unpacked(stage, x)]
        assert len(x["anchor"]) <= SETTINGS.batch_size and len(set(texts)) == len(texts)
        anchors += [texts[place] for place in x["anchor"]]
        assert set(x["anchor"]) | set(x["positive"]) | set(x["negatives"].ravel()) == set(range(len(texts)))
    expected = base.tokenizer.encode([q.text for q in sample.select("en", "train")])
    assert sorted(anchors) == sorted(map(tuple, expected))


def test_a_batch_names_anchor_positive_and_negatives(stage, base, sample):
    rows = np.array([5, 0, 77])
    negatives = np.array([[3, 9, 100], [9, -1, -1], [100, 2, -1]])
    x = batch_of(stage, sample, rows, negatives)
    texts = unpacked(stage, x)
    questions = [sample.select("en", "train")[row] for row in rows]
    passages = base.tokenizer.encode(sample.passage_texts)
    assert [texts[i] for i in x["anchor"]] == base.tokenizer.encode([q.text for q in questions])
    assert [texts[i] for i in x["positive"]] == [passages[q.passage] for q in questions]
    assert x["weights"].tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    for places, given, weights in zip(x["negatives"], negatives, x["weights"], strict=True):
        assert [texts[i] for i in places[weights > 0]] == [passages[i] for i in given[given >= 0]]


def test_the_seed_decides_order_and_negatives(stage, base, sample):
    def first_questions(of):
        x = of.batches(BM25_EPOCH)[0]()
        return [unpacked(of, x)[i] for i in x["anchor"]]

    again, other = (TripletStage(base, sample, "en", SETTINGS, seed=seed) for seed in (0, 50))
    assert first_questions(stage) == first_questions(again) != first_questions(other)
    assert len({str(stage.batches(epoch)[0]()["ids"].tolist()) for epoch in (1, 2)}) == 2
    for epoch in (BM25_EPOCH, ONLINE_EPOCH):
        np.testing.assert_array_equal(negatives_of(stage, epoch), negatives_of(again, epoch))
        assert np.any(negatives_of(stage, epoch) != negatives_of(other, epoch))


# More questions than the data set's

# In another language, so that they have pieces that the sample's English texts have not.
PAIRS = [(f"welches ist das Ding {n} ?", f"das Ding {n} ist wohl {word} .") for n, word in enumerate("abcdefghijklmno")]
MORE = [Triplets("pairs", 1.0, *zip(*PAIRS, strict=True))]


@pytest.fixture(scope="module")
def larger(base, sample):
    settings = replace(SETTINGS, triplets_an_epoch=6, margin=2.0)
    return TripletStage(base, sample, "en", settings, seed=0, triplets=MORE)


@pytest.mark.parametrize("epoch", [BM25_EPOCH, ONLINE_EPOCH])
def test_more_questions_come_among_the_data_sets_own_triplets_which_stay(larger, base, sample, epoch):
    stage = TripletStage(base, sample, "en", replace(SETTINGS, margin=2.0), seed=0)
    count = len(sample.select("en", "train"))
    for alone, joined in zip(stage.triplets(epoch), larger.triplets(epoch), strict=True):
        assert (len(alone), len(joined)) == (count, count + 6)
        np.testing.assert_array_equal(joined[:count], alone)
    both = [text for pair in PAIRS for text in pair]
    known = {tuple(ids): text for text, ids in zip(both, base.tokenizer.encode(both), strict=True)}
    answers, seen, batches = dict(PAIRS), [], larger.batches(epoch)
    assert len(batches) == -(-(134 + 6) // SETTINGS.batch_size)
    for number, make in enumerate(batches):
        x = make()
        texts = [known.get(tuple(ids)) for ids in unpacked(larger, x)]
        for anchor, positive, negatives in zip(x["anchor"], x["positive"], x["negatives"], strict=True):
            if texts[anchor]:
                given = {texts[place] for place in negatives}
                assert texts[positive] == answers[texts[anchor]]
                assert len(given) == 3 and given <= set(answers.values()) - {texts[positive]}
                seen.append((number, texts[anchor]))
            else:
                assert not texts[positive] and not any(texts[place] for place in negatives)
    assert len({question for _, question in seen}) == 6 and len({number for number, _ in seen}) > 1


def test_a_batch_can_name_its_questions_and_pairs(larger, base, sample):
    texts = {f"en {q.id}": q.text for q in sample.select("en", "train")}
    texts |= {f"en pairs {row} ({text[:30]!r})": text for row, (text, _) in enumerate(PAIRS, start=1)}
    names = []
    for make in larger.batches(ONLINE_EPOCH):
        x = make()
        anchors = [unpacked(larger, x)[i] for i in x["anchor"]]
        assert anchors == base.tokenizer.encode([texts[name] for name in make.ids()])
        assert make.loss == "triplet loss"
        names += make.ids()
    assert sum(name.startswith("en pairs ") for name in names) == 6


def test_more_questions_are_learned_from(base, learnable):
    settings = replace(SETTINGS, bm25_epochs=1, online_epochs=0)
    data = replace(learnable, splits={**learnable.splits, "train": learnable.splits["train"][:16]})
    stage = TripletStage(base, data, "en", settings, seed=0, triplets=MORE)
    for make in stage.batches(BM25_EPOCH):
        stage.trainer.train_on_batch(make())
    trained, before = (model.get_layer("embedding").get_weights()[0] for model in (stage.used.small, base.model))
    known = {id for ids in base.tokenizer.encode(stage.anchors[0].texts) for id in ids}
    more = {id for ids in base.tokenizer.encode(stage.anchors[1].texts) for id in ids} - known
    moved = np.abs(trained - before[stage.used.rows]).max(axis=1) > 0
    assert more and all(moved[stage.used.index[id]] for id in more)


# Documents as their best passage


def test_maxp_moves_the_best_passages_together(base):
    documents = [["The Danube ends in the Black Sea.", "It is a river."], ["The Nile ends in Egypt."], ["No air."]]
    questions = [("Where does the Danube end?", 1), ("Where does the Nile end?", 2), ("Has the moon air?", 3)]
    data = small_dataset(documents, questions)
    stage = TripletStage(base, data, "en", replace(SETTINGS, positives="maxp", margin=2.0), seed=0)
    similarity = base.encode(stage.anchors[0].questions) @ base.encode(data.passage_texts).T
    _, positive, negatives = stage.triplets(ONLINE_EPOCH)
    best = int(similarity[0, :2].argmax())
    assert positive.tolist() == [3 + best, 5, 6]
    assert set(negatives[0].tolist()) == {5, 6, -1}
    # Of the first document the others see its best passage alone.
    for row in (1, 2):
        assert set(negatives[row].tolist()) == {3 + int(similarity[row, :2].argmax()), {1: 6, 2: 5}[row], -1}
    assert stage.triplets(BM25_EPOCH)[1].tolist() == [4, 5, 6]


# The loss of a batch


def by_hand(vectors, x, settings):
    """Plain loops over a batch's triplets, or anchors."""
    losses = []
    for anchor, positive, negatives, weights in zip(
        x["anchor"], x["positive"], x["negatives"], x["weights"], strict=True
    ):
        near = vectors[anchor] @ vectors[positive]
        far = [vectors[anchor] @ vectors[n] for n, weight in zip(negatives, weights, strict=True) if weight]
        if settings.loss == "triplet":
            losses += [max((1 - near) - (1 - other) + settings.margin, 0) for other in far]
        else:
            scores = np.exp(np.array([near, *far]) / settings.temperature)
            losses.append(-np.log(scores[0] / scores.sum()))
    return np.mean(losses)


@pytest.mark.parametrize("loss", ["triplet", "contrastive"])
def test_the_trainer_minimises_the_loss_of_its_batch_by_hand(base, sample, loss):
    settings = replace(SETTINGS, loss=loss, temperature=0.2)
    stage = TripletStage(base, sample, "en", settings, seed=0)
    # Where negatives are missing the places are filled, and may not count.
    negatives = np.array([[3, 9, 100], [9, -1, -1], [100, 2, -1], [50, 51, 52]])
    x = batch_of(stage, sample, np.array([5, 0, 77, 40]), negatives)
    vectors = np.asarray(stage.trainer(x))
    np.testing.assert_allclose(vectors, base.model.predict_on_batch(padded(unpacked(stage, x))), atol=1e-5)
    expected = by_hand(vectors.astype(np.float64), x, settings)
    assert expected > 0
    assert float(stage.trainer.compute_loss(x, None, stage.trainer(x))) == pytest.approx(expected, rel=1e-4)


def padded(rows):
    ids = np.full((len(rows), max(map(len, rows))), -1, dtype=np.int32)
    for row, tokens in zip(ids, rows, strict=True):
        row[: len(tokens)] = tokens
    return ids


def test_questions_passages_and_dev_have_the_prompts_of_their_roles(base):
    reading = Reading({"question": "query: ", "document": "passage: "})
    prompted = KerasEncoder(base.model, Tokenizer(base.tokenizer.proto, reading=reading))
    stage = TripletStage(
        prompted, small_dataset(DOCUMENTS, [("Where does the Danube end?", 0)]), "en", SETTINGS, seed=0
    )
    texts = ["query: Where does the Danube end?", *(f"passage: {text}" for [text] in DOCUMENTS)]
    rows = [stage.used.rows[ids].tolist() for ids in stage.tokens]
    assert rows == base.tokenizer.encode(texts)
    dev = DevScore(prompted.tokenizer, small_dataset(DOCUMENTS, [("Where?", 0)]), ["en"], "passage")
    assert dev.tokens == base.tokenizer.encode([*texts[1:], "query: Where?"])
