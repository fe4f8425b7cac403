import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.encoders.encoder import KerasEncoder
from distill.errors import TrainingError
from distill.evaluation.evaluate import evaluate
from distill.retrieval.exact import ROUNDING
from distill.settings.choices import ALL_UNITS
from distill.settings.sections import TeacherSettings
from distill.students.embeddings import UsedRows
from distill.training.dev_score import DevScore
from distill.training.session import Session
from distill.training.stages.triplet_stage import TripletStage


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return KerasEncoder.load(tiny_folder)


@pytest.fixture(scope="module")
def used(encoder, sample):
    """A small model for all that is scored here."""
    texts = [*sample.document_texts, *sample.passage_texts, *(text for text, _ in PASSAGES)]
    texts += [" ".join(text for text, document in PASSAGES if document == d) for d in range(3)]
    texts += [q.text for language in ("en", "de", "th") for q in sample.questions[language].values()]
    texts += [text for rows in QUESTIONS.values() for _, text, _ in rows]
    texts += [*sample.sentences.texts, *dataset(QUESTIONS).sentences.texts]
    return UsedRows(encoder.model, encoder.tokenizer.encode(texts))


# Document 0 has passages 0 and 1, document 1 has 2, document 2 has 3 and 4.
PASSAGES = [
    ("The Danube ends in the Black Sea.", 0),
    ("The Danube begins in the Black Forest.", 0),
    ("The Nile ends in the Mediterranean.", 1),
    ("The moon has no air. It is a desert.", 2),
    ("People flew there. The first people on the moon came in 1969.", 2),
]


def dataset(questions):
    """`questions`: language -> [(id, text, passage)], all of them dev, in the order of the first language."""
    first = next(iter(questions.values()))
    return Dataset(
        name="rivers",
        document_language="en",
        titles=("Danube", "Nile", "Moon"),
        passages=tuple(Passage(str(i), text, document) for i, (text, document) in enumerate(PASSAGES)),
        questions={
            language: {id: Question(id, language, text, passage) for id, text, passage in rows}
            for language, rows in questions.items()
        },
        splits={"train": [], "dev": [id for id, _, _ in first], "test": []},
    )


def score(encoder, used, data, languages, unit):
    return means(DevScore(encoder.tokenizer, data, languages, unit).score(used))


def means(scores):
    """The scores without P@1 by language, which is of a test of its own."""
    return {name: value for name, value in scores.items() if name != "languages"}


def own_ranks(encoder, data, language, unit):
    """The least and the greatest rank of each question, by plain loops over the full encoder's vectors.

    Whether scores that are about `ROUNDING` apart are a tie depends on how they are summed.
    """
    questions, documents = data.select(language, "dev"), range(len(data.titles))
    texts = [" ".join(p.text for p in data.passages if p.document == d) for d in documents]
    units = encoder.encode(texts if unit == "document" else [passage.text for passage in data.passages])
    sentences = encoder.encode(data.sentences.texts)
    ranks = []
    for question, vector in zip(questions, encoder.encode([q.text for q in questions]), strict=True):
        scores, best = units @ vector, []
        for passage in range(len(data.passages)):
            best.append(max(sentences[data.sentences.passage_of == passage] @ vector))
        if "-" in unit:
            scores = scores + best if unit.endswith("sum") else np.array(best)
        if unit not in ("document", "passage", "passage-sentence", "passage-sum"):
            scores = [max(scores[data.document_of == d]) for d in documents]
        gold = question.passage if unit.startswith("passage") else data.passages[question.passage].document
        below = [scores[gold] - other for i, other in enumerate(scores) if i != gold]
        ranks.append([1 + sum(by <= least for by in below) for least in (0.5 * ROUNDING, 1.5 * ROUNDING)])
    return [list(column) for column in zip(*ranks, strict=True)]


def expected(ranks):
    reciprocal = [1 / rank if rank <= 10 else 0 for rank in ranks]
    return pytest.approx({"p@1": np.mean(np.array(ranks) == 1), "mrr@10": np.mean(reciprocal)})


QUESTIONS = {
    "en": [
        ("a", "Where does the Danube end?", 0),
        ("b", "Where does the Danube begin?", 1),
        ("c", "Where does the Nile end?", 2),
        ("d", "Does the moon have air?", 3),
        ("e", "When did people come to the moon?", 4),
    ],
    "de": [("a", "Wo endet die Donau?", 0), ("d", "Hat der Mond Luft?", 3)],
}


@pytest.mark.parametrize("unit", ALL_UNITS)
def test_scores_are_those_of_the_full_encoder_in_plain_loops(unit, encoder, used, sample):
    for data, language in ((dataset(QUESTIONS), "en"), (sample, "de")):
        least, most = own_ranks(encoder, data, language, unit)
        ranks = evaluate(encoder, data, "dev", [language], [unit]).ranks[unit][language]
        assert (np.array(least) <= ranks).all() and (ranks <= most).all() and len({*least}) > 1
        # The same as a training evaluates it.
        assert score(encoder, used, data, [language], unit) == expected(ranks)


def test_the_score_is_the_mean_over_languages_not_over_questions(encoder, used):
    data = dataset(QUESTIONS)
    english, german = (own_ranks(encoder, data, language, "passage")[0] for language in ("en", "de"))
    both = score(encoder, used, data, ["en", "de"], "passage")
    # German has two questions and English five.
    assert both == expected(english * 2 + german * 5) and both != expected(english + german)
    by_language = DevScore(encoder.tokenizer, data, ["en", "de"], "passage").score(used)["languages"]
    assert by_language == {"en": np.mean(np.equal(english, 1)), "de": np.mean(np.equal(german, 1))}


def test_the_tokens_are_all_that_scoring_needs(encoder, sample):
    dev = DevScore(encoder.tokenizer, sample, ["en", "th"], "document")
    questions = [q.text for language in ("en", "th") for q in sample.select(language, "dev")]
    assert dev.tokens == encoder.tokenizer.encode(sample.document_texts + questions)
    assert dev.questions["th"] == encoder.tokenizer.encode([q.text for q in sample.select("th", "dev")])


def test_the_score_follows_the_small_models_weights(encoder):
    data = dataset({"en": [(str(i), text, i) for i, (text, _) in enumerate(PASSAGES)]})
    dev = DevScore(encoder.tokenizer, data, ["en"], "passage")
    used = UsedRows(encoder.model, dev.tokens)
    before = means(dev.score(used))
    # All vectors alike: ties count against the encoder.
    used.small.set_weights([np.zeros_like(w) for w in used.small.get_weights()])
    assert before == {"p@1": 1.0, "mrr@10": 1.0}
    # Five questions are too few to speak of a collapse.
    assert means(dev.score(used)) == pytest.approx({"p@1": 0.0, "mrr@10": 1 / 5})


def test_another_data_sets_dev_scores_a_training_in_the_languages_that_it_has(encoder, sample):
    data, settings = dataset(QUESTIONS), TeacherSettings(unit="passage")
    stage = TripletStage(encoder, sample, "en", settings, 0, Session(dev=data))
    assert means(stage.dev()) == expected(own_ranks(encoder, data, "en", "passage")[0])
    assert Session(dev=data).choose_dev(sample, ["th", "en", "de"]) == (data, ["en", "de"])
    assert Session().choose_dev(sample, ["th"]) == (sample, ["th"])


@pytest.fixture
def small(used, encoder, sample):
    """A dev score of 20 questions in two languages, and a small model whose weights a test may change."""
    healthy = used.small.get_weights()
    yield DevScore(encoder.tokenizer, sample, ["en", "th"], "passage"), used
    used.small.set_weights(healthy)


def test_a_collapsed_encoder_is_told_of_once_and_each_score_says_so(small, capsys):
    dev, used = small
    healthy = used.small.get_weights()
    assert means(dev.score(used)).keys() == {"p@1", "mrr@10"}
    # Every piece has the same row, so that texts differ by their lengths alone.
    table = used.small.get_layer("embedding")
    table.set_weights([np.ones_like(table.get_weights()[0])])
    scores = [dev.score(used) for _ in range(2)]
    assert scores[0] == scores[1] and scores[0]["collapsed"] > 0.99
    assert capsys.readouterr().err.count("WARNING: ") == 1
    used.small.set_weights(healthy)
    assert "collapsed" not in dev.score(used)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_end_the_training_and_not_in_a_score(small, value):
    dev, used = small
    used.small.set_weights([np.full_like(weight, value) for weight in used.small.get_weights()])
    with pytest.raises(TrainingError, match="dev: 144 of 144 "):
        dev.score(used)


def test_one_piece_of_a_question_that_is_no_number_is_seen(small):
    dev, used = small
    others = {id for ids in dev.documents + dev.questions["en"] for id in ids}
    known = next(id for ids in dev.questions["th"] for id in ids if id not in others)
    table = used.small.get_layer("embedding")
    [rows] = table.get_weights()
    rows[used.index[known]] = np.nan
    table.set_weights([rows])
    count = sum(known in ids for ids in dev.questions["th"])
    with pytest.raises(TrainingError, match=rf"dev: {count} of 20 .* th "):
        dev.score(used)
