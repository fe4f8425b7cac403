from dataclasses import replace

import keras
import numpy as np
import pytest

from distill.data.contexts import read_contexts
from distill.data.loading import load_dataset
from distill.data.more_questions import Triplets, make_collection
from distill.data.pairs import add_collection, make_gold_pairs, make_sentence_pairs
from distill.data.parallel import Parallel
from distill.data.pool_readers import load_pool
from distill.encoders.dual_encoder import DualEncoder, load_dual
from distill.encoders.encoder import KerasEncoder
from distill.encoders.tokenizer import Tokenizer
from distill.errors import ConfigError
from distill.export.encode import Reading
from distill.settings.sections import Settings
from distill.settings.store import change_settings
from distill.training.dev_score import DevScore
from distill.training.log import RunLog
from distill.training.session import Session
from distill.training.stages.mined_pairs import FalseNegatives
from distill.training.stages.pair_stage import (
    Batch,
    PairOptions,
    PairStage,
    draw_hard_negatives,
    make_miner,
    teach_pairs,
)
from distill.training.stages.student_job import TeacherJob

FILE = {"student.parallel": ["x.tsv"]}
BASE = {"teacher.loss": "softmax", "teacher.batch_size": 6, "teacher.bm25_epochs": 1, "teacher.online_epochs": 1}


@pytest.fixture(scope="module")
def data(sentence_data):
    return load_dataset(sentence_data)


@pytest.fixture(scope="module")
def pairs(data, sentence_data):
    return make_gold_pairs(data, read_contexts(data, sentence_data, ("de", "en")), ("en", "de"))


@pytest.fixture(scope="module")
def random(base, randomised):
    """A base with random weights, so that no two texts and no two gradients are alike."""
    return KerasEncoder(randomised(type(base.model).from_config(base.model.get_config())), base.tokenizer, "random")


def settings(others=(), **more):
    values = {**BASE, **{f"pairs.{name}": value for name, value in more.items()}, **dict(others)}
    known = change_settings(Settings(), values)
    return PairOptions(known.teacher, known.pairs, known.student.parallel_temperature, known.seed)


def stage(base, data, pairs, **more):
    return PairStage(base, data, pairs, settings(**{"batches": "x-y", **more}), ("en", "de"))


def stepped(base, data, pairs, **more):
    """The change of every weight after one step of gradient descent at rate 1: minus the gradient."""
    pair_stage = stage(base, data, pairs, **more)
    together = {"gradient_accumulation_steps": pair_stage.parts} if pair_stage.parts > 1 else {}
    # Of one step each, that takes less time than compiling it.
    pair_stage.trainer.compile(optimizer=keras.optimizers.SGD(1.0, **together), run_eagerly=True)
    questions, passages = np.array([0, 9, 3, 12, 7]), np.array([0, 1, 15, 4, 19])
    negatives = np.array([[5], [2], [-1], [14], [6]])
    before = [weight.numpy().copy() for weight in pair_stage.trainer.trainable_variables]
    makers = Batch(pair_stage, questions, passages, negatives).makers()
    names = [f"{pairs.questions[row].language} {pairs.questions[row].id}" for row in questions]
    assert len(makers) == pair_stage.parts and all(make.ids() == names for make in makers)
    batches = [make() for make in makers]
    losses = [float(pair_stage.trainer.train_on_batch(batch)) for batch in batches]
    after = [weight.numpy() for weight in pair_stage.trainer.trainable_variables]
    return losses, [new - old for new, old in zip(after, before, strict=True)], batches


@pytest.mark.parametrize("encoders", ["single", "dual"])
def test_the_gradient_of_the_parts_is_that_of_the_batch(random, data, pairs, encoders):
    # Rounding is multiplied by the scale.
    [loss], whole, _ = stepped(random, data, pairs, encoders=encoders, scale=4.0)
    losses, parts, batches = stepped(random, data, pairs, encoders=encoders, scale=4.0, chunk_size=2)
    # Batches of six pairs in three parts.
    assert len(batches) == 3 and losses == pytest.approx([loss] * 3, rel=1e-5)
    assert all(np.abs(change).max() > 1e-4 for change in whole)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-5 * max(1.0, np.abs(one).max()))


def test_a_scale_that_is_not_trained_has_no_gradient_and_each_text_has_the_same(random, data, pairs):
    _, trained, _ = stepped(random, data, pairs, scale=1.0)
    _, fixed, _ = stepped(random, data, pairs, scale=1.0, scale_trained=False)
    assert [change.shape for change in trained].count(()) == 1
    for one, other in zip([change for change in trained if change.shape], fixed, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-6)


def test_a_part_encodes_but_its_own_texts(base, data, pairs):
    _, _, [whole] = stepped(base, data, pairs)
    _, _, parts = stepped(base, data, pairs, chunk_size=2)
    assert [len(part["live"]) for part in parts] == [5, 5, 4] and len(whole["counts"]) == 14
    assert sorted(np.concatenate([part["live"] for part in parts])) == list(range(14))
    assert sum(part["counts"].sum() for part in parts) == whole["counts"].sum()


def test_a_batch_says_which_text_is_whose(base, data, pairs):
    pair_stage = stage(base, data, pairs)
    batch = Batch(pair_stage, np.array([1, 9]), np.array([1, 13]), np.array([[13], [-1]]))
    # Question 1 and its translation, both about passage 1; the negative is its translation; the last is filling.
    assert batch.texts.tolist() == [1, 9, 16 + 1, 16 + 13]
    assert (batch.question.tolist(), batch.passage.tolist()) == ([0, 1], [2, 3, 3, 2])
    assert batch.whole()["same"].tolist() == [[False, True, True, True], [True, False, True, True]]


def test_the_margin_filters_by_the_encoders_own_vectors(random, data, pairs):
    pair_stage = stage(random, data, pairs, filters=[], filter_margin=0.001)
    questions, passages = np.array([0, 3, 6]), np.array([0, 3, 6])
    [make] = Batch(pair_stage, questions, passages, np.zeros((3, 0), dtype=np.int64)).makers()
    queries = random.encode([pairs.questions[row].text for row in questions])
    scores = queries @ random.encode([pairs.passages[row] for row in passages]).T
    expected = scores > np.diagonal(scores)[:, None] + 0.001
    assert expected.any()
    np.testing.assert_array_equal(make()["same"], expected)
    assert pair_stage.filter.take_counts()["margin"] == {"en": int(expected.sum())}


@pytest.mark.parametrize("encoders", ["single", "dual"])
def test_parts_of_fewer_texts_than_parts_train_none_twice(random, data, pairs, encoders):
    """One passage and two questions in six parts: most parts hold a text that does not count."""
    pair_stage = stage(random, data, pairs, encoders=encoders, chunk_size=1, filters=[], hard_negatives=0)
    batch = Batch(pair_stage, np.array([0, 8]), np.array([0, 0]), np.zeros((2, 0), dtype=np.int64))
    parts = [make() for make in batch.makers()]
    assert len(parts) == 6
    counted = np.concatenate([part["live"][part["counted"][:, 0] == 1] for part in parts])
    assert sorted(counted) == [0, 1, 2] and all(len(part["live"]) for part in parts)
    assert not hasattr(batch, "shared")


def test_hard_negatives_are_in_the_language_of_the_passage(pairs):
    known = pairs.with_negatives([np.array([4, 7, 9])] * 16)
    rng = np.random.default_rng(0)
    negatives = draw_hard_negatives(known, np.array([0, 1]), np.array([0, 13]), 4, rng)
    assert sorted(negatives[0]) == [-1, 4, 7, 9] and sorted(negatives[1]) == [-1, 16, 19, 21]
    assert draw_hard_negatives(known, np.array([0]), np.array([0]), 2, rng).shape == (1, 2)


def test_negatives_are_mined_in_the_teachers_language_and_online_nearer_than_the_margin(base, data, pairs):
    mine, pair_stage = make_miner(data, settings(hard_negatives=3), pairs), stage(base, data, pairs, hard_negatives=3)
    queries, passages = base.encode([q.text for q in pairs.questions[:8]]), base.encode(list(pairs.passages[:12]))
    scores = queries @ passages.T
    for epoch in (1, 2):
        negatives = mine(epoch, pair_stage.vectors)
        assert len(negatives) == 16 and any(len(rows) for rows in negatives)
        for row, question in enumerate(pairs.questions):
            # Never a passage of its own document, always one of the data set's own, in English.
            assert all(negative // 2 != question.passage // 2 and negative < 12 for negative in negatives[row])
        for row in range(8):
            # A question has what its translation has.
            assert np.array_equal(negatives[row], negatives[row + 8])
            least = scores[row, pairs.questions[row].passage] - 0.3
            assert epoch == 1 or all(scores[row, negative] > least for negative in negatives[row])


def test_negatives_are_near_to_a_questions_own_passage_also_where_triplets_have_each_of_its_document(data, pairs):
    passages = np.random.default_rng(0).permutation(np.eye(12, dtype=np.float32))
    gold = np.array([question.passage for question in pairs.questions])
    mined = [
        make_miner(data, settings({"teacher.positives": positives}, hard_negatives=3), pairs)(
            2, lambda rows, of: np.concatenate([passages[gold[rows]], passages[of]])
        )
        for positives in ("gold", "every-passage")
    ]
    # Each is at its own passage, and all others are at a right angle.
    assert [[len(rows) for rows in negatives] for negatives in mined] == [[0] * 16] * 2


SOURCES = [Triplets("x", 1.0, *([f"{w} {n} of the {w}" for w in ("tram", "ship") for n in range(4)] for _ in "qp"))]


@pytest.fixture
def joined(data, pairs, sentence_data):
    """The pairs, with the sentences that hold the answers and those of another collection."""
    options = settings({"teacher.answer_sentences": True, "teacher.triplets_an_epoch": 6}, hard_negatives=2)
    return TeacherJob(data, options, ("en", "de"), triplets=SOURCES).all_pairs(pairs), options


def test_other_collections_are_mined_among_their_own_passages(base, data, joined):
    pairs, options = joined
    mine, pair_stage = make_miner(data, options, pairs, SOURCES), PairStage(base, data, pairs, options, ("en",))
    first = int(pairs.positives[16][0])
    assert list(pairs.passages[first:]) == SOURCES[0].passages and pairs.more.first == 16
    for epoch in (1, 2):
        negatives = mine(epoch, pair_stage.vectors)
        assert len(negatives) == 24 and sum(len(rows) > 0 for rows in negatives[16:]) <= 6
        assert all((rows < 12).all() for rows in negatives[:16])
        assert all((rows >= first).all() and first + at not in rows for at, rows in enumerate(negatives[16:]))
    asked_of = [make()["question"].size for make in PairStage(base, data, pairs, options, ("en",), mine).batches(2)]
    assert asked_of == [6] * ((8 + 6) // 6)


def test_a_sentence_is_a_positive_and_no_sentence_of_a_questions_passage_is_its_negative(joined, pairs):
    both, _ = joined
    added = range(len(pairs.passages), int(both.positives[16][0]))
    for row, question in enumerate(both.questions[:16]):
        for extra in set(both.positives[row].tolist()) & set(added):
            assert any(answer in both.passages[extra] for answer in question.answers)
            assert both.passages[extra] in both.passages[question.passage] != both.passages[extra]
    assert any(len(both.positives[row]) > len(pairs.positives[row]) for row in range(16))
    source = Triplets("y", 1.0, ("a?", "b?"), ("One is here. Two is there.",) * 2, (("One",), ("Two",)))
    more = add_collection(pairs, make_collection([source], "en", True), "en", lambda epoch: np.arange(2))
    first, second = more.positives[16:]
    mask = FalseNegatives(more, ["passage"]).mask(np.array([16]), first[:1], second[1:])
    assert more.passages[second[1]] == "Two is there." and mask.tolist() == [[False, True]]


@pytest.fixture(scope="module")
def easy(data):
    return replace(data, splits={name: data.splits["train"] for name in ("train", "dev")})


@pytest.mark.parametrize("encoders", ["single", "dual"])
def test_it_learns_and_says_how_far(base, easy, pairs, encoders, tmp_path):
    # All answers are one of two numbers here, so that by them most would be filtered.
    options = {"teacher.learning_rate": 0.004, "teacher.bm25_epochs": 2, "pairs.filters": ["passage", "parallel"]}
    options, log = settings(options, batches="x-y", encoders=encoders, pairs_an_epoch=96), RunLog()
    taught = teach_pairs(
        base, easy, pairs, options, ("en", "de"), make_miner(easy, options, pairs), session=Session(log)
    )
    rows = log.of("teacher")
    assert [row["epoch"] for row in rows] == list(range(4))
    assert max(row["mrr@10"] for row in rows) > rows[0]["mrr@10"] + 0.1
    assert rows[0]["scale"] == 20.0 and rows[-1]["scale"] != 20.0
    assert set(rows[1]["filtered"]) == {"passage", "parallel"} and rows[0]["filtered"] == {}
    assert isinstance(taught, DualEncoder if encoders == "dual" else KerasEncoder)
    same = np.abs(taught.encode(["Old?"], "question") - taught.encode(["Old?"], "document")).max() < 1e-6
    assert same == (encoders == "single")
    taught.save(tmp_path / "encoder")
    load = load_dual if encoders == "dual" else KerasEncoder.load
    again = load(tmp_path / "encoder")
    for role in ("question", "document"):
        np.testing.assert_array_equal(again.encode(["How old?"], role), taught.encode(["How old?"], role))


def test_lines_of_parallel_text_are_asked_in_each_batch(base, data, pairs):
    lines = ("Der Turm", "The tower", "Das Haus"), ("de", "en", "de"), ("The tower", "The tower", "The house")
    options = settings({"student.parallel": ["x.tsv"]}, batches="x-en", parallel_share=0.5)
    mine = make_miner(data, options, pairs)
    pair_stage = PairStage(base, data, pairs, options, ("en",), mine, [Parallel("x", 1.0, *lines)])
    batches = [make() for make in pair_stage.batches(1)]
    # Three questions of the data and three lines, of which English is not one.
    assert [len(batch["question"]) for batch in batches] == [6] * 5
    assert [question.text for question in pair_stage.pairs.questions[16:]] == ["Der Turm", "Das Haus"]
    # The two lines come in turn, so that in each batch one comes twice, which is no negative of itself.
    assert all(batch["same"][3:, 3:6].sum() == 2 for batch in batches)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({**BASE, "pairs.parallel_share": 0.5}, "parallel"),
        ({**BASE, "pairs.parallel_share": 0.5, **FILE}, "en-en"),
        ({**BASE, "pairs.parallel_share": 0.05, "pairs.batches": "x-y", **FILE}, "0.05 .* 6 "),
        ({"pairs.encoders": "dual"}, "pairs.encoders: .*--loss softmax"),
        ({"teacher.loss": "softmax", "teacher.model": "e5"}, "teacher.loss: "),
        ({"pairs.filters": ["passage", "passage"]}, "pairs.filters: "),
        ({"pairs.batches": "y-x"}, "pairs.batches: .* en-en, x-en, x-x, x-x-mono, x-y"),
    ],
)
def test_settings_that_cannot_be_are_refused(values, named):
    with pytest.raises(ConfigError, match=named):
        change_settings(Settings(), values)


def test_questions_and_passages_have_the_prompts_of_their_roles(base, data, pairs):
    reading = Reading({"question": "query: ", "document": "passage: "})
    prompted = KerasEncoder(base.model, Tokenizer(base.tokenizer.proto, reading=reading))
    towers = stage(prompted, data, pairs).towers
    texts = [*(f"query: {one.text}" for one in pairs.questions), *(f"passage: {text}" for text in pairs.passages)]
    assert [towers.used.rows[ids].tolist() for ids in towers.tokens] == base.tokenizer.encode(texts)


@pytest.mark.parametrize("encoders", ["single", "dual"])
def test_a_sentence_is_learned_with_its_paragraph_beside_it(random, data, sentence_data, encoders):
    pool = load_pool(sentence_data, ("de", "en"), "train")
    pairs = make_sentence_pairs(data, pool, ("en", "de"), context=True)
    values = {"unit": "sentence", "context": True, "hard_negatives": 0, "encoders": encoders}
    _, changes, _ = stepped(random, data, pairs, **values)
    width = random.model.get_layer("embedding").output_dim
    moved = [np.abs(change).max(axis=1) for change in changes if change.shape == (2, width)]
    assert len(moved) == 1 + (encoders == "dual") and moved[-1].min() > 1e-4 and not random.takes_context
    towers = stage(random, data, pairs, **values).towers
    trained = towers.encoder("trained")
    assert trained.takes_context
    ids, count = towers.tokens[towers.first + 47], len(random.tokenizer.encode([pairs.passages[47]])[0])
    rows = (towers.used if encoders == "single" else towers.used[1]).rows
    assert (ids < len(rows)).tolist() == [True] * count + [False] * (len(ids) - count)
    expected = random.tokenizer.encode([pairs.passages[47]])[0] + random.tokenizer.encode([pool.contexts[47]])[0][1:]
    assert rows[ids % len(rows)].tolist() == expected
    # The sentences of dev are read so too.
    reader, plain = trained if encoders == "single" else trained.document, random.tokenizer
    dev = DevScore(plain, data, ("en",), "passage-sentence", reader)
    assert dev.documents == reader.tokenize(data.sentences.texts, "document", np.repeat(data.passage_texts, 3).tolist())
    assert dev.documents != DevScore(plain, data, ("en",), "passage-sentence").documents
